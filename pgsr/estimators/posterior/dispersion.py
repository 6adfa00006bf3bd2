"""The dispersion of a learned prior: shapes of its negative binomial counts, by level and by band of sizes.

A count of mean mu and shape k has the variance V = mu + mu^2 / k. By Fisher's identity the evidence has the slope

    d log P(y) / d log k = E[k (psi(x + k) - psi(k) + log(k / (k + mu)) + (mu - x) / (k + mu)) | y],

psi the digamma function. The expectation of psi(x + k) is taken to second order around E[x | y], from the posterior
variance v. The information is that of a Gaussian count of this variance,

    (d V / d log k)^2 / (2 V^2) (1 - v / V)^2,

where 1 - v / V is the part of the variance that the noise does not hide: of noise of variance N it is V / (V + N), and
what is seen is V + N. Counts of a level in a band share k, and one step of Newton's method in log k takes the sums over
them. Without evidence k stays where it began, at the shape of the rule, by a normal law of deviation 1 of log k.

No shape is larger than the rule's. Deviations follow the counts, so that what is left looks too regular: without this
bound shapes of thousands are found on taxis, and errors grow by 2 %.

docs/learned_prior.md says what it gains. Shown by `tests/test_posterior_dispersion.py`.
"""

import numpy as np

from pgsr.data.hierarchy import Hierarchy
from pgsr.estimators.posterior.evidence import Marginals
from pgsr.estimators.posterior.knots import BLOCK, Knots

LEAST = 1.0
"""No shape is smaller, so that the prior has one peak."""

FARTHEST = 1.5
"""No logarithm of a shape moves by more in one step."""


class Dispersion:
    """The shapes of all regions' counts; those between `BLOCK` neighbouring knots are equal on a level.

    Args:
        tree: the regions.
        knots: of the means.
        first: the shape of the rule.
    """

    def __init__(self, tree: Hierarchy, knots: Knots, first: float) -> None:
        self._tree, self._band = tree, knots.left // BLOCK
        n_bands = int(self._band.max()) + 1
        self._first, self._of_bands = first, np.full((tree.n_levels, n_bands), float(first))
        self._slopes, self._information = np.zeros((2, tree.n_regions, n_bands))

    def shapes(self, region: int) -> np.ndarray:
        """Give the shapes of a region's counts, (K + 1,)."""
        return self._of_bands[self._tree.level_of[region]][self._band]

    def see(self, region: int, found: Marginals, follows: np.ndarray) -> None:
        """Note the posterior of a region; `follows` are the counts whose shape is learned, (K + 1,)."""
        from pgsr.estimators.posterior.dispersion_kernel import derivatives

        about = found.mean, found.step_variance, found.prior_mean, found.shape
        derivatives(*about, follows, self._band, self._slopes[region], self._information[region])

    def step(self) -> None:
        """Do a step of Newton's method from the posteriors of all regions."""
        from pgsr.estimators.posterior.elementary_kernel import exp, log

        for level, shapes in enumerate(self._of_bands):
            rows = self._tree.level(level)
            slopes, information = self._slopes[rows].sum(axis=0), self._information[rows].sum(axis=0)
            for band, (slope, known) in enumerate(zip(slopes, information, strict=True)):
                move = (slope - log(shapes[band] / self._first)) / (known + 1.0)
                moved = shapes[band] * exp(min(max(move, -FARTHEST), FARTHEST))
                shapes[band] = min(max(moved, LEAST), self._first)
