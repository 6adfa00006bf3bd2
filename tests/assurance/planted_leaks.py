"""Leaks of the truth as patches of the real code: sensitivities, public facts, post-processing that peeks."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from planted_bugs import around, by, replacing
from pytest import MonkeyPatch  # noqa: PT013

import pgsr.data.split_view
import pgsr.data.views
import pgsr.noise.geometric
import pgsr.noise.step
import pgsr.privacy.sensitivity
from pgsr import CountOfCounts, View
from pgsr.algorithms import IsotonicFit, TreeProjection
from pgsr.data import Estimate
from pgsr.data.split_view import Split
from pgsr.estimators import Matching
from pgsr.methods import Mechanism, Method
from pgsr.noise import Geometric, Totals
from pgsr.noise.split_by_root import falling_shape
from pgsr.privacy.budget import exact
from pgsr.privacy.laws import DoubleGeometric
from pgsr.privacy.random import ByteStream

# What is measured


def shares_by_the_true_root(patch: MonkeyPatch) -> None:
    def measure(right: Callable) -> Callable:
        def run(step: Geometric, truth: CountOfCounts, *rest: Any) -> Any:
            patch.setattr(pgsr.noise.geometric, "shape_of_noisy", lambda *_: falling_shape(truth.row(0)))
            return right(step, truth, *rest)

        return run

    around(patch, Geometric, "measure", measure)


# Sensitivity


@replacing(View, "change_by_entity")
def sensitivity_1_of_counts(change: Callable, view: View, groups: int, *rest: Any) -> tuple[int, ...]:
    return (groups,) if view is View.COUNTS else change(view, groups, *rest)


def quantities_ignored(patch: MonkeyPatch) -> None:
    around(patch, pgsr.noise.step, "sensitivity_of", lambda f: lambda *a, **k: f(*a, **(k | {"max_quantity": 1})))


def quantities_ignored_by_split_views(patch: MonkeyPatch) -> None:
    change = lambda f: lambda split, groups, _, moved: f(split, groups, 1, moved)  # noqa: E731
    around(patch, pgsr.data.split_view.Split, "change_by_entity", change)


def without_size_0(patch: MonkeyPatch) -> None:
    """Cumulative counts from size 1, as the papers print them."""
    patch.setattr(pgsr.data.views, "cumulative", lambda counts: np.cumsum(counts) - counts[0])


@replacing(pgsr.data.views, "ranked")
def clipped_at_the_mean_of_the_data(ranked: Callable, counts: np.ndarray) -> np.ndarray:
    sizes = ranked(counts)
    return np.minimum(sizes, -(-sizes.sum() // max(1, len(sizes))))


@replacing(CountOfCounts, "rows")
def group_in_two_leaves(rows: Callable, truth: CountOfCounts, start: int, stop: int) -> np.ndarray:
    """The last leaf counts the groups of the first as well."""
    leaves, found = truth.hierarchy.leaves, rows(truth, start, stop)
    last = start == leaves.stop - 1 > leaves.start
    return found + rows(truth, leaves.start, leaves.start + 1) if last else found


def vector_in(dtype: type) -> Callable[[MonkeyPatch], None]:
    @replacing(View, "vector")
    def vector_in_a_type(vector: Callable, *given: Any) -> np.ndarray:
        return vector(*given).astype(dtype).astype(np.int64)

    return vector_in_a_type


# What is noised, and what is public


@replacing(Geometric, "measure")
def views_by_true_sizes(measure: Callable, noise: Geometric, truth: CountOfCounts, *rest: Any) -> Any:
    """Ranked sizes of the regions with few different sizes, which is what would be best."""
    different = (truth.counts > 0).sum(axis=1)
    with MonkeyPatch.context() as inner:
        around(inner, Geometric, "views_on", lambda f: lambda n, t, k, _, *root: f(n, t, k, different, *root))
        return measure(noise, truth, *rest)


@replacing(DoubleGeometric, "add_to")
def nothing_for_empty_cells(add_to: Callable, noise: DoubleGeometric, values: np.ndarray, stream: ByteStream) -> None:
    """A tempting shortcut for sparse tables."""
    full = values[values != 0]
    add_to(noise, full, stream)
    values[values != 0] = full


@replacing(DoubleGeometric, "add_to")
def nothing_for_equal_cells(add_to: Callable, noise: DoubleGeometric, values: np.ndarray, stream: ByteStream) -> None:
    """Add noise to the first of several equal cells in a row alone, as if sizes that repeat were one size."""
    first = np.diff(values, prepend=-1) != 0
    some = values[first]
    add_to(noise, some, stream)
    values[first] = some


def rows_from_one_size_lower(patch: MonkeyPatch) -> None:
    """Begin rows of a split view at T - 1, so that boxes of that size are in a column and in a row."""
    around(patch, pgsr.data.split_view, "rows", lambda f: lambda counts, t, ranks: f(counts, max(0, t - 1), ranks))


@replacing(Split, "vector")
def columns_to_one_size_higher(vector: Callable, view: Split, counts: np.ndarray, total: int | None) -> np.ndarray:
    """Let the last column of a split view be that of size T, whose boxes are in rows, too."""
    values, t = vector(view, counts, total), view.threshold
    values[:t] = vector(Split(t + 1), counts, total)[1 : t + 1]
    return values


def whole_sizes_as_rows(patch: MonkeyPatch) -> None:
    """Rank whole sizes beside the columns, not what lies beyond the threshold: boxes below it count twice."""
    around(patch, pgsr.data.split_view, "rows", lambda f: lambda counts, t, ranks: f(counts, 0, ranks))


@replacing(pgsr.data.split_view, "rows")
def rows_of_groups_that_are_larger(rows: Callable, counts: np.ndarray, t: int, ranks: int) -> np.ndarray:
    """Measure as many rows as there are groups beyond the threshold, which is no public number."""
    return rows(counts, t, min(ranks, int(counts[t + 1 :].sum())))


@replacing(DoubleGeometric, "add_to")
def nothing_for_empty_regions(add_to: Callable, noise: DoubleGeometric, values: np.ndarray, stream: ByteStream) -> None:
    if values.any():
        add_to(noise, values, stream)


@replacing(Geometric, "measure")
def sizes_up_to_the_largest_that_occurs(measure: Callable, noise: Geometric, truth: CountOfCounts, *rest: Any) -> Any:
    largest = max(1, int(np.flatnonzero(truth.counts[0]).max(initial=0)))
    return measure(noise, CountOfCounts(truth.hierarchy, truth.counts[:, : largest + 1], truth.name), *rest)


@replacing(Geometric, "measure")
def totals_of_regions_for_the_root(measure: Callable, noise: Geometric, truth: CountOfCounts, *rest: Any) -> Any:
    """A slice of all totals, which carries the others along in its base."""
    found = measure(noise, truth, *rest)
    return replace(found, totals=truth.totals[:1]) if noise.totals is Totals.ROOT else found


def exact_totals_for_noisy_ones(patch: MonkeyPatch) -> None:
    patch.setattr(pgsr.noise.step, "noisy_totals", lambda truth, epsilon, source: truth.totals.copy())


def ranked_without_public_totals(patch: MonkeyPatch) -> None:
    def unchecked(noise: Geometric) -> None:
        object.__setattr__(noise, "epsilon", exact(noise.epsilon))
        object.__setattr__(noise, "totals", Totals.parse(noise.totals))

    patch.setattr(Geometric, "__post_init__", unchecked)


# Post-processing that sees the truth


def released_with(patch: MonkeyPatch, change: Callable) -> None:
    """Make `change(mechanism, truth)` the mechanism that releases."""

    @replacing(Mechanism, "release")
    def changed(release: Callable, mechanism: Mechanism, truth: CountOfCounts, *rest: Any, **names: Any) -> Any:
        return release(change(mechanism, truth), truth, *rest, **names)

    changed(patch)


@by(released_with)
def true_smallest_size(mechanism: Mechanism, truth: CountOfCounts) -> Mechanism:
    """Take the smallest size from the truth, as the published reference implementation does."""
    post = Matching(IsotonicFit(min_size=int(np.flatnonzero(truth.counts[0])[0])))
    return replace(mechanism, post=post) if isinstance(mechanism.post, Matching) else mechanism


@dataclass(frozen=True)
class Peeking:
    """A method that changes its answer by a look at the truth."""

    method: Any
    truth: CountOfCounts
    look: Callable[[Any, CountOfCounts], np.ndarray]

    def supports(self, problem: Any) -> str | None:
        return self.method.supports(problem)

    def solve(self, problem: Any, time_limit: float | None = None) -> Any:
        result = self.method.solve(problem, time_limit)
        return replace(result, answer=Estimate(problem.hierarchy, View.COUNTS, self.look(result.answer, self.truth)))


def peeking(look: Callable[[Any, CountOfCounts], np.ndarray]) -> Callable[[MonkeyPatch], None]:
    def change(mechanism: Mechanism, truth: CountOfCounts) -> Mechanism:
        known = isinstance(mechanism.post, Method)
        return replace(mechanism, post=Peeking(mechanism.post, truth, look)) if known else mechanism

    def peeks(patch: MonkeyPatch) -> None:
        released_with(patch, change)

    return peeks


def empty_where_the_truth_is(estimate: Any, truth: CountOfCounts) -> np.ndarray:
    return np.where(truth.counts == 0, 0, estimate.values)


def warm_start(estimate: Any, truth: CountOfCounts) -> np.ndarray:
    """Half way between the truth and the answer, as a solver that starts there and stops early would end."""
    return (estimate.values + truth.counts) // 2


@by(released_with)
def kept_truth(mechanism: Mechanism, truth: CountOfCounts) -> Mechanism:
    """The post-process got a copy of the true counts along with the measurement, and breaks ties by it."""
    counts = truth.counts.copy()

    def look(estimate: Any, _: CountOfCounts) -> np.ndarray:
        return estimate.values + (estimate.values == counts)

    known = isinstance(mechanism.post, TreeProjection)
    return replace(mechanism, post=Peeking(mechanism.post, truth, look)) if known else mechanism
