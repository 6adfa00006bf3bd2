"""The catalogue of our own methods: the exact algorithms and the estimators, each with what it is used for."""

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
from pgsr.methods.method import Method
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
