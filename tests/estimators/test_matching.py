"""The matching against SciPy's assignment, the worked examples, and the four conditions of a release."""

import naive
import numpy as np
import pytest
from instances import random_tree, random_truth, rng_of, scale
from made_measurements import measurement_of
from scipy.optimize import linear_sum_assignment

from pgsr import CountOfCounts, Hierarchy, PgsrError, View
from pgsr.algorithms import IsotonicFit
from pgsr.algorithms.groups import GroupRuns
from pgsr.estimators import BottomUp, Matching, Merge, NoConsistency, match_groups
from pgsr.estimators.matching.alone import level_alone, precision_of
from pgsr.estimators.matching.kernel import match_runs
from pgsr.methods import Mechanism, metrics
from pgsr.noise import Geometric, Totals
from pgsr.privacy import Seeded
from pgsr.privacy.laws.per_level import GeometricNoise


def groups(sizes):
    return GroupRuns.pooled(np.array(sizes, int), np.ones(len(sizes), int))


def expanded(match, parent, children):
    """The pairs (parent's size, child's size) of a match, one per group."""
    sizes = np.concatenate([child.size for child in children])
    return np.repeat(np.stack([parent.size[match.top], sizes[match.bottom]]), match.count, axis=1)


def test_cost_is_the_least_and_the_matching_a_bijection():
    rng = rng_of(51)
    for _ in range(scale(600, 100_000)):
        lists = [rng.integers(0, 6, int(rng.integers(0, 5))) for _ in range(int(rng.integers(1, 5)))]
        below = np.concatenate(lists)
        if not len(below):
            continue
        above = np.clip(below + rng.integers(-2, 3, len(below)), 0, 6)
        parent, children = groups(above), [groups(x) for x in lists]
        match = match_groups(parent, children)
        cost = np.abs(above[:, None] - below[None, :])
        assert match.cost == cost[linear_sum_assignment(cost)].sum()
        assert match.cost == np.abs(np.sort(above) - np.sort(below)).sum()
        pairs = expanded(match, parent, children)
        assert sorted(pairs[0]) == sorted(above)
        assert sorted(pairs[1]) == sorted(below)
        for child, mine in enumerate(lists):
            own = match.child == child
            taken = np.repeat(np.concatenate([c.size for c in children])[match.bottom[own]], match.count[own])
            assert sorted(taken) == sorted(mine)


def test_greedy_matching_is_not_within_a_factor_of_two():
    """Sizes by turns of the parent and of a child, in two halves whose gap is smaller by one than each half is long.

    Greedy matching takes the narrowest gap first, and what is left over lies farther and farther apart: each doubling
    of the groups multiplies its cost by more than 3 and the least cost by 2 (Reingold and Tarjan 1981).
    """
    places, paid = [0, 10], {}
    for _ in range(3):
        places += [place + 2 * places[-1] - 1 for place in places]
        above, below = places[::2], places[1::2]
        match = match_groups(groups(above), [groups(below)])
        paid[len(places)] = (greedy_cost(above, below), match.cost)
    assert paid == {4: (38, 20), 8: (132, 40), 16: (434, 80)}


def greedy_cost(above, below):
    """The cost of matching the nearest two of all groups left, again and again."""
    above, below, cost = list(above), list(below), 0
    while above:
        near = min((abs(x - y), i, j) for i, x in enumerate(above) for j, y in enumerate(below))
        cost += near[0]
        del above[near[1]], below[near[2]]
    return cost


@pytest.mark.parametrize("most", [30, 2**31, 2**40, 2**58])
def test_runs_equal_fractions_group_size_by_group_size(most: int):
    """Products of counts may exceed 64 bits."""
    rng = rng_of(57)
    for _ in range(scale(500, 20_000) if most == 30 else scale(50, 1_000)):
        bottom_size = np.sort(rng.integers(0, 5, int(rng.integers(1, 9))))
        bottom_count = rng.integers(1 if most == 30 else most // 2, most, len(bottom_size))
        edges = np.sort(rng.integers(0, bottom_count.sum() + 1, int(rng.integers(0, 7))))
        top_count = np.diff([0, *edges, bottom_count.sum()])  # some runs are empty
        found = match_runs(top_count, bottom_size, bottom_count)
        expected = naive.matched_runs(top_count.tolist(), bottom_size.tolist(), bottom_count.tolist())
        assert list(zip(*(part.tolist() for part in found), strict=True)) == expected


def test_the_cost_of_a_matching_may_exceed_64_bits():
    many = np.array([2**59])
    assert match_groups(GroupRuns(np.array([1]), many), [GroupRuns(np.array([1_001]), many)]).cost == 1_000 * 2**59


def test_shares_are_proportional_within_one():
    rng = rng_of(52)
    for _ in range(scale(300, 5_000)):
        counts = rng.integers(1, 50, int(rng.integers(2, 6)))
        room = int(rng.integers(1, counts.sum()))
        parent = GroupRuns(np.array([1, 2]), np.array([room, counts.sum() - room]))
        match = match_groups(parent, [GroupRuns(np.array([1]), np.array([n])) for n in counts])
        share = np.bincount(match.child[match.top == 0], match.count[match.top == 0], len(counts))
        assert (np.abs(share - room * counts / counts.sum()) < 1).all()


@pytest.mark.parametrize("merge", Merge)
def test_a_matcher_of_the_same_matching_gives_the_same_groups(merge):
    """Called region by region with groups, as matchers of others are, against all regions of a level together."""
    rng = rng_of(57)
    for i in range(scale(20, 200)):
        tree = random_tree(rng, max_regions=14)
        truth = random_truth(rng, tree, max_size=int(rng.integers(1, 9)), name=str(i))
        noisy = Geometric(View.CUMULATIVE, 1).measure(truth, Seeded(i))
        known = Matching(merge=merge).apply(noisy).estimate.counts().counts
        asked = Matching(merge=merge, matcher=Asked()).apply(noisy).estimate.counts().counts
        assert np.array_equal(known, asked)


class Asked:
    """The sorted matching as a matcher of somebody else."""

    def supports(self, n_groups: int) -> None:
        del n_groups

    def match(self, parent: GroupRuns, children, time_limit: float | None = None):
        del time_limit
        return match_groups(parent, children)


@pytest.mark.parametrize("fit", [IsotonicFit(), IsotonicFit(min_size=2), IsotonicFit(ranked_norm=1)])
def test_variances_by_partition_are_means_over_the_groups_of_a_size(fit):
    """Fractions, group by group: 2 / (epsilon^2 |S|) for the set S of groups of one fitted value, before rounding."""
    rng, several = rng_of(4), 0
    for _ in range(scale(30, 300)):
        tree = Hierarchy.from_parents(["root"], [-1])
        noisy = np.sort(rng.integers(0, 9, 12)) + rng.integers(-2, 3, 12)
        law = GeometricNoise(naive.Fraction(1, 2))
        measured = measurement_of(tree, View.RANKED, (noisy,), 9, (law,), Totals.REGIONS, np.array([12]), False)
        runs = level_alone(fit, measured, 0, partitions=False)
        found = GroupRuns(runs.size, runs.count)
        values = [
            min(max(value, naive.Fraction(fit.min_size)), naive.Fraction(9)) for value in naive.isotonic_l2(noisy)
        ]
        if fit.ranked_norm == 1:
            values = [naive.Fraction(int(size)) for size in np.repeat(found.size, found.count)]
        by_size: dict[int, list[naive.Fraction]] = {}
        for value in values:
            by_size.setdefault(round(value), []).append(naive.Fraction(2 * 4, values.count(value)))
        several += len(set(values)) > len(by_size)
        assert found.size.tolist() == sorted(by_size)
        means = [sum(each) / len(each) for _, each in sorted(by_size.items())]
        ours = precision_of(fit, measured, 0, found, partitions=True)
        assert [1 / ours.exact(run) for run in range(len(means))] == means
        counted = precision_of(fit, measured, 0, found, partitions=False)
        assert all(counted.exact(run) >= ours.exact(run) for run in range(len(means)))
    assert (several > 0) == (fit.ranked_norm == 2)
    assert repr(Matching(fit, partitions=True)).endswith("partitions=True)")


POSTS = [Matching(), Matching(merge=Merge.AVERAGE), Matching(IsotonicFit(optimum="midpoint")), BottomUp(),
         Matching(IsotonicFit(cumulative_norm=2, ranked_norm=1, optimum="largest"))]  # fmt: skip


def test_every_release_meets_the_four_conditions():
    """Integers, non-negative, public numbers of groups, adding up; with empty regions and single children."""
    rng = rng_of(53)
    for i in range(scale(80, 20_000)):
        tree = random_tree(rng, max_regions=14)
        truth = random_truth(rng, tree, max_size=int(rng.integers(1, 9)), name=str(i))
        view = tuple(rng.choice(np.array([View.CUMULATIVE, View.RANKED], object), tree.n_levels))
        noise = Geometric(view, str(rng.choice(["0.05", "0.5", "3"])))
        result = Mechanism(noise, POSTS[i % len(POSTS)]).release(truth, Seeded(1))
        released = result.estimate.counts()
        assert (released.totals == truth.totals).all()
        assert result.certificate.feasible
        assert (metrics.emd(truth, released) >= 0).all()


def test_without_consistency_regions_do_not_add_up_and_it_says_so():
    rng = rng_of(54)
    tree = random_tree(rng, max_regions=14, n_levels=3)
    truth = random_truth(rng, tree, max_size=8, max_count=30)
    result = Mechanism(Geometric(View.CUMULATIVE, 1), NoConsistency()).release(truth, Seeded(1))
    assert result.certificate.violations["consistency"] > 0
    assert result.certificate.violations["totals"] == 0
    assert "consistency" in result.reason
    with pytest.raises(PgsrError, match="not a valid release"):
        result.estimate.counts()


def test_padded_regions_and_levels_without_budget_have_no_say():
    tree = Hierarchy.from_paths([("US", "GA", "x"), ("US", "GA", "y"), ("US", "DC")], pad_ragged=True)
    truth = CountOfCounts(tree, [[5, 2, 0], [1, 1, 3], [0, 4, 1]])
    for shares in (None, ("1/2", "0", "1/2"), ("0", "0", "1"), ("0", "1/2", "1/2")):
        for merge in Merge:
            mechanism = Mechanism(Geometric(View.CUMULATIVE, 1, shares), Matching(merge=merge))
            assert mechanism.release(truth, Seeded(3)).estimate.counts().totals.tolist() == truth.totals.tolist()
    leaves_only = Geometric(View.CUMULATIVE, 1, ("0", "0", "1")).measure(truth, Seeded(3))
    assert (Matching().apply(leaves_only).estimate.values == BottomUp().apply(leaves_only).estimate.values).all()


def test_sizes_stay_within_the_public_range():
    rng = rng_of(55)
    truth = random_truth(rng, random_tree(rng, max_regions=9, n_levels=3))
    for view in (View.CUMULATIVE, View.RANKED):
        fit = IsotonicFit(min_size=2)
        released = Mechanism(Geometric(view, "0.1"), Matching(fit)).release(truth, Seeded(1)).estimate.counts()
        assert not released.counts[:, :2].any()


def test_large_estimates_stay_sparse_and_equal_dense_ones(monkeypatch):
    rng = rng_of(56)
    truth = random_truth(rng, random_tree(rng, max_regions=14, n_levels=3), max_size=8)
    mechanism = Mechanism(Geometric(View.CUMULATIVE, 1), Matching())
    dense = mechanism.release(truth, Seeded(1))
    monkeypatch.setattr("pgsr.algorithms.groups.DENSE_CELLS", 0)
    thin = mechanism.release(truth, Seeded(1))
    assert (thin.estimate.values.toarray() == dense.estimate.values).all()
    assert thin.estimate.counts().is_sparse
    assert metrics.emd(truth, thin.estimate).tolist() == metrics.emd(truth, dense.estimate).tolist()
    assert thin.certificate == dense.certificate
