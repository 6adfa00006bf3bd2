"""The public facts of a population's groups: how many there are of every kind."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from pgsr.synthesis.data.domain import Domain, Neighbours, Population, SynthesisError, chosen


@dataclass(frozen=True, eq=False)
class PublicHouseholds:
    """The number of groups of every kind that occurs, which does not differ between neighbours.

    Attributes:
        domain: public.
        with_sizes: whether the size is a part of the kind: it is public where only values of persons are replaced.
        kinds: codes of the group attributes, and at the end `size - min_size` with sizes; shape (kinds, k_G or
            k_G + 1), rows increasing and distinct.
        numbers: groups of each kind, from 1 up.

    Raises:
        SynthesisError: arrays of another form.

    Example:
        >>> from pgsr.synthesis import Attribute
        >>> domain = Domain.plain([Attribute("area", ("urban", "rural"))], [Attribute("sex", ("f", "m"))], max_size=2)
        >>> homes, members = np.array([[0], [1], [0]]), np.array([[0], [1], [1], [0]])
        >>> population = Population(domain, homes, members, np.array([0, 1, 1, 2]), np.zeros(4, int))
        >>> PublicHouseholds.of(population, Neighbours.REPLACE)
        PublicHouseholds(3 groups of 2 kinds, sizes public)
    """

    domain: Domain
    with_sizes: bool
    kinds: np.ndarray
    numbers: np.ndarray

    def __post_init__(self) -> None:
        domain = self.domain
        kinds, numbers = np.asarray(self.kinds, np.int64), np.asarray(self.numbers, np.int64)
        values = [*map(len, domain.group), *([len(domain.sizes)] if self.with_sizes else [])]
        if kinds.ndim != 2 or kinds.shape[1] != len(values) or numbers.shape != (len(kinds),) or not len(kinds):
            last = " (the last is size - min_size)" if self.with_sizes else ""
            raise SynthesisError(
                f"kinds of groups have the shape {kinds.shape} and their numbers {numbers.shape}; give a row per kind "
                f"with {len(values)} columns{last}, and a number per row"
            )
        if (kinds < 0).any() or (kinds >= np.array(values, np.int64)).any():
            most = ", ".join(str(n - 1) for n in values)
            raise SynthesisError(
                f"a kind of groups has a code outside its domain; give codes from 0 up to {most} by column"
            )
        if (numbers < 1).any():
            raise SynthesisError("a kind has no groups; leave out kinds that do not occur")
        if len(kinds) > 1 and not (np.lexsort(kinds.T[::-1]) == np.arange(len(kinds))).all():
            raise SynthesisError(
                "kinds of groups are not in increasing order; sort the rows by the first column, then by the second, "
                "as np.unique(kinds, axis=0) does"
            )
        if (kinds[1:] == kinds[:-1]).all(axis=1).any():
            raise SynthesisError("a kind of groups occurs twice; give every kind one row, with the sum of its numbers")
        object.__setattr__(self, "kinds", kinds)
        object.__setattr__(self, "numbers", numbers)

    @classmethod
    def of(cls, population: Population, neighbours: Neighbours) -> "PublicHouseholds":
        """Count the groups by all that the relation of neighbours leaves public."""
        domain, with_sizes = population.domain, chosen(Neighbours, neighbours, "neighbours") is Neighbours.REPLACE
        columns = [population.groups, *([population.sizes[:, None] - domain.min_size] if with_sizes else [])]
        table = np.concatenate(columns, axis=1, dtype=np.int64)
        if not table.shape[1]:
            return cls(domain, with_sizes, np.zeros((1, 0), np.int64), np.array([len(table)]))
        kinds, numbers = np.unique(table, axis=0, return_counts=True)
        return cls(domain, with_sizes, kinds, numbers)

    @property
    def n_groups(self) -> int:
        return int(self.numbers.sum())

    @property
    def n_persons(self) -> int:
        """The exact number of persons.

        Raises:
            SynthesisError: sizes are not public.
        """
        if not self.with_sizes:
            raise SynthesisError(
                "the number of persons does not follow from group attributes alone; count them with "
                "PublicHouseholds.of(population, Neighbours.REPLACE), where sizes are public"
            )
        return int(self.numbers @ (self.kinds[:, -1] + self.domain.min_size))

    def cells(self, attributes: tuple[int, ...]) -> tuple[np.ndarray, int]:
        """Find the cell of every kind by some group attributes, in C order, and the number of cells.

        With sizes, the size is the last axis.
        """
        columns = [*attributes, *([len(self.domain.group)] if self.with_sizes else [])]
        shape = [self.domain.group_values(a) for a in columns]
        if not columns:
            return np.zeros(len(self.kinds), np.int64), 1
        return np.ravel_multi_index([self.kinds[:, a] for a in columns], shape), int(np.prod(shape))

    def __repr__(self) -> str:
        sizes = "sizes public" if self.with_sizes else "sizes not public"
        return f"PublicHouseholds({self.n_groups:,} groups of {len(self.kinds):,} kinds, {sizes})"


def values_matrix(households: PublicHouseholds) -> sparse.csr_matrix:
    """Build the matrix of kinds by values of their attributes (and sizes), 1 where the kind has the value."""
    domain = households.domain
    lengths = [*map(len, domain.group), *([len(domain.sizes)] if households.with_sizes else [])]
    first = np.cumsum([0, *lengths])
    return _indicator(households.kinds + first[:-1], int(first[-1]))


def cells_matrix(households: PublicHouseholds, sets: Sequence[tuple[int, ...]]) -> tuple[sparse.csr_matrix, list[int]]:
    """Build the matrix of kinds by cells of several sets of group attributes, and list the columns where sets start."""
    columns, starts = [], [0]
    for attributes in sets:
        cells, n = households.cells(attributes)
        columns.append(cells + starts[-1])
        starts.append(starts[-1] + n)
    return _indicator(np.stack(columns, axis=1), starts[-1]), starts


def _indicator(columns: np.ndarray, width: int) -> sparse.csr_matrix:
    rows, per_row = columns.shape
    ones = np.ones(columns.size, np.float32)
    return sparse.csr_matrix((ones, columns.ravel(), per_row * np.arange(rows + 1)), shape=(rows, width))
