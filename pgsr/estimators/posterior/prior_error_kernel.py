"""The errors of posterior means that errors of the learned prior cause, region by region.

Only basic operations in a fixed order, so that the same bits come out on every machine. Names are those of
`pgsr.estimators.posterior.prior_fit`.
"""

from pgsr.machine.compilation import inlined, uncounted


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
        here, v, by = around(s, left, part, weight), variance[s], factor[s]
        for i in range(draws):
            own = change(here, errors, i)
            before = smaller[i] * by
            out[s, i] = before + v * own
            smaller[i] = before + v * own
    larger[:] = 0.0
    for s in range(n - 1, -1, -1):
        if variance[s] == 0.0:
            larger[:] = 0.0
            continue
        here, v, by = around(s, left, part, weight), variance[s], factor[s]
        for i in range(draws):
            own = change(here, errors, i)
            out[s, i] += v * larger[i]
            larger[i] = by * (own + larger[i])


@inlined
def around(s, left, part, weight):
    """Give the knot, the part of the way to the next one and the weight of a size, then those of the size after it."""
    j, up, a = left[s], part[s], weight[s]
    if s + 1 < len(left):
        return j, up, a, left[s + 1], part[s + 1], weight[s + 1]
    return j, up, a, j, up, 0.0


@inlined
def change(here, errors, i):
    """Compute a[s] eta[s] - a[s + 1] eta[s + 1] of draw i."""
    j, up, a, j_next, up_next, a_next = here
    own = a * ((1.0 - up) * errors[j, i] + up * errors[j + 1, i])
    return own - a_next * ((1.0 - up_next) * errors[j_next, i] + up_next * errors[j_next + 1, i])
