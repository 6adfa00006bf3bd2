"""Passes over the trees of all sizes, where leaves are paid multipliers besides the price.

The recursion is that of `pgsr.engines.nearest_tree`; its own loops have another layout and no multipliers. Here arrays
are sizes x regions, so that one size is contiguous. Every loop works on the sizes start .. stop - 1, for
`pgsr.machine.parallel.share`:

    y[s, r]                 noisy counts, int64
    w[r]                    weights, int64
    parent[r]               the region above, -1 at the root
    first_child[r]          the children of r are first_child[r] .. first_child[r + 1] - 1
    n_inner                 regions are in level order, the first n_inner have children: a downward loop over indices
                            visits children before parents
    prices[s, r]            what inner region r pays its children
    mu[c]                   leaf c is paid mu[c] a group besides the price of the region above; arrays of leaves leave
                            out the inner regions
    active[s, c]            1 where leaf c is positive at size s, uint8
"""

from pgsr.machine.compilation import compiled


@compiled
def newton_pass(start, stop, y, w, first_child, n_inner, mu, active, gain, offset):
    """Upward pass: linear demands if active leaves stay active.

    Region r then takes y + gain * price + offset at the price above it: offsets are of the size of the noise, and
    counts enter as exact integers only, so no digits are lost to counts of 1e9.
    """
    for s in range(start, stop):
        for r in range(n_inner - 1, -1, -1):
            # Add up the children's demands: gains, offsets, and what their y exceed the region's own by.
            residual = -y[s, r]
            total_gain, total_offset = 0.0, 0.0
            for c in range(first_child[r], first_child[r + 1]):
                if c >= n_inner:
                    leaf = c - n_inner
                    if active[s, leaf]:
                        rate = 0.5 / w[c]
                        total_gain += rate
                        total_offset += rate * mu[leaf]
                        residual += y[s, c]
                else:
                    total_gain += gain[s, c]
                    total_offset += offset[s, c]
                    residual += y[s, c]
            # The region pays its children 2 w (x - y) less than it is paid, so that all of it shrinks by 1 + 2 w gain.
            scale = 1.0 + 2.0 * w[r] * total_gain
            gain[s, r] = total_gain / scale
            offset[s, r] = (total_offset + residual) / scale


@compiled
def set_prices(start, stop, w, parent, n_inner, gain, offset, prices):
    """Downward pass: the prices that the linear demands of `newton_pass` imply."""
    for s in range(start, stop):
        for r in range(n_inner):
            above = 0.0 if r == 0 else prices[s, parent[r]]
            prices[s, r] = above - 2.0 * w[r] * (gain[s, r] * above + offset[s, r])


@compiled
def slope(start, stop, y, w, parent, first_child, n_inner, prices, mu, active, prices_step, mu_step, value):
    """Derivative of the dual along a direction, size by size, without the steps times the missing totals of leaves."""
    for s in range(start, stop):
        total = 0.0
        for r in range(n_inner):
            price, step = prices[s, r], prices_step[s, r]
            residual = float(y[s, r])
            # The region's own cost, -(p - p[parent])^2 / 4 w, along the step.
            if w[r] > 0:
                above, above_step = (0.0, 0.0) if r == 0 else (prices[s, parent[r]], prices_step[s, parent[r]])
                total -= (price - above) * (step - above_step) / (2.0 * w[r])
            # The positive leaves' cost, -(p + mu)^2 / 4 w; the others stay at 0.
            for c in range(first_child[r], first_child[r + 1]):
                leaf = c - n_inner
                if leaf < 0:
                    residual -= y[s, c]
                elif active[s, leaf]:
                    residual -= y[s, c]
                    own, own_step = price + mu[leaf], step + mu_step[leaf]
                    total -= own * own_step / (2.0 * w[c])
            total += step * residual
        value[s] = total


@compiled
def continuous_point(start, stop, y, w, first_child, n_inner, prices, mu, active, x):
    """The estimate: leaves from their demand, inner regions by adding up."""
    for s in range(start, stop):
        for r in range(n_inner - 1, -1, -1):
            total = 0.0
            for c in range(first_child[r], first_child[r + 1]):
                if c >= n_inner:
                    leaf = c - n_inner
                    x[s, c] = 0.0
                    if active[s, leaf]:
                        x[s, c] = max(0.0, y[s, c] + 0.5 / w[c] * (prices[s, r] + mu[leaf]))
                total += x[s, c]
            x[s, r] = total
