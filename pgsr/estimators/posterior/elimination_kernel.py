"""The elimination of regions' own deviations, family by family, in dense matrices over knots.

Only basic operations in a fixed order, so that the same bits come out on every machine. Names are those of
`pgsr.estimators.posterior.prior_fit`.
"""

import numpy as np

from pgsr.estimators.posterior.prior_fit_kernel import add_information
from pgsr.machine.compilation import compiled, uncounted

LEVEL = 1.0
"""The curvature that holds the level of F and of a deviation, which changes no prior mean, where it is."""

LEAST = 1e-4
"""Added to the curvature of every deviation, so that none is free."""


@compiled
def factorised(matrix, low, pivot):
    """Find the factors L D L' of a symmetric matrix; tell whether it is positive definite."""
    n = len(matrix)
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
    return True


@compiled
def with_covariance(low, pivot, noise):
    """Turn independent values of variance 1 into some whose covariance is the inverse of L D L'; shape (n, draws).

    L' u = D^(-1/2) noise, so that u u' has the mean L^(-T) D^(-1) L^(-1).
    """
    n, draws = noise.shape
    for j in range(n - 1, -1, -1):
        root = np.sqrt(pivot[j])
        for i in range(draws):
            noise[j, i] /= root
        for k in range(j + 1, n):
            part = low[k, j]
            for i in range(draws):
                noise[j, i] -= part * noise[k, i]


@compiled
def inverse_of_factor(low):
    """Replace L, whose diagonal is 1, by its inverse, row by row: row i is -(L[i, k] times row k, over all k < i)."""
    n = len(low)
    row = np.empty(n)
    for i in range(n):
        for j in range(i):
            row[j] = low[i, j]
            low[i, j] = 0.0
        for k in range(i):
            part = row[k]
            for j in range(k + 1):
                low[i, j] -= part * low[k, j]


@compiled
def inverse_of(low, pivot, out):
    """Compute the inverse of L D L' from its factors; `low` becomes the inverse of L."""
    n = len(pivot)
    inverse_of_factor(low)
    out[:] = 0.0
    for k in range(n):
        for i in range(k + 1):
            part = low[k, i] / pivot[k]
            for j in range(i + 1):
                out[i, j] += part * low[k, j]
    for i in range(n):
        for j in range(i):
            out[j, i] = out[i, j]


@compiled
def own_penalty(precisions, out):
    """Compute Q = E' diag(precisions) E for differences of neighbours, with the level and all else held a little."""
    n = len(out)
    out[:] = LEVEL / n
    for j in range(n):
        out[j, j] += LEAST
    for j in range(n - 1):
        out[j, j] += precisions[j]
        out[j + 1, j + 1] += precisions[j]
        out[j, j + 1] -= precisions[j]
        out[j + 1, j] -= precisions[j]


@compiled
def eliminated(gradient, information, left, part, precisions, deviation, gain, own, variances, noise):
    """Replace a region's gradient and information by those of its parent's f, with its own deviation at its best.

    With f = f[parent] + C d, the deviation d moves by  own - gain (change of f[parent]).

    Args:
        gradient, information: of f; replaced.
        left, part: C, of every knot the knot of deviations at or below it and the part of the way to the next one.
        precisions: of the differences of d, shape (knots of deviations - 1,).
        deviation: d.
        gain, own: filled in; shape (knots of deviations, knots), (knots of deviations,).
        variances: of the differences of d given f[parent], filled in unless it has no cells; then nothing else is, but
            `gradient` and `information`.
        noise: as in `Steps`, replaced; shape (knots of deviations, draws).
    """
    n, m = len(gradient), len(deviation)
    half = np.zeros((m, n + 1))  # C' I, and C' g - Q d in the last column
    for i in range(n):
        j, up = left[i], part[i]
        for k in range(n):
            half[j, k] += (1.0 - up) * information[i, k]
            half[j + 1, k] += up * information[i, k]
        half[j, n] += (1.0 - up) * gradient[i]
        half[j + 1, n] += up * gradient[i]
    matrix, penalty = np.zeros((m, m)), np.empty((m, m))  # C' I C
    own_penalty(precisions, penalty)
    trace = 0.0
    for j in range(m):
        for i in range(n):
            matrix[j, left[i]] += half[j, i] * (1.0 - part[i])
            matrix[j, left[i] + 1] += half[j, i] * part[i]
        for k in range(m):
            half[j, n] -= penalty[j, k] * deviation[k]
        trace += abs(matrix[j, j]) + penalty[j, j]
    low, pivot = np.zeros((m, m)), np.empty(m)
    ridge = 0.0
    while True:
        whole = matrix + penalty
        for j in range(m):
            whole[j, j] += ridge
        if factorised(whole, low, pivot):
            break
        ridge = 5.0 * ridge if ridge > 0.0 else 1e-6 * trace / m + 1e-6
    # L z = half, whose squares over D are what the parent loses; L' gain = z / D.
    z = half.copy()
    for j in range(m):
        for k in range(j):
            factor = low[j, k]
            for i in range(n + 1):
                z[j, i] -= factor * z[k, i]
    for j in range(m):
        for i in range(n):
            part_of = z[j, i] / pivot[j]
            gradient[i] -= part_of * z[j, n]
            for k in range(i + 1):
                information[i, k] -= part_of * z[j, k]
    for i in range(n):
        for k in range(i):
            information[k, i] = information[i, k]
    if len(variances):
        inverse_of_factor(low)
        for j in range(m - 1):
            total = 0.0
            for k in range(j, m):
                apart = low[k, j] - (low[k, j + 1] if k > j else 0.0)
                total += apart * apart / pivot[k]
            variances[j] = total
        return
    for j in range(m - 1, -1, -1):
        for i in range(n + 1):
            z[j, i] /= pivot[j]
        for k in range(j + 1, m):
            factor = low[k, j]
            for i in range(n + 1):
                z[j, i] -= factor * z[k, i]
        own[j] = z[j, n]
        for i in range(gain.shape[1]):
            gain[j, i] = z[j, i]
    with_covariance(low, pivot, noise)


@compiled
def family_eliminated(regions, known, below, knots, at, theta, out, messages):
    """Eliminate the deviations of some children of one region, and add their gradients and information on its f.

    Regions are numbered within their level.

    Args:
        regions: first child, the one after the last, whether children have children of their own, and whether this is
            an only child, which has no deviation.
        known: of measured regions of the level: their places, or -1 (regions,), gradients, halves, shares, diagonals,
            besides.
        below: gradients and information that the level's regions have from their children.
        knots: left, part of C.
        at: precisions of differences and deviations of the level.
        theta: of I + theta (M - I).
        out: gradient and information on where the children's f begins, added to.
        messages: the `Steps` of the level.
    """
    start, stop, inner, alone = regions
    place, gradients, kept, shares, diagonal, beside = known
    n = len(out[0])
    for r in range(start, stop):
        gradient, information = np.zeros(n), np.zeros((n, n))
        if inner:
            add_both(below[0][r], below[1][r], gradient, information)
        i = place[r]
        if i < 0 and not inner:
            continue
        if i >= 0:
            for j in range(n):
                gradient[j] += gradients[i, j]
            add_information(kept[i], shares[i], diagonal[i], beside[i], theta, information)
        if alone:
            messages[3][r][:] = 0.0
        else:
            eliminated(
                gradient, information, knots[0], knots[1], at[0][r], at[1][r], messages[0][r], messages[1][r],
                messages[2][r], messages[3][r],
            )  # fmt: skip
        add_both(gradient, information, out[0], out[1])


@uncounted
def add_both(gradient, information, out_gradient, out_information):
    """Add a gradient and an information to others; operations on whole arrays take seconds to compile."""
    for j in range(len(gradient)):
        out_gradient[j] += gradient[j]
        for k in range(len(gradient)):
            out_information[j, k] += information[j, k]
