"""The error of cumulative counts when whole groups are hidden, by what is measured: variances, without any data.

The counts H are measured through a strategy A: y = A H + z with independent noise z of one variance. The cumulative
counts are a linear map of H, their least-squares estimates are a linear map of y, and the variance of each is a number
that depends on K alone. What a strategy costs is how far A H moves when a group comes or goes (one count changes by
one: the largest norm of a column) or is replaced by one of another size (the largest distance of two columns).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import log

import numpy as np

from pgsr.experiments.benchmarks.size_tree import SizeTree
from pgsr.privacy.neighbours import Relation, Unit

ADD_REMOVE, REPLACE = Relation.ADD_REMOVE, Relation.REPLACE

RELATIONS = (ADD_REMOVE, REPLACE)
BRANCHINGS = (2, 4, 16)
LARGEST_BOUND = 1_000
"""The largest K for which `least_mean_variance` takes seconds."""


@dataclass(frozen=True)
class Strategy:
    """What is measured, and what of it every cumulative count keeps.

    Attributes:
        name: in tables.
        l2_squared: by relation, the largest squared L2 norm of a change of A H.
        l1: by relation, the largest L1 norm; None where A H is not integer, so that no exact geometric noise exists.
        variances: by relation, of the cumulative counts for noise of variance 1, shape (K + 1,). Under REPLACE the
            number of groups is public and used, so the last is 0.
    """

    name: str
    l2_squared: dict[Relation, float]
    l1: dict[Relation, int | None]
    variances: dict[Relation, np.ndarray]

    def gaussian(self, relation: Relation) -> np.ndarray:
        """The variances with Gaussian noise at rho = 1/2, that is times 1 / (2 rho); shape (K + 1,)."""
        return self.l2_squared[relation] * self.variances[relation]

    def geometric(self, relation: Relation) -> np.ndarray | None:
        """The variances with double-geometric noise of scale L1 / epsilon, at epsilon 1, without rounding terms."""
        l1 = self.l1[relation]
        return None if l1 is None else 2 * l1**2 * self.variances[relation]


def strategies(max_size: int) -> list[Strategy]:
    """List the strategies that are compared."""
    return [
        counts(max_size),
        *(tree(max_size, branching) for branching in BRANCHINGS),
        square_root(max_size),
        normalised_square_root(max_size),
    ]


def variance_rows(max_size: int, relation: Relation) -> list[dict[str, object]]:
    """Compute a row per strategy: mean and largest variance of the cumulative counts, at rho 1/2 and at epsilon 1."""
    rows = []
    for strategy in strategies(max_size):
        gaussian, geometric = strategy.gaussian(relation), strategy.geometric(relation)
        row: dict[str, object] = {"K": max_size, "neighbours": str(relation), "measured": strategy.name}
        row |= {"rho 1/2: mean": gaussian.mean(), "rho 1/2: largest": gaussian.max()}
        if geometric is not None:
            row |= {"epsilon 1: mean": geometric.mean(), "epsilon 1: largest": geometric.max()}
        rows.append(row)
    return rows


def counts(max_size: int) -> Strategy:
    """Measure every count, A = 1: the cumulative count at s adds up s + 1 of them.

    With the number of groups public, what all counts together miss of it is shared out evenly, which leaves the
    variance (s + 1) (K - s) / (K + 1).

    Example:
        >>> counts(2).variances[ADD_REMOVE].tolist(), counts(2).variances[REPLACE].round(3).tolist()
        ([1.0, 2.0, 3.0], [0.667, 0.667, 0.0])
    """
    n = max_size + 1
    below = np.arange(1.0, n + 1)
    return Strategy(
        "counts",
        {ADD_REMOVE: 1, REPLACE: 2},
        {ADD_REMOVE: 1, REPLACE: 2},
        {ADD_REMOVE: below, REPLACE: below - below**2 / n},
    )


def tree(max_size: int, branching: int) -> Strategy:
    """Measure a `SizeTree`; where groups come and go its top, the number of groups, is measured beside it."""
    found = SizeTree(max_size, branching)
    levels = len(found.lengths)
    replaced = found.sensitivity(Unit.GROUP, REPLACE)
    return Strategy(
        f"tree, branching {branching}",
        {ADD_REMOVE: levels + 1, REPLACE: replaced.l2_squared},
        {ADD_REMOVE: levels + 1, REPLACE: replaced.l1},
        {ADD_REMOVE: found.cumulative_variances(total_known=False), REPLACE: found.cumulative_variances()},
    )


def square_root(max_size: int) -> Strategy:
    """Measure R H with R R = L, the lower triangle of ones: R[i, j] = f(i - j), f(k) = binom(2k, k) / 4^k.

    The estimates are L H + R z. The first column of R is the longest; Gaussian noise alone, as R H is not integer.

    Source: Fichtenberger, Henzinger, Upadhyay 2023; Bennett 1977 for the root.
    """
    f = coefficients(max_size + 1)
    squares = np.cumsum(f**2)
    with_last = np.correlate(np.concatenate([f, np.zeros(len(f))]), f, "valid")[: len(f)][::-1]
    return Strategy(
        "square root",
        {ADD_REMOVE: float(squares[-1]), REPLACE: _largest_distance(f, np.ones(len(f)))},
        {ADD_REMOVE: None, REPLACE: None},
        {ADD_REMOVE: squares, REPLACE: np.maximum(squares - with_last**2 / squares[-1], 0)},
    )


def normalised_square_root(max_size: int) -> Strategy:
    """Measure R H with every column of the square root R scaled to length 1: the best explicit factorisation published.

    The estimates are L H + B z with B = L D R^-1, D the lengths of R's columns. Row s of B is row s - 1 and D[s] times
    row s of R^-1, whose entries are the coefficients of sqrt(1 - x).

    Source: Henzinger, Kalinin, Upadhyay 2025, "Normalized Square Root" (arXiv 2509.14334).
    """
    n = max_size + 1
    f = coefficients(n)
    lengths = np.sqrt(np.cumsum(f**2))[::-1]
    inverse = np.concatenate([[1.0], -f[1:] / (2 * np.arange(1, n) - 1)])

    squares, with_last, row = np.empty(n), np.empty(n), np.empty(n)
    for s, row in _growing_rows(lengths, inverse):
        squares[s] = row @ row
    last = row.copy()  # the loop left the last row
    for s, row in _growing_rows(lengths, inverse):
        with_last[s] = row @ last
    return Strategy(
        "normalised square root",
        {ADD_REMOVE: 1.0, REPLACE: _largest_distance(f, 1 / lengths)},
        {ADD_REMOVE: None, REPLACE: None},
        {ADD_REMOVE: squares, REPLACE: np.maximum(squares - with_last**2 / squares[-1], 0)},
    )


def least_mean_variance(max_size: int, steps: int = 20) -> float:
    """Bound from below the mean variance of every strategy at all whose columns have length 1, groups coming and going.

    With M = L'L and X = A'A the mean is tr(X^-1 M) / (K + 1), where X has diagonal 1. For every v > 0 it is at least
    (2 tr (V M V)^(1/2) - sum v) / (K + 1) with V = diag(v)^(1/2): a certificate, whatever v is. Replacing v by the
    diagonal of (V M V)^(1/2) has the best v as its fixed point. O(steps K^3).

    Source: the fixed point of Denisov, McMahan, Rush, Smith, Thakurta 2022.
    """
    n = max_size + 1
    triangle = np.tril(np.ones((n, n)))
    squares, v, least = triangle.T @ triangle, np.linspace(n, 1, n), 0.0
    for _ in range(steps):
        root = np.sqrt(v)
        values, vectors = np.linalg.eigh(root[:, None] * squares * root)
        values = np.sqrt(np.maximum(values, 0))
        least = max(least, float(2 * values.sum() - v.sum()) / n)
        v = np.einsum("ij,j,ij->i", vectors, values, vectors)
    return least


def published_bound(max_size: int) -> float:
    """Compute the best published lower bound on the same mean, (0.701 + ln(K + 1) / pi)^2, for large K.

    Source: Henzinger, Kalinin, Upadhyay 2025 (arXiv 2509.14334), abstract; a term o(1) is left out.
    """
    return (0.701 + log(max_size + 1) / np.pi) ** 2


def coefficients(n: int) -> np.ndarray:
    """The first n coefficients binom(2k, k) / 4^k of 1 / sqrt(1 - x).

    Example:
        >>> coefficients(4).tolist()
        [1.0, 0.5, 0.375, 0.3125]
    """
    k = np.arange(1.0, n)
    return np.concatenate([[1.0], np.cumprod((2 * k - 1) / (2 * k))])


def _growing_rows(lengths: np.ndarray, inverse: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """Yield the rows of L D R^-1 from the first on; all in the same array."""
    row = np.zeros(len(lengths))
    for s, length in enumerate(lengths):
        row[: s + 1] += length * inverse[s::-1]
        yield s, row


def _largest_distance(f: np.ndarray, scales: np.ndarray) -> float:
    """The largest squared distance of two columns of the lower-triangular Toeplitz matrix of f, columns scaled."""
    n = len(f)
    squares = np.cumsum(f**2)[::-1] * scales**2
    largest = 0.0
    for lag in range(1, n):
        products = np.cumsum(f[: n - lag] * f[lag:])[::-1] * scales[: n - lag] * scales[lag:]
        largest = max(largest, float((squares[: n - lag] + squares[lag:] - 2 * products).max()))
    return largest
