"""Problems: one point of a small space each, stated on the right view, with weights that fit."""

from fractions import Fraction

import numpy as np
import pytest

from pgsr import CountOfCounts, Geometric, Hierarchy, Measurement, PgsrError, Problem, Seeded, Totals, View
from pgsr.errors import CountError

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
    assert m_h.relaxed().label == "M_H^r"
    assert m_h.relaxed().relaxed() == m_h.relaxed() or m_h.relaxed().relaxed().label == "M_H^r"


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
            Problem("M_H", counts, weights=np.array(weights))
    with pytest.raises(PgsrError, match="norm 3"):
        Problem("M_H", counts, norm=3)
    with pytest.raises(PgsrError, match="'root', 'regions' or 'noisy'"):
        Problem.m_h(counts, totals="all")
    with pytest.raises(PgsrError, match="a problem is about the totals of 'root' or 'regions'"):
        Problem.m_h(counts, totals="noisy")
    with pytest.raises(PgsrError, match="totals='regions'"):
        Problem.m_h(measure(View.COUNTS, totals="root"), totals="regions")


def test_measurements_given_by_hand_are_checked():
    epsilon = (Fraction(1, 2),) * 2
    build = lambda values: Measurement(TREE, View.COUNTS, values, 3, epsilon, Totals.ROOT, np.array([6]), False)  # noqa: E731
    assert build(np.zeros((3, 4))).matrix.dtype == np.int64
    with pytest.raises(PgsrError, match=r"shape \(3, 3\)"):
        build(np.zeros((3, 3), int))
    values = np.zeros((3, 4))
    values[1, 2] = np.nan
    with pytest.raises(CountError, match=r"noisy value\[1, 2\] is nan"):
        build(values)


def test_weights_that_cannot_be_held_are_refused():
    counts = measure(View.COUNTS)
    with pytest.raises(PgsrError, match="weights exceed"):
        Problem("M_H", counts, weights=np.full(3, 2**63, np.uint64))
    a = Fraction(1, 100_000_007)
    odd = Geometric(View.COUNTS, 10**6, shares=(a, 1 - a)).measure(TRUTH, Seeded(0))
    with pytest.raises(PgsrError, match="smaller denominators"):
        Problem.mean_consistency(odd)
    with pytest.raises(PgsrError, match="Geometric"):
        Problem.m_h(TRUTH)
