"""Posterior: the law of a region's groups given the noisy values and the exact law of the noise.

**Model of one region.** Let x[s] be the number of groups of size s = 0..K, c[s] = x[0] + ... + x[s] the cumulative
counts, and G = c[K] the number of groups. A priori the x[s] are independent and negative binomial with means mu[s] and
shapes a[s], conditioned on c[K] = G where G is public. The noise is double geometric with alpha = exp(-1 / scale),
exactly, so the values y that were measured have these likelihoods, each up to a factor that does not depend on x:

    cumulative counts    product over s < K of   alpha^|y[s] - c[s]|
    counts               product over s of       alpha^|y[s] - x[s]|
    ranked sizes         product over ranks i of alpha^|y[i] - h[i]|,   h[i] the i-th smallest size.

Ranks weigh cumulative counts, too, so in every view c[0], c[1], ... is a Markov chain whose steps are the x[s], seen
through weights of its states (of its steps for counts). Forward-backward gives the posterior. It is exact but for two
cuts: c[s] stays in a window, which is widened until less than 1e-4 of the mass (1e-9 for draws) lies at its edge, and
prior masses below 1e-12 of the largest are left out. The prior means mu are learned from the same noisy values
(`prior_fit`), which costs no privacy, and the posterior means of all regions are projected together (`method`).
docs/derivations/posterior.md derives all this.

Noisy totals are public once they are drawn. Cumulative counts are then measured from above, as numbers of groups larger
than s, whose noise has the same law; what the noisy total adds or takes are groups of size 0.

Files: `method` is `Posterior`; `evidence` one region's values and windows, `chain_kernel` forward-backward, `arrays`
what loops are given; `prior_fit` the prior, between `knots`, from a `start`, with `scales` and `dispersion`, by
`prior_fit_kernel`, `elimination_kernel`, `dispersion_kernel` and `elementary_kernel`; `prior_error` how far means may
be off because it is learned, by `prior_error_kernel`; and `propagation` how errors pass through the joint stage.
"""

from pgsr.estimators.posterior.method import Posterior

__all__ = ["Posterior"]
