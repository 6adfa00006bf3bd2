"""Passes of Newton's method over the trees of all sizes, where leaves are paid a multiplier besides the price.

The recursion is that of `pgsr.nearest_tree`; its own loops have another layout and no multipliers. Here arrays are
sizes x regions, so that one size is contiguous and sizes run in parallel:

    y[s, r]                 noisy counts, int64
    w[r]                    weights, int64
    parent[r]               the region above, -1 at the root
    first_child[r]          the children of r are first_child[r] .. first_child[r + 1] - 1
    n_inner                 regions are in level order, the first n_inner have children: a downward loop over indices
                            visits children before parents
    prices[s, r]            what inner region r pays its children
    shift[r]                what leaf r is paid besides, 0 at inner regions
"""

import numba as nb


@nb.njit(cache=True, nogil=True, parallel=True)
def newton_pass(y, w, first_child, n_inner, shift, prices, gain, offset, slope, intercept, active):
    """Upward pass: linear demands on the set of leaves that are positive at the current prices.

    `prices[s, r]` is what inner region r pays its children, `shift[c]` what leaf c is paid besides. On that set region
    r takes y + gain * price + offset at the price above it: offsets are of the size of the noise, and counts enter as
    exact integers only, so no digits are lost to counts of 1e9. `slope[s]` and `intercept[s]` are the root's,
    `active[s]` counts positive leaves.
    """
    for s in nb.prange(y.shape[0]):
        positive = 0
        for r in range(n_inner - 1, -1, -1):
            residual = -y[s, r]
            total_gain = 0.0
            total_offset = 0.0
            for c in range(first_child[r], first_child[r + 1]):
                if c >= n_inner:
                    rate = 0.5 / w[c]
                    if y[s, c] + rate * (prices[s, r] + shift[c]) > 0.0:
                        positive += 1
                        total_gain += rate
                        total_offset += rate * shift[c]
                        residual += y[s, c]
                else:
                    total_gain += gain[s, c]
                    total_offset += offset[s, c]
                    residual += y[s, c]
            scale = 1.0 + 2.0 * w[r] * total_gain
            gain[s, r] = total_gain / scale
            offset[s, r] = (total_offset + residual) / scale
        slope[s] = gain[s, 0]
        intercept[s] = offset[s, 0]
        active[s] = positive


@nb.njit(cache=True, nogil=True, parallel=True)
def set_prices(w, parent, n_inner, root_price, gain, offset, prices):
    """Downward pass: the prices that the linear demands of `newton_pass` imply for this price above the root."""
    for s in nb.prange(prices.shape[0]):
        for r in range(n_inner):
            above = root_price if r == 0 else prices[s, parent[r]]
            prices[s, r] = above - 2.0 * w[r] * (gain[s, r] * above + offset[s, r])


@nb.njit(cache=True, nogil=True, parallel=True)
def continuous_point(y, w, first_child, n_inner, shift, prices, x):
    """The estimate at these prices: leaves from their demand, inner regions by adding up."""
    for s in nb.prange(y.shape[0]):
        for r in range(n_inner - 1, -1, -1):
            total = 0.0
            for c in range(first_child[r], first_child[r + 1]):
                if c >= n_inner:
                    x[s, c] = demand_of_leaf(y[s, c], w[c], prices[s, r] + shift[c])
                total += x[s, c]
            x[s, r] = total


@nb.njit(inline="always")
def demand_of_leaf(y, w, price):
    """argmin over x >= 0 of w (x - y)^2 - price x."""
    return max(0.0, y + 0.5 * price / w)
