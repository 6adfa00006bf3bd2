"""The compiled loops of `integers`: integer flows at given prices, and shortest paths that balance them one by one.

    arcs[a]     the flow x[a], y[a], w[a] and the least that x[a] may be, together since they are read together; int64
    price[v]    int64; price[0] = 0
    excess[v]   inflow - outflow + supply; that of the ground is never used

    around      the arrays (start, end, first, first_in, start_in, arc_in): arcs first[v]..first[v + 1] - 1 start at v,
                and arc_in[first_in[v]..first_in[v + 1] - 1], which start at start_in[...], end there

A unit of excess (sign 1) leaves a vertex along an arc that starts there, which then carries one more, or back along one
that ends there, which carries one less if it may; a unit of shortage (sign -1) the other way about. The length of such
a step is what it costs at the current prices, never negative, since every flow is the cheapest one at them. Where the
prices of all vertices that are nearer than some distance D change by what they lack to D, this stays true.
"""

import numpy as np

from pgsr.machine.compilation import compiled, inlined, uncounted

NEVER = 2**62
"""The distance of what has not been seen."""

BLOCKED = -1
"""The length of a step that an arc without units does not permit."""


_NO_WAY, _NO_ROOM = -2, -3


@uncounted
def take(start, end, arcs, price, supply, excess):
    """Let every arc carry what is cheapest at these prices, and then among equally cheap flows what leaves less excess.

    An arc is paid d = price[end] - price[start] a unit, and its unit number k + 1 costs w (2 (k - y) + 1): the least
    cheapest flow is the smallest x with d <= w (2 (x - y) + 1), and one more is as cheap where the two are equal. Of
    these the one that is nearer to what x[a] holds beforehand is taken first.
    """
    for v in range(len(excess)):
        excess[v] = supply[v]
    for a in range(len(start)):
        u, v = start[a], end[a]
        x, y, w, bound = arcs[a]
        # least: the smallest x with d <= w (2 (x - y) + 1); most: one more where the two are equal.
        paid = price[v] - price[u]
        least, most = max(bound, y + (paid + w - 1) // (2 * w)), max(bound, y + (paid + w) // (2 * w))
        x = min(max(x, least), most)
        arcs[a, 0] = x
        excess[v] += x
        excess[u] -= x
    for a in range(len(start)):
        u, v = start[a], end[a]
        x, y, w, _ = arcs[a]
        if price[v] - price[u] == w * (2 * (x - y) + 1):
            # By how much one unit more on this arc lowers the sum of excess^2 over its ends, less that of the ground.
            gain = -2 * excess[v] - 1
            if u > 0:
                gain += 2 * excess[u] - 1
            if gain > 0:
                arcs[a, 0] += 1
                excess[v] += 1
                excess[u] -= 1


@compiled
def search(around, arcs, price, excess, sign, most):
    """Send excess (sign 1) or shortage (sign -1), unit by unit, along a shortest path to where it is wanted.

    A search ends without result after `most` visits; the unit stays where it is. Leaves come first:
    most units that are left over there are wanted nearby, and those that are not had better be sent on before the sums
    above are balanced.

    Returns the number of vertices visited, or -1 where some unit has no way at all.
    """
    n = len(price)
    distance = np.full(n, NEVER, np.int64)
    settled = np.zeros(n, np.uint8)
    via = np.empty(n, np.int64)
    seen = np.empty(n, np.int32)
    key, rank = np.empty(1024, np.int64), np.empty(1024, np.int64)
    visits = np.int64(0)
    for source in range(n - 1, 0, -1):
        while sign * excess[source] > 0:
            room = key, rank, distance, settled, via, seen
            reached, visited = _send_one(around, arcs, price, excess, sign, source, most, room)
            if reached == _NO_ROOM:
                key, rank = longer(key), longer(rank)
                continue
            visits += visited
            if reached < 0:
                if reached == _NO_WAY:
                    return -1
                break
    return visits


@uncounted
def _send_one(around, arcs, price, excess, sign, source, most, room):
    """Search for the shortest path of one unit by Dijkstra's algorithm, and send the unit along it.

    Returns the vertex that it has reached, -1 after `most` visits, `_NO_WAY`, or `_NO_ROOM` in the heap, where nothing
    has changed; and the number of visits.
    """
    start, end, _, _, _, _ = around
    key, rank, distance, settled, via, seen = room
    # Lengths of steps are not negative. Of equal distances fewer hops come first.
    n_seen, n_heap = 1, 0
    seen[0] = source
    distance[source] = 0
    via[source] = -1
    push(key, rank, n_heap, np.int64(0), np.int64(source))
    n_heap += 1
    reached, nearest, visits = np.int64(-1), np.int64(NEVER), np.int64(0)
    while n_heap > 0 and visits < most:
        here, hops, v = key[0], rank[0] >> 32, rank[0] & 0xFFFFFFFF
        n_heap = pop(key, rank, n_heap)
        if settled[v]:
            continue
        settled[v] = 1
        visits += 1
        if v == 0 or sign * excess[v] < 0:
            reached = v
            break
        if n_heap + neighbours(around, v) > len(key):
            reached = np.int64(_NO_ROOM)
            break
        for i in range(neighbours(around, v)):
            a, to, up = neighbour(around, v, i, sign)
            if settled[to]:
                continue
            length = length_of(arcs, a, up, sign * (price[to] - price[v]))
            if length != BLOCKED and here + length < min(distance[to], nearest):
                if distance[to] == NEVER:
                    seen[n_seen] = to
                    n_seen += 1
                distance[to], via[to] = here + length, a
                if to == 0 or sign * excess[to] < 0:
                    nearest = here + length
                push(key, rank, n_heap, here + length, ((hops + 1) << 32) | to)
                n_heap += 1
    # Vertices nearer than D = `far` change their prices by what they lack to D, which makes the steps of the path of
    # length 0 and keeps all others from being negative. The unit takes the path, from its end.
    if reached >= 0:
        far = distance[reached]
        for i in range(n_seen):
            v = seen[i]
            if distance[v] < far:
                price[v] -= sign * (far - distance[v])
        v = reached
        while v != source:
            a = via[v]
            if end[a] == v:
                arcs[a, 0] += sign
                v = np.int64(start[a])
            else:
                arcs[a, 0] -= sign
                v = np.int64(end[a])
        excess[source] -= sign
        excess[reached] += sign
    elif reached == -1 and n_heap == 0:  # without a result and with nothing left to visit
        reached = np.int64(_NO_WAY)
    # For the next search.
    for i in range(n_seen):
        distance[seen[i]] = NEVER
        settled[seen[i]] = 0
    return reached, visits


@inlined
def neighbours(around, v):
    """Count the arcs that start or end at a vertex."""
    _, _, first, first_in, _, _ = around
    return first[v + 1] - first[v] + first_in[v + 1] - first_in[v]


@inlined
def neighbour(around, v, i, sign):
    """Name arc i of a vertex, the vertex across, and what the arc carries more when `sign` units go there."""
    _, end, first, first_in, start_in, arc_in = around
    out = first[v + 1] - first[v]
    if i < out:
        a = first[v] + i
        return a, np.int64(end[a]), sign
    i += first_in[v] - out
    return np.int64(arc_in[i]), np.int64(start_in[i]), -sign


@inlined
def length_of(arcs, a, up, paid):
    """Tell what it costs, at the current prices, that an arc carries `up` more (1 or -1), for which `paid` is paid."""
    if up < 0 and arcs[a, 0] <= arcs[a, 3]:
        return np.int64(BLOCKED)
    return arcs[a, 2] * (2 * up * (arcs[a, 0] - arcs[a, 1]) + 1) - paid


@compiled
def longer(array):
    """Copy an array into one that is twice as long."""
    out = np.empty(2 * len(array), array.dtype)
    for i in range(len(array)):  # assigning a slice takes a second to compile
        out[i] = array[i]
    return out


@uncounted
def push(key, rank, n, new_key, new_rank):
    """Add an entry to a heap of n entries that has room for it, ordered by key and then by rank."""
    i = n
    while i > 0:
        above = (i - 1) >> 1
        if key[above] < new_key or (key[above] == new_key and rank[above] <= new_rank):
            break
        key[i], rank[i] = key[above], rank[above]
        i = above
    key[i], rank[i] = new_key, new_rank


@uncounted
def pop(key, rank, n):
    """Remove the first entry of a heap of n entries; returns how many are left."""
    n -= 1
    last_key, last_rank = key[n], rank[n]
    i = np.int64(0)
    while 2 * i + 1 < n:
        below = 2 * i + 1
        if below + 1 < n and (
            key[below + 1] < key[below] or (key[below + 1] == key[below] and rank[below + 1] < rank[below])
        ):
            below += 1
        if last_key < key[below] or (last_key == key[below] and last_rank <= rank[below]):
            break
        key[i], rank[i] = key[below], rank[below]
        i = below
    key[i], rank[i] = last_key, last_rank
    return n
