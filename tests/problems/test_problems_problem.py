"""Problems: one point of a small space each, stated on the right view, with weights that fit."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from pgsr import CountOfCounts, Hierarchy, PgsrError, Problem, Status, View
from pgsr.algorithms import CostTables
from pgsr.data.sizes import Sizes
from pgsr.errors import CountError
from pgsr.estimators import IsotonicTreeProjection
from pgsr.noise import Geometric, Measurement, Totals
from pgsr.privacy import Seeded
from pgsr.privacy.laws.per_level import GeometricNoise
from pgsr.problems.precisions import precision_weights

TREE = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
TRUTH = CountOfCounts(TREE, [[0, 2, 0, 1], [0, 1, 1, 1]])


def measure(view, **options):
    return Geometric(view, "1", **options).measure(TRUTH, Seeded("problem"))


def test_the_papers_problems():
    counts, steps, ranks = measure(View.COUNTS), measure(View.CUMULATIVE), measure(View.RANKED)
    m_h = Problem.m_h(counts)
    assert (m_h.norm, m_h.integer, m_h.consistent, m_h.monotone, m_h.totals) == (2, True, True, False, Totals.ROOT)
    assert Problem.m_h(counts, totals="regions").totals is Totals.REGIONS
    assert Problem.m_c(steps).monotone
    assert Problem.m_c(steps, norm=1).norm == 1
    assert not Problem.naive(counts).consistent
    assert Problem.isotonic(ranks, norm=1).label == "H_g L1"
    mean = Problem.mean_consistency(steps)
    assert (mean.integer, mean.nonnegative, mean.totals) == (False, False, None)
    relaxed = m_h.relaxed()
    assert (relaxed.label, relaxed.integer) == ("M_H^r", False)
    assert relaxed.relaxed() is relaxed


@pytest.mark.parametrize(
    ("build", "view"),
    [
        (Problem.m_h, View.CUMULATIVE),
        (Problem.m_c, View.COUNTS),
        (Problem.naive, View.RANKED),
        (Problem.isotonic, View.COUNTS),
    ],
    ids=["m_h", "m_c", "naive", "isotonic"],
)
def test_a_problem_on_the_wrong_view_names_both(build, view):
    with pytest.raises(PgsrError, match=f"needs View.*{view!r}"):
        build(measure(view))


def test_weights_are_exact_integers_in_proportion_to_precision():
    noisy = measure(View.CUMULATIVE, shares=("1/4", "3/4"))
    assert Problem.mean_consistency(noisy).w.tolist() == [1, 9, 9]


def test_malformed_problems_are_refused():
    counts = measure(View.COUNTS)
    for weights, word in [([1, 1], "one non-negative integer per region"), ([1, -1, 1], "non-negative"),
                          ([1.5, 1, 1], "scale fractions"), ([1, 0, 1], "leaf has weight 0")]:  # fmt: skip
        with pytest.raises(PgsrError, match=word):
            Problem.about(counts, "M_H", weights=np.array(weights))
    with pytest.raises(PgsrError, match="norm 3"):
        Problem.about(counts, "M_H", norm=3)
    with pytest.raises(PgsrError, match="'root', 'regions' or 'noisy'"):
        Problem.m_h(counts, totals="all")
    with pytest.raises(PgsrError, match="a problem is about the totals of 'root' or 'regions'"):
        Problem.m_h(counts, totals="noisy")
    with pytest.raises(PgsrError, match="totals='regions'"):
        Problem.m_h(measure(View.COUNTS, totals="root"), totals="regions")


def test_plain_values_state_the_same_problem_as_a_measurement_of_them():
    counts, steps = measure(View.COUNTS, totals="regions"), measure(View.CUMULATIVE)
    for given, problem in [
        (counts, Problem.of(counts.matrix, TREE, groups=counts.totals)),
        (steps, Problem.of(steps.matrix.tolist(), TREE, View.CUMULATIVE, groups=steps.root_total)),
    ]:
        kind = Problem.m_h if given is counts else Problem.m_c
        stated = kind(given, totals=problem.totals)
        assert (problem.target == stated.target).all()
        assert (problem.stated_totals == stated.stated_totals).all()
        assert (problem.w == stated.w).all()
        for name in ("view", "totals", "norm", "integer", "nonnegative", "monotone", "consistent", "max_size"):
            assert getattr(problem, name) == getattr(stated, name), name
    assert Problem.of(counts.matrix, TREE, groups=counts.totals, totals="root").stated_totals.tolist() == [6]
    free = Problem.of(counts.matrix, TREE)
    assert (free.totals, free.stated_totals, free.contradiction) == (None, None, None)


def test_malformed_plain_values_are_refused():
    y = np.zeros((3, 4), np.int64)
    for build, word in [
        (lambda: Problem.of(y[:2], TREE), "3 regions and sizes"),
        (lambda: Problem.of(y / 0.3 + 0.5, TREE), r"noisy value\[0, 0\] is 0.5"),
        (lambda: Problem.of(y, TREE, View.RANKED), "are a matrix"),
        (lambda: Problem.of(y[0], TREE), "are a matrix"),
        (lambda: Problem.of(y, TREE, groups=[6, 3]), r"shape \(2,\)"),
        (lambda: Problem.of(y, TREE, groups=6.5), "float64"),
        (lambda: Problem.of(y, TREE, groups=6, totals="regions"), "only the root's"),
        (lambda: Problem.of(y, TREE, totals="root"), "no public number of groups"),
        (lambda: Problem.of(y, TREE, noise=(GeometricNoise(Fraction(1)),)), "the noise of 1 levels for 2"),
        (lambda: Problem.of(y, TREE, "counts"), "view"),
        (lambda: Problem("M_H", TREE, View.COUNTS, y), "sizes"),
        (lambda: Problem("M_H", Sizes.alike(TREE, 3), View.COUNTS, y), r"have shape \(3, 4\)"),
    ]:
        with pytest.raises(PgsrError, match=word):
            build()


def test_the_papers_windows_need_the_epsilon_of_every_level():
    """Fitted values have none, so the cost tables say what is missing; with the same epsilons nothing differs."""
    noisy = measure(View.COUNTS)
    fitted = Problem.of(noisy.matrix, TREE, groups=noisy.root_total, label="fitted")
    refused = CostTables().solve(fitted)
    assert refused.status is Status.UNSUPPORTED
    assert "fitted does not state" in refused.reason
    assert CostTables(window=None).solve(fitted).status is Status.OPTIMAL
    said = CostTables().solve(Problem.of(noisy.matrix, TREE, groups=noisy.root_total, noise=noisy.noise))
    assert (said.estimate.values == CostTables().solve(Problem.m_h(noisy)).estimate.values).all()
    repaired = IsotonicTreeProjection(CostTables()).apply(measure(View.CUMULATIVE))
    assert repaired.status is Status.FEASIBLE


def test_regions_that_were_not_measured_have_no_weight():
    noisy = measure(View.COUNTS, shares=("0", "1"))
    assert replace(Problem.m_h(noisy), weights=np.array([7, 7, 7])).w.tolist() == [0, 7, 7]
    assert Problem.of(noisy.matrix, TREE, noise=noisy.noise).w.tolist() == [0, 1, 1]
    deep = Hierarchy.from_paths([("US", "GA", "north"), ("US", "MI")], pad_ragged=True)
    assert Problem.of(np.zeros((deep.n_regions, 2), int), deep).w.tolist() == (~deep.padded).astype(int).tolist()


def test_measurements_given_by_hand_are_checked():
    noise = (GeometricNoise(Fraction(1, 2)),) * 2
    about, sizes = (noise, Totals.ROOT, np.array([6]), False), Sizes.alike(TREE, 3)
    build = lambda cells: Measurement(sizes, (View.COUNTS,), cells, *about)  # noqa: E731
    assert build(np.zeros(12)).matrix.dtype == np.int64
    with pytest.raises(PgsrError, match=r"shape \(9,\)"):
        build(np.zeros(9, int))
    values = np.zeros(12)
    values[6] = np.nan
    with pytest.raises(CountError, match=r"noisy value\[6\] is nan"):
        build(values)


def test_weights_that_cannot_be_held_are_refused():
    counts = measure(View.COUNTS)
    with pytest.raises(PgsrError, match="weights exceed"):
        Problem.about(counts, "M_H", weights=np.full(3, 2**63, np.uint64))
    a = Fraction(1, 100_000_007)
    odd = Geometric(View.COUNTS, 10**6, shares=(a, 1 - a)).measure(TRUTH, Seeded(0))
    with pytest.raises(PgsrError, match="smaller denominators"):
        precision_weights(odd)
    light, heavy = np.unique(Problem.mean_consistency(odd).weights)
    assert heavy / light == pytest.approx(float((1 - a) ** 2 / a**2), rel=1e-12)
    with pytest.raises(PgsrError, match=r"pgsr\.measure"):
        Problem.m_h(TRUTH)
