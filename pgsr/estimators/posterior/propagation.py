"""The way from errors of posterior means to errors of the joint projection.

Without its inequalities the joint projection is generalised least squares, cell by cell: with weights w (0 where a
region was not measured) and m the regions' own values, from the leaves up

    z[r] = (w[r] m[r] + u[r] sum over children of z[j]) / (w[r] + u[r]),   W[r] = w[r] + u[r],
    1 / u[r] = sum over children of 1 / W[j],     u[leaf] = 0,

and from the root down, with g[j] = (1 / W[j]) / (sum over siblings of 1 / W),

    x[root] = z[root],     x[j] = z[j] + g[j] (x[parent] - sum over siblings k of z[k]).

Both are linear with the same coefficients in every cell, so they carry any error e of m to the error of x. The
inequalities only bring the answer nearer to the truth, for the truth satisfies them.
"""

from dataclasses import dataclass

import numpy as np

from pgsr.data.hierarchy import Hierarchy
from pgsr.noise.measurement import Measurement
from pgsr.problems.precisions import precision_weights


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
