"""The way from errors of posterior means to errors of the joint projection.

Without its inequalities the joint projection is generalised least squares, cell by cell: with weights w (0 where a
region was not measured) and m the regions' own values, from the leaves up

    z[r] = (w[r] m[r] + u[r] sum over children of z[j]) / (w[r] + u[r]),   W[r] = w[r] + u[r],
    1 / u[r] = sum over children of 1 / W[j],     u[leaf] = 0,

and from the root down, with g[j] = (1 / W[j]) / (sum over siblings of 1 / W),

    x[root] = z[root],     x[j] = z[j] + g[j] (x[parent] - sum over siblings k of z[k]).

Both are linear with the same coefficients in every cell, so they carry any error e of m to the error of x. For
variances of independent errors write x[r] = A[r] z[r] + B[r] with B[r] independent of all that is below r. Inserting
x[parent] = A z[parent] + B, with b = u / (w + u) of the parent,

    A[j] = 1 + g[j] (A b - 1),
    Var B[j] = g[j]^2 ((A b - 1)^2 sum over siblings k != j of Var z[k] + A^2 (1 - b)^2 Var m[parent] + Var B),
    Var x[j] = A[j]^2 Var z[j] + Var B[j].

Covariances of two answers x and x', each with weights of its own, follow in the same way: every square of a
coefficient becomes a product of both answers' coefficients, every variance a covariance.

The inequalities only bring the answer nearer to the truth, for the truth satisfies them.

**Sizes per level.** The cumulative count of size s is shared by the levels with K > s, so its errors go through the
projection on these levels alone (`FoldedPropagation`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Protocol

import numpy as np

from pgsr.algorithms.m_c.joint import laws_of, precisions
from pgsr.data.hierarchy import Hierarchy
from pgsr.noise.measurement import Measurement
from pgsr.problems.precisions import precision_weights

Values = np.ndarray | tuple[np.ndarray, ...]
"""Of all regions: one array whose rows are regions, or one per level where levels have sizes of their own."""


def blocks(values: Values) -> tuple[np.ndarray, ...]:
    """Give the arrays that values consist of, one or one per level."""
    return values if isinstance(values, tuple) else (values,)


def rows_of(values: Values) -> list[np.ndarray]:
    """Give the values of every region."""
    return [row for table in blocks(values) for row in table]


class Carrying(Protocol):
    """The interface of a way from errors of posterior means to errors of the joint projection."""

    def errors(self, own: Any) -> Any:
        """Compute errors of the answer, shaped as those of the means."""
        ...

    def coefficients(self, region: int) -> tuple[np.ndarray, np.ndarray]:
        """Give b and g of every cumulative count of a region; shape (K + 1, 1), or (1, 1) if they are all the same."""
        ...


@dataclass(frozen=True, eq=False)
class Propagation:
    """The coefficients of the joint projection without inequalities; shape (regions,) each.

    Attributes:
        below: u / (w + u), the part of z[r] that comes from its children.
        share: g[r], the part of its parent's rest that a region takes.
    """

    tree: Hierarchy
    below: np.ndarray
    share: np.ndarray

    @classmethod
    def of(cls, measurement: Measurement) -> "Propagation":
        """Compute the coefficients of the weights that `Posterior` gives to the regions of a measurement."""
        return cls.weighted(measurement.hierarchy, precision_weights(measurement) * measurement.measured)

    @classmethod
    def weighted(cls, tree: Hierarchy, weights: np.ndarray) -> "Propagation":
        """Compute the coefficients from non-negative weights, positive at the leaves; shape (regions,)."""
        together, below, share = weights.astype(float), np.zeros(tree.n_regions), np.ones(tree.n_regions)
        for region in range(tree.n_inner - 1, -1, -1):
            children = slice(tree.first_child[region], tree.first_child[region + 1])
            resistance = 1.0 / together[children]
            share[children] = resistance / resistance.sum()
            below[region] = 1.0 / resistance.sum() / (weights[region] + 1.0 / resistance.sum())
            together[region] += 1.0 / resistance.sum()
        return cls(tree, below, share)

    def errors(self, own: np.ndarray) -> np.ndarray:
        """The errors of x from errors of m, shape (regions, ...) both."""
        tree, z = self.tree, own.copy()
        for region in range(tree.n_inner - 1, -1, -1):
            children = z[tree.first_child[region] : tree.first_child[region + 1]].sum(axis=0)
            z[region] += self.below[region] * (children - z[region])
        for region in range(tree.n_inner):
            family = slice(tree.first_child[region], tree.first_child[region + 1])
            rest = z[region] - z[family].sum(axis=0)
            z[family] += self.share[family].reshape(-1, *[1] * (own.ndim - 1)) * rest
        return z

    def coefficients(self, region: int) -> tuple[np.ndarray, np.ndarray]:
        """Give b and g of a region, shape (1, 1)."""
        return self.below[region].reshape(1, 1), self.share[region].reshape(1, 1)

    def variances(self, own: np.ndarray) -> np.ndarray:
        """Var x from variances of independent errors of m, shape (regions, cells) both."""
        return self.covariances(own, self)

    def covariances(self, own: np.ndarray, other: "Propagation") -> np.ndarray:
        """Cov(x, x') from covariances of errors of m and m', independent between regions; shape (regions, cells) both.

        Args:
            own: of the errors of m[r] and m'[r].
            other: gives x' from m'. Its tree may go deeper; what is below this tree is not in m.
        """
        tree = self.tree
        z = own * ((1 - self.below) * (1 - other.below[: tree.n_regions]))[:, None]
        for region in range(tree.n_inner - 1, -1, -1):
            children = z[tree.first_child[region] : tree.first_child[region + 1]].sum(axis=0)
            z[region] += self.below[region] * other.below[region] * children
        slope, slope_other = np.ones(tree.n_regions), np.ones(tree.n_regions)
        rest = {0: np.zeros(own.shape[1])}
        for region in range(tree.n_inner):
            family = slice(tree.first_child[region], tree.first_child[region + 1])
            a, b, above = slope[region], self.below[region], rest.pop(region)
            a_other, b_other = slope_other[region], other.below[region]
            slope[family] = 1 + self.share[family] * (a * b - 1)
            slope_other[family] = 1 + other.share[family] * (a_other * b_other - 1)
            together = z[family].sum(axis=0)
            outside = a * a_other * (1 - b) * (1 - b_other) * own[region] + above
            z[region] = a * a_other * z[region] + above
            inside = (a * b - 1) * (a_other * b_other - 1)
            for child in range(family.start, family.stop):
                share = self.share[child] * other.share[child]
                varies = share * (inside * (together - z[child]) + outside)
                if child < tree.n_inner:
                    rest[child] = varies
                else:
                    z[child] = slope[child] * slope_other[child] * z[child] + varies
        return z


@dataclass(frozen=True, eq=False)
class FoldedPropagation:
    """The projections of a measurement whose levels have sizes of their own, and whose totals are public.

    Attributes:
        tree: the regions.
        weights: of the levels in the joint projection.
        max_sizes: K of every level.
    """

    tree: Hierarchy
    weights: Sequence[float]
    max_sizes: Sequence[int]

    @classmethod
    def of(cls, measurement: Measurement) -> "FoldedPropagation":
        """Take the weights that `Posterior` gives to the levels of a measurement."""
        return cls(measurement.hierarchy, precisions(laws_of(measurement)), measurement.sizes.max_sizes)

    @cached_property
    def ranges(self) -> list[tuple[int, slice]]:
        """The sizes that are shared down to a level and no further, with that level; every size but K once."""
        found = [(level, slice(below, k)) for level, (k, below) in enumerate(pairwise([*self.max_sizes, 0]))]
        return [(level, cells) for level, cells in found if cells.start < cells.stop]

    def projection(self, depth: int) -> Propagation:
        """Give the projection of the levels down to `depth`."""
        if depth not in self._projections:
            tree = self.tree.down_to(depth)
            self._projections[depth] = Propagation.weighted(tree, np.asarray(self.weights, float)[tree.level_of])
        return self._projections[depth]

    @cached_property
    def _projections(self) -> dict[int, Propagation]:
        return {}

    def errors(self, own: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
        """Compute the errors of the answer from errors of m, one table per level, shape (regions, ..., K + 1).

        Those of public totals are 0.
        """
        out = tuple(np.zeros(table.shape) for table in own)
        for depth, cells in self.ranges:
            together = self.projection(depth).errors(np.concatenate([table[..., cells] for table in own[: depth + 1]]))
            for table, part in zip(out, self.split(depth, together), strict=False):
                table[..., cells] = part
        return out

    def coefficients(self, region: int) -> tuple[np.ndarray, np.ndarray]:
        """Give b and g of every cumulative count of a region, shape (K + 1, 1); 0 of its public total."""
        level = int(self.tree.level_of[region])
        out = np.zeros((2, self.max_sizes[level] + 1, 1))
        for depth, cells in self.ranges:
            if depth >= level:
                projection = self.projection(depth)
                out[:, cells, 0] = np.array([[projection.below[region]], [projection.share[region]]])
        return out[0], out[1]

    def split(self, depth: int, rows: np.ndarray) -> list[np.ndarray]:
        """Split rows of all regions down to `depth` by level."""
        return np.split(rows, self.tree.level_start[1 : depth + 1])


def propagation_of(measurement: Measurement) -> Carrying:
    """Give the way of errors through the joint projection of a measurement."""
    return Propagation.of(measurement) if measurement.sizes.equal else FoldedPropagation.of(measurement)
