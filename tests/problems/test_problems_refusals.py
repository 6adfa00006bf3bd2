"""What problems and their conditions refuse, and the sentence that says so."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from pgsr import CountOfCounts, Hierarchy, PgsrError, Problem, View
from pgsr.data.sizes import Sizes
from pgsr.noise import Geometric, Measurement, Totals
from pgsr.privacy import Seeded
from pgsr.privacy.laws.per_level import GeometricNoise
from pgsr.problems.conditions import cells, either, total, zero_or_at_least
from pgsr.problems.precisions import precision_weights

TREE = Hierarchy.from_paths([("US", "GA"), ("US", "MI")])
TRUTH = CountOfCounts(TREE, [[0, 2, 0, 1], [0, 1, 1, 1]])
COUNTS = Problem.of([[1, 5, 2, 2], [1, 2, 0, 2], [0, 2, 1, 1]], TREE, groups=10, label="M_H")
SMALLER = Problem.of([[1, 5], [1, 2], [0, 2]], TREE, groups=10)
Y = np.zeros((3, 4), np.int64)
LEVELS = ([[0, 3, 2]], [[1, 1], [0, 3]])
BY_LEVEL = Problem.of(LEVELS, TREE, groups=5, label="M_H")
UNEVEN = Hierarchy.from_paths([("US", "GA", "a"), ("US", "DC")], pad_ragged=True)
A, B = cells(size=0) == 0, cells(size=1) == 0
ODD = Fraction(1, 100_000_007)


def measure(view, truth=TRUTH, epsilon=1, **options):
    return Geometric(view, epsilon, **options).measure(truth, Seeded("problem"))


def weighed(weights, **about):
    return Problem.about(measure(View.COUNTS), "M_H", weights=np.array(weights), **about)


def by_hand(values):
    about = (GeometricNoise(Fraction(1, 2)),) * 2, Totals.ROOT, np.array([6]), False
    return Measurement(Sizes.alike(TREE, 3), (View.COUNTS,), values, *about)


PLACES = [
    (lambda: COUNTS.where(cells(("US", "GE"), size=1) == 0), "no region 'US/GE'; the nearest name is 'US/GA'"),
    (lambda: COUNTS.where(cells(size=4) == 0), r"sizes run 0\.\.3"),
    (lambda: COUNTS.where(cells(size=slice(4, 9)) == 0), r"selects no size of 0\.\.3"),
    (lambda: cells(size=-1), "give a whole number from 0 on"),
    (lambda: cells(size=slice(-2, None)), "sizes count from 0"),
    (lambda: COUNTS.where(total(level=2) == 0), r"levels run 0\.\.1"),
    (lambda: cells(level=-1), "0 for the root's"),
    (lambda: cells(region="US"), r"\('US', 'GA'\)"),
    (lambda: cells(region=("US",), level=1), "give one of them"),
    (lambda: cells(region=["US", "GA"]), "several are a list"),
]

CONDITIONS = [
    (lambda: COUNTS.where(cells(size=1) == cells(size=slice(1, 3))), "3 entries on the left and 6 on the right"),
    (lambda: COUNTS.where(cells(size=1) == cells(size=1)), "leaves no unknown"),
    (lambda: cells(size=1) == 0.5, "multiply through"),
    (lambda: 0.5 * cells(size=1), "multiply through"),
    (lambda: cells(size=1) / 2, r"^cells\(every region, 1\) / \.\.\. is no integer .* multiply .* through"),
    (lambda: COUNTS.where((cells(size=1) + 2**50) * 2**14 <= 5), r"numbers of the conditions exceed 2\^62"),
    (lambda: COUNTS.where(2**40 * (2**40 * cells(size=1)) + cells(size=2) <= 5), r"conditions exceed 2\^62"),
    (lambda: COUNTS.where((cells(size=1) + 2**50) + 2**50 <= 5), r"a constant of the conditions exceeds 2\^50"),
    (lambda: cells(size=1) < 3, "write <="),
    (lambda: cells(size=1) != 3, "no convex set"),
    (lambda: 1 <= cells(size=1) <= 3, "two conditions"),
    (lambda: COUNTS.where(cells(level=0, size=2) >= -1), r"cells\(level 0, 2\) >= -1: these numbers are never below 0"),
    (lambda: COUNTS.where(total(("US", "MI")) >= -5), r"total\(US/MI\) >= -5: this sum is never below 0"),
    (lambda: sum(cells(size=1)), r"write .sum\(\)"),
    (lambda: cells(size=1) and total(), "neither true nor false"),
    (lambda: cells(size=1) == "many", "give an integer"),
    (lambda: cells(size=1) == 2**60, r"up to 2\^50"),
    (lambda: 10**30 * cells(size=1), r"by 1(,000){10}, which is beyond 2\^50"),
    (lambda: cells(size=1) == 10**400, "with an integer of 1,329 bits, which is beyond"),
    (lambda: cells() == np.zeros((3, 4)), r"with an array of shape \(3, 4\) and type float64; give an integer"),
    (lambda: cells() == [[1, 2], [3]], r"with \[\[1, 2\], \[3\]\]; give an integer"),
    (lambda: cells() == COUNTS, "with a Problem; give an integer"),
    (
        lambda: COUNTS.where(cells(level=1) == np.ones((4, 2), int)),
        r"cells\(level 1, every size\) == 8 numbers: 2 x 4 entries on the left and 4 x 2 on the right",
    ),
    (
        lambda: Problem.isotonic(measure(View.RANKED, totals="regions")).where(B),
        "conditions are of cells, and ranked sizes have no cells",
    ),
    (lambda: COUNTS.where(True), "write comparisons such as"),
    (lambda: replace(COUNTS, conditions=SMALLER.where(cells() >= 0).conditions), "other regions or sizes"),
]

CHOICES = [
    (lambda: A | B, r"for a choice write either\(a, b\)"),
    (lambda: cells(size=0) == 0 | cells(size=1), r"write either\(a, b\)"),  # | binds before ==
    (lambda: A & B, r"where\(a, b\) states both"),
    (lambda: either(A), "two conditions or more"),
    (lambda: either(A, []), "empty"),
    (lambda: either(A, cells(size=1)), "an alternative of either is"),
    (lambda: bool(either(A, B)), "give it to where"),
    (lambda: COUNTS.where(either(cells(level=1) == 0, cells(level=0) == 0)), "4 and 8 entries"),
    (lambda: COUNTS.where(either(cells(level=1, size=9) == 0, cells(level=0) == 0)), r"sizes run 0\.\.3"),
    (lambda: replace(COUNTS, totals=None).where(zero_or_at_least(cells(), 5)), "a least and a largest value"),
]

VALUES = [
    *(
        (lambda build=build, view=view: build(measure(view)), f"needs View.*{view!r}")
        for build, view in (
            (Problem.m_h, View.CUMULATIVE),
            (Problem.m_c, View.COUNTS),
            (Problem.naive, View.RANKED),
            (Problem.isotonic, View.COUNTS),
        )
    ),
    (lambda: weighed([1, 1]), "one non-negative integer per region"),
    (lambda: weighed([1, -1, 1]), "non-negative"),
    (lambda: weighed([1.5, 1, 1]), "scale fractions"),
    (lambda: weighed([1, 0, 1]), "leaf has weight 0"),
    (lambda: weighed(np.full(3, 2**63, np.uint64)), "weights exceed"),
    (lambda: weighed([1, 1, 1], norm=3), "norm 3"),
    (
        lambda: precision_weights(measure(View.COUNTS, epsilon=10**6, shares=(ODD, 1 - ODD))),
        "smaller denominators",
    ),
    (lambda: Problem.m_h(TRUTH), r"pgsr\.measure"),
    (lambda: Problem.m_h(measure(View.COUNTS), totals="all"), "'root', 'regions' or 'noisy'"),
    (lambda: Problem.m_h(measure(View.COUNTS), totals="noisy"), "about the totals of 'root' or 'regions'"),
    (lambda: Problem.m_h(measure(View.COUNTS, totals="root"), totals="regions"), "totals='regions'"),
    (lambda: Problem.of(Y[:2], TREE), "3 regions and sizes"),
    (lambda: Problem.of(Y / 0.3 + 0.5, TREE), r"noisy value\[0, 0\] is 0.5"),
    (lambda: Problem.of(Y, TREE, View.RANKED), "are a matrix"),
    (lambda: Problem.of(Y[0], TREE), "are a matrix"),
    (lambda: Problem.of(Y, TREE, groups=[6, 3]), r"shape \(2,\)"),
    (lambda: Problem.of(Y, TREE, groups=6.5), "float64"),
    (lambda: Problem.of(Y, TREE, groups=6, totals="regions"), "only the root's"),
    (lambda: Problem.of(Y, TREE, totals="root"), "no public number of groups"),
    (lambda: Problem.of(Y, TREE, noise=(GeometricNoise(Fraction(1)),)), "the noise of 1 levels for 2"),
    (lambda: Problem.of(Y, TREE, "counts"), "view"),
    (lambda: Problem("M_H", TREE, View.COUNTS, Y), "sizes"),
    (lambda: Problem("M_H", Sizes.alike(TREE, 3), View.COUNTS, Y), r"have shape \(3, 4\)"),
    (
        lambda: Problem(
            "H_g", Sizes.alike(TREE, 4), View.RANKED, np.array([2, 0, 4]), groups=np.array([3, 0, 0]), monotone=True
        ),
        "consistent=False",
    ),
    (lambda: by_hand(np.zeros(9, int)), r"shape \(9,\)"),
    (lambda: by_hand(np.where(np.arange(12) == 6, np.nan, 0)), r"noisy value\[6\] is nan"),
]

SIZES_PER_LEVEL = [
    (lambda: BY_LEVEL.where(A), "conditions are of cells, which problems with sizes of their own"),
    *(
        (
            lambda norm=norm: Problem.of(LEVELS, TREE, View.CUMULATIVE, groups=5, norm=norm),
            "where all levels have the same largest size",
        )
        for norm in (1, 2)
    ),
    (
        lambda: Problem.m_c(measure(View.CUMULATIVE, max_sizes=(3, 2))),
        "where all levels have the same largest size",
    ),
    (lambda: replace(BY_LEVEL, weights=np.ones((3, 3), int)), "weights have one number per cell, which problems with"),
    (lambda: BY_LEVEL.target, "read its tables, one per level"),
    (lambda: Problem.of(LEVELS, TREE, weights=np.array([0, 1, 1])), "a region has weight 0"),
    (lambda: Problem.of(([[0, 3]], [[1, 1, 0], [0, 3, 0]]), TREE), "is 2 at level 1 and 1 at level 0 above it"),
    (lambda: Problem.of(([[0, 3]],), TREE), "1 tables for 2 levels"),
    (lambda: Problem.of(([[0, 3, 1]], [[1, 1]]), TREE), "the table of level 1 has shape"),
    (
        lambda: Problem.of(tuple(np.zeros((n, k), int) for n, k in ((1, 3), (2, 2), (2, 2))), UNEVEN),
        "stands above a copy of itself",
    ),
    (lambda: measure(View.COUNTS, max_sizes=(5, 2)), "max_sizes say 5 for level 0, counted are sizes up to 3"),
    (lambda: measure(View.COUNTS, max_sizes=(2,)), "1 largest sizes for 2 levels"),
    (lambda: measure(View.COUNTS, max_sizes=(1, 2)), "may only be merged from the root down"),
    (lambda: measure(View.COUNTS, totals="noisy", max_sizes=(2, 1)), "totals by level are public here"),
]


@pytest.mark.parametrize(("call", "sentence"), [*PLACES, *CONDITIONS, *CHOICES, *VALUES, *SIZES_PER_LEVEL])
def test_what_cannot_be_stated_is_refused_in_a_sentence(call, sentence):
    with pytest.raises(PgsrError, match=sentence):
        call()
