"""Messages of whole numbers up and down a tree of sums, one size at a time; `pgsr.reconciling.posterior` has the model.

Regions are nodes, and so are pairs of siblings that are added up two by two until one node, the top of a family, has
the sum over all of them. The message of a node is a vector over a window of whole numbers, with sum 1:

    leaf      M[v](x) ~ F[v](x)
    pair      M[k](x) ~ sum over i of M[left](i) M[right](x - i)
    region    M[v](x) ~ M[top of v](x) F[v](x)

with factors F that `pgsr.reconciling.posterior` states. A tree is five arrays: the parent of every region, -1 of the
root; where the pairs of every region's family start among all pairs, which are nodes behind the regions; the top of
every region, -1 of leaves; and the left and right node of every pair. Children have larger numbers than their parents.
Factors are logs[at[v]] .. logs[at[v + 1] - 1], the first of which is of the number low[v]. Messages are a vector `mass`
of all windows and an array `windows` of three rows: where each starts there, its first number, and how many it has.
"""

import math

import numpy as np

from pgsr.machine.compilation import compiled, uncounted

WORK = 4e10
"""Multiplications of one size after which messages are given up: some ten seconds."""

TOO_LONG, NOTHING = 1, 2
"""What stopped messages: too many multiplications, or a region that no number fits."""


@compiled
def upward(parent, first_pair, top, left, right, low, at, logs, log_fall, eps):
    """Compute the messages of all nodes, cutting off tails of the mass `eps` on either side.

    Lower tails are those of messages times e^(log_fall x), by the log_fall of the family's region. Returns mass,
    windows, the logarithm of the sum over all tables of the product of all factors, multiplications, what stopped, and
    where.
    """
    n_regions = len(parent)
    windows = np.zeros((3, n_regions + len(left)), np.int64)
    starts, firsts, lengths = windows[0], windows[1], windows[2]
    mass, scales = np.empty(1024), np.zeros(n_regions + len(left))
    used, work = 0, 0.0
    for v in range(n_regions - 1, -1, -1):
        n_pairs = first_pair[v + 1] - first_pair[v]
        for step in range(n_pairs + 1):
            family = v
            if step < n_pairs:
                pair = first_pair[v] + step
                node, a, b = n_regions + pair, left[pair], right[pair]
                if lengths[a] > lengths[b]:
                    a, b = b, a
                work += float(lengths[a]) * lengths[b]
                if work > WORK:
                    return mass, windows, 0.0, work, TOO_LONG, v
                first, scale = firsts[a] + firsts[b], scales[a] + scales[b]
                found = np.zeros(lengths[a] + lengths[b] - 1)
                _convolve(mass, starts[a], lengths[a], starts[b], lengths[b], found)
            else:
                node, family, first, scale = v, parent[v], low[v], 0.0
                last, t = low[v] + at[v + 1] - at[v] - 1, top[v]
                if t >= 0:
                    first, last, scale = max(first, firsts[t]), min(last, firsts[t] + lengths[t] - 1), scales[t]
                if last < first:
                    return mass, windows, 0.0, work, NOTHING, v
                found = logs[at[v] + first - low[v] : at[v] + last - low[v] + 1].copy()
                scale += _exponentials(found)
                if t >= 0:
                    for i in range(len(found)):
                        found[i] *= mass[starts[t] + first - firsts[t] + i]
            start, stop, inside = _trimmed(found, eps, log_fall[family] if family >= 0 else 0.0)
            if inside <= 0.0:
                return mass, windows, 0.0, work, NOTHING, v
            while used + stop - start > len(mass):
                wider = np.empty(2 * len(mass))
                for i in range(used):  # assigning a slice takes two seconds to compile
                    wider[i] = mass[i]
                mass = wider
            starts[node], firsts[node], lengths[node] = used, first + start, stop - start
            scales[node] = scale + math.log(inside)
            for i in range(start, stop):
                mass[used] = found[i] / inside
                used += 1
    return mass[:used].copy(), windows, scales[0], work, 0, 0


@compiled
def downward(parent, first_pair, top, left, right, low, at, logs, mass, windows):
    """Compute the marginal law of every node: its message times what the rest of the tree says of it.

    Returns all laws, in the windows of the messages, and what lies outside of windows together if laws go on to fall
    there as they do at the ends.
    """
    n_regions, starts, firsts, lengths = len(parent), windows[0], windows[1], windows[2]
    rest, lost = np.zeros(len(mass)), 0.0
    for i in range(lengths[0]):
        rest[starts[0] + i] = 1.0
    for v in range(n_regions):
        here, t = starts[v], top[v]
        if t >= 0:
            factors = logs[at[v] + firsts[v] - low[v] : at[v] + firsts[v] - low[v] + lengths[v]].copy()
            _exponentials(factors)
            for i in range(lengths[v]):
                rest[starts[t] + firsts[v] - firsts[t] + i] = factors[i] * rest[here + i]
            _scale(mass, rest, starts[t], lengths[t])
        for pair in range(first_pair[v + 1] - 1, first_pair[v] - 1, -1):
            k, a, b = n_regions + pair, left[pair], right[pair]
            shift, there = firsts[a] + firsts[b] - firsts[k], starts[k]
            for _ in range(2):
                # rest[a](i) = sum over j of mass[b](j) rest[k](i + j); the window of k may be narrower than the sums.
                for j in range(lengths[b]):
                    start, stop = max(0, -(j + shift)), min(lengths[a], lengths[k] - (j + shift))
                    if start < stop:
                        _add(
                            rest, starts[a] + start, mass[starts[b] + j], rest, there + j + shift + start, stop - start
                        )
                _scale(mass, rest, starts[a], lengths[a])
                a, b = b, a
            for i in range(there, there + lengths[k]):
                rest[i] *= mass[i]
            lost += _lost(rest[there : there + lengths[k]], -shift, lengths[a] + lengths[b] - 1 + shift - lengths[k])
        for i in range(here, here + lengths[v]):
            rest[i] *= mass[i]
        below = firsts[v] - low[v]
        lost += _lost(rest[here : here + lengths[v]], below, at[v + 1] - at[v] - below - lengths[v])
    return rest, lost


@compiled
def draw(parent, first_pair, top, left, right, mass, windows, uniforms):
    """Draw numbers of all nodes, shape (nodes, draws), by uniform numbers of shape (pairs + 1, draws)."""
    n_regions, n_draws = len(parent), uniforms.shape[1]
    starts, firsts, lengths = windows[0], windows[1], windows[2]
    numbers = np.empty((n_regions + len(left), n_draws), np.int64)
    after, sums, so_far = np.empty(n_draws, np.int64), np.empty(lengths[0]), 0.0
    for i in range(lengths[0]):
        so_far += mass[starts[0] + i]
        sums[i] = so_far
    for d in range(n_draws):
        numbers[0, d] = firsts[0] + _place(sums, len(sums), uniforms[len(left), d])
    for v in range(n_regions):
        if top[v] >= 0:
            for d in range(n_draws):
                numbers[top[v], d] = numbers[v, d]
        for pair in range(first_pair[v + 1] - 1, first_pair[v] - 1, -1):
            k, a, b = n_regions + pair, left[pair], right[pair]
            # Draws with the same sum share the law of its left part.
            head = np.empty(lengths[k], np.int64)
            for s in range(lengths[k]):
                head[s] = -1
            for d in range(n_draws):
                s = numbers[k, d] - firsts[k]
                after[d] = head[s]
                head[s] = d
            sums = np.empty(lengths[a])
            for s in range(lengths[k]):
                if head[s] < 0:
                    continue
                total = firsts[k] + s
                start = max(0, total - firsts[b] - lengths[b] + 1 - firsts[a])
                stop = min(lengths[a], total - firsts[b] - firsts[a] + 1)
                so_far = 0.0
                for i in range(start, stop):
                    so_far += mass[starts[a] + i] * mass[starts[b] + total - firsts[a] - i - firsts[b]]
                    sums[i - start] = so_far
                d = head[s]
                while d >= 0:
                    number = firsts[a] + start + _place(sums, stop - start, uniforms[pair, d])
                    numbers[a, d], numbers[b, d] = number, total - number
                    d = after[d]
    return numbers


@uncounted
def describe(pool, at, low, chance, ends, seen):
    """Find of every law the shortest interval with at least this chance and the median, and the mean and variance.

    Laws are pool[at[v]] .. pool[at[v + 1] - 1], whose first number is low[v].
    """
    for v in range(len(low)):
        law = pool[at[v] : at[v + 1]]
        total = mean = 0.0
        for i in range(len(law)):
            total += law[i]
            mean += law[i] * i
        mean /= total
        variance = so_far = 0.0
        median = start = best_start = 0
        best = len(law)
        inside = best_inside = 0.0
        for stop in range(len(law)):
            so_far += law[stop] / total
            variance += law[stop] / total * (stop - mean) * (stop - mean)
            if so_far < 0.5 - 1e-12:
                median = stop + 1
            inside += law[stop] / total
            while start < stop and inside - law[start] / total >= chance:
                inside -= law[start] / total
                start += 1
            width = stop - start + 1
            if inside >= chance and (width < best or (width == best and inside > best_inside)):
                best, best_start, best_inside = width, start, inside
        ends[0, v], ends[1, v], ends[2, v] = low[v] + best_start, low[v] + best_start + best - 1, low[v] + median
        seen[0, v], seen[1, v] = low[v] + mean, variance


@uncounted
def _lost(law, below, above):
    """Find what lies below and above a window if a law falls on as at the ends, or stays, over so many numbers."""
    lost = 0.0
    for first, second, n in ((law[0], law[1 % len(law)], below), (law[-1], law[-2 % len(law)], above)):
        if n > 0 and first > 0.0:
            lost += first * (min(n, first / (second - first)) if second > first else n)
    return lost


@uncounted
def _convolve(mass, first_a, n_a, first_b, n_b, out):
    """Add up the products of two messages by the sum of their numbers; `out` is 0."""
    for i in range(n_a):
        _add(out, i, mass[first_a + i], mass, first_b, n_b)


@uncounted
def _add(into, at, factor, of, first, n):
    """Add a factor times n numbers of a vector, from `first` on, to n of another one, from `at` on.

    Places are unsigned here: those that may be negative are looked at one by one, which takes four times as long.
    """
    at, first = np.uint64(at), np.uint64(first)
    for i in range(np.uint64(n)):
        into[at + i] += factor * of[first + i]


@uncounted
def _place(sums, n, uniform):
    """Find the first of n running sums that is above a part of the last one."""
    target, first, last = uniform * sums[n - 1], 0, n - 1
    while first < last:
        middle = (first + last) // 2
        if sums[middle] > target:
            last = middle
        else:
            first = middle + 1
    return first


@uncounted
def _exponentials(logs):
    """Put e^(l - largest) for every l, and return the largest."""
    largest = logs[0]
    for i in range(len(logs)):
        largest = max(largest, logs[i])
    for i in range(len(logs)):
        off = logs[i] - largest
        logs[i] = math.exp(off) if off > -700.0 else 0.0
    return largest


@uncounted
def _trimmed(found, eps, log_fall):
    """Find which part to keep of a vector, three numbers at least, so that at most eps of its sum is on either side.

    Below, the vector is first multiplied by e^(log_fall i), which falls: what numbers are likely where others are low.
    """
    total = falling = before = after = 0.0
    fall, factor = math.exp(log_fall), 1.0
    for i in range(len(found)):
        total += found[i]
        falling += found[i] * factor
        factor = factor * fall if factor > 1e-290 else 0.0
    start, stop, factor = 0, len(found), 1.0
    while start < stop - 3:
        before += found[start] * factor
        if before > eps * falling:
            break
        factor = factor * fall if factor > 1e-290 else 0.0
        start += 1
    while stop - 3 > start and after + found[stop - 1] <= eps * total:
        stop -= 1
        after += found[stop]
    inside = 0.0
    for i in range(start, stop):
        inside += found[i]
    return start, stop, inside


@uncounted
def _scale(mass, rest, at, length):
    """Make the sum of mass times rest of a node 1."""
    total = 0.0
    for i in range(at, at + length):
        total += mass[i] * rest[i]
    for i in range(at, at + length):
        rest[i] /= total
