"""Worlds: known priors of counts of groups by size, from which truths are drawn, to compare estimates with the best."""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from pgsr.data.counts import CountOfCounts
from pgsr.data.hierarchy import Hierarchy
from pgsr.datasets.census_figures import states
from pgsr.datasets.table import one_of, whole_number

N_MIDDLES, N_LEAVES = 4, 16
"""The regions below the root: as many in the middle, and as many leaves, the same number below each."""

SMALLEST_MEAN = 1e-9
"""No prior mean is smaller, so that no count is impossible."""


class WorldKind(StrEnum):
    """The law of sizes of a world, and the shape a of the negative binomial law of every count.

    HOUSEHOLD: the national proportions of households of 1 to 6, then a geometric tail of ratio 4/5; a = 50.
    POWER_LAW: sizes 1..K by s^-2; a = 5.
    SPARSE: sizes 0..K by (s + 1)^-3/2, and a fortieth of the groups of other worlds; a = 5.
    SPIKES: a geometric law of ratio 19/20 from size 1, fifteen times as many groups at every tenth size; a = 20.
    ABRUPT_ENDS: a geometric law of ratio 49/50 between a first and a last size that differ from leaf to leaf; a = 50.
    MIXED: the five others in turn, from leaf to leaf.
    """

    HOUSEHOLD = "household"
    POWER_LAW = "power law"
    SPARSE = "sparse"
    SPIKES = "spikes"
    ABRUPT_ENDS = "abrupt ends"
    MIXED = "mixed"


SHAPES = {
    WorldKind.HOUSEHOLD: 50.0,
    WorldKind.POWER_LAW: 5.0,
    WorldKind.SPARSE: 5.0,
    WorldKind.SPIKES: 20.0,
    WorldKind.ABRUPT_ENDS: 50.0,
}
"""The shape a of each kind's negative binomial law, whose variance is mean + mean^2 / a."""


@dataclass(frozen=True, eq=False)
class World:
    """A prior that is known: independent negative binomial numbers of groups by leaf and size.

    Attributes:
        name: of the world, with its parameters.
        hierarchy: root / 4 / 16 regions.
        means: prior means of the numbers of groups, positive, shape (leaves, K + 1).
        shapes: of the negative binomial laws, whose variances are mean + mean^2 / shape; as `means`.
    """

    name: str
    hierarchy: Hierarchy
    means: np.ndarray
    shapes: np.ndarray

    @property
    def max_size(self) -> int:
        """The largest size, K."""
        return self.means.shape[1] - 1

    def draw(self, seed: int) -> CountOfCounts:
        """Draw a truth; equal seeds give equal ones."""
        drawn = np.random.default_rng([seed, 1]).negative_binomial(
            self.shapes, self.shapes / (self.shapes + self.means)
        )
        return CountOfCounts(self.hierarchy, drawn, f"{self.name}/draw={seed}")


def world(kind: WorldKind | str, max_size: int = 60, groups: int = 16_000, seed: int = 0) -> World:
    """Make a world of 16 leaves whose prior is known.

    With p the law of sizes of the kind, leaf j has prior means

        mu[j, s] ~ G[j] p[s] (s + 1)^t[j],    G[j] lognormal of deviation 1/2, t[j] normal of deviation 1/5,

    so that leaves differ in numbers of groups and in mean sizes; sum over s of mu[j, s] = G[j], and the G[j] add up to
    `groups`, apart from leaves of a sparse law, which have a fortieth of theirs.

    Args:
        kind: "household", "power law", "sparse", "spikes", "abrupt ends" or "mixed".
        max_size: K, 12 at least.
        groups: in expectation, in all leaves.
        seed: of G, t and where abrupt ends lie, not of truths.

    Raises:
        DataError: an unknown word, or a number that is not whole or too small.

    Example:
        >>> known = world("household")
        >>> known.means.shape, round(float(known.means.sum()))
        ((16, 61), 16000)
        >>> known.draw(1)
        CountOfCounts(world/household/K=60/16000/seed=0/draw=1: Hierarchy(21 regions, levels 1 / 4 / 16), sizes 0..60,
            15,855 groups)
    """
    kind = one_of("kind", kind, tuple(WorldKind))
    max_size = whole_number("max_size", max_size, least=12)
    groups = whole_number("groups", groups, least=N_LEAVES)
    seed = whole_number("seed", seed, least=0)
    generator = np.random.default_rng([seed, 0])
    share, tilt = np.exp(generator.normal(0, 0.5, N_LEAVES)), generator.normal(0, 0.2, N_LEAVES)
    first, last = generator.integers(2, max_size // 4, N_LEAVES), generator.integers(max_size // 2, max_size, N_LEAVES)
    kinds = [each for each in WorldKind if each is not WorldKind.MIXED]
    means, shapes = np.zeros((N_LEAVES, max_size + 1)), np.zeros((N_LEAVES, max_size + 1))
    for leaf in range(N_LEAVES):
        own = kinds[leaf % len(kinds)] if kind is WorldKind.MIXED else kind
        law = (
            size_law(own, max_size, (int(first[leaf]), int(last[leaf]))) * (np.arange(max_size + 1) + 1.0) ** tilt[leaf]
        )
        expected = groups * share[leaf] / share.sum() / (40 if own is WorldKind.SPARSE else 1)
        means[leaf], shapes[leaf] = np.maximum(expected * law / law.sum(), SMALLEST_MEAN), SHAPES[own]
    below = N_LEAVES // N_MIDDLES
    paths = [("world", f"part {leaf // below + 1}", f"leaf {leaf + 1}") for leaf in range(N_LEAVES)]
    return World(f"world/{kind}/K={max_size}/{groups}/seed={seed}", Hierarchy.from_paths(paths), means, shapes)


def size_law(kind: WorldKind, max_size: int, ends: tuple[int, int]) -> np.ndarray:
    """Give the proportions of the sizes 0..K of a kind, up to a factor; shape (K + 1,).

    Args:
        kind: any but MIXED.
        max_size: K.
        ends: the first and the last size of abrupt ends.
    """
    sizes = np.arange(max_size + 1.0)
    if kind is WorldKind.HOUSEHOLD:
        published = np.array([state.households for state in states()], float).sum(axis=0)
        tail = np.where(sizes >= 7, published[6] / 5 * 0.8 ** np.maximum(sizes - 7, 0), 0)
        tail[1:7] = published[:6]
        return tail
    if kind is WorldKind.POWER_LAW:
        return np.where(sizes >= 1, np.maximum(sizes, 1) ** -2, 0)
    if kind is WorldKind.SPARSE:
        return (sizes + 1) ** -1.5
    if kind is WorldKind.SPIKES:
        return np.where(sizes >= 1, 0.95**sizes, 0) * np.where(sizes % 10 == 0, 15, 1)
    first, last = ends
    return np.where((sizes >= first) & (sizes <= last), 0.98**sizes, 0)
