"""M_c^split: ranks as costs of cumulative counts, against distances of groups, and what fitting loses."""

from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement

import naive
import numpy as np
import pytest
from instances import random_tree, random_truth, scale

from pgsr import CountOfCounts, Hierarchy, PgsrError, Problem, View
from pgsr.certificates import certify
from pgsr.certificates.certificate import objective
from pgsr.data import Estimate, Split
from pgsr.noise import Geometric, Measurement
from pgsr.privacy import Seeded
from pgsr.problems.conditions import total
from pgsr.problems.ranks import SCALE

TREE = Hierarchy.from_paths([("US", "GA"), ("US", "MI")])
TRUTH = CountOfCounts(TREE, [[0, 4, 1, 1, 0, 1], [0, 3, 2, 0, 0, 0]], "ranks")


def any_measurement(rng: np.random.Generator, epsilon: str = "1/2", **limits: int) -> Measurement:
    """A split of every region, some at their ends, at one epsilon; limits are those of `random_truth`."""
    tree = random_tree(rng, 6)
    truth = random_truth(rng, tree, **limits)
    views = [Split(int(rng.integers(0, truth.max_size + 2))) for _ in range(tree.n_regions)]
    views[-1] = Split(1)  # not all cumulative
    return Geometric(tuple(views), epsilon).measure(truth, Seeded(int(rng.integers(1 << 30))))


def test_the_objective_is_the_distance_of_groups() -> None:
    """For all integers in order, feasible or not across regions; less the least distance of integers from the fits."""
    rng = np.random.default_rng(1)
    for _ in range(scale(30, 300)):
        noisy = any_measurement(rng)
        problem, tree = Problem.m_c(noisy), noisy.hierarchy
        x = np.sort(rng.integers(0, noisy.totals[:, None] + 1, (tree.n_regions, noisy.max_size + 1)), axis=1)
        x[:, -1] = noisy.totals
        expected = sum(naive.split_distance(noisy, region, x[region]) for region in range(tree.n_regions))
        found = objective(problem, Estimate(tree, View.CUMULATIVE, x))
        assert isinstance(found, int)
        assert found == SCALE * expected


def test_costs_between_integers_are_straight() -> None:
    rng = np.random.default_rng(2)
    for _ in range(scale(20, 200)):
        noisy = any_measurement(rng)
        ranks, region = Problem.m_c(noisy).ranks, noisy.hierarchy.n_regions - 1
        assert ranks is not None
        shape = noisy.max_size - int(ranks.threshold[region])
        low = rng.integers(0, max(1, int(noisy.totals[region])), shape)
        part = rng.random(shape)
        ends = ranks.costs(region, low), ranks.costs(region, low + 1)
        assert np.allclose(ranks.costs(region, low + part), (1 - part) * ends[0] + part * ends[1])
        assert (ends[0] >= 0).all()
        assert not ranks.costs(region, ranks.nearest(region, noisy.max_size)).any()


def test_costs_of_fits_are_the_greatest_convex_ones_below_those_of_noisy_ranks() -> None:
    """Never above, but for the constant, and equal where no block is cut; ranks alone have the same best integers."""
    rng, equal, below = np.random.default_rng(3), 0, 0
    for _ in range(scale(25, 250)):
        z = rng.integers(-3, 7, int(rng.integers(1, 6))).tolist()
        fit, most = naive.isotonic_l2(np.array(z)), 4
        constant = sum((a - b) ** 2 for a, b in zip(z, fit, strict=True))
        least = {"noisy": Fraction(10**9), "fitted": Fraction(10**9)}
        for w in combinations_with_replacement(range(most + 1), len(z)):
            noisy = sum((a - b) ** 2 for a, b in zip(w, z, strict=True))
            fitted = sum((a - b) ** 2 for a, b in zip(w, fit, strict=True)) + constant
            cut = any(w[i] != w[i + 1] and fit[i] == fit[i + 1] for i in range(len(z) - 1))
            assert noisy >= fitted if cut else noisy == fitted
            equal, below = equal + (not cut), below + (noisy > fitted)
            least = {"noisy": min(least["noisy"], Fraction(noisy)), "fitted": min(least["fitted"], fitted)}
        assert least["noisy"] == least["fitted"]
    assert min(equal, below) > 100


def test_with_columns_fitting_may_lose() -> None:
    """Ranks 2 and 0 of two groups, and a column that says that exactly one group is beyond the threshold."""
    distance = {}
    for c in range(3):  # groups of at most T - 1 members have nothing beyond, all others any number
        found = [(w[0] - 2) ** 2 + w[1] ** 2 for w in combinations_with_replacement(range(4), 2) if not any(w[:c])]
        fits = [(w[0] - 1) ** 2 + (w[1] - 1) ** 2 for w in combinations_with_replacement(range(4), 2) if not any(w[:c])]
        distance[c] = 9 * (c - 1) ** 2 + min(found), 9 * (c - 1) ** 2 + min(fits) + 2
    assert min(distance.values()) == (4, 3)


def test_absolute_values_are_m_c_of_fitted_cumulative_counts() -> None:
    rng = np.random.default_rng(4)
    for _ in range(scale(20, 200)):
        noisy = any_measurement(rng, max_count=1, max_size=3)
        problem, tree = Problem.m_c(noisy, norm=1), noisy.hierarchy
        assert problem.ranks is None
        for region in range(tree.n_regions):
            x = np.sort(rng.integers(0, int(noisy.totals[region]) + 1, noisy.max_size + 1))
            x[-1] = noisy.totals[region]
            found = np.abs(x - problem.target[region]).sum()
            assert found == naive.split_distance(noisy, region, x, norm=1)


def test_who_states_it_and_who_does_not() -> None:
    noisy = Geometric(Split(2), 1).measure(TRUTH, Seeded("refused"))
    problem = Problem.m_c(noisy)
    assert repr(problem) == "Problem(M_c^split, totals='regions', 18 unknowns)"
    assert "f_{r,s}" in problem.latex
    assert "runs of one fit" in problem._repr_html_()
    assert problem.relaxed().ranks is problem.ranks
    assert certify(problem, Estimate(TREE, View.CUMULATIVE, np.cumsum(TRUTH.counts, axis=1))).feasible
    plain = Problem.m_c(Geometric(View.CUMULATIVE, 1).measure(TRUTH, Seeded("refused")))
    assert plain.totals == "root"
    assert plain.ranks is None
    for make, words in (
        (lambda: Problem.m_c(noisy, totals="root"), "give totals='regions'"),
        (lambda: Problem.m_c(replace(noisy, public="noisy")), "public number of groups"),
        (lambda: problem.also_measured(total(level=1), [3, 4]), "not known beside ranks"),
        (lambda: replace(problem, norm=1), "costs of monotone cumulative counts in squares"),
        (lambda: replace(problem, weights=np.ones(3, int)), "multiples of 1,024"),
        (lambda: replace(problem, groups=problem.region_totals + 1), "give every group one"),
        (lambda: replace(problem, ranks=replace(problem.ranks, threshold=np.zeros(2, int))), "other regions or sizes"),
        (lambda: Problem.m_c(Geometric((Split(2), View.COUNTS), 1).measure(TRUTH, Seeded(0))), "needs View.CUMULATIVE"),
    ):
        with pytest.raises(PgsrError, match=words):
            make()
