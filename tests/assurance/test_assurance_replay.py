"""A release is a function of noisy values and public facts, for every post-process and method there is."""

from collections.abc import Callable

import pytest
from instances import random_tree, random_truth, rng_of, scale
from neighbours import random_pair
from privacy_checks import check_replay

from pgsr import Problem, View, algorithms, estimators, models
from pgsr.algorithms import (
    ChoiceTree,
    CostTables,
    CumulativeIntegers,
    CumulativeProjection,
    Isotonic,
    IsotonicFit,
    MeanConsistency,
    MinMax,
    RegionTotalsProjection,
    SimplexProjection,
    SlopeGreedy,
    TreeProjection,
)
from pgsr.data import Split
from pgsr.estimators import (
    BottomUp,
    IsotonicTreeProjection,
    Matching,
    NoConsistency,
    Posterior,
    TwoStage,
)
from pgsr.estimators.matching.sorted_matching import SortedMatching
from pgsr.methods import Mechanism
from pgsr.models import CpSat, Cvxpy, Flow, Gurobi, MathOpt, Scip, Scipy
from pgsr.noise import Geometric, Measurement
from pgsr.problems.conditions import cells, zero_or_at_least

pytestmark = pytest.mark.slow

COUNTS, STEPS, SIZES = View.COUNTS, View.CUMULATIVE, View.RANKED


def region_totals(measurement: Measurement) -> Problem:
    return Problem.m_h(measurement, totals="regions")


def with_choice(measurement: Measurement) -> Problem:
    return Problem.m_h(measurement).where(zero_or_at_least(cells(level=0, size=0), 2))


def of(view, post, problem=None, totals="regions") -> Mechanism:
    return Mechanism(Geometric(view, "1", totals=totals), post, problem)


OURS = [
    of(COUNTS, SimplexProjection(), Problem.naive),
    of(COUNTS, SimplexProjection(), lambda m: Problem.naive(m).relaxed()),
    of(COUNTS, TreeProjection(), totals="root"),
    of(COUNTS, TreeProjection(), totals="noisy"),
    of(COUNTS, TreeProjection(), lambda m: Problem.m_h(m).relaxed(), totals="root"),
    of(COUNTS, ChoiceTree(), with_choice, totals="root"),
    of(COUNTS, CostTables(), totals="root"),
    of(COUNTS, CostTables(step=SlopeGreedy()), totals="root"),
    of(COUNTS, RegionTotalsProjection(), region_totals),
    of(COUNTS, MeanConsistency(), Problem.mean_consistency),
    of(STEPS, MeanConsistency(), Problem.mean_consistency),
    of(STEPS, Isotonic(), Problem.isotonic),
    of(STEPS, Isotonic(), lambda m: Problem.isotonic(m, norm=1)),
    of(SIZES, Isotonic(), Problem.isotonic),
    of(STEPS, MinMax(), lambda m: Problem.isotonic(m, norm=2)),
    of(SIZES, MinMax(), Problem.isotonic),
    of(STEPS, IsotonicTreeProjection(), totals="root"),
    of(STEPS, IsotonicTreeProjection(), totals="noisy"),
    of(STEPS, CumulativeProjection(), totals="root"),
    of(STEPS, CumulativeIntegers(), Problem.m_c, totals="root"),
    of(STEPS, Matching()),
    of(SIZES, Matching()),
    of(SIZES, Matching(), totals="noisy"),
    of(STEPS, Matching(merge="average")),  # type: ignore[arg-type]
    of(STEPS, Matching(IsotonicFit(cumulative_norm=2, min_size=1), matcher=SortedMatching())),
    of(STEPS, BottomUp()),
    of(SIZES, BottomUp()),
    of(STEPS, NoConsistency()),
    of(SIZES, NoConsistency()),
    of(Split(1), Matching()),
    of(Split(1), Matching(), totals="noisy"),
    of(Split(2), BottomUp()),
    of(Split(1), TwoStage()),
    of(Split(1), Posterior()),
    of(Split(2), Posterior(), totals="noisy"),
    of(STEPS, TwoStage()),
    of(STEPS, TwoStage(), totals="root"),
    of(STEPS, Posterior()),
    of(STEPS, Posterior(), totals="noisy"),
    of(STEPS, Posterior(), totals="root"),
    of(SIZES, Posterior()),
    of(COUNTS, Posterior()),
]
MODELS = [
    of(COUNTS, Flow(), totals="root"),
    of(COUNTS, CpSat(), totals="root"),
    of(COUNTS, Scipy(), totals="root"),
    of(COUNTS, Cvxpy("CLARABEL"), lambda m: Problem.m_h(m).relaxed(), totals="root"),
    of(STEPS, Cvxpy("CLARABEL"), totals="root"),
    of(STEPS, Cvxpy("PIQP"), totals="root"),
    of(STEPS, Cvxpy("OSQP", options={"eps_abs": 1e-9, "eps_rel": 1e-9, "max_iter": 100_000}), totals="root"),
    of(STEPS, Cvxpy("SCS"), totals="root"),
    of(STEPS, Cvxpy("HIGHS"), lambda m: Problem.m_c(m, norm=1), totals="root"),
    of(STEPS, MathOpt("PDLP"), totals="root"),
    of(STEPS, MathOpt("GLOP"), lambda m: Problem.m_c(m, norm=1), totals="root"),
    of(STEPS, MathOpt("GSCIP"), totals="root"),
    of(STEPS, Gurobi(), totals="root"),
    of(STEPS, MathOpt("HIGHS"), lambda m: Problem.m_c(m, norm=1), totals="root"),
    of(COUNTS, Scip(), totals="root"),
    of(STEPS, Matching(matcher=models.TransportFlow())),
    of(STEPS, Matching(matcher=models.TransportLp())),
    of(STEPS, Matching(matcher=models.Assignment())),
    of(COUNTS, CostTables(step=models.TableConstraints()), totals="root"),
]


def named(mechanism: Mechanism) -> str:
    problem = getattr(mechanism.problem, "__name__", "") if mechanism.problem else ""
    return f"{mechanism.post!r} {problem} on {mechanism.noise.label}, {mechanism.noise.totals}"


FIRST = {type(m.post): m for m in reversed([*OURS, *MODELS])}
"""One mechanism of every method, shown with all pairs; its other problems and views with a fifth of them."""


def n_pairs_of(mechanism: Mechanism, n: int) -> int:
    return n if FIRST[type(mechanism.post)] is mechanism else n // 5


def check_replays(mechanism: Mechanism, n_pairs: int) -> int:
    """Assert that post-processing is the same on n_pairs neighbour pairs with equal noisy values; return their number.

    Pairs without an answer do not count, because two failures show nothing.
    """
    rng = rng_of(91)
    tried = answered = 0
    while answered < n_pairs:
        truth = random_truth(rng, random_tree(rng, max_regions=7), max_size=3, name="replay")
        other = random_pair(rng, truth)
        if other is not None and truth.totals[0]:
            answered += check_replay(mechanism, truth, other, f"pair {tried}")
            tried += 1
            assert tried < 2 * n_pairs + 5, f"{answered} answers in {tried} pairs"
    return answered


@pytest.mark.few(5)
@pytest.mark.parametrize("mechanism", OURS, ids=named)
def test_replay(mechanism: Mechanism, counted: Callable[[int, str], None]) -> None:
    counted(check_replays(mechanism, scale(10, n_pairs_of(mechanism, 1_000))), "neighbour pairs")


@pytest.mark.few(5)
@pytest.mark.parametrize("mechanism", MODELS, ids=named)
def test_replay_with_a_solver(mechanism: Mechanism, counted: Callable[[int, str], None]) -> None:
    counted(check_replays(mechanism, scale(3, n_pairs_of(mechanism, 200))), "neighbour pairs")


def test_every_method_is_replayed() -> None:
    """Whatever `pgsr.algorithms` and `pgsr.estimators` export that solves or applies is in the list above."""
    covered = {type(m.post) for m in OURS}
    exported = {getattr(room, name) for room in (algorithms, estimators) for name in room.__all__}
    methods = {item for item in exported if hasattr(item, "solve") or hasattr(item, "apply")}
    assert methods - covered == set()
