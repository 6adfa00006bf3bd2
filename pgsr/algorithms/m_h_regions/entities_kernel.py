"""The dual of M_H with every region's totals and entities and its derivatives: loops of `entities_dual.EntityDual`.

Arrays are those of `tree_kernel`, and

    paid[i, 0 or 1, c]      sums over the active sizes of chunk i, one of `CHUNKS`, of prices and of s times prices

Loops work on the leaves, chunks or sizes start .. stop - 1, for `pgsr.machine.parallel.share`. Chunks of sizes do not
depend on the number of threads, so neither do sums.
"""

import numpy as np

from pgsr.machine.compilation import compiled, inlined

CHUNKS = 16

_MOST_STEPS = 200


@compiled
def project_leaves(start, stop, y, w, parent, n_inner, prices, totals, entities, mu, nu, active, number, missing):
    """Project every leaf onto its totals at these prices: the best mu and nu, and the sizes at which it is positive.

    `number[i, c]` adds s^i over these sizes, i = 0, 1, 2; `missing[0, c]` is G - sum of y over them and `missing[1, c]`
    E - sum of s y, exact. On entry mu and nu say where to start. Leaves without groups are positive nowhere.
    """
    n_sizes = len(active)
    own, paid = np.empty(n_sizes, np.int64), np.empty(n_sizes)
    now, before = np.empty(n_sizes, np.bool_), np.empty(n_sizes, np.bool_)
    for c in range(start, stop):
        leaf = n_inner + c
        rate = 0.5 / w[leaf]
        for s in range(n_sizes):
            now[s], before[s] = False, False
            own[s] = y[s, leaf]
            paid[s] = rate * prices[s, parent[leaf]]
        if totals[c] == 0:
            mu[c], nu[c] = 0.0, 0.0
            for s in range(n_sizes):
                active[s, c] = 0
            number[0, c], number[1, c], number[2, c] = 0.0, 0.0, 0.0
            missing[0, c], missing[1, c] = 0, 0
            continue
        a, b = project(own, paid, totals[c], entities[c], rate * mu[c], rate * nu[c], now, before)
        mu[c], nu[c] = a / rate, b / rate
        n, first, second, groups, people, _, _ = sums(own, paid, now)
        number[0, c], number[1, c], number[2, c] = n, first, second
        missing[0, c], missing[1, c] = totals[c] - groups, entities[c] - people
        for s in range(n_sizes):
            active[s, c] = now[s]


@compiled
def project(y, q, total, entities, a, b, now, before):
    """(a, b) such that x[s] = max(0, y[s] + q[s] + a + s b) has this total > 0 and this number of entities.

    `now` says where x is positive, `before` (nowhere on entry) where it was before the last step. For given b the total
    fixes a; then the number of entities does not decrease in b and is piecewise linear. Newton's method with a bracket
    finds b: a step that leaves the bracket is replaced by bisection, and so is every fourth one. It ends where a step
    leads to the set of positive sizes it was computed on, so the answer has no error of iteration. Where one size holds
    all groups the step leads to where the next one gets what is missing.
    """
    low, high = -np.inf, np.inf
    newton = False
    for step in range(_MOST_STEPS):
        a = fit_total(y, q, total, a, b, now)
        n, first, second, groups, people, extra, extra_people = sums(y, q, now)
        changed = update(before, now)
        if newton and not changed:
            break
        only = np.int64(first)  # the size, where there is one
        short = float(entities - only * total)
        if n > 1.0:
            short = (entities - people) - (extra_people + a * first + b * second)
        if short == 0.0:
            break
        if short > 0.0:
            low = b
        else:
            high = b
        target, newton = b, True
        mean = first / n
        if n > 1.0:
            target = ((entities - people - extra_people) - mean * (total - groups - extra)) / (second - mean * first)
        else:
            target = second_size(y, q, total, entities, only)
        if low > -np.inf and high < np.inf and (step % 4 == 3 or not low < target < high):
            target, newton = 0.5 * (low + high), False
            if not low < target < high:  # rounding
                break
        if target == b:
            break
        a, b = a - (target - b) * mean, target
    return a, b


@compiled
def update(before, now):
    """Copy `now` into `before`, and say whether anything changed."""
    changed = False
    for s in range(len(now)):
        changed |= before[s] != now[s]
        before[s] = now[s]
    return changed


@compiled
def fit_total(y, q, total, a, b, now):
    """The a at which x[s] = max(0, y[s] + q[s] + a + s b) adds up to total > 0; `now` says where x is positive.

    Newton's method: after its first step the set of positive sizes only shrinks, and once it does not, a is exact.
    """
    changed, n = positive(y, q, a, b, now)
    if n == 0:
        largest = -np.inf
        for s in range(len(y)):
            largest = max(largest, y[s] + (q[s] + s * b))
        a = total - largest
        changed, n = positive(y, q, a, b, now)
    for step in range(len(y) + 2):
        n, first, _, groups, _, extra, _ = sums(y, q, now)
        a = ((total - groups) - extra - b * first) / n
        changed, left = positive(y, q, a, b, now)
        if changed == 0 or left == 0 or (step > 0 and left >= n):
            break
    return a


@compiled
def positive(y, q, a, b, now):
    """Note in `now` where y + q + a + s b > 0; give how many sizes changed, and how many are positive."""
    changed, n = 0, 0
    for s in range(len(y)):
        on = y[s] + (q[s] + a + s * b) > 0.0
        changed += on != now[s]
        n += on
        now[s] = on
    return changed, n


@compiled
def sums(y, q, now):
    """Over some sizes: sums of 1, s, s^2, y, s y, q and s q; those of y exact."""
    n, first, second, extra, extra_people = 0.0, 0.0, 0.0, 0.0, 0.0
    groups, people = np.int64(0), np.int64(0)
    for s in range(len(y)):
        if now[s]:
            n += 1.0
            first += s
            second += float(s) * s
            groups += y[s]
            people += s * y[s]
            extra += q[s]
            extra_people += s * q[s]
    return n, first, second, groups, people, extra, extra_people


@compiled
def second_size(y, q, total, entities, only):
    """The b at which a second size has taken so many groups from `only`, which has them all, that entities fit."""
    more = entities > only * total
    best, found = np.inf, only
    for s in range(only + 1 if more else 0, len(y) if more else only):
        # How far b has to go for size s to become positive.
        room = ((y[only] - y[s]) + (q[only] - q[s]) - total) / (s - only)
        if found == only or (room < best if more else room > best):
            best, found = room, s
    moved = (entities - only * total) / (found - only)
    return best + 2.0 * moved / (found - only)


@compiled
def evaluate(start, stop, y, w, parent, first_child, n_inner, prices, mu, nu, active, value):
    """The dual value size by size, without mu and nu times the amounts that are missing at the leaves.

    As in `newton_pass` counts enter through differences that are exact integers of the size of the noise.
    """
    for s in range(start, stop):
        total = 0.0
        for r in range(n_inner):
            price = prices[s, r]
            residual = y[s, r]
            if w[r] > 0:
                net = price - (0.0 if r == 0 else prices[s, parent[r]])
                total -= net * net / (4.0 * w[r])
            for c in range(first_child[r], first_child[r + 1]):
                if c < n_inner:
                    residual -= y[s, c]
                    continue
                leaf = c - n_inner
                if active[s, leaf]:
                    net = price + mu[leaf] + s * nu[leaf]
                    residual -= y[s, c]
                    total -= net * net / (4.0 * w[c])
                else:
                    total += w[c] * float(y[s, c]) * float(y[s, c])
            total += price * residual
        value[s] = total


@compiled(fastmath={"reassoc", "contract"})
def respond(start, stop, active, w, parent, first_child, n_inner, keep, change, change_of_size, prices, paid):
    """Find how prices respond if active leaves take change[c] + s change_of_size[c] more: up and down each tree.

    `keep[s, r]` is the derivative of region r's price by the price above it. `paid[i, 0, c]` adds the responses over
    the active sizes of chunk i, `paid[i, 1, c]` s times these.
    """
    n_sizes = active.shape[0]
    more = np.empty(n_inner)
    for i in range(start, stop):
        for s in range(i * n_sizes // CHUNKS, (i + 1) * n_sizes // CHUNKS):
            on = active[s]
            for r in range(n_inner - 1, -1, -1):
                first, last = first_child[r], first_child[r + 1]
                total = 0.0
                if first >= n_inner:
                    for leaf in range(first - n_inner, last - n_inner):
                        total += on[leaf] * (change[leaf] + s * change_of_size[leaf])
                else:
                    for c in range(first, last):
                        total += keep[s, c] * more[c]
                more[r] = total
            for r in range(n_inner):
                above = 0.0 if r == 0 else prices[s, parent[r]]
                prices[s, r] = keep[s, r] * (above - 2.0 * w[r] * more[r])
        add_paid(active, first_child, n_inner, i, prices, paid)


@compiled(fastmath={"reassoc", "contract"})
def paid_on(start, stop, active, first_child, n_inner, prices, paid):
    """Sum the prices that leaf c sees over the active sizes s of chunk i into `paid[i, 0, c]`, s times them into 1."""
    for i in range(start, stop):
        add_paid(active, first_child, n_inner, i, prices, paid)


@inlined
def add_paid(active, first_child, n_inner, i, prices, paid):
    """Set the payments over the sizes of chunk i."""
    n_sizes, n_leaves = active.shape
    for leaf in range(n_leaves):
        paid[i, 0, leaf] = 0.0
        paid[i, 1, leaf] = 0.0
    for s in range(i * n_sizes // CHUNKS, (i + 1) * n_sizes // CHUNKS):
        for r in range(n_inner):
            if first_child[r] >= n_inner:
                for leaf in range(first_child[r] - n_inner, first_child[r + 1] - n_inner):
                    price = active[s, leaf] * prices[s, r]
                    paid[i, 0, leaf] += price
                    paid[i, 1, leaf] += s * price
