"""Whether sums of unknowns are the arcs of a network: two families of sets, in each of which none overlap.

The sums are sets of unknowns. Where of any two sets of a family one contains the other or they have nothing in common
(a *laminar* family), the family is a forest: what a set holds flows on into the sets within it. Two forests grow
together at the unknowns, which flow out of the smallest set of the first family around them and into the smallest one
of the second. So sums are arcs of a network if two colours are enough for the sets, such that sets that overlap have
different ones. Whether they are is easily found out, set by set.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

MOST_PAIRS = 50_000_000
"""Most pairs of sets with an unknown in common, each counted as often as they have one, that are looked at."""


@dataclass(frozen=True, eq=False)
class SetArcs:
    """The arcs of sets and of unknowns.

    Attributes:
        arc: the arc of every set; shape (sets,).
        start, end: vertices of the arcs, 0 the ground; the first arcs are those of the unknowns.
        n_vertices: the number of vertices.
    """

    arc: np.ndarray
    start: np.ndarray
    end: np.ndarray
    n_vertices: int


def two_families(sets: sparse.csr_array) -> SetArcs | int | None:
    """Make the arcs of a network of sets, a row each with ones at its unknowns.

    Returns:
        The arcs; or the number of a set that no network has beside the ones before it; or None if there are too many
        to be looked at.

    Example:
        >>> two_families(sparse.csr_array(np.array([[1, 1, 0], [0, 1, 1], [0, 1, 0]]))).arc.tolist()
        [3, 4, 1]
        >>> two_families(sparse.csr_array(np.array([[1, 1, 0], [0, 1, 1], [1, 0, 1]])))
        2
    """
    around = np.bincount(sets.indices, minlength=sets.shape[1]).astype(float)  # pyright: ignore
    if float((around**2).sum()) > MOST_PAIRS:
        return None
    colour = _coloured(sets)
    if isinstance(colour, int):
        return colour
    n_sets, n = sets.shape  # pyright: ignore
    size = np.diff(sets.indptr)
    arc, start, end = np.full(n_sets, -1), [np.zeros(n, np.int64)], [np.zeros(n, np.int64)]
    used, vertices, n_arcs = np.zeros(n, bool), 1, n
    for family in (0, 1):
        vertex, outer = np.zeros(n_sets, np.int64), np.zeros(n_sets, np.int64)
        around_now, innermost = np.full(n, -1), np.zeros(n, np.int64)
        members = np.flatnonzero(colour == family)
        for k in members[np.argsort(size[members], kind="stable")].tolist():
            inside = sets.indices[sets.indptr[k] : sets.indptr[k + 1]]
            if len(inside) == 1 and not used[inside[0]]:
                used[inside[0]], arc[k] = True, inside[0]
                continue
            vertex[k], arc[k] = vertices, n_arcs
            vertices, n_arcs = vertices + 1, n_arcs + 1
            within = around_now[inside]
            outer[within[within >= 0]] = vertex[k]
            innermost[inside] = np.where(within < 0, vertex[k], innermost[inside])
            around_now[inside] = k
        own = np.flatnonzero(vertex)
        own = own[np.argsort(arc[own])]
        ends = (outer[own], vertex[own]) if family == 0 else (vertex[own], outer[own])
        start.append(ends[0])
        end.append(ends[1])
        (start if family == 0 else end)[0] = innermost
    return SetArcs(arc, np.concatenate(start), np.concatenate(end), vertices)


def _coloured(sets: sparse.csr_array) -> np.ndarray | int:
    """Give every set one of two colours, so that sets that overlap have different ones, or the first without one."""
    size = np.diff(sets.indptr)
    common = sparse.coo_array(sets @ sets.T)
    one, other = common.coords
    overlap = common.data < np.minimum(size[one], size[other])
    one, other = one[overlap], other[overlap]
    order = np.argsort(one, kind="stable")
    other = other[order]
    first = np.searchsorted(one[order], np.arange(len(size) + 1))
    colour = np.full(len(size), -1)
    for source in range(len(size)):
        if colour[source] >= 0:
            continue
        colour[source], waiting = 0, [source]
        while waiting:
            k = waiting.pop()
            near = other[first[k] : first[k + 1]]
            wrong = near[colour[near] == colour[k]]
            if len(wrong):
                return int(max(k, wrong.max()))
            new = near[colour[near] < 0]
            colour[new] = 1 - colour[k]
            waiting += new.tolist()
    return colour
