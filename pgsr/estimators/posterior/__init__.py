"""Posterior: the law of a region's groups given the noisy values and the exact law of the noise.

**Model of one region.** Let x[s] be the number of groups of size s = 0..K, c[s] = x[0] + ... + x[s] the cumulative
counts, and G = c[K] the number of groups. A priori the x[s] are independent and negative binomial with means mu[s] and
shapes a[s], conditioned on c[K] = G where G is public. The noise is double geometric with alpha = exp(-1 / scale),
exactly, so the values y that were measured have these likelihoods, each up to a factor that does not depend on x:

    cumulative counts    product over s < K of   alpha^|y[s] - c[s]|
    counts               product over s of       alpha^|y[s] - x[s]|
    ranked sizes         product over ranks i of alpha^|y[i] - h[i]|,   h[i] the i-th smallest size.

**Ranked sizes weigh cumulative counts, too.** The i-th smallest size is at most s exactly if i <= c[s] (ranks from 1).
An absolute difference of integers is the number of s that lie between them, so up to a constant

    sum over i of |y[i] - h[i]|  =  sum over s of  #{i <= c[s] : y[i] > s} + #{i > c[s] : y[i] <= s},

and alpha to this power is a product over s of weights of c[s] alone. The same holds of what groups have beyond a
threshold T, max(h[i] - T, 0), with y[i] > s - T in the place of y[i] > s, for the sizes from T on. So a split view,
whose values are cumulative counts below T and such rows, has weights of c[s] on both sides of T; T = K and T = 0 are
the first and the third line above. A rank that was not measured weighs nothing.

**Forward-backward.** So in all views c[0], c[1], ... is a Markov chain whose steps are the x[s], seen through
weights of states (and, for counts, of steps):

    f[s](c) ~ w[s](c)  sum over x of  q[s](x) f[s-1](c - x),            f[-1] all at 0,
    b[s](c) ~          sum over x of  q[s+1](x) w[s+1](c + x) b[s+1](c + x),

with q[s] the prior masses of x[s] (times the likelihood of a noisy count), w[s] the weights, and

    P(c[s] = c | y) ~ f[s](c) b[s](c).

Everything is exact but for two cuts: c[s] stays in a window around a pilot estimate, which is widened until less than
1e-9 of the posterior mass lies at its edge, and prior masses below 1e-12 of the largest are left out. In tails, where
mu is far below 1, three to six steps have mass, so a cell costs (width of the window) x (few).

**What comes out.** The posterior median of c[s] minimises the expected earth mover's distance of a region that stands
alone; it never falls with s. The posterior means are what can be added up over regions, so they go into the joint stage
(`method`). The prior means mu are learned from the same noisy values, see `learned`: post-processing,
so it costs no privacy. Forward-backward gives what that needs: the moments of the counts, and the evidence P(y), the
product of the sums by which f[s] is made to sum to 1. Where values are impossible under the prior even so, the region's
own counts take the place of its means (`Evidence.marginals`).

Noisy totals are public once they are drawn. Cumulative counts are then measured from above, as numbers of groups larger
than s, whose noise has the same law; what the noisy total adds or takes are groups of size 0.

Files: `method` is `Posterior`; `evidence` one region's values and windows, `chain_kernel` forward-backward, `arrays`
what loops are given; `learned` the prior, between `knots`, from a `start`, with `scales` and `dispersion`, by
`learned_kernel`, `elimination_kernel`, `dispersion_kernel` and `elementary_kernel`; `prior_error` how far means may be
off because it is learned, by `prior_error_kernel`; `propagation` how errors pass through the joint stage,
and `uncertainty` the intervals of a release.
"""

from pgsr.estimators.posterior.method import Posterior

__all__ = ["Posterior"]
