"""The compiled loops of `TreeProjection`.

Arrays are sizes x regions, so that one size is contiguous and sizes run in parallel. Regions are in level order, the
first n_inner of them have children; a downward loop over indices visits children before parents.
"""

import numba as nb
import numpy as np


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


@nb.njit(cache=True, nogil=True, parallel=True)
def merge_steps(y, w, first_child, n_inner, prices, width, center, low, length, steps):
    """Upward pass of the slope merge inside windows of `width` around the continuous optimum.

    Inner region r may take low[s, r] .. low[s, r] + length[s, r] groups; `steps[s, r, j]` is what its children charge
    for the j-th of them, the cheapest first. Windows of leaves are recomputed where needed.
    """
    most = 0
    for r in range(n_inner):
        most = max(most, first_child[r + 1] - first_child[r])
    for s in nb.prange(y.shape[0]):
        buffer = np.empty(most * (2 * width + 1), np.int64)
        for r in range(n_inner - 1, -1, -1):
            n = 0
            total_low = np.int64(0)
            total = 0.0
            for c in range(first_child[r], first_child[r + 1]):
                total += demand_of_leaf(y[s, c], w[c], prices[s, r]) if c >= n_inner else center[s, c]
                lo, n_steps = window(s, c, r, y, w, n_inner, prices, width, low, length)
                for k in range(n_steps):
                    buffer[n] = charge(s, c, k, lo, y, w, n_inner, steps)
                    n += 1
                total_low += lo
            center[s, r] = total
            floor = np.int64(np.floor(total))
            lo = max(total_low, floor - width)
            high = min(total_low + n, floor + 1 + width)
            low[s, r] = lo
            length[s, r] = high - lo
            order_statistics(
                buffer[:n], lo - total_low, high - total_low, np.int64(np.floor(prices[s, r])), steps[s, r]
            )


@nb.njit(cache=True, nogil=True, parallel=True)
def distribute(y, w, first_child, n_inner, prices, width, low, length, steps, x):
    """Downward pass from x[s, 0]: a region's groups are its children's cheapest steps, equal ones the first child's."""
    for s in nb.prange(y.shape[0]):
        for r in range(n_inner):
            # All steps below the dearest one taken are taken; of those equal to it as many as are still missing. A
            # region at the low end of its window took none of the stored steps: the first of them bounds it likewise.
            dearest = steps[s, r, max(np.int64(0), x[s, r] - low[s, r] - 1)]
            missing = x[s, r]
            for c in range(first_child[r], first_child[r + 1]):
                lo, n_steps = window(s, c, r, y, w, n_inner, prices, width, low, length)
                k = 0
                while k < n_steps and charge(s, c, k, lo, y, w, n_inner, steps) < dearest:
                    k += 1
                x[s, c] = lo + k
                missing -= lo + k
            for c in range(first_child[r], first_child[r + 1]):
                if missing <= 0:
                    break
                lo, n_steps = window(s, c, r, y, w, n_inner, prices, width, low, length)
                k = x[s, c] - lo
                while missing > 0 and k < n_steps and charge(s, c, k, lo, y, w, n_inner, steps) == dearest:
                    k += 1
                    missing -= 1
                x[s, c] = lo + k


@nb.njit(inline="always")
def window(s, c, r, y, w, n_inner, prices, width, low, length):
    """Lowest count in the window of child c of r, and its number of steps."""
    if c >= n_inner:
        return window_of_leaf(y[s, c], w[c], prices[s, r], width)
    return low[s, c], length[s, c]


@nb.njit(inline="always")
def charge(s, c, k, lo, y, w, n_inner, steps):
    """What child c charges its parent for one group more than lo + k."""
    cost = step_cost(lo + k, y[s, c], w[c])
    return cost if c >= n_inner else cost + steps[s, c, k]


@nb.njit(inline="always")
def step_cost(x, y, w):
    """w (x + 1 - y)^2 - w (x - y)^2."""
    return w * (2 * (x - y) + 1)


@nb.njit(inline="always")
def demand_of_leaf(y, w, price):
    """argmin over x >= 0 of w (x - y)^2 - price x."""
    return max(0.0, y + 0.5 * price / w)


@nb.njit(inline="always")
def window_of_leaf(y, w, price, width):
    """Lowest count of a leaf's window, and its number of steps."""
    floor = np.int64(np.floor(demand_of_leaf(y, w, price)))
    lo = max(np.int64(0), floor - width)
    return lo, floor + 1 + width - lo


@nb.njit(cache=True, nogil=True)
def order_statistics(values, first, last, guess, out):
    """out[j] = the (first + j)-th smallest value, first + j < last: counted near `guess` or sorted."""
    half = 64
    counts = np.zeros(2 * half + 1, np.int64)
    seen = 0
    for value in values:
        offset = value - guess + half
        if offset < 0:
            seen += 1
        elif offset <= 2 * half:
            counts[offset] += 1
    if seen <= first:
        position = first
        for offset in range(2 * half + 1):
            seen += counts[offset]
            while position < last and position < seen:
                out[position - first] = guess - half + offset
                position += 1
        if position == last:
            return
    ordered = np.sort(values)
    for position in range(first, last):
        out[position - first] = ordered[position]
