"""The catalogue of our own methods: the exact algorithms and the estimators, each with what it is used for."""

from dataclasses import dataclass

from pgsr.algorithms import (
    ChoiceTree,
    CostTables,
    CumulativeIntegers,
    CumulativeProjection,
    Isotonic,
    MeanConsistency,
    MinMax,
    RegionTotalsProjection,
    SimplexProjection,
    SlopeGreedy,
    TreeProjection,
)
from pgsr.data.views import View
from pgsr.estimators import (
    BottomUp,
    IsotonicTreeProjection,
    Matching,
    NoConsistency,
    Posterior,
    TwoStage,
)
from pgsr.methods.catalogue import Entry, Proof, Use
from pgsr.methods.method import Method, Result, Status
from pgsr.noise import SplitByRoot
from pgsr.problems.problem import Problem

CUMULATIVE, RANKED, SPLIT = View.CUMULATIVE, View.RANKED, SplitByRoot()

METHODS: tuple[Entry, ...] = (
    Entry(TreeProjection(), release="m_h", page="derivations/m_h.md"),
    Entry(RegionTotalsProjection()),
    Entry(CumulativeIntegers(), Proof.GAP, page="derivations/m_c.md"),
    Entry(CumulativeProjection(), page="derivations/m_c.md"),
    Entry(Isotonic()),
    # Isotonic solves the same in less time, so runs over PGSR-LIB leave it out.
    Entry(MinMax(), uses=Use.EVERYWHERE & ~Use.LIBRARY),
    Entry(SimplexProjection()),
    Entry(ChoiceTree(), page="model/conditions.md#choices"),
    Entry(MeanConsistency()),
    Entry(CostTables(), small=True),
    # The step as the paper prints it.
    Entry(CostTables(step=SlopeGreedy()), uses=Use.COMPARE, small=True, name="slope_greedy"),
    Entry(
        IsotonicTreeProjection(),
        measured={CUMULATIVE: "IsotonicTreeProjection()  [M_c^dp]"},
        release="m_c_dp",
        name="m_c_dp",
        page="study/choose_a_mechanism.md",
    ),
    Entry(
        Matching(),
        measured={
            CUMULATIVE: "Matching()  [H_c, sorted]",
            RANKED: "Matching()  [H_g, sorted]",
            SPLIT: "Matching()  [split]",
        },
        release="kuo",
        page="../notebooks/06_matching.ipynb",
    ),
    Entry(
        BottomUp(),
        measured={CUMULATIVE: "BottomUp()  [H_c]", RANKED: "BottomUp()  [H_g]", SPLIT: "BottomUp()  [split]"},
        release="bottom_up",
        page="study/choose_a_mechanism.md",
    ),
    Entry(NoConsistency(), uses=Use.PAGE | Use.WARM_UP),  # a baseline whose regions do not add up is no release
    Entry(
        TwoStage(),
        release="two_stage",
        page="study/choose_a_mechanism.md",
    ),
    Entry(
        Posterior(),
        measured={CUMULATIVE: "Posterior()", RANKED: "Posterior()  [ranked]", SPLIT: "Posterior()  [split]"},
        release="posterior",
        page="publish/intervals.md",
    ),
)
"""The catalogue of our own methods, from which comparisons, pages, checks, warm-up and releases have their lists; the
models of solvers continue it (`pgsr.models.catalogue`)."""


def exact_method(problem: Problem) -> Method | None:
    """Find the first exact algorithm that takes a problem as it is stated; None if there is none.

    Algorithms that round a relaxation cell by cell, and those for tiny problems alone, are asked by their own names.
    """
    for entry in METHODS:
        method = entry.method
        if isinstance(method, Method) and not entry.small and entry.answer is not Proof.VALID:
            rounds = problem.integer and getattr(method, "rounds_relaxation", False)
            if not rounds and method.supports(problem) is None:
                return method
    return None


@dataclass(frozen=True)
class OwnAlgorithm:
    """Solves a problem by the first exact algorithm of our catalogue that takes it as it is stated.

    Status: as of the algorithm; UNSUPPORTED where there is none.

    Example:
        >>> from pgsr.data.hierarchy import Hierarchy
        >>> tree = Hierarchy.from_paths([("US", "GA"), ("US", "MI")])
        >>> problem = Problem.of([[1, 9], [0, 5], [-1, 4]], tree, groups=10)
        >>> OwnAlgorithm().of(problem)
        TreeProjection()
        >>> OwnAlgorithm().solve(problem).status.name
        'OPTIMAL'
    """

    def of(self, problem: Problem) -> Method | None:
        """Find the algorithm; None if there is none."""
        return exact_method(problem)

    def supports(self, problem: Problem) -> str | None:
        """Give the reason why none of our algorithms solves this problem, or None."""
        return None if self.of(problem) else f"none of our exact algorithms takes {problem.label} as stated"

    def solve(self, problem: Problem, time_limit: float | None = None) -> Result:
        """Solve within `time_limit` seconds; without an algorithm the status is UNSUPPORTED."""
        method = self.of(problem)
        if method is None:
            return Result(Status.UNSUPPORTED, self.supports(problem) or "")
        return method.solve(problem, time_limit)
