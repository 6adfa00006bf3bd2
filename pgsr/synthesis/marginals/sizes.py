"""The sampling of groups from a mixture so that their sizes in every region are those of a count-of-counts release."""

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from pgsr.checks import require_kind
from pgsr.data.counts import CountOfCounts
from pgsr.data.hierarchy import Hierarchy
from pgsr.synthesis.data.domain import Domain, Population, SynthesisError, require_whole
from pgsr.synthesis.data.linked_tables import require_free_names, to_tables
from pgsr.synthesis.marginals.balanced_draws import fill
from pgsr.synthesis.marginals.filled_households import FilledHouseholds
from pgsr.synthesis.marginals.public_households import PublicHouseholds
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

    Cost: O(leaves sizes + groups K + persons); no array of leaves x K is kept.

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
    leaf, size, empty = _listed(domain, release)
    wrong = np.flatnonzero(~np.isin(size, domain.sizes))
    if len(wrong):
        raise SynthesisError(
            f"leaf {' / '.join(tree.paths[leaf[wrong[0]]])} has groups of size {size[wrong[0]]}, and the domain has "
            f"sizes {domain.min_size} to {domain.max_size}; cap the release's sizes or fit a larger domain"
        )
    if isinstance(mixture, FilledHouseholds):
        return RegionalPopulation(tree, _filled_to_sizes(mixture, size, seed), leaf, empty)
    rng, component = np.random.default_rng(seed), np.zeros(len(size), np.int64)
    numbers = np.zeros((len(size), len(domain.roles)), np.int64)
    for one in np.unique(size).tolist():
        here, (ways, mass) = np.flatnonzero(size == one), _joint(mixture, one)
        posterior = mass.sum(1)
        if not posterior.sum() > 0:
            n = int((leaf[here] == leaf[here[0]]).sum())
            raise SynthesisError(
                f"leaf {' / '.join(tree.paths[leaf[here[0]]])} needs {n:,} groups of size {one}, and the mixture gives "
                "them probability 0; fit a mixture in which they are possible"
            )
        component[here] = draw(posterior[None], np.zeros(len(here), np.int64), rng)
        numbers[here] = ways[draw(mass, component[here], rng)]
    return RegionalPopulation(tree, mixture.fill(component, numbers, rng), leaf, empty)


def _listed(domain: Domain, release: CountOfCounts) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """List the leaf and the size of every group, leaf by leaf and by size; and the leaves of those without members."""
    tree, leaf_of, sizes = release.hierarchy, [], []
    for leaf in range(tree.leaves.start, tree.leaves.stop):
        row = release.rows(leaf, leaf + 1)[0]
        sizes.append(np.repeat(np.arange(len(row)), row))
        leaf_of.append(np.full(len(sizes[-1]), leaf))
    leaf, size = np.concatenate(leaf_of), np.concatenate(sizes)
    empty = (size == 0) & (domain.min_size > 0)
    return leaf[~empty], size[~empty], leaf[empty]


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


def _filled_to_sizes(model: FilledHouseholds, sizes: np.ndarray, seed: int) -> Population:
    """Fill groups of given sizes, with attributes from the public groups of that size.

    Attributes are drawn in proportion to how many public groups of the size have them; where sizes are not public, to
    how probable the size is for them. A size that no public group has gets the attributes of all sizes.

    Args:
        sizes: per group; groups of one size are drawn together, in random order.
    """
    by_size = _of_sizes(model)
    kinds, weights, rng = by_size.households.kinds, _weights(model, by_size), np.random.default_rng([seed, 3])
    size_of = kinds[:, -1] + model.domain.min_size
    kind_of = np.zeros(len(sizes), np.int64)
    for size in np.unique(sizes):
        groups, listed = np.flatnonzero(sizes == size), np.flatnonzero(size_of == size)
        upto = np.cumsum(weights[listed])
        at = (np.arange(len(groups)) + rng.random()) / len(groups) * upto[-1]
        drawn = listed[np.minimum(np.searchsorted(upto, at, side="right"), len(listed) - 1)]
        kind_of[groups] = rng.permutation(drawn)
    return fill(by_size, kind_of, seed)


def _of_sizes(model: FilledHouseholds) -> FilledHouseholds:
    """Make the same model for groups whose size is given, of all kinds and sizes.

    The component of a group of size s is likely in proportion to P(s) in it, too; where sizes are public, the model has
    a logit for them.
    """
    domain, households = model.domain, model.households
    n_sizes = len(domain.sizes)
    if households.with_sizes:
        attributes, of_groups = np.unique(households.kinds[:, :-1], axis=0), model.of_groups
    else:
        attributes, by_size = households.kinds, np.zeros((n_sizes, model.n_components))
        np.add.at(by_size, model.filling.size_of, model.way_table)
        of_groups = np.concatenate([model.of_groups, np.log(np.maximum(by_size, 1e-300))])
    kinds = np.column_stack([np.repeat(attributes, n_sizes, axis=0), np.tile(np.arange(n_sizes), len(attributes))])
    every = PublicHouseholds(domain, True, kinds, np.ones(len(kinds), np.int64))
    return FilledHouseholds(every, model.impossible, of_groups, model.of_members, model.of_ways)


def _weights(model: FilledHouseholds, by_size: FilledHouseholds) -> np.ndarray:
    """Compute how likely the attributes of every kind of `by_size` are among groups of its size, up to a factor."""
    households, n_sizes = model.households, len(model.domain.sizes)
    if not households.with_sizes:
        sizes = np.zeros((n_sizes, model.n_components))
        np.add.at(sizes, model.filling.size_of, model.way_table)
        return ((model.components * households.numbers[:, None]) @ sizes.T).ravel()
    _, attribute = np.unique(households.kinds[:, :-1], axis=0, return_inverse=True)
    found = np.zeros((len(by_size.households.kinds) // n_sizes, n_sizes))
    np.add.at(found, (attribute.ravel(), households.kinds[:, -1]), households.numbers)
    of_all = found.sum(1)
    for size in np.flatnonzero(found.sum(0) == 0):
        found[:, size] = of_all
    return found.ravel()
