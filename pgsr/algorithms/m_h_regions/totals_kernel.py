"""The dual of M_H with every region's total and its derivatives: loops of `totals_dual.Dual`.

Arrays are those of `tree_kernel`, and

    number, count, paid     [i, c]: sums over the active sizes of chunk i, one of `CHUNKS`

Every loop works on the chunks start .. stop - 1, for `pgsr.machine.parallel.share`. Chunks of sizes do not depend on
the number of threads, so neither do sums.
"""

import numpy as np

from pgsr.machine.compilation import compiled

CHUNKS = 16


@compiled
def evaluate(start, stop, y, w, parent, first_child, n_inner, prices, mu, active, value, number, count, paid):
    """The leaves that are positive at given prices, their sums, and the dual value size by size.

    `active[s, c]` is 1 where leaf c is positive. Over the active sizes of chunk i, `number[i, c]` counts, `count[i, c]`
    adds the noisy counts (exactly) and `paid[i, c]` the prices. The dual value lacks mu[c] (G[c] - sum of count[c]);
    as in `newton_pass` counts enter through differences that are exact integers of the size of the noise.
    """
    n_sizes = y.shape[0]
    for i in range(start, stop):
        for leaf in range(len(mu)):
            number[i, leaf] = 0
            count[i, leaf] = 0
            paid[i, leaf] = 0.0
        for s in range(i * n_sizes // CHUNKS, (i + 1) * n_sizes // CHUNKS):
            total = 0.0
            # Region by region: its own cost at x = y + net / 2 w is -net^2 / 4 w, and p is paid on y less its
            # children's y.
            for r in range(n_inner):
                price = prices[s, r]
                residual = y[s, r]
                if w[r] > 0:
                    net = price - (0.0 if r == 0 else prices[s, parent[r]])
                    total -= net * net / (4.0 * w[r])
                # Leaves take max(0, y + rate net): a positive one costs -rate net^2 / 2 and its y, one at 0 costs w
                # y^2.
                for c in range(first_child[r], first_child[r + 1]):
                    if c < n_inner:
                        residual -= y[s, c]
                        continue
                    leaf = c - n_inner
                    rate = 0.5 / w[c]
                    net = price + mu[leaf]
                    positive = y[s, c] + rate * net > 0.0
                    active[s, leaf] = positive
                    if positive:
                        residual -= y[s, c]
                        total -= 0.5 * rate * net * net
                        number[i, leaf] += 1
                        count[i, leaf] += y[s, c]
                        paid[i, leaf] += price
                    else:
                        total += w[c] * float(y[s, c]) * float(y[s, c])
                total += price * residual
            value[s] = total


@compiled(fastmath={"reassoc", "contract"})
def respond(start, stop, active, w, parent, first_child, n_inner, keep, change, prices, paid):
    """Apply the Hessian of the dual: how prices respond, up and down each tree, if active leaves take `change[c]` more.

    `keep[s, r]` is the derivative of region r's price by the price above it. `paid[i, c]` adds the responses over the
    active sizes of chunk i.
    """
    n_sizes = active.shape[0]
    more = np.empty(n_inner)
    for i in range(start, stop):
        for leaf in range(active.shape[1]):
            paid[i, leaf] = 0.0
        for s in range(i * n_sizes // CHUNKS, (i + 1) * n_sizes // CHUNKS):
            # Upwards: what leaves below take more, as far as prices do not take it back.
            on = active[s]
            for r in range(n_inner - 1, -1, -1):
                first, last = first_child[r], first_child[r + 1]
                total = 0.0
                if first >= n_inner:
                    for leaf in range(first - n_inner, last - n_inner):
                        total += on[leaf] * change[leaf]
                else:
                    for c in range(first, last):
                        total += keep[s, c] * more[c]
                more[r] = total
            # Downwards: the price that answers, and its sum over the sizes at which a leaf is positive.
            for r in range(n_inner):
                first, last = first_child[r], first_child[r + 1]
                above = 0.0 if r == 0 else prices[s, parent[r]]
                price = keep[s, r] * (above - 2.0 * w[r] * more[r])
                prices[s, r] = price
                if first >= n_inner:
                    for leaf in range(first - n_inner, last - n_inner):
                        paid[i, leaf] += on[leaf] * price


@compiled(fastmath={"reassoc", "contract"})
def paid_on(start, stop, active, first_child, n_inner, prices, paid):
    """Sum the prices that leaf c sees over the active sizes of chunk i into `paid[i, c]`."""
    n_sizes = active.shape[0]
    for i in range(start, stop):
        for leaf in range(active.shape[1]):
            paid[i, leaf] = 0.0
        for s in range(i * n_sizes // CHUNKS, (i + 1) * n_sizes // CHUNKS):
            for r in range(n_inner):
                if first_child[r] >= n_inner:
                    for leaf in range(first_child[r] - n_inner, first_child[r + 1] - n_inner):
                        paid[i, leaf] += active[s, leaf] * prices[s, r]
