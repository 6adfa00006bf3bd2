"""Prior means, and the derivatives of the evidence in their logarithms.

Only basic operations in a fixed order, so that the same bits come out on every machine. Names are those of
`pgsr.estimators.posterior.prior_fit`.
"""

import numpy as np

from pgsr.estimators.posterior.elementary_kernel import exp
from pgsr.machine.compilation import compiled

NOTHING = 1e-6
"""Covariances of cumulative counts with a part of the score below this are left out, in groups squared."""


@compiled
def prior_means(f, left, part, groups, out):
    """Compute out = groups softmax(f), with f linear between its values at the knots; shape (K + 1,).

    So e^f is geometric between two knots, and two exponentials give its first value and its ratio. No mean is less than
    a billionth of the mean over all sizes, or than 1e-12, so that no count is impossible.
    """
    top = f[0]
    for j in range(len(f)):
        top = max(top, f[j])
    total, ratio = 0.0, 1.0
    for s in range(len(out)):
        j = left[s]
        if s == 0 or left[s - 1] != j or out[s - 1] == 0.0:
            out[s] = exp((1.0 - part[s]) * (f[j] - top) + part[s] * (f[j + 1] - top))
            if s + 1 < len(out) and left[s + 1] == j:
                ratio = exp((part[s + 1] - part[s]) * (f[j + 1] - f[j]))
        else:
            out[s] = out[s - 1] * ratio
        total += out[s]
    least = 1e-9 * groups / len(out) + 1e-12
    for s in range(len(out)):
        out[s] = max(groups * out[s] / total, least)


@compiled
def derivatives(moments, mu, weight, left, part, gradient, information):
    """Fill in gradient and information of the log evidence in log mu at the knots, of one region.

    Args:
        moments: E c[s], Var c[s] and Var x[s]; shape (K + 1,) each.
        mu, weight: prior means, and a[s] = shape / (shape + mu).
        left, part: the knot at or below every size, and the part of the way to the next one.
        gradient, information: shape (knots,) and (knots, knots).
    """
    mean, variance, step_variance = moments
    n, n_knots = len(mean), len(gradient)
    gradient[:] = 0.0
    information[:] = 0.0
    before = 0.0
    for s in range(n):
        j, up = left[s], part[s]
        slope = (mean[s] - before - mu[s]) * weight[s]
        before = mean[s]
        whole = mu[s] * weight[s]
        gradient[j] += (1.0 - up) * slope
        gradient[j + 1] += up * slope
        information[j, j] += (1.0 - up) * (1.0 - up) * whole
        information[j + 1, j] += up * (1.0 - up) * whole
        information[j + 1, j + 1] += up * up * whole
    # The score at knot j is the sum over s of w[s, j] c[s] with w[s, j] = a[s] b[j](s) - a[s + 1] b[j](s + 1), which is
    # not 0 at three knots at most. Of a Markov chain with these variances, Cov(c[s], c[t]) falls by the factor
    # Cov(c[s], c[s - 1]) / Var c[s - 1] from one size to the next: v[j] is the covariance of c[s] with the part of the
    # score that lies below s.
    v = np.zeros(n_knots)
    w = np.empty(3)
    begin = 0
    for s in range(n):
        j = left[s]
        last = min(j + 2, n_knots - 1)
        if variance[s] == 0.0 and (s == 0 or variance[s - 1] == 0.0):  # settled: no covariance with anything
            v[begin : last + 1] = 0.0
            continue
        if s > 0:
            together = 0.5 * (variance[s] + variance[s - 1] - step_variance[s])
            factor = together / variance[s - 1] if variance[s - 1] > 0.0 else 0.0
            for k in range(begin, last + 1):
                v[k] *= factor
            while begin < j and abs(v[begin]) < NOTHING:
                v[begin] = 0.0
                begin += 1
        w[0] = (1.0 - part[s]) * weight[s]
        w[1] = part[s] * weight[s]
        w[2] = 0.0
        if s + 1 < n:
            shift = left[s + 1] - j
            w[shift] -= (1.0 - part[s + 1]) * weight[s + 1]
            w[shift + 1] -= part[s + 1] * weight[s + 1]
        for i in range(last - j + 1):
            if w[i] != 0.0:
                for k in range(begin, last + 1):
                    change = w[i] * v[k]
                    if k == j + i:
                        information[k, k] -= 2.0 * change
                    else:
                        information[max(k, j + i), min(k, j + i)] -= change
                for k in range(i + 1):
                    information[j + i, j + k] -= w[i] * w[k] * variance[s]
        for i in range(last - j + 1):
            v[j + i] += w[i] * variance[s]
    for j in range(n_knots):
        for k in range(j):
            information[k, j] = information[j, k]


@compiled
def complete_information(mean, mu, weight, left, part, shares, diagonal, beside):
    """Fill in the information of EM, b b' a max(mu, E x), which has three diagonals, and the shares of the knots.

    Args:
        mean, mu, weight, left, part: as in `derivatives`.
        shares: u, by how much the logarithm of sum over s of e^f(s) changes with f at the knots; shape (knots,).
        diagonal, beside: of the information; beside[j] belongs to the knots j and j + 1.
    """
    shares[:] = 0.0
    diagonal[:] = 0.0
    beside[:] = 0.0
    before, total = 0.0, 0.0
    for s in range(len(mu)):
        j, up = left[s], part[s]
        whole = weight[s] * max(mu[s], mean[s] - before)
        before = mean[s]
        total += mu[s]
        shares[j] += (1.0 - up) * mu[s]
        shares[j + 1] += up * mu[s]
        diagonal[j] += (1.0 - up) * (1.0 - up) * whole
        diagonal[j + 1] += up * up * whole
        beside[j] += up * (1.0 - up) * whole
    for j in range(len(shares)):
        shares[j] /= total


@compiled
def of_softmax(gradient, information, shares, kept):
    """Turn derivatives in log mu into those in f: J' g and J' I J with J = 1 - 1 u'; keep the latter's lower half."""
    n = len(gradient)
    slope, total = 0.0, 0.0
    sums = np.zeros(n)
    for j in range(n):
        slope += gradient[j]
        for k in range(n):
            sums[j] += information[j, k]
        total += sums[j]
    place = 0
    for j in range(n):
        gradient[j] -= shares[j] * slope
        for k in range(j + 1):
            kept[place] = information[j, k] - shares[j] * sums[k] - sums[j] * shares[k] + shares[j] * shares[k] * total
            place += 1


@compiled
def add_information(kept, shares, diagonal, beside, theta, out):
    """Add I + theta (M - I) to `out`; `of_softmax` and `complete_information` computed its parts."""
    n = len(diagonal)
    sums = np.empty(n)
    total = 0.0
    for j in range(n):
        sums[j] = diagonal[j]
        if j > 0:
            sums[j] += beside[j - 1]
        if j < n - 1:
            sums[j] += beside[j]
        total += sums[j]
    place = 0
    for j in range(n):
        for k in range(j + 1):
            of_em = shares[j] * shares[k] * total - shares[j] * sums[k] - sums[j] * shares[k]
            if j == k:
                of_em += diagonal[j]
            elif j == k + 1:
                of_em += beside[k]
            value = (1.0 - theta) * kept[place] + theta * of_em
            place += 1
            out[j, k] += value
            if k < j:
                out[k, j] += value
