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

**Errors that siblings have in common.** Let every family f have a factor u_f of mean 0 and variance 1, independent of
the others, and every region j of it the error e[j] u_f. Then z[j] has the error E[j] u_f, E[j] = (1 - b[j]) e[j], from
its own family, and from families below it one of variance D[j]; with F[r] the sum of E over the children of r,

    D[r] = b[r]^2 (F[r]^2 + sum over children of D).

From the root down, x[j] has the error C[j] u_f from its own family, and one of variance W[j] from families elsewhere,
beside A[j] times that of D[j]:

    C[root] = E[root],   C[j] = E[j] + g[j] (A b - 1) F[parent],   W[root] = 0,
    W[j] = g[j]^2 ((A b - 1)^2 sum over siblings k != j of D[k] + C[parent]^2 + W[parent]),
    Var x[j] = C[j]^2 + A[j]^2 D[j] + W[j],

with A, b of the parent where no index stands, as x[parent] = A b (sum over children of z) + a rest, whose error has
C[parent] u of the parent's own family and the variance W[parent] of others.

The inequalities only bring the answer nearer to the truth, for the truth satisfies them.
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

    def variances(self, own: np.ndarray) -> np.ndarray:
        """Var x from variances of independent errors of m, shape (regions, cells) both."""
        return self.covariances(own, self)

    def of_levels(self, own: np.ndarray) -> np.ndarray:
        """Compute Var x where m[r] has the error own[r] u and u is common to a level, independent between levels.

        Args:
            own: shape (regions, cells).
        """
        found = np.zeros(own.shape)
        for level in range(self.tree.n_levels):
            here = self.tree.level(level)
            if own[here].any():
                alone = np.zeros(own.shape)
                alone[here] = own[here]
                found += self.errors(alone) ** 2
        return found

    def of_siblings(self, own: np.ndarray) -> np.ndarray:
        """Compute Var x where m[r] has the error own[r] u and u is common to siblings, independent between families.

        Args:
            own: shape (regions, cells).
        """
        tree, shape = self.tree, own.shape
        alone = own * (1 - self.below)[:, None]
        deeper = np.zeros(shape)
        common, together = np.zeros((2, tree.n_inner, *shape[1:]))
        for region in range(tree.n_inner - 1, -1, -1):
            family = slice(tree.first_child[region], tree.first_child[region + 1])
            common[region], together[region] = alone[family].sum(axis=0), deeper[family].sum(axis=0)
            deeper[region] = self.below[region] ** 2 * (common[region] ** 2 + together[region])
        found = np.zeros(shape)
        found[0] = alone[0] ** 2 + deeper[0]
        slope, rest = np.ones(tree.n_regions), np.zeros((tree.n_inner, *shape[1:]))
        for region in range(tree.n_inner):
            family = slice(tree.first_child[region], tree.first_child[region + 1])
            share, inside = self.share[family, None], slope[region] * self.below[region] - 1
            slope[family] = 1 + self.share[family] * inside
            alone[family] += share * inside * common[region]
            outside = alone[region] ** 2 + rest[region]
            elsewhere = share**2 * (inside**2 * (together[region] - deeper[family]) + outside)
            inner = max(0, min(family.stop, tree.n_inner) - family.start)
            rest[family.start : family.start + inner] = elsewhere[:inner]
            found[family] = alone[family] ** 2 + slope[family, None] ** 2 * deeper[family] + elsewhere
        return found

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
