"""Noise steps and post-processes on what was changed: noise does not know the counts, releases stay what they were."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from instances import scale

from pgsr import CountOfCounts, Hierarchy, Result, View
from pgsr.algorithms import TreeProjection
from pgsr.data import Split
from pgsr.data.sizes import Sizes
from pgsr.estimators import NoConsistency
from pgsr.methods import Mechanism
from pgsr.methods.method import ANSWERED, PostProcess
from pgsr.models.catalogue import SOLVERS
from pgsr.noise import Geometric, Measurement, Noise
from pgsr.own_methods import METHODS
from pgsr.privacy import Rho, Seeded

PATHS = [("US", "A", "1"), ("US", "A", "2"), ("US", "B", "1")]
LEAVES = np.array([[0, 6, 3, 1], [1, 4, 2, 0], [0, 9, 4, 2]])
STEPS = {
    "geometric counts": Geometric(View.COUNTS, "1"),
    "geometric steps": Geometric(View.CUMULATIVE, "1/2"),
    "rho counts": Noise(View.COUNTS, Rho("1/10")),
    "rho steps": Noise(View.CUMULATIVE, Rho("1/10")),
}
SHIFTS = [10**power for power in range(0, 10, 3)]
VIEWS = {"counts": View.COUNTS, "steps": View.CUMULATIVE, "ranks": View.RANKED, "split": Split(2)}
POST: dict[str, PostProcess] = {
    repr(entry.method): entry.method
    for entry in (*METHODS, *SOLVERS)
    if isinstance(entry.method, PostProcess) and entry.method != NoConsistency()  # whose regions do not add up
}
WITHOUT_TIES = ("BottomUp()", "Posterior()")
"""Post-processes that look at regions one by one, or at what is expected of them."""


@pytest.mark.parametrize("k", SHIFTS)
@pytest.mark.parametrize("name", STEPS)
def test_noise_does_not_know_the_counts(name, k):
    """Adding groups to the truth adds them to noisy values, and changes nothing else."""
    tree, step = Hierarchy.from_paths(PATHS), STEPS[name]
    more = np.zeros_like(LEAVES)
    more[1, 2] = k
    noisy = [step.measure(CountOfCounts(tree, leaves), Seeded("adversary")) for leaves in (LEAVES, LEAVES + more)]
    added = CountOfCounts(tree, more).counts
    expected = added.cumsum(axis=1) if step.view is View.CUMULATIVE else added
    assert np.array_equal(noisy[1].matrix - noisy[0].matrix, expected)
    assert noisy[0].noise == noisy[1].noise


@pytest.mark.parametrize("k", SHIFTS)
def test_a_mechanism_moves_with_its_counts(k):
    """The same groups more in every leaf and size, far from 0, move a release by exactly so many."""
    tree = Hierarchy.from_paths(PATHS)
    mechanism = Mechanism(Geometric(View.COUNTS, "4"), TreeProjection())
    one, other = (
        mechanism.release(CountOfCounts(tree, LEAVES + 100 + more), Seeded("adversary")).estimate.values
        for more in (0, k)
    )
    assert np.array_equal(other[tree.leaves], one[tree.leaves] + k)


def measured(view, seed: int) -> Measurement:
    return Geometric(view, "1").measure(CountOfCounts(Hierarchy.from_paths(PATHS), LEAVES), Seeded(f"{seed}"))


def regions_permuted(noisy: Measurement) -> Measurement:
    """Put the regions in the opposite order, with what was measured of each."""
    tree = Hierarchy.from_paths(PATHS[::-1])
    order = [noisy.hierarchy.index(path) for path in tree.paths]
    totals = noisy.totals if len(noisy.totals) == 1 else noisy.totals[order]
    sizes, cells = Sizes(tree, noisy.sizes.max_sizes), np.concatenate([noisy.row(i) for i in order])
    return replace(noisy, sizes=sizes, cells=cells, totals=totals)


def parent_of_one_child(noisy: Measurement) -> Measurement:
    """Put a region that nobody measured above the root."""
    tree = Hierarchy.from_paths([("top", *path) for path in PATHS])
    totals = noisy.totals if len(noisy.totals) == 1 else np.concatenate([noisy.totals[:1], noisy.totals])
    sizes = Sizes(tree, (noisy.max_size, *noisy.sizes.max_sizes))
    none = np.zeros(noisy.max_size + 1 if noisy.view_of(0).has_a_cell_per_size else 0, np.int64)
    cells = np.concatenate([none, noisy.cells])
    return replace(noisy, sizes=sizes, cells=cells, totals=totals, noise=(None, *noisy.noise))


SUPPORTED = [
    pytest.param(label, name, id=f"{label}-{name}")
    for label, post in POST.items()
    for name, view in VIEWS.items()
    if getattr(post, "supports", lambda _: None)(measured(view, 0)) is None
]


def valid(result: Result, noisy: Measurement) -> np.ndarray:
    """Counts of a release, which are whole, not negative and add up (`counts` sees to that) to the public total."""
    assert result.status in ANSWERED, result
    counts = result.estimate.counts().counts
    assert counts.dtype.kind == "i"
    assert counts[0].sum() == noisy.root_total
    return counts


@pytest.mark.slow
@pytest.mark.few(6)
@pytest.mark.parametrize("change", [regions_permuted, parent_of_one_child], ids=lambda change: change.__name__)
@pytest.mark.parametrize(("label", "view"), SUPPORTED)
def test_post_processes_give_the_same(label, view, change: Callable[[Measurement], Measurement], counted):
    """A parent that nobody measured changes nothing; the order of regions nothing but ties, where a method has some."""
    checked = 0
    for seed in range(scale(2, 10)):
        noisy = measured(VIEWS[view], seed)
        before = POST[label].apply(noisy, 20.0)
        moved = change(noisy)
        after = POST[label].apply(moved, 20.0)
        lead = ("top",) if change is parent_of_one_child else ()
        order = [moved.hierarchy.index((*lead, *path)) for path in noisy.hierarchy.paths]
        one, other = valid(before, noisy), valid(after, moved)[order]
        if change is parent_of_one_child or label in WITHOUT_TIES:
            assert np.array_equal(one, other), (one.tolist(), other.tolist())
        checked += 1
    counted(checked, "releases")
