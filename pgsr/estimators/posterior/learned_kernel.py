"""Derivatives of the evidence in the logarithms of prior means, and the elimination of a region's own deviations.

Only basic operations in a fixed order, so that the same bits come out on every machine. Names are those of
`pgsr.estimators.posterior.learned`.
"""

import numpy as np

from pgsr.estimators.posterior.elementary_kernel import exp
from pgsr.machine.compilation import compiled

NOTHING = 1e-6
"""Covariances of cumulative counts with a part of the score below this are left out, in groups squared."""

CLIP = 2.0
"""No logarithm moves by more in one step."""


@compiled
def prior_means(beta, left, part, groups, out):
    """Compute out[s] = groups e^f(s), with f linear between the values beta at the knots; shape (K + 1,)."""
    for s in range(len(out)):
        out[s] = groups * exp((1.0 - part[s]) * beta[left[s]] + part[s] * beta[left[s] + 1])


@compiled
def derivatives(mean, variance, step_variance, mu, weight, left, part, gradient, information):
    """Fill in gradient and information of the log evidence in the values of f at the knots, of one region.

    Args:
        mean, variance, step_variance: E c[s], Var c[s] and Var x[s]; shape (K + 1,).
        mu, weight: prior means, and a[s] = shape / (shape + mu), or 0 where the mean does not follow f.
        left, part: the knot at or below every size, and the part of the way to the next one.
        gradient, information: shape (knots,) and (knots, knots).
    """
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
def inverted(matrix, out):
    """Invert a symmetric positive definite matrix by its factors L D L'; tell whether it is one."""
    n = len(matrix)
    low = np.zeros((n, n))
    pivot = np.empty(n)
    for j in range(n):
        value = matrix[j, j]
        for k in range(j):
            value -= low[j, k] * low[j, k] * pivot[k]
        if not value > 1e-10 * abs(matrix[j, j]) + 1e-12:
            return False
        pivot[j] = value
        for i in range(j + 1, n):
            value = matrix[i, j]
            for k in range(j):
                value -= low[i, k] * low[j, k] * pivot[k]
            low[i, j] = value / pivot[j]
        low[j, j] = 1.0
    # The inverse of L, column by column, then the product of its transpose, 1 / D and itself.
    for j in range(n):
        for i in range(j + 1, n):
            value = low[i, j]
            for k in range(j + 1, i):
                value += low[i, k] * low[k, j]
            low[i, j] = -value
    for i in range(n):
        for j in range(i + 1):
            value = 0.0
            for k in range(i, n):
                value += low[k, i] * low[k, j] / pivot[k]
            out[i, j] = value
            out[j, i] = value
    return True


@compiled
def eliminated(gradient, information, spread, penalty, deviation, gain, own, inverse):
    """Replace a region's gradient and information by those of its parent's f, with its own deviation at its best.

    With f = f[parent] + C d, the deviation d moves by  own - gain (change of f[parent]).

    Args:
        gradient, information: of f; replaced.
        spread: C, shape (knots, knots of deviations).
        penalty: Q of the deviation.
        deviation: d.
        gain, own: filled in; shape (knots of deviations, knots), (knots of deviations,).
        inverse: filled in with (C' I C + Q)^-1.
    """
    n, m = spread.shape
    half = np.zeros((m, n))  # C' I
    for i in range(n):
        for j in range(m):
            if spread[i, j] != 0.0:
                for k in range(n):
                    half[j, k] += spread[i, j] * information[i, k]
    matrix = np.zeros((m, m))  # C' I C + Q
    score = np.zeros(m)
    for j in range(m):
        for k in range(m):
            score[j] -= penalty[j, k] * deviation[k]
    for i in range(n):
        for k in range(m):
            if spread[i, k] != 0.0:
                score[k] += spread[i, k] * gradient[i]
                for j in range(m):
                    matrix[j, k] += half[j, i] * spread[i, k]
    ridge = 0.0
    while True:
        whole = matrix + penalty
        for j in range(m):
            whole[j, j] += ridge
        if inverted(whole, inverse):
            break
        ridge = 2.0 * ridge if ridge > 0.0 else 1e-3
    for j in range(m):
        value = 0.0
        for k in range(m):
            value += inverse[j, k] * score[k]
        own[j] = value
        for i in range(n):
            value = 0.0
            for k in range(m):
                value += inverse[j, k] * half[k, i]
            gain[j, i] = value
    for i in range(n):
        for j in range(m):
            gradient[i] -= half[j, i] * own[j]
    for j in range(m):
        for i in range(n):
            for k in range(n):
                information[i, k] -= half[j, i] * gain[j, k]
