"""The sampling of groups from a mixture so that their sizes in every region are those of a count-of-counts release."""

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from pgsr.checks import require_kind
from pgsr.data.counts import CountOfCounts
from pgsr.data.hierarchy import Hierarchy
from pgsr.synthesis.data.checks import require_whole
from pgsr.synthesis.data.domain import Domain, SynthesisError
from pgsr.synthesis.data.linked_tables import require_free_names, to_tables
from pgsr.synthesis.data.population import Population
from pgsr.synthesis.marginals.filled_households import FilledHouseholds
from pgsr.synthesis.marginals.sizes_of_filled import filled_to_sizes
from pgsr.synthesis.queries.mixture import Mixture, draw

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class RegionalPopulation:
    """A population of groups, each with its region.

    Attributes:
        hierarchy: of the release.
        population: the groups with members, ordered by leaf, and by size within a leaf.
        leaf_of: per group of `population`, its leaf as a region of the hierarchy, not decreasing.
        empty_leaf_of: per group without members, its leaf; only where the domain's smallest group has members, so that
            `population` cannot hold them. The mixture says nothing about such groups.
    """

    hierarchy: Hierarchy
    population: Population
    leaf_of: np.ndarray
    empty_leaf_of: np.ndarray

    def to_tables(self, *, household_key: str = "household") -> tuple["pd.DataFrame", "pd.DataFrame"]:
        """Make tables of households and persons as `pgsr.synthesis.to_tables` does, with columns level_0, level_1, ...

        Groups without members have no attributes and no row here; `empty_leaf_of` lists them.

        Raises:
            TableError: an attribute has the name of a column that links the tables, or of a level.
        """
        linking = (household_key, "person", "role")
        require_free_names(self.population.domain, "rename the attribute", self.hierarchy.n_levels, linking)
        homes, people = to_tables(self.population, household_key=household_key)
        paths = self.hierarchy.paths
        for level in range(self.hierarchy.n_levels):
            homes.insert(1 + level, f"level_{level}", np.array([paths[leaf][level] for leaf in self.leaf_of], object))
        return homes, people

    def counts(self, max_size: int, name: str = "") -> CountOfCounts:
        """Count the groups by region and size 0..max_size.

        Raises:
            SynthesisError: a group is larger.
        """
        sizes, leaves = self.population.sizes, self.hierarchy.leaves
        if sizes.max(initial=0) > max_size:
            raise SynthesisError(f"a group has {sizes.max()} members; count sizes up to at least that")
        table = np.zeros((leaves.stop - leaves.start, max_size + 1), np.int64)
        np.add.at(table, (self.leaf_of - leaves.start, sizes), 1)
        np.add.at(table, (self.empty_leaf_of - leaves.start, 0), 1)
        return CountOfCounts(self.hierarchy, table, name)

    def __repr__(self) -> str:
        return f"RegionalPopulation({self.population!r}, {len(self.empty_leaf_of):,} empty groups, {self.hierarchy!r})"


def sample_to_sizes(mixture: Mixture | FilledHouseholds, release: CountOfCounts, seed: int) -> RegionalPopulation:
    """Draw independent groups given their size: exactly n[leaf, s] of size s in every leaf.

    A group of size s gets component k with probability proportional to P_k(size = s); then sizes of roles given their
    sum, attributes and members from that component. So groups are drawn exactly from the mixture's distribution given
    size. Sums over leaves agree because leaves do. The groups of `FilledHouseholds` are not independent, but balanced,
    and have attributes of public groups of their size.

    Nothing is spent here; a mixture and a release of the same people spent both their budgets, epsilon of the release
    and rho of the mixture. They add up if both protect the same neighbours, as `pgsr.release.ledger` has it.

    Args:
        mixture: of any domain whose sizes include those of the release; size 0 is always possible.
        release: integer, non-negative and consistent, as every `CountOfCounts` is.
        seed: the same seed, the same groups.

    Raises:
        ArgumentError: the release is of another kind.
        SynthesisError: a size that the domain or the mixture excludes.

    Cost: O(leaves K sizes + persons), one leaf at a time; no array of leaves x K is kept.

    Example:
        >>> from pgsr.synthesis import Attribute
        >>> domain = Domain.plain([], [Attribute("sex", ("f", "m"))], max_size=2)
        >>> mixture = Mixture(domain, (), (np.full((1, 2, 2), 0.5),), (np.array([[0, 0.9, 0.1]]),))
        >>> tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
        >>> release = CountOfCounts(tree, [[1, 2, 0], [0, 1, 3]])
        >>> regional = sample_to_sizes(mixture, release, seed=0)
        >>> regional
        RegionalPopulation(Population(6 groups, 9 persons), 1 empty groups, Hierarchy(3 regions, levels 1 / 2))
        >>> bool((regional.counts(2).counts == release.counts).all())
        True
    """
    require_kind(mixture, (Mixture, FilledHouseholds), "the mixture", "give the distribution of a fit")
    require_whole(least=0, seed=seed)
    require_kind(release, CountOfCounts, "the release", "give CountOfCounts(hierarchy, counts)")
    domain, tree = mixture.domain, release.hierarchy
    _check_sizes(domain, release)
    if isinstance(mixture, FilledHouseholds):
        return _filled(mixture, release, seed)
    by_size = {size: _joint(mixture, size) for size in domain.sizes}
    rng = np.random.default_rng(seed)
    components, numbers, leaf_of, empty = [], [], [], []
    for leaf in range(tree.leaves.start, tree.leaves.stop):
        row = release.rows(leaf, leaf + 1)[0]
        for size in np.flatnonzero(row):
            n = int(row[size])
            if size == 0 and domain.min_size > 0:
                empty.append(np.full(n, leaf))
                continue
            ways, mass = by_size[int(size)]
            posterior = mass.sum(1)
            if not posterior.sum() > 0:
                raise SynthesisError(
                    f"leaf {' / '.join(tree.paths[leaf])} needs {n:,} groups of size {size}, and the mixture gives "
                    "them probability 0; fit a mixture in which they are possible"
                )
            component = draw(posterior[None], np.zeros(n, np.int64), rng)
            components.append(component)
            numbers.append(ways[draw(mass, component, rng)])
            leaf_of.append(np.full(n, leaf))
    leaf_of = np.concatenate([*leaf_of, np.zeros(0, np.int64)]).astype(np.int64)
    component = np.concatenate([*components, np.zeros(0, np.int64)])
    empty_numbers = np.zeros((0, len(domain.roles)), np.int64)
    population = mixture.fill(component, np.concatenate([*numbers, empty_numbers]), rng)
    return RegionalPopulation(
        tree, population, leaf_of, np.concatenate([*empty, np.zeros(0, np.int64)]).astype(np.int64)
    )


def _filled(model: FilledHouseholds, release: CountOfCounts, seed: int) -> RegionalPopulation:
    """Fill the groups of a release, leaf by leaf and by size within a leaf."""
    tree = release.hierarchy
    leaf_of, sizes, empty = [], [], []
    for leaf in range(tree.leaves.start, tree.leaves.stop):
        row = release.rows(leaf, leaf + 1)[0]
        for size in np.flatnonzero(row):
            leaves = np.full(int(row[size]), leaf)
            if size == 0 and model.domain.min_size > 0:
                empty.append(leaves)
            else:
                leaf_of.append(leaves)
                sizes.append(np.full(len(leaves), size))
    none = np.zeros(0, np.int64)
    leaf, size = (np.concatenate([*parts, none]).astype(np.int64) for parts in (leaf_of, sizes))
    population = filled_to_sizes(model, size, seed)
    return RegionalPopulation(tree, population, leaf, np.concatenate([*empty, none]).astype(np.int64))


def _check_sizes(domain: Domain, release: CountOfCounts) -> None:
    tree = release.hierarchy
    allowed = np.zeros(release.max_size + 1, bool)
    allowed[[size for size in (0, *domain.sizes) if size <= release.max_size]] = True
    for leaf in range(tree.leaves.start, tree.leaves.stop):
        wrong = np.flatnonzero((release.rows(leaf, leaf + 1)[0] > 0) & ~allowed)
        if len(wrong):
            raise SynthesisError(
                f"leaf {' / '.join(tree.paths[leaf])} has groups of size {wrong[0]}, and the domain has sizes "
                f"{domain.min_size} to {domain.max_size}; cap the release's sizes or fit a larger domain"
            )


def _joint(mixture: Mixture, size: int) -> tuple[np.ndarray, np.ndarray]:
    """List the ways to fill a group of this size, (ways, roles), and P_k(way), (K, ways)."""
    roles = mixture.domain.roles
    choices = product(*(range(role.least, role.most + 1) for role in roles[:-1]))
    last = roles[-1]
    ways = [(*way, size - sum(way)) for way in choices if last.least <= size - sum(way) <= last.most]
    mass = np.ones((mixture.n_components, len(ways)))
    for table, numbers in zip(mixture.sizes, np.array(ways).T, strict=True):
        mass *= table[:, numbers]
    return np.array(ways), mass
