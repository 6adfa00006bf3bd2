"""Integers from the root down: always valid, near their targets, about as near as the nearest integers."""

from typing import Any

import numpy as np
import pytest
from instances import rng_of, scale

from pgsr import Hierarchy
from pgsr.algorithms.tree_rounding.integers import GRID, integers_near
from pgsr.methods.gate import NO_LIMIT, Deadline, Status, Stopped


def random_case(rng: np.random.Generator) -> tuple[Hierarchy, np.ndarray]:
    """Make a random tree of three levels and real cumulative counts that add up and never fall; totals are integers."""
    paths = [("r", f"a{i}", f"b{j}") for i in range(rng.integers(1, 5)) for j in range(rng.integers(1, 7))]
    tree = Hierarchy.from_paths(paths)
    n, n_sizes = tree.n_regions - tree.n_inner, int(rng.integers(2, 10))
    totals = rng.poisson(rng.choice([0.5, 4, 50]), n)
    rising = np.sort(rng.random((n, n_sizes)) ** rng.choice([0.2, 1, 5]), axis=1)
    leaves = rising * totals[:, None]
    leaves[:, -1] = totals
    return tree, tree.sum_up(leaves)


def by_interpolation(parent: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Share a parent's integers as the room's docstring says, with no care for speed; values grow strictly."""
    together, out = values.sum(axis=0), np.zeros(values.shape, np.int64)
    so_far = np.zeros(len(values), np.int64)
    for s, value in enumerate(parent):
        at = np.array([np.interp(value, np.append(0, together), np.append(0, row)) for row in values])
        at = values[:, -1] if s == len(parent) - 1 else at
        due = at - so_far
        gets = np.maximum(np.floor(due), 0).astype(np.int64)
        left = int(value) - int(so_far.sum()) - int(gets.sum())
        rest = due - gets
        if left >= 0:
            gets[np.argsort(-rest)[:left]] += 1
        else:
            gets[sorted(np.flatnonzero(gets), key=lambda j: rest[j])[:-left]] -= 1
        so_far += gets
        out[:, s] = so_far
    return out


def near(tree: Hierarchy, values: np.ndarray, total: int, totals: Any = None, deadline: Any = NO_LIMIT) -> np.ndarray:
    """The integers of all regions, while `values` stay; shape (regions, K + 1)."""
    return integers_near(tree, values.copy(), total, totals, deadline)


def test_equals_interpolation_and_sorting() -> None:
    rng = rng_of(10)
    for _ in range(80):
        n, n_sizes = int(rng.integers(2, 7)), int(rng.integers(2, 12))
        tree = Hierarchy.from_parents(["r", *(f"c{i}" for i in range(n))], [-1, *[0] * n])
        steps = rng.exponential(rng.choice([0.05, 1, 5]), (n, n_sizes))
        values = np.cumsum(np.ceil(GRID * steps) / GRID, axis=1)
        values[:, -1] = np.ceil(values[:, -1])
        totals = values[:, -1].astype(np.int64)
        together = tree.sum_up(values)
        found = near(tree, together, int(totals.sum()), np.append(totals.sum(), totals))
        assert np.array_equal(found[1:], by_interpolation(found[0], values))


@pytest.mark.parametrize("public", [True, False])
def test_every_answer_is_valid_and_near(public: bool) -> None:
    rng = rng_of(11)
    for _ in range(100):
        tree, values = random_case(rng)
        totals = values[:, -1].round().astype(np.int64)
        found = near(tree, values, int(totals[0]), totals if public else None)
        assert found.dtype == np.int64
        assert (np.diff(found, axis=1, prepend=0) >= 0).all()
        for level in range(tree.n_levels - 1):
            assert np.array_equal(tree.sum_children(found, level), found[tree.level(level)])
        assert np.array_equal(found[:, -1], totals) if public else found[0, -1] == totals[0]
        assert np.abs(found - values).max() < tree.n_levels + 1


@pytest.mark.parametrize("public", [True, False])
def test_the_last_digits_decide_nothing(public: bool) -> None:
    """Fractions, and siblings that are alike, have many ties; errors of 1e-8 break none of them."""
    rng = rng_of(15)
    for _ in range(40):
        tree, values = random_case(rng)
        parts = int(rng.choice([2, 3, 2048]))
        leaves = np.floor(parts * values[tree.leaves]) / parts
        leaves[1::2] = leaves[: len(leaves) // 2 * 2 : 2]
        leaves[:, -1] = np.ceil(leaves[:, -1])
        values = tree.sum_up(leaves)
        totals = values[:, -1].astype(np.int64)
        known = totals if public else None
        found = near(tree, values, int(totals[0]), known)
        for _ in range(5):
            computed = values + rng.uniform(-1e-8, 1e-8, values.shape)
            assert np.array_equal(near(tree, computed, int(totals[0]), known), found)


def test_many_groups_beyond_all_values_are_given_at_once() -> None:
    """Children without any values share what their parent has; one by one 10^12 groups would take hours."""
    tree = Hierarchy.from_parents(["r", "a", "b", "c"], [-1, 0, 0, 0])
    values = np.zeros((4, 3))
    values[0] = 10**12 + 1, 10**12 + 1, 10**12 + 6
    found = near(tree, values, 10**12 + 6)
    first = [333_333_333_334, 333_333_333_334, 333_333_333_333]
    assert found[1:].T.tolist() == [first, first, [333_333_333_336, 333_333_333_335, 333_333_333_335]]


def cheapest_share(parent: np.ndarray, values: np.ndarray) -> float:
    """The least sum of squares of all ways to share a parent's integers, size by size over all states."""
    before, cost = np.zeros((1, len(values)), int), np.zeros(1)
    for s, total in enumerate(parent):
        here = np.stack(np.meshgrid(*[np.arange(total + 1)] * (len(values) - 1), indexing="ij"), axis=-1)
        here = here.reshape(-1, len(values) - 1)
        here = np.column_stack([here, total - here.sum(axis=1)])
        here = here[here[:, -1] >= 0]
        if s == len(parent) - 1:
            here = np.rint(values[:, -1:]).astype(int).T
        allowed = (before[None] <= here[:, None]).all(axis=2)
        cheapest = np.where(allowed, cost, np.inf).min(axis=1)
        before, cost = here, cheapest + ((here - values[:, s]) ** 2).sum(axis=1)
    return float(cost.min())


def test_about_as_near_as_the_nearest_integers() -> None:
    """Of up to three children all ways to share are tried: the sum of squares is within a tenth of the least of all."""
    rng, ours, least = rng_of(15), 0.0, 0.0
    for _ in range(scale(60, 600)):
        tree = Hierarchy.from_paths([("r", f"a{i}") for i in range(rng.integers(2, 4))])
        n, n_sizes = tree.n_regions - 1, int(rng.integers(2, 8))
        totals = rng.poisson(4, n)
        rising = np.sort(rng.random((n, n_sizes)) ** rng.choice([0.2, 1, 5]), axis=1)
        leaves = rising * totals[:, None]
        leaves[:, -1] = totals
        values = tree.sum_up(leaves)
        found = near(tree, values, int(totals.sum()), np.append(totals.sum(), totals))
        ours += ((found[1:] - values[1:]) ** 2).sum()
        least += cheapest_share(found[0], values[1:])
    assert least <= ours <= 1.1 * least, ours / least


def test_time_limits() -> None:
    tree, values = random_case(rng_of(14))
    with pytest.raises(Stopped) as stopped:
        near(tree, values, int(values[0, -1]), deadline=Deadline(1e-9))
    assert stopped.value.status is Status.TIMED_OUT
