"""Every variant of post-processing in the papers and in pgsr, and the methods that answer it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from pgsr import CountOfCounts, Geometric, Measurement, Problem, Seeded, View
from pgsr.algorithms import (
    BottomUp,
    CostTables,
    CumulativeIntegers,
    CumulativeProjection,
    EmdProjection,
    EntityTotalsProjection,
    Isotonic,
    IsotonicTreeProjection,
    Matching,
    MeanConsistency,
    Posterior,
    RegionTotalsProjection,
    SimplexProjection,
    SlopeGreedy,
    TreeProjection,
    TwoStage,
)
from pgsr.errors import ArgumentError
from pgsr.methods.method import Method, PostProcess
from pgsr.models import (
    Assignment,
    CpSat,
    CumulativeFlow,
    Cvxpy,
    Flow,
    Gurobi,
    MathOpt,
    Scipy,
    TableConstraints,
    TransportFlow,
    TransportLp,
)
from pgsr.noise.entities import entity_totals

Labelled = tuple[str, Measurement | Problem, Method | PostProcess]
"""An arm: its label, what it works on, and the method or the mechanism."""

IMPORTS = ("cvxpy", "gurobipy", "ortools.math_opt.python.mathopt", "ortools.sat.python.cp_model", "scipy.optimize")
"""The modules of the solvers, which take seconds to import."""

SOLVERS: tuple[Method, ...] = (
    Cvxpy("CLARABEL"),
    Cvxpy("HIGHS"),
    Gurobi(),
    MathOpt("GSCIP"),
    MathOpt("PDLP"),
    CpSat(),
    Scipy(),
)
"""The general solvers of a comparison; each is asked for the problems of which it finds the optimum or a bound."""


@dataclass(frozen=True)
class Noisy:
    """The measurements of one truth that a comparison needs, each drawn when it is first asked for."""

    truth: CountOfCounts
    epsilon: Fraction
    seed: str

    def of(self, view: View) -> Measurement:
        return Geometric(view, self.epsilon).measure(self.truth, Seeded(self.seed))

    @cached_property
    def counts(self) -> Measurement:
        return self.of(View.COUNTS)

    @cached_property
    def cumulative(self) -> Measurement:
        return self.of(View.CUMULATIVE)

    @cached_property
    def ranked(self) -> Measurement:
        return self.of(View.RANKED)


@dataclass(frozen=True)
class Variant:
    """A variant of post-processing.

    Attributes:
        key: its name on the command line; relaxations and further forms of a problem share it.
        words: what it asks for, the papers' name first.
        arms: its arms on noisy values; the flag says whether the hierarchy has the size of a nation, which leaves the
            methods that can.
    """

    key: str
    words: str
    arms: Callable[[Noisy, bool], list[Labelled]]


def _solved(
    state: Callable[[Noisy], Problem], *specialised: Method, solvers: Sequence[Method] = SOLVERS
) -> Callable[[Noisy, bool], list[Labelled]]:
    """List arms on one problem: methods of pgsr, then the general solvers that take it."""

    def arms(noisy: Noisy, nation: bool) -> list[Labelled]:
        problem = state(noisy)
        methods = [*specialised, *(() if nation else solvers)]
        return [(repr(method), problem, method) for method in methods if method.supports(problem) is None]

    return arms


def _released(*arms: tuple[str, View, PostProcess]) -> Callable[[Noisy, bool], list[Labelled]]:
    """List mechanisms on what they measure; ranked sizes of a nation are too many for a comparison."""

    def labelled(noisy: Noisy, nation: bool) -> list[Labelled]:
        return [
            (label, noisy.ranked if view is View.RANKED else noisy.cumulative, post)
            for label, view, post in arms
            if not (nation and view is View.RANKED)
        ]

    return labelled


def _relaxed(state: Callable[[Noisy], Problem]) -> Callable[[Noisy], Problem]:
    return lambda noisy: state(noisy).relaxed()


def _small_only(arms: Callable[[Noisy, bool], list[Labelled]]) -> Callable[[Noisy, bool], list[Labelled]]:
    return lambda noisy, nation: [] if nation else arms(noisy, nation)


def _naive(noisy: Noisy) -> Problem:
    return Problem.naive(noisy.counts)


def _h_c(norm: int) -> Callable[[Noisy], Problem]:
    return lambda noisy: Problem.isotonic(noisy.cumulative, norm)


def _h_g(norm: int) -> Callable[[Noisy], Problem]:
    return lambda noisy: Problem.isotonic(noisy.ranked, norm)


def _mean(noisy: Noisy) -> Problem:
    return Problem.mean_consistency(noisy.counts)


def _m_h(noisy: Noisy) -> Problem:
    return Problem.m_h(noisy.counts)


def _m_h_regions(noisy: Noisy) -> Problem:
    return Problem.m_h(noisy.counts, "regions")


def _m_h_entities(noisy: Noisy) -> Problem:
    return Problem.m_h(noisy.counts, "regions", entity_totals(noisy.truth))


def _m_c(noisy: Noisy) -> Problem:
    return Problem.m_c(noisy.cumulative)


def _m_c_l1(noisy: Noisy) -> Problem:
    return Problem.m_c(noisy.cumulative, norm=1)


CUMULATIVE, RANKED = View.CUMULATIVE, View.RANKED
LARGE = (Cvxpy("CLARABEL"),)
"""What is asked about ranked sizes, which are as many unknowns as there are groups."""

VARIANTS: tuple[Variant, ...] = (
    Variant("naive", "naive: every region's counts alone, non-negative integers with its total",
            _solved(_naive, SimplexProjection())),
    Variant("isotonic", "H_c L1: every region's cumulative counts alone, non-decreasing, absolute values",
            _solved(_h_c(1), Isotonic())),
    Variant("isotonic", "H_c L2: the same, squares", _solved(_h_c(2), Isotonic())),
    Variant("isotonic", "H_g L1: every region's ranked sizes alone, non-decreasing, absolute values",
            _small_only(_solved(_h_g(1), Isotonic(), solvers=LARGE))),
    Variant("isotonic", "H_g L2: the same, squares", _small_only(_solved(_h_g(2), Isotonic(), solvers=LARGE))),
    Variant("mean_consistency", "mean consistency: least squares under consistency alone, any sign, real",
            _solved(_mean, MeanConsistency())),
    Variant("m_h", "M_H: counts, consistent, non-negative integers, the root's total",
            _solved(_m_h, TreeProjection(), Flow())),
    Variant("m_h", "M_H^r: the same in real numbers", _solved(_relaxed(_m_h), TreeProjection())),
    Variant("m_h", "M_H by cost tables: M_dp (slopes merged or greedy) and M_dp^OP (a constraint program per value)",
            _small_only(_solved(_m_h, CostTables(), CostTables(step=SlopeGreedy()),
                                CostTables(3, TableConstraints()), solvers=()))),
    Variant("m_h_regions", "M_H with every region's total", _solved(_m_h_regions, RegionTotalsProjection(), Flow())),
    Variant("m_h_regions", "M_H^r with every region's total",
            _solved(_relaxed(_m_h_regions), RegionTotalsProjection())),
    Variant("m_h_entities", "M_H with every region's total and number of entities",
            _solved(_m_h_entities, EntityTotalsProjection())),
    Variant("m_c", "M_c: cumulative counts, consistent, non-decreasing integers",
            _solved(_m_c, CumulativeIntegers(), CumulativeProjection())),
    Variant("m_c", "M_c^r: the same in real numbers", _solved(_relaxed(_m_c), CumulativeProjection())),
    Variant("m_c_l1", "M_c L1: cumulative counts, consistent, non-decreasing integers, absolute values",
            _solved(_m_c_l1, EmdProjection())),
    Variant("m_c_l1", "M_c L1^r: the same in real numbers",
            _solved(_relaxed(_m_c_l1), EmdProjection(), CumulativeFlow())),
    Variant("releases", "releases: mechanisms of several steps, no single stated problem", _released(
        ("IsotonicTreeProjection()  [M_c^dp]", CUMULATIVE, IsotonicTreeProjection()),
        ("Matching()  [H_c, sorted]", CUMULATIVE, Matching()),
        ("Matching(TransportFlow())  [H_c]", CUMULATIVE, Matching(matcher=TransportFlow())),
        ("Matching(TransportLp())  [H_c]", CUMULATIVE, Matching(matcher=TransportLp())),
        ("Matching(Assignment())  [H_c]", CUMULATIVE, Matching(matcher=Assignment())),
        ("Matching()  [H_g, sorted]", RANKED, Matching()),
        ("BottomUp()  [H_c]", CUMULATIVE, BottomUp()),
        ("BottomUp()  [H_g]", RANKED, BottomUp()),
        ("TwoStage()", CUMULATIVE, TwoStage()),
        ("Posterior()", CUMULATIVE, Posterior()),
        ("Posterior()  [ranked]", RANKED, Posterior()),
    )),
)  # fmt: skip
"""All variants, in the order in which the tables show them."""

KEYS = tuple(dict.fromkeys(variant.key for variant in VARIANTS))


def chosen(keys: Sequence[str]) -> list[Variant]:
    """Give the variants of these keys, all if there is none.

    Raises:
        ArgumentError: a key is unknown.
    """
    unknown = [key for key in keys if key not in KEYS]
    if unknown:
        raise ArgumentError(f"the problem {unknown[0]!r} is unknown; write one of {', '.join(KEYS)}")
    return [variant for variant in VARIANTS if not keys or variant.key in keys]
