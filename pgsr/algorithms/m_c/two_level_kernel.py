"""The loops of the two-level preconditioner, see `preconditioner.TwoLevel`.

Tuples and ranges as in `tree_kernel`. Aggregate p is the cells starts[p]:starts[p + 1], and `aggregate_of[i]`
the aggregate of cell i. `ties[r, p]` is the sum of rate[r] over aggregate p.
"""

import numpy as np

from pgsr.machine.compilation import compiled, inlined


@compiled
def coarse_leaves(start, stop, tree, blocks, starts, aggregate_of, out):
    """out[r] = Z' A Z, the leaves' part of the Hessian of node r on values that are constant on aggregates.

    With V[p] the sum of all cells before aggregate p, a block's sum is V at its end minus V at its start, either
    between two neighbouring V: at most four of them, so a block adds to sixteen numbers however long it is.
    """
    n_parts = out.shape[1]
    edges, inside, gain = blocks.edges, blocks.inside, blocks.gain
    chunk_from, chunk_start, chunk_stop = tree.chunk_from, tree.chunk_start, tree.chunk_stop
    squares = np.empty((n_parts + 2, n_parts + 2))
    for r in range(start, stop):
        for p in range(n_parts + 2):
            for q in range(n_parts + 2):
                squares[p, q] = 0.0
        for k in range(chunk_from[r], chunk_from[r + 1]):
            for l in range(chunk_start[k], chunk_stop[k]):
                for b in range(inside[l, 0], inside[l, 1]):
                    add_block(edges[l, b], edges[l, b + 1], gain[l, b], starts, aggregate_of, squares)
        for p in range(n_parts - 1, -1, -1):  # from V to sums of aggregates, which every later V contains
            for q in range(n_parts + 1):
                squares[p + 1, q] += squares[p + 2, q]
        for p in range(n_parts):
            for q in range(n_parts - 1, -1, -1):
                squares[p + 1, q + 1] += squares[p + 1, q + 2]
            for q in range(n_parts):
                out[r, p, q] = (starts[p + 1] - starts[p]) * squares[p + 1, q + 1] * (starts[q + 1] - starts[q])


@inlined
def add_block(start, stop, gain, starts, aggregate_of, squares):
    """Add gain (1_b . v)^2 of the block of cells start:stop, as a quadratic form in V, to `squares`.

    v is constant on aggregates, so its sum over all cells before i is linear inside an aggregate:
    V[p] + f (V[p + 1] - V[p]) at the share f of aggregate p. With shares `first` at the start of the block, in p, and
    `last` at its end, in q,

        1_b . v  =  (last V[q + 1] + (1 - last) V[q])  -  (first V[p + 1] + (1 - first) V[p]),

    four numbers times entries of V, at p, p + 1, q and q + 1, some of which may coincide.
    """
    p, q = aggregate_of[start], aggregate_of[stop - 1]
    first = (start - starts[p]) / (starts[p + 1] - starts[p])
    last = (stop - starts[q]) / (starts[q + 1] - starts[q])
    at = (p, p + 1, q, q + 1)
    share = (first - 1.0, -first, 1.0 - last, last)
    for i in range(4):
        for j in range(4):
            squares[at[i], at[j]] += gain * share[i] * share[j]


@compiled
def coarse_inverses(start, stop, ties, child_from, child, matrix):
    """Upwards: eliminate the tree. matrix[r], on entry the leaves' part A[r], becomes the inverse of its pivot

        pivot[r] = A[r] + R[r] + sum over child nodes j of (R[j] - R[j] pivot[j]^-1 R[j]),    R[r] = diag(ties[r]),

    but for the root, which is left as its pivot without R[0].
    """
    n_parts = matrix.shape[1]
    none = np.int64(0)  # not a literal, for which `invert` would be compiled once more
    for r in range(stop - 1, start - 1, -1):
        a = matrix[r]
        for at in range(child_from[r], child_from[r + 1]):
            j = child[at]
            for p in range(n_parts):
                a[p, p] += ties[j, p]
                for q in range(n_parts):
                    a[p, q] -= ties[j, p] * matrix[j, p, q] * ties[j, q]
        if r > 0:
            for p in range(n_parts):
                a[p, p] += ties[r, p]
            invert(a, none)


@compiled
def invert(a, fixed):
    """Invert a positive definite matrix in place, by sweeps; its first `fixed` rows and columns become 0."""
    n = len(a)
    for p in range(fixed):
        for q in range(n):
            a[p, q] = 0.0
            a[q, p] = 0.0
    row = np.empty(n)
    for k in range(fixed, n):
        pivot = 1.0 / a[k, k]
        for q in range(n):
            row[q] = a[k, q] * pivot
        for p in range(n):
            if p != k:
                factor = a[p, k]
                for q in range(n):
                    a[p, q] -= factor * row[q]
                a[p, k] = -factor * pivot
        for q in range(n):
            a[k, q] = row[q]
        a[k, k] = pivot


@compiled
def fine_leaves(start, stop, tree, blocks, starts, aggregate_of, pivot):
    """pivot[r] = the diagonal of the leaves' part of the Hessian of node r that aggregates miss.

    Only aggregates that a block enters or leaves miss anything of it. If it covers a share f of one, what is missed
    there is (1 - f)^2 on the cells inside and f^2 on those outside. Scaled so that single cells are missed as a whole.
    """
    n = pivot.shape[1]
    edges, inside, gain = blocks.edges, blocks.inside, blocks.gain
    chunk_from, chunk_start, chunk_stop = tree.chunk_from, tree.chunk_start, tree.chunk_stop
    steps = np.empty(n + 1)
    for r in range(start, stop):
        for i in range(n + 1):
            steps[i] = 0.0
        for k in range(chunk_from[r], chunk_from[r + 1]):
            for l in range(chunk_start[k], chunk_stop[k]):
                for b in range(inside[l, 0], inside[l, 1]):
                    first, last = edges[l, b], edges[l, b + 1]
                    p, q = aggregate_of[first], aggregate_of[last - 1]
                    add_missed(starts[p], starts[p + 1], first, min(last, starts[p + 1]), gain[l, b], steps)
                    if q > p:
                        add_missed(starts[q], starts[q + 1], starts[q], last, gain[l, b], steps)
        total = 0.0
        for i in range(n):
            total += steps[i]
            pivot[r, i] = max(total, 0.0)


@inlined
def add_missed(first, last, start, stop, gain, steps):
    """Add the diagonal that an aggregate, cells first:last, misses of a block whose part in it is cells start:stop.

    With the share f of the aggregate, the block's indicator less its mean is 1 - f inside and -f outside; the diagonal
    of its square is the squares of these. Those of a single cell, f = 1 / size, add up to (size - 1) / size over the
    aggregate, which the factor makes 1.
    """
    size = last - first
    if stop - start < size:
        share = (stop - start) / size
        gain *= size / (size - 1)
        outside, inside = gain * share * share, gain * (1.0 - share) * (1.0 - share)
        steps[first] += outside
        steps[start] += inside - outside
        steps[stop] += outside - inside
        steps[last] -= outside


@compiled
def restrict(start, stop, starts, step, direction, product, x, rest, out, sums):
    """x += step * direction, rest -= step * product; sums = that of every aggregate, out = rest minus their means.

    `out` may be `product`.
    """
    for r in range(start, stop):
        for p in range(len(starts) - 1):
            total = 0.0
            for i in range(starts[p], starts[p + 1]):
                x[r, i] += step * direction[r, i]
                value = rest[r, i] - step * product[r, i]
                rest[r, i] = value
                out[r, i] = value
                total += value
            # Z' rest, and (I - P) rest.
            sums[r, p] = total
            mean = total / (starts[p + 1] - starts[p])
            for i in range(starts[p], starts[p + 1]):
                out[r, i] -= mean


@compiled
def coarse_up(start, stop, inverse, ties, child_from, child, sums, partial):
    """Upwards: the coarse system's right-hand side once children are eliminated, and partial = inverse times it."""
    n_parts = sums.shape[1]
    for r in range(stop - 1, start - 1, -1):
        for at in range(child_from[r], child_from[r + 1]):
            j = child[at]
            for p in range(n_parts):
                sums[r, p] += ties[j, p] * partial[j, p]
        # pivot[j] v[j] - R[j] v[r] = sums[j] gave R[j] pivot[j]^-1 sums[j] to its parent's side.
        times(inverse[r], sums[r], partial[r])


@compiled
def coarse_down(start, stop, inverse, ties, parent, sums, partial):
    """Downwards: sums = the coarse system's solution, after `coarse_up`."""
    n_parts = sums.shape[1]
    for r in range(start, stop):
        if r == 0:
            for p in range(n_parts):
                sums[0, p] = partial[0, p]
            continue
        above = parent[r]
        for p in range(n_parts):
            # v[r] = pivot[r]^-1 (sums[r] + R[r] v[parent]).
            partial[r, p] = sums[r, p] + ties[r, p] * sums[above, p]
        times(inverse[r], partial[r], sums[r])


@inlined
def times(a, v, out):
    """out = a v for a symmetric a."""
    n = len(v)
    for q in range(n):
        out[q] = 0.0
    for p in range(n):
        for q in range(n):
            out[q] += a[p, q] * v[p]


@compiled
def prolong(start, stop, starts, coarse, rest, out, dots):
    """Replace the means of out's aggregates by `coarse`; dots[r] = rest[r] . out[r]."""
    for r in range(start, stop):
        dot = 0.0
        for p in range(len(starts) - 1):
            total = 0.0
            for i in range(starts[p], starts[p + 1]):
                total += out[r, i]
            # (I - P) of the tree's answer, plus Z of the coarse one.
            shift = coarse[r, p] - total / (starts[p + 1] - starts[p])
            for i in range(starts[p], starts[p + 1]):
                out[r, i] += shift
                dot += rest[r, i] * out[r, i]
        dots[r] = dot
