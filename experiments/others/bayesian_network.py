"""A Bayesian network: a distribution of rows in which every column depends on a few columns before it."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from typing import Self

import numpy as np

from pgsr.synthesis.queries.mixture import by_inversion


@dataclass(frozen=True, eq=False)
class Conditional:
    """The distribution of a column given others.

    Attributes:
        given: columns.
        table: probabilities, an axis per given column and one for the column itself, over which they add up to 1.
    """

    column: int
    given: tuple[int, ...]
    table: np.ndarray


@dataclass(frozen=True, eq=False)
class BayesianNetwork:
    """A product of conditional distributions, each given columns of distributions before it.

    Example:
        >>> sex, age = Conditional(0, (), np.array([0.5, 0.5])), Conditional(1, (0,), np.array([[1, 0], [0.2, 0.8]]))
        >>> BayesianNetwork((sex, age)).marginal((1,)).tolist()
        [0.6, 0.4]
    """

    conditionals: tuple[Conditional, ...]

    @classmethod
    def of_factors(cls, factors: Sequence[tuple[tuple[int, ...], np.ndarray]], order: Sequence[int]) -> Self:
        """Make the network of a distribution that is proportional to a product of factors, by variable elimination.

        Args:
            factors: columns, and logarithms with an axis per column.
            order: of elimination, all columns; a row is drawn in the opposite order.
        """
        left, found = list(factors), []
        for column in order:
            within = [(of, table) for of, table in left if column in of]
            left = [(of, table) for of, table in left if column not in of]
            given = tuple(sorted({c for of, _ in within for c in of} - {column}))
            together = sum(_aligned(of, table, (*given, column)) for of, table in within)
            most = np.max(together, axis=-1, keepdims=True)
            weights = np.exp(together - most)
            total = weights.sum(-1, keepdims=True)
            found.append(Conditional(column, given, weights / total))
            left.append((given, (most + np.log(total))[..., 0]))
        return cls(tuple(reversed(found)))

    def marginal(self, columns: tuple[int, ...]) -> np.ndarray:
        """Compute the probabilities of all values of some columns together, an axis per column.

        Columns that nothing asked depends on are left out, and the others summed away from the last to the first.
        """
        needed, kept = set(columns), []
        for one in reversed(self.conditionals):
            if one.column in needed:
                kept.append(one)
                needed.update(one.given)
        factors: list[tuple[tuple[int, ...], np.ndarray]] = []
        for one in kept:
            within = [(of, table) for of, table in factors if one.column in of]
            factors = [(of, table) for of, table in factors if one.column not in of]
            within.append(((*one.given, one.column), one.table))
            left = {c for of, _ in within for c in of if c != one.column or c in columns}
            factors.append(_product(within, tuple(sorted(left))))
        return _product(factors, columns)[1]

    def draw(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Draw n rows, column by column, shape (n, columns).

        Among rows that are alike in the given columns, every value comes as often as it should, up to one.
        """
        rows = np.zeros((n, len(self.conditionals)), np.int64)
        for one in self.conditionals:
            shape = one.table.shape[:-1]
            codes = tuple(rows[:, one.given].T)
            cell = np.asarray(np.ravel_multi_index(codes, shape)) if shape else np.zeros(n, np.int64)
            table = one.table.reshape(-1, one.table.shape[-1])
            rows[:, one.column] = by_inversion(table, cell, _systematic(cell, len(table), rng))
        return rows


def _aligned(of: tuple[int, ...], table: np.ndarray, columns: tuple[int, ...]) -> np.ndarray:
    """Give a table an axis per column, of length 1 for those that it does not have."""
    lengths = dict(zip(of, table.shape, strict=True))
    present = [of.index(c) for c in columns if c in lengths]
    return table.transpose(present).reshape([lengths.get(c, 1) for c in columns])


def _product(
    factors: list[tuple[tuple[int, ...], np.ndarray]], columns: tuple[int, ...]
) -> tuple[tuple[int, ...], np.ndarray]:
    """Multiply tables, and sum over all columns but these."""
    number = dict(zip(dict.fromkeys(c for of, _ in factors for c in of), count(), strict=False))
    operands = [each for of, table in factors for each in (table, [number[c] for c in of])]
    return columns, np.einsum(*operands, [number[c] for c in columns], optimize="greedy")


def _systematic(cell: np.ndarray, n_cells: int, rng: np.random.Generator) -> np.ndarray:
    """Draw numbers below 1; the n of a cell are 1/n apart from each other, and in random order."""
    order = rng.permutation(len(cell))
    order = order[np.argsort(cell[order], kind="stable")]
    sizes = np.bincount(cell, minlength=n_cells)
    rank = np.zeros(len(cell), np.int64)
    rank[order] = np.arange(len(cell)) - (np.cumsum(sizes) - sizes)[cell[order]]
    return (rank + rng.random(n_cells)[cell]) / sizes[cell]
