"""Nothing but noisy values depends on the data: any two data sets with the same public facts are treated alike.

Neighbours are a special case; here all that is equal is what is public, and the data are as different as they can be.
"""

from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import product

import numpy as np
from exact_law import noise_by
from neighbours import CHAIN, PAIR
from planned import planned
from privacy_checks import frozen, published

from pgsr import CountOfCounts, Hierarchy, View
from pgsr.algorithms import TreeProjection
from pgsr.estimators import Matching, NoConsistency
from pgsr.methods import Mechanism
from pgsr.noise import Geometric, Totals
from pgsr.privacy import Seeded
from pgsr.privacy.laws import DoubleGeometric
from pgsr.privacy.random import ByteStream
from pgsr.release import Terms
from pgsr.release.terms.kinds import Kind
from tests.house.test_house_streams import DEEP, RAGGED


def measurements_are_blind() -> None:
    """All fields of a measurement, and size and scale of all that gets noise, with noisy values put in its place."""
    for tree, totals in product((CHAIN, DEEP, RAGGED), Totals):
        for view in (*View, (View.CUMULATIVE, *[View.RANKED] * (tree.n_levels - 1))):
            views = view if isinstance(view, tuple) else (view,)
            if totals is Totals.ROOT and View.RANKED in views:
                continue
            for shares in (None, (*("0",) * (tree.n_levels - 1), "1")):
                noise = Geometric(view, "1", shares, totals)
                _alike([_blindly(lambda t, n=noise: frozen(n.measure(t, Seeded("x"))), t) for t in far(tree, totals)])


def mechanisms_are_blind() -> None:
    """Check all mechanisms of releases, from tables to a result: K, epsilons, order, status, number of entities."""
    for tree, kind in product((PAIR, RAGGED), Kind):
        for totals in kind.totals:
            mechanism = planned(Terms("blind", 5, Fraction(1), kind, totals=totals), tree).mechanism
            _alike([_blindly(lambda t, m=mechanism: _released(m, t), t) for t in far(tree, totals)])
    for post, noise in (
        (NoConsistency(), Geometric((View.CUMULATIVE, View.RANKED), 1)),
        (Matching(), Geometric(View.RANKED, 1, totals="noisy")),
        (TreeProjection(), Geometric(View.COUNTS, 1, max_quantity=2, totals="root")),
    ):
        mechanism, totals = Mechanism(noise, post), Totals.parse(noise.totals)
        _alike([_blindly(lambda t, m=mechanism: _released(m, t), t) for t in far(PAIR, totals)])


def far(tree: Hierarchy, totals: Totals) -> Iterator[CountOfCounts]:
    """Tables of sizes 0..5 that have nothing in common but what is public; leaves differ, too."""
    n_leaves = tree.n_regions - tree.n_inner
    groups = 3 + np.arange(n_leaves) // 2  # some leaves have as many as others, so that there are ties
    for spread in range(5):
        counts = np.zeros((n_leaves, 6), np.int64)
        ours = groups
        if totals is Totals.ROOT and spread:
            ours = np.zeros_like(groups)
            ours[spread % n_leaves] = groups.sum()
        elif totals is Totals.NOISY:
            ours = groups * (spread * 7 % 4)
        for leaf, n in enumerate(ours):
            sizes = [[0], [5], [0, 1, 2, 3, 4, 5], [1], [0, 5]][(spread + leaf) % 5]
            np.add.at(counts[leaf], np.resize(sizes, n), 1)
        yield CountOfCounts(tree, counts, "blind")
    same = np.zeros((n_leaves, 6), np.int64)
    same[:, 0] = groups
    yield CountOfCounts(tree, same, "blind")


def _blindly(run: Callable[[CountOfCounts], object], truth: CountOfCounts) -> object:
    """Give the result of `run` if the i-th noisy values are the same for all data, and what was to get noise."""
    asked: list[tuple[int, Fraction]] = []

    def put(law: DoubleGeometric, values: np.ndarray, stream: ByteStream) -> None:
        del stream
        asked.append((values.size, law.scale))
        values[:] = (np.arange(values.size) * 5 + 3 * len(asked)) % 11 - 2

    with noise_by(put):
        return run(truth), tuple(asked)


def _alike(found: list[object]) -> None:
    assert all(one == found[0] for one in found), "something besides noisy values depends on the data"


def _released(mechanism: Mechanism, truth: CountOfCounts) -> object:
    return published(mechanism.release(truth, Seeded("x")))
