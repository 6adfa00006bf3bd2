"""Prior means, derivatives of the evidence in their logarithms, and the elimination of regions' own deviations.

Only basic operations in a fixed order, so that the same bits come out on every machine. Names are those of
`pgsr.estimators.posterior.learned`.
"""

import numpy as np

from pgsr.estimators.posterior.elementary_kernel import exp, log
from pgsr.machine.compilation import compiled, uncounted

NOTHING = 1e-6
"""Covariances of cumulative counts with a part of the score below this are left out, in groups squared."""

LEVEL = 1.0
"""The curvature that holds the level of F and of a deviation, which changes no prior mean, where it is."""

LEAST = 1e-4
"""Added to the curvature of every deviation, so that none is free."""


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


@compiled
def folded(f, left, part, at, out, slopes):
    """Fold a region's f to the sizes of its children, of which the last class is "at[-1] or more".

    Args:
        f: at the region's knots.
        left, part: of every size of the region the knot at or below it, and the part of the way to the next one.
        at: the sizes of the children's knots.
        out: filled in, f(s) for the knots s below the last, and log sum over s >= at[-1] of e^f(s).
        slopes: filled in, the derivatives of `out` in f; shape (children's knots, knots).
    """
    slopes[:] = 0.0
    last = len(at) - 1
    for i in range(last):
        j, up = left[at[i]], part[at[i]]
        out[i] = (1.0 - up) * f[j] + up * f[j + 1]
        slopes[i, j] += 1.0 - up
        slopes[i, j + 1] += up
    top = f[0]
    for j in range(len(f)):
        top = max(top, f[j])
    total = 0.0
    for s in range(at[last], len(left)):
        j, up = left[s], part[s]
        share = exp((1.0 - up) * (f[j] - top) + up * (f[j + 1] - top))
        total += share
        slopes[last, j] += (1.0 - up) * share
        slopes[last, j + 1] += up * share
    out[last] = top + log(total)
    for j in range(len(f)):
        slopes[last, j] /= total


@compiled
def pulled_back(slopes, gradient, information, out_gradient, out_information):
    """Add P' g and P' I P to `out_gradient` and `out_information`, with P the slopes."""
    n, m = slopes.shape
    row = np.empty(m)
    for i in range(n):
        row[:] = 0.0
        for k in range(n):
            for j in range(m):
                row[j] += information[i, k] * slopes[k, j]
        for j in range(m):
            if slopes[i, j] != 0.0:
                out_gradient[j] += slopes[i, j] * gradient[i]
                for k in range(m):
                    out_information[j, k] += slopes[i, j] * row[k]


@uncounted
def mean_errors(variances, prior, places, errors, room, out):
    """Compute by how much the posterior means E c[s] of a region change with errors of its f.

    With eta the change of log mu, d E c[s] = sum over t of a[t] eta[t] Cov(c[s], x[t]), which is a sum over t of
    (a[t] eta[t] - a[t + 1] eta[t + 1]) Cov(c[s], c[t]). Covariances are those of a Markov chain, as in `derivatives`,
    so a pass up adds up t < s and a pass down t > s.

    Args:
        variances: Var c[s] and Var x[s]; shape (K + 1,) each.
        prior, places: mu and weight, left and part, as in `derivatives`.
        errors: of f at the knots, replaced; shape (knots, draws).
        room: for shares and factors of sizes, shape (K + 1,), and for two numbers per draw, shape (2, draws).
        out: filled in; shape (K + 1, draws).
    """
    (variance, step_variance), (mu, weight), (left, part) = variances, prior, places
    factor, carried = room
    n, draws = out.shape
    # A change of all f changes no mean, so what eta is on average is taken off f.
    level, total = carried[0], 0.0
    level[:] = 0.0
    for s in range(n):
        total += mu[s]
    for s in range(n):
        j, up, of_all = left[s], part[s], mu[s] / total
        for i in range(draws):
            level[i] += of_all * ((1.0 - up) * errors[j, i] + up * errors[j + 1, i])
    for j in range(len(errors)):
        for i in range(draws):
            errors[j, i] -= level[i]
    factor[0] = 0.0
    for s in range(1, n):
        together = 0.5 * (variance[s] + variance[s - 1] - step_variance[s])
        factor[s] = together / variance[s - 1] if variance[s - 1] > 0.0 else 0.0
    smaller, larger = carried
    smaller[:] = 0.0
    for s in range(n):
        if variance[s] == 0.0:  # and so is its covariance with anything
            smaller[:] = 0.0
            out[s] = 0.0
            continue
        j, up, a = left[s], part[s], weight[s]
        j_next, up_next, a_next = (left[s + 1], part[s + 1], weight[s + 1]) if s + 1 < n else (j, up, 0.0)
        v, by = variance[s], factor[s]
        for i in range(draws):
            own = a * ((1.0 - up) * errors[j, i] + up * errors[j + 1, i])
            own -= a_next * ((1.0 - up_next) * errors[j_next, i] + up_next * errors[j_next + 1, i])
            before = smaller[i] * by
            out[s, i] = before + v * own
            smaller[i] = before + v * own
    larger[:] = 0.0
    for s in range(n - 1, -1, -1):
        if variance[s] == 0.0:
            larger[:] = 0.0
            continue
        j, up, a = left[s], part[s], weight[s]
        j_next, up_next, a_next = (left[s + 1], part[s + 1], weight[s + 1]) if s + 1 < n else (j, up, 0.0)
        v, by = variance[s], factor[s]
        for i in range(draws):
            own = a * ((1.0 - up) * errors[j, i] + up * errors[j + 1, i])
            own -= a_next * ((1.0 - up_next) * errors[j_next, i] + up_next * errors[j_next + 1, i])
            out[s, i] += v * larger[i]
            larger[i] = by * (own + larger[i])


@uncounted
def add_squares(errors, number, cumulative, counts):
    """Add to every size the sum of squares over draws by `number`, of errors of c[s] and of x[s] = c[s] - c[s - 1].

    Args:
        errors: of c, shape (K + 1, draws).
        number: of all draws.
        cumulative, counts: float32, shape (K + 1,).
    """
    n, draws = errors.shape
    for s in range(n):
        of_c, of_x = 0.0, 0.0
        for i in range(draws):
            step = errors[s, i] - (errors[s - 1, i] if s > 0 else 0.0)
            of_c += errors[s, i] * errors[s, i]
            of_x += step * step
        cumulative[s] += of_c / number
        counts[s] += of_x / number
