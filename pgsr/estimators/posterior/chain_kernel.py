"""Forward-backward over the cumulative counts of one region, in floating point with basic operations alone.

Only +, -, *, / and comparisons appear, in a fixed order: the result has the same bits on every machine with IEEE 754
arithmetic. Names are those of `pgsr.estimators.posterior`.

**Settled sizes.** From a size on a region may have no group left in all probability: c[s] is `most`, its public number
of groups G. P(c[s] = G) never falls with s, so that this then holds for all larger sizes. Windows of these sizes are
the one state G, and a pass over them needs a few operations each. Whether that was right is read off the posterior: let
o[s] be the odds that one group is left beyond s, b[s](G - 1) / b[s](G). From o[K] = 0 they follow by

    o[s - 1] = q[s](1) / q[s](0) + o[s] w[s](G - 1) / w[s](G),

and with s the last size before them, the mass that the windows leave out is

    f[s](G - 1) / f[s](G) * w[s + 1](G - 1) / w[s + 1](G) * o[s + 1],

but for what two groups add, which is less still.
"""

import numpy as np

from pgsr.estimators.posterior.elementary_kernel import log, log_mass
from pgsr.machine.compilation import inlined, uncounted

CUT = 1e-12
"""Steps whose prior mass is below this part of the largest are left out."""

LEAST = 1e-290
"""No likelihood of a noisy count is a smaller part of that of the next one."""

SMALL = 1e-200
"""A product of factors may shrink to this, or grow to its inverse, before its logarithm is taken."""

NEGLIGIBLE = 1e-280
"""States at the ends of a window with less than this part of the mass so far are dropped."""


@uncounted
def forward_backward(noisy, prior, window, room, moments):
    """Compute the posterior of every cumulative count c[s] of one region, given its noisy values.

    Args:
        noisy, prior, window, room: of the region, see `pgsr.estimators.posterior.arrays`.
        moments: filled in.

    Returns:
        The largest mass of a state at the edge of its window, edges at 0 and at `most` apart, and those of a window of
        one state, or what settled sizes leave out if that is more; 1 if the values contradict the windows altogether.
        And the logarithm of the evidence, as `forward_pass` gives it.
    """
    low, high, most, settled = window
    mu, shape = prior
    mean, variance, median, step_variance = moments.mean, moments.variance, moments.median, moments.step_variance
    n = len(mu)
    forward, bottom, top, steps, weight, after, before = room
    log_evidence = forward_pass(noisy, prior, window, room)
    if log_evidence == -np.inf:
        return 1.0, log_evidence
    odds = 0.0
    for s in range(n - 1, settled, -1):
        mean[s] = median[s] = most
        variance[s] = step_variance[s] = 0.0
        odds = odds_of_one_left(noisy, s, most, mu[s], shape[s], odds)
    edge = 0.0
    if settled < n:
        all_seen = most - bottom[settled - 1]
        if top[settled - 1] < most:
            edge = 1.0
        elif all_seen > 0:
            one_left = forward[settled - 1, all_seen - 1] / forward[settled - 1, all_seen]
            edge = one_left * odds_of_one_left(noisy, settled, most, 0.0, shape[settled], odds)
    # From c[K] down: after[c - bottom[s]] = b[s](c), relative to the largest; before becomes b[s - 1].
    after[:] = 1.0
    for s in range(min(settled, n - 1), -1, -1):
        # P(c[s] = c | y) = f[s](c) b[s](c) / total, and its moments, measured from bottom[s] so that nothing cancels.
        here = forward[s]
        n_states = top[s] - bottom[s] + 1
        total = 0.0
        for c in range(n_states):
            total += here[c] * after[c]
        if not total > 0.0:
            return 1.0, log_evidence
        sum_1 = 0.0
        sum_2 = 0.0
        so_far = 0.0
        middle = n_states - 1
        for c in range(n_states):
            mass = here[c] * after[c] / total
            sum_1 += c * mass
            sum_2 += c * c * mass
            if so_far < 0.5 and so_far + mass >= 0.5:
                middle = c
            so_far += mass
        mean[s] = bottom[s] + sum_1
        variance[s] = max(0.0, sum_2 - sum_1 * sum_1)
        median[s] = bottom[s] + middle
        if low[s] < high[s]:
            if bottom[s] == low[s] and low[s] > 0:
                edge = max(edge, here[0] * after[0] / total)
            if top[s] == high[s] and high[s] < most:
                edge = max(edge, here[n_states - 1] * after[n_states - 1] / total)
        if s == 0:
            step_variance[0] = variance[0]
        else:
            # b[s - 1](c) = sum over x of q[s](x) w[s](c + x) b[s](c + x): q in `steps`, w b in `after`.
            least = max(0, low[s] - top[s - 1])
            first, last, _ = step_masses(noisy, s, least, high[s] - bottom[s - 1], mu[s], shape[s], steps)
            weights(noisy, s, bottom[s], top[s], weight)
            for c in range(n_states):
                after[c] *= weight[c]
            # P(c[s - 1] = c, x[s] = x | y) ~ f[s - 1](c) q[s](x) w[s](c + x) b[s](c + x): the sums over both of 1, x
            # and x^2, with x from `least` on, give the variance of x[s].
            there = forward[s - 1]
            below, above = bottom[s - 1], top[s - 1]
            n_below = above - below + 1
            before[:n_below] = 0.0
            total = 0.0
            sum_1 = 0.0
            sum_2 = 0.0
            for x in range(max(first, bottom[s] - above), min(last, top[s] - below) + 1):
                c, end = max(below, bottom[s] - x), min(above, top[s] - x) + 1
                if c < end:
                    at, to, factor, from_least = c + x - bottom[s], c - below, steps[x - least], float(x - least)
                    add_product(end - c, factor, after, at, before, to)
                    mass = factor * product(end - c, after, at, there, to)
                    total += mass
                    sum_1 += from_least * mass
                    sum_2 += from_least * from_least * mass
            largest = 0.0
            for c in range(n_below):
                largest = max(largest, before[c])
            step_variance[s] = max(0.0, sum_2 / total - (sum_1 / total) ** 2) if total > 0.0 else 0.0
            for c in range(top[s - 1] - bottom[s - 1] + 1):
                after[c] = before[c] / largest if largest > 0.0 else 0.0
    return edge, log_evidence


@inlined
def add_product(n, factor, values, at, out, to):
    """Add factor * values[at + i] to out[to + i] for i < n.

    Places are unsigned here: those that may be negative are looked at one by one, which takes four times as long.
    """
    at, to = np.uint64(at), np.uint64(to)
    for i in range(np.uint64(n)):
        out[to + i] += factor * values[at + i]


@inlined
def product(n, values, at, others, to):
    """Sum values[at + i] * others[to + i] over i < n, in four sums side by side, which a processor forms at once."""
    at, to, whole = np.uint64(at), np.uint64(to), np.uint64(n - n % 4)
    sum_0, sum_1, sum_2, sum_3 = 0.0, 0.0, 0.0, 0.0
    for i in range(np.uint64(0), whole, np.uint64(4)):
        sum_0 += values[at + i] * others[to + i]
        sum_1 += values[at + i + np.uint64(1)] * others[to + i + np.uint64(1)]
        sum_2 += values[at + i + np.uint64(2)] * others[to + i + np.uint64(2)]
        sum_3 += values[at + i + np.uint64(3)] * others[to + i + np.uint64(3)]
    for i in range(whole, np.uint64(n)):
        sum_0 += values[at + i] * others[to + i]
    return (sum_0 + sum_1) + (sum_2 + sum_3)


@uncounted
def draw(noisy, prior, window, room, uniforms, out):
    """Draw whole vectors of cumulative counts from the posterior, by going back through the chain.

    c[K] is drawn from f[K], then c[s-1] given c[s] with P(c[s-1] = c) ~ f[s-1](c) q[s](c[s] - c): exact draws.

    Args:
        uniforms: from [0, 1), shape (draws, K + 1).
        out: filled in, int64, shape (draws, K + 1).
        others: as in `forward_backward`.

    Returns:
        Whether the windows allow the values at all.
    """
    low, high, mu, shape = window.low, window.high, prior.mu, prior.shape
    forward, bottom, top, steps = room.forward, room.bottom, room.top, room.steps
    n = len(mu)
    if forward_pass(noisy, prior, window, room) == -np.inf:
        return False
    # c[K] is where the running sum of f[K], whose sum is 1, passes the uniform number.
    for d in range(len(out)):
        target = uniforms[d, n - 1]
        c = bottom[n - 1]
        while c < top[n - 1] and target >= forward[n - 1, c - bottom[n - 1]]:
            target -= forward[n - 1, c - bottom[n - 1]]
            c += 1
        out[d, n - 1] = c
    for s in range(n - 1, 0, -1):
        least = max(0, low[s] - top[s - 1])
        first, last, _ = step_masses(noisy, s, least, high[s] - bottom[s - 1], mu[s], shape[s], steps)
        there = forward[s - 1]
        for d in range(len(out)):
            # Of all x with mass for which c[s] - x is a state, the one where the running sum of
            # f[s - 1](c[s] - x) q[s](x) passes the uniform number's part of their total.
            c = out[d, s]
            start = max(first, c - top[s - 1])
            stop = min(last, c - bottom[s - 1])
            total = 0.0
            for x in range(start, stop + 1):
                total += steps[x - least] * there[c - x - bottom[s - 1]]
            target = uniforms[d, s - 1] * total
            x = start
            while x < stop:
                target -= steps[x - least] * there[c - x - bottom[s - 1]]
                if target < 0.0:
                    break
                x += 1
            out[d, s - 1] = c - x
    return True


@uncounted
def forward_pass(noisy, prior, window, room):
    """Fill forward[s, c - bottom[s]] = f[s](c), of sum 1, for c = bottom[s]..top[s] within the window.

    The sums before they are made 1 multiply up to the evidence, the chance of the noisy values (and of a public total)
    under the prior: all factors that masses and weights are relative to are counted in, but for one that no prior
    changes.

    Returns:
        The logarithm of the evidence, minus infinity where at some s no state is possible.
    """
    low, high, most, settled = window
    mu, shape = prior
    forward, bottom, top, steps, weight = room.forward, room.bottom, room.top, room.steps, room.weight
    n, wanted = len(mu), len(noisy.anchor) > 0
    # Logarithms are taken of products over many sizes: of what is normalised, and of the masses of counts of 0, which
    # are (k / (k + mu))^k.
    log_evidence, sums, of_none, k = 0.0, 1.0, 1.0, shape[0]
    exponents = 0
    for s in range(min(settled + 1, n)):
        # The states that a step with mass leads to from those of s - 1, and their weights w[s].
        below = bottom[s - 1] if s > 0 else 0
        above = top[s - 1] if s > 0 else 0
        least = max(0, low[s] - above)
        first, last, peak = step_masses(noisy, s, least, high[s] - below, mu[s], shape[s], steps)
        start = max(low[s], below + first)
        stop = min(high[s], above + last)
        exponents += weights(noisy, s, start, stop, weight)
        # f[s](c) ~ w[s](c) sum over x of q[s](x) f[s - 1](c - x), with f[-1] all at 0.
        here = forward[s]
        for c in range(stop - start + 1):
            here[c] = 0.0
        if s == 0:
            for x in range(first, last + 1):
                here[x - start] = steps[x - least]
        else:
            there = forward[s - 1]
            for c in range(below, above + 1):
                x, end = max(first, start - c), min(last, stop - c) + 1
                mass = there[c - below]
                if x < end:
                    add_product(end - x, mass, steps, x - least, here, c + x - start)
        total = 0.0
        for c in range(stop - start + 1):
            here[c] *= weight[c]
            total += here[c]
        if not total > 0.0:
            return -np.inf
        if wanted:
            sums *= total
            if not SMALL < sums < 1.0 / SMALL:
                log_evidence += log(sums)
                sums = 1.0
            if peak > 0:
                log_evidence += log_mass(peak, mu[s], shape[s])
            else:
                if shape[s] != k or of_none < SMALL:
                    log_evidence += k * log(of_none)
                    of_none, k = 1.0, shape[s]
                of_none *= k / (k + mu[s])
            exponents += exponent_at(noisy, s, start, peak)
        # States that are all but impossible are dropped at both ends; what is left moves to the front.
        left = 0
        while here[left] < NEGLIGIBLE * total:
            left += 1
        right = stop - start
        while here[right] < NEGLIGIBLE * total:
            right -= 1
        for c in range(left, right + 1):
            here[c - left] = here[c] / total
        bottom[s] = start + left
        top[s] = start + right
    for s in range(settled + 1, n):
        bottom[s] = top[s] = most
        if wanted:
            if shape[s] != k or of_none < SMALL:
                log_evidence += k * log(of_none)
                of_none, k = 1.0, shape[s]
            of_none *= k / (k + mu[s])
            exponents += exponent_at(noisy, s, most, 0)
    return log_evidence + log(sums) + k * log(of_none) + noisy.log_base * exponents


@uncounted
def odds_of_one_left(noisy, s, most, mu, shape, odds):
    """Compute the odds that one group is left beyond s - 1 from those beyond s, see the top of this file."""
    y, law, up_to = noisy.y, noisy.law, noisy.up_to
    one = shape * mu / (shape + mu)
    if noisy.kind == 1:
        return odds + weighed(one, law, noisy.coarse, noisy.fine, y[s])
    rank = up_to + most - 1 - noisy.first  # of the largest group
    if s < up_to:
        odds = weighed(odds, law, noisy.coarse, noisy.fine, most - y[s])
    elif up_to <= rank < len(y):
        odds = weighed(odds, law, noisy.coarse, noisy.fine, y[rank] - (s - up_to))
    return one + odds


@inlined
def step_masses(noisy, s, least, most, mu, shape, out):
    """Compute the masses of steps x[s] in least..most, those of noisy counts times their likelihoods."""
    if noisy.kind == 1:
        found = weighed_masses(noisy, noisy.y[s], least, most, mu, shape, out)
    else:
        found = masses(least, most, mu, shape, out)
    return found


@uncounted
def masses(least, most, mu, shape, out):
    """Compute the masses of steps x[s] in least..most.

    out[x - least] is the mass of x, relative to the largest. The masses of a negative binomial distribution follow from
    each other,

        P(x + 1) / P(x) = (shape + x) / (x + 1) * mu / (shape + mu),

    in `weighed_masses` times the ratio of the likelihoods of a noisy count y (see `weighed`). The product falls with x
    (for shape at least 1), so the masses have one peak, are computed outwards from it, and are cut off where they are
    negligible.

    Returns:
        The first and the last step that is not negligible, and the peak.
    """
    peak = peak_of(least, most, mu, shape)
    p = mu / (shape + mu)
    out[peak - least] = 1.0
    last = peak
    mass = 1.0
    while last < most:
        mass *= (shape + last) / (last + 1.0) * p
        if mass < CUT:
            break
        last += 1
        out[last - least] = mass
    first = peak
    mass = 1.0
    while first > least:
        mass /= (shape + first - 1.0) / first * p
        if mass < CUT:
            break
        first -= 1
        out[first - least] = mass
    return first, last, peak


@inlined
def peak_of(least, most, mu, shape):
    """Find the step of the largest mass: P(x + 1) / P(x) is at least 1 where x + 1 <= (shape - 1) mu / shape."""
    return min(max(np.int64((shape - 1.0) * mu / shape), least), most)


@uncounted
def weighed_masses(noisy, y, least, most, mu, shape, out):
    """Compute the `masses` of steps where a count y is noisy: likelihoods move the peak on, step by step."""
    law, coarse, fine = noisy.law, noisy.coarse, noisy.fine
    peak = peak_of(least, most, mu, shape)
    p = mu / (shape + mu)
    while peak < most and weighed((shape + peak) / (peak + 1.0) * p, law, coarse, fine, y - peak) > 1.0:
        peak += 1
    while peak > least and weighed((shape + peak - 1.0) / peak * p, law, coarse, fine, y - peak + 1) < 1.0:
        peak -= 1
    out[peak - least] = 1.0
    last = peak
    mass = 1.0
    while last < most:
        mass *= weighed((shape + last) / (last + 1.0) * p, law, coarse, fine, y - last)
        if mass < CUT:
            break
        last += 1
        out[last - least] = mass
    first = peak
    mass = 1.0
    while first > least:
        mass /= weighed((shape + first - 1.0) / first * p, law, coarse, fine, y - first + 1)
        if mass < CUT:
            break
        first -= 1
        out[first - least] = mass
    return first, last, peak


@inlined
def weights(noisy, s, low, high, out):
    """Compute `state_weights`, at once for double geometric noise of cumulative counts, the usual case."""
    if s < noisy.up_to and noisy.kind == 0 and noisy.law == 0:
        y, fine = noisy.y[s], noisy.fine
        least = abs(y - min(max(y, low), high))
        for c in range(high - low + 1):
            out[c] = fine[abs(y - low - c) - least]
        exponent = least - abs(y - low)
    else:
        exponent = state_weights(noisy, s, low, high, out)
    return exponent


@uncounted
def state_weights(noisy, s, low, high, out):
    """Compute out[c - low], the likelihood of c[s] = c relative to the largest in the window low..high.

    With the noise z = y - (true value), P(z) ~ base^loss(z) for whole numbers loss(z): |z| and base exp(-1 / scale) for
    double geometric noise, z^2 and base exp(-1 / (2 sigma^2)) for discrete Gaussian noise. Both losses are convex.

    A noisy cumulative count, s below the threshold T, weighs base^loss(y[s] - c), and the noisy sum of n of them around
    s weighs base^loss(y[s] - n c), as if it were n times the middle one (`Evidence` takes the difference off first).
    What the group of rank i has beyond T is e[i] = max(h[i] - T, 0). It is above s if and only if i >= c[s], so that
    the loss of its noise is a sum over sizes from T on,

        loss(z[i] - e[i]) = loss(z[i]) + sum over t >= 0 with i >= c[T + t] of (loss(z[i] - t - 1) - loss(z[i] - t)),

    and c[s] weighs base to the power of the sum over measured ranks i >= c[s].

    Returns:
        The exponent of the largest likelihood, that of c = low being 0; 0 or less.
    """
    coarse, fine, law, up_to = noisy.coarse, noisy.fine, noisy.law, noisy.up_to
    n_states = high - low + 1
    if noisy.kind == 1 or (s >= up_to and high <= noisy.first):
        for c in range(n_states):
            out[c] = 1.0
        return 0
    if s < up_to:
        y = noisy.y[s]
        least = loss(law, y - min(max(y, low), high))
        for c in range(n_states):
            out[c] = power(coarse, fine, loss(law, y - low - c) - least)
        return least - loss(law, y - low)
    # The exponents begin at 0 for c = low; the smallest, whose power is the largest, is taken off in a second pass.
    # Ranks from `start` on were measured, `stop` is the first that was not.
    y, shift = noisy.y, up_to - noisy.first
    start = min(max(low, noisy.first), high)
    stop = max(start, min(high, len(y) - shift))
    exponent = 0
    smallest = 0
    for c in range(start, stop):
        exponent += change_of_loss(law, s + 1 - up_to - y[shift + c])
        smallest = min(smallest, exponent)
    exponent = -smallest
    for c in range(low, start + 1):
        out[c - low] = power(coarse, fine, exponent)
    for c in range(start, stop):
        exponent += change_of_loss(law, s + 1 - up_to - y[shift + c])
        out[c + 1 - low] = power(coarse, fine, exponent)
    for c in range(stop, high):
        out[c + 1 - low] = out[stop - low]
    return smallest


@uncounted
def exponent_at(noisy, s, c, x):
    """Compute the exponent of a noisy count at x, or else of `state_weights` at c; that of ranks is 0 at the anchor."""
    if noisy.kind == 1:
        return loss(noisy.law, noisy.y[s] - x)
    y, law, up_to = noisy.y, noisy.law, noisy.up_to
    if s < up_to:
        return loss(law, y[s] - c)
    anchor, shift = noisy.anchor[s], up_to - noisy.first
    change = 0
    for rank in range(max(min(c, anchor), noisy.first), min(max(c, anchor), len(y) - shift)):
        change += change_of_loss(law, s + 1 - up_to - y[shift + rank])
    return change if anchor < c else -change


@uncounted
def loss(law, d):
    """Compute |d| or d^2, see `state_weights`."""
    return abs(d) if law == 0 else d * d


@uncounted
def change_of_loss(law, d):
    """Compute loss(d - 1) - loss(d): of |d| minus or plus one, of d^2 it is 1 - 2 d.

    A rank i that no longer counts has d = s + 1 - T - z[i], because losses are even; see `state_weights`.
    """
    if law == 0:
        return -1 if d > 0 else 1
    return 1 - 2 * d


@uncounted
def weighed(ratio, law, coarse, fine, d):
    """Multiply `ratio` by P(z = d - 1) / P(z = d) = base^(loss(d - 1) - loss(d)), a power of `LEAST` at least.

    Where there is hardly any noise the power is 0 in floating point, by which nothing can be divided.
    """
    change = change_of_loss(law, d)
    factor = max(LEAST, power(coarse, fine, abs(change)))
    return ratio * factor if change > 0 else ratio / factor


@uncounted
def power(coarse, fine, exponent):
    """Compute base^exponent from fine[i] = base^i and coarse[j] = base^(j len(fine)); the last one if there is none."""
    if exponent < len(fine):
        return fine[exponent]
    whole = exponent // len(fine)
    if whole >= len(coarse):
        return coarse[-1] * fine[-1]
    return coarse[whole] * fine[exponent - whole * len(fine)]
