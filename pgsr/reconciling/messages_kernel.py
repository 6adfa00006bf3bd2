"""Messages of whole numbers up and down a tree of sums, one size at a time; `pgsr.reconciling.posterior` has the model.

Regions are nodes, and so are pairs of siblings that are added up two by two until one node, the top of a family, has
the sum over all of them. The message of a node is a vector over a window of whole numbers, with sum 1. With
log g(x, z) = log Gamma(x + z) - log Gamma(z) - log x! and the likelihood L of what was measured,

    leaf      M[v](x) = g(x, r) theta[p]^x L[v](x)                       r of its level, theta of its parent p
    pair      M[k](x) = sum over i of M[left](i) M[right](x - i)
    region    M[v](x) = M[top of v](x) F[v](x),
              F[v](x) = L[v](x) g(x, r) theta[p]^x / (g(x, n r') theta[v]^x)   n children, whose level has r'

The root has r = 1 and theta[p] = 1, since g(x, 1) = 1. Every theta[v] comes in once per child and goes out at v: it
changes no probability, and makes messages narrow.
"""

import math
from typing import NamedTuple

import numpy as np

from pgsr.machine.compilation import compiled

WORK = 4e10
"""Multiplications of one size after which messages are given up: some ten seconds."""

TOO_LONG, NOTHING = 1, 2
"""What stopped messages: too many multiplications, or a region that no number fits."""


class Column(NamedTuple):
    """The tree and what is known of one size.

    Attributes:
        parent: of every region, -1 of the root; shape (regions,).
        first_child: of every region; children of v are first_child[v] .. first_child[v + 1] - 1; shape (regions + 1,).
        first_pair: the same for the pairs of its family, which are nodes regions + pair; shape (regions + 1,).
        left, right: nodes that a pair adds up; shape (pairs,).
        top: the node with the sum over a family, -1 of leaves; shape (regions,).
        level: of every region; shape (regions,).
        low, high: numbers that are looked at; shape (regions,).
        first_row: the same for rows, which are sorted by region; shape (regions + 1,).
        value, scale: of every row; shape (rows,).
        squares: 1 where the law is Gaussian, 0 where it falls with the distance itself.
        shape: r of every level, 1 at the root; shape (levels,).
        log_theta: of every region; shape (regions,).
        log_fall: what is added to it where lower tails are cut; shape (regions,).
    """

    parent: np.ndarray
    first_child: np.ndarray
    first_pair: np.ndarray
    left: np.ndarray
    right: np.ndarray
    top: np.ndarray
    level: np.ndarray
    low: np.ndarray
    high: np.ndarray
    first_row: np.ndarray
    value: np.ndarray
    scale: np.ndarray
    squares: int
    shape: np.ndarray
    log_theta: np.ndarray
    log_fall: np.ndarray


class Messages(NamedTuple):
    """The messages of all nodes.

    Attributes:
        mass: of all windows, one behind the other.
        at, low, length: where the window of a node starts there, its first number, and how many it has.
        evidence: the logarithm of the probability of all values, up to a constant of the law's scales.
        work: multiplications.
        stopped: 0, or what stopped them.
        where: the region at which they stopped.
    """

    mass: np.ndarray
    at: np.ndarray
    low: np.ndarray
    length: np.ndarray
    evidence: float
    work: float
    stopped: int
    where: int


@compiled
def upward(column, eps):
    """Compute the messages of all nodes, cutting off tails of the mass `eps` on either side."""
    n_regions = len(column.parent)
    n_nodes = n_regions + len(column.left)
    at, low, length = np.zeros(n_nodes, np.int64), np.zeros(n_nodes, np.int64), np.zeros(n_nodes, np.int64)
    mass = np.empty(1024)
    logs = np.zeros(n_nodes)
    used, work = 0, 0.0
    table = _log_weights(column)
    for v in range(n_regions - 1, -1, -1):
        n_pairs = column.first_pair[v + 1] - column.first_pair[v]
        for step in range(n_pairs + 1):
            node = v
            if step < n_pairs:
                pair = column.first_pair[v] + step
                node = n_regions + pair
                a, b = column.left[pair], column.right[pair]
                work += float(length[a]) * length[b]
                if work > WORK:
                    return Messages(mass, at, low, length, 0.0, work, TOO_LONG, v)
                first, top = low[a] + low[b], logs[a] + logs[b]
                found = np.zeros(length[a] + length[b] - 1)
                if length[a] > length[b]:
                    a, b = b, a
                other = mass[at[b] : at[b] + length[b]]
                for i in range(length[a]):
                    factor = mass[at[a] + i]
                    part = found[i : i + len(other)]
                    for j in range(len(other)):
                        part[j] += factor * other[j]
            elif column.top[v] < 0:
                first = column.low[v]
                found = _leaf(column, v, table)
                top = _exponentials(found)
            else:
                t = column.top[v]
                first = max(low[t], column.low[v])
                last = min(low[t] + length[t] - 1, column.high[v])
                if last < first:
                    return Messages(mass, at, low, length, 0.0, work, NOTHING, v)
                found = _factors(column, v, first, last)
                top = logs[t] + _exponentials(found)
                for i in range(len(found)):
                    found[i] *= mass[at[t] + first - low[t] + i]
            family = v if step < n_pairs else column.parent[v]
            start, stop, inside = _trimmed(found, eps, column.log_fall[family] if family >= 0 else 0.0)
            if inside <= 0.0:
                return Messages(mass, at, low, length, 0.0, work, NOTHING, v)
            while used + stop - start > len(mass):
                wider = np.empty(2 * len(mass))
                wider[:used] = mass[:used]
                mass = wider
            at[node], low[node], length[node] = used, first + start, stop - start
            logs[node] = top + math.log(inside)
            for i in range(start, stop):
                mass[used] = found[i] / inside
                used += 1
    return Messages(mass[:used], at, low, length, logs[0], work, 0, 0)


class Marginals(NamedTuple):
    """The laws of all nodes given all values.

    Attributes:
        mass: of all windows, as in messages.
        lost: what lies outside of all windows together, if laws go on to fall there as they do at the ends.
        slope: of every level, the derivative of the evidence by log r; shape (levels,).
        bend: the second derivative of what the slope is the mean of; shape (levels,).
    """

    mass: np.ndarray
    lost: float
    slope: np.ndarray
    bend: np.ndarray


@compiled
def downward(column, messages):
    """Compute the marginal law of every node: its message times what the rest of the tree says of it."""
    n_regions = len(column.parent)
    mass, at, low, length = messages.mass, messages.at, messages.low, messages.length
    rest = np.zeros(len(mass))
    slope, bend, lost = np.zeros(len(column.shape)), np.zeros(len(column.shape)), 0.0
    rest[at[0] : at[0] + length[0]] = 1.0
    for v in range(n_regions):
        n = column.first_child[v + 1] - column.first_child[v]
        level, parent = column.level[v], column.parent[v]
        if n > 0:
            t = column.top[v]
            factors = _factors(column, v, low[v], low[v] + length[v] - 1)
            _exponentials(factors)
            for i in range(length[v]):
                rest[at[t] + low[v] - low[t] + i] = factors[i] * rest[at[v] + i]
            _scale(mass, rest, at[t], length[t])
        for pair in range(column.first_pair[v + 1] - 1, column.first_pair[v] - 1, -1):
            k, a, b = n_regions + pair, column.left[pair], column.right[pair]
            for _ in range(2):
                # rest[a](i) = sum over j of mass[b](j) rest[k](i + j); the window of k may be narrower than the sums.
                shift = low[a] + low[b] - low[k]
                for j in range(length[b]):
                    factor = mass[at[b] + j]
                    first, last = max(0, -(j + shift)), min(length[a], length[k] - (j + shift))
                    if first < last:
                        into = rest[at[a] + first : at[a] + last]
                        of = rest[at[k] + j + shift + first : at[k] + j + shift + last]
                        for i in range(len(into)):
                            into[i] += factor * of[i]
                _scale(mass, rest, at[a], length[a])
                a, b = b, a
            for i in range(at[k], at[k] + length[k]):
                rest[i] *= mass[i]
            most = low[a] + length[a] + low[b] + length[b] - 2
            lost += _lost(rest[at[k] : at[k] + length[k]], shift < 0, low[k] + length[k] - 1 < most)
        marginal = rest[at[v] : at[v] + length[v]]
        for i in range(length[v]):
            marginal[i] *= mass[at[v] + i]
        lost += _lost(marginal, low[v] > column.low[v], low[v] + length[v] - 1 < column.high[v])
        if parent >= 0 and column.first_child[parent + 1] - column.first_child[parent] > 1:
            one, two = _slopes(marginal, low[v], column.shape[level])
            slope[level] += one
            bend[level] += two
        if n > 1:
            one, two = _slopes(marginal, low[v], n * column.shape[level + 1])
            slope[level + 1] -= one
            bend[level + 1] -= two
    return Marginals(rest, lost, slope, bend)


@compiled
def draw(column, messages, uniforms, out):
    """Draw numbers of all regions, shape (regions, draws), by uniform numbers of shape (pairs + 1, draws)."""
    n_regions, n_draws = out.shape
    mass, at, low, length = messages.mass, messages.at, messages.low, messages.length
    numbers = np.empty((n_regions + len(column.left), n_draws), np.int64)
    sums = np.cumsum(mass[at[0] : at[0] + length[0]])
    for d in range(n_draws):
        numbers[0, d] = low[0] + _place(sums, len(sums), uniforms[len(column.left), d])
    after = np.empty(n_draws, np.int64)
    for v in range(n_regions):
        out[v] = numbers[v]
        if column.top[v] < 0:
            continue
        numbers[column.top[v]] = numbers[v]
        for pair in range(column.first_pair[v + 1] - 1, column.first_pair[v] - 1, -1):
            k, a, b = n_regions + pair, column.left[pair], column.right[pair]
            # Draws with the same sum share the law of its left part.
            head = np.full(length[k], -1, np.int64)
            for d in range(n_draws):
                s = numbers[k, d] - low[k]
                after[d] = head[s]
                head[s] = d
            sums = np.empty(length[a])
            for s in range(length[k]):
                if head[s] < 0:
                    continue
                total = low[k] + s
                first = max(0, total - low[b] - length[b] + 1 - low[a])
                last = min(length[a] - 1, total - low[b] - low[a])
                so_far = 0.0
                for i in range(first, last + 1):
                    so_far += mass[at[a] + i] * mass[at[b] + total - low[a] - i - low[b]]
                    sums[i - first] = so_far
                d = head[s]
                while d >= 0:
                    number = low[a] + first + _place(sums, last - first + 1, uniforms[pair, d])
                    numbers[a, d], numbers[b, d] = number, total - number
                    d = after[d]


@compiled
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


@compiled
def mix(pool, at, low, weight, mass, places, first, length):
    """Add a weight times laws of all regions to the pool that `describe` explains; windows there are as wide or wider."""
    for v in range(len(low)):
        for i in range(length[v]):
            pool[at[v] + first[v] - low[v] + i] += weight * mass[places[v] + i]


@compiled
def _lost(law, below, above):
    """Find what lies below and above a window if a law falls on as it does at the ends, for sides that were cut."""
    lost = 0.0
    for first, second, is_cut in ((law[0], law[1 % len(law)], below), (law[-1], law[-2 % len(law)], above)):
        if is_cut and first > 0.0:
            lost += first * first / (second - first) if second > first else 1.0
    return lost


@compiled
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


@compiled
def _log_weights(column):
    """Compute log g(x, r) of leaves for every x that one of them may have, up to a million."""
    most = 0
    for v in range(len(column.parent)):
        if column.top[v] < 0:
            most = max(most, column.high[v])
    table = np.zeros(min(most, 1_000_000) + 1)
    r = column.shape[-1]
    for x in range(len(table) - 1):
        table[x + 1] = table[x] + math.log((x + r) / (x + 1.0))
    return table


@compiled
def _leaf(column, v, table):
    """Compute the logarithm of a leaf's message over its window."""
    low, r = column.low[v], column.shape[-1]
    theta = 0.0 if column.parent[v] < 0 else column.log_theta[column.parent[v]]
    found = np.empty(column.high[v] - low + 1)
    for i in range(len(found)):
        x = low + i
        weight = table[x] if x < len(table) else math.lgamma(x + r) - math.lgamma(r) - math.lgamma(x + 1.0)
        found[i] = weight + x * theta + _log_likelihood(column, v, x)
    return found


@compiled
def _log_likelihood(column, v, x):
    found = 0.0
    for row in range(column.first_row[v], column.first_row[v + 1]):
        off = abs(x - column.value[row]) / column.scale[row]
        found -= 0.5 * off * off if column.squares else off
    return found


@compiled
def _factors(column, v, low, high):
    """Compute log F of a region at low .. high."""
    level, parent = column.level[v], column.parent[v]
    r = column.shape[level]
    z = (column.first_child[v + 1] - column.first_child[v]) * column.shape[level + 1]
    theta = (0.0 if parent < 0 else column.log_theta[parent]) - column.log_theta[v]
    ratio = math.lgamma(low + r) - math.lgamma(r) - math.lgamma(low + z) + math.lgamma(z)
    found = np.empty(high - low + 1)
    for i in range(len(found)):
        x = low + i
        found[i] = ratio + x * theta + _log_likelihood(column, v, x)
        ratio += math.log((x + r) / (x + z))
    return found


@compiled
def _exponentials(logs):
    """Put e^(l - largest) for every l, and return the largest."""
    largest = logs[0]
    for i in range(len(logs)):
        largest = max(largest, logs[i])
    for i in range(len(logs)):
        off = logs[i] - largest
        logs[i] = math.exp(off) if off > -700.0 else 0.0
    return largest


@compiled
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


@compiled
def _scale(mass, rest, at, length):
    """Make the sum of mass times rest of a node 1."""
    total = 0.0
    for i in range(at, at + length):
        total += mass[i] * rest[i]
    for i in range(at, at + length):
        rest[i] /= total


@compiled
def _slopes(marginal, low, z):
    """Compute the mean of the first and second derivative of log g(x, z) by log z."""
    first = second = 0.0
    rise, fall = 0.0, 0.0
    if low > 0:
        high_1, high_2 = _polygammas(low + z)
        low_1, low_2 = _polygammas(z)
        rise, fall = high_1 - low_1, low_2 - high_2
    for i in range(len(marginal)):
        first += marginal[i] * rise
        second += marginal[i] * fall
        part = 1.0 / (low + i + z)
        rise += part
        fall += part * part
    return z * first, z * first - z * z * second


@compiled
def _polygammas(z):
    """Compute the digamma and the trigamma function."""
    one = two = 0.0
    while z < 10.0:
        one -= 1.0 / z
        two += 1.0 / (z * z)
        z += 1.0
    part = 1.0 / (z * z)
    one += math.log(z) - 0.5 / z - part * (1 / 12.0 - part * (1 / 120.0 - part * (1 / 252.0 - part / 240.0)))
    two += 1.0 / z + part * (0.5 + (1.0 / z) * (1 / 6.0 - part * (1 / 30.0 - part * (1 / 42.0 - part / 30.0))))
    return one, two
