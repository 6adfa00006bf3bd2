"""The arrays that the compiled loops of M_c share, in the symbols of the docstring of this room.

There are m nodes, the inner regions that have a price, in level order; and n cells, which are the sizes whose
cumulative count is not known beforehand. Loops take these tuples as they take arrays.
"""

from typing import NamedTuple

import numpy as np


class NodeTree(NamedTuple):
    """The tree of nodes, and the leaves below every node.

    The leaves of a node lie in chunks, so that sums over leaves are formed chunk by chunk, in one order.

    Attributes:
        parent: the node above r, -1 above the root; int64, shape (m,).
        child_from, child: the children of r are child[child_from[r] : child_from[r + 1]]; int64, (m + 1,), (m - 1,).
        chunk_from: r has the chunks chunk_from[r] .. chunk_from[r + 1] - 1; int64, (m + 1,).
        chunk_node: the node of chunk k, whose price its leaves are paid; int64, (chunks,).
        chunk_start, chunk_stop: chunk k holds the leaves chunk_start[k] .. chunk_stop[k] - 1; int64, (chunks,).
        first_free: p[root, i] is 0 before this cell, and an unknown from it on.
        held: whether the root's last cell is its public total G, a constant, which has no curvature of its own.
    """

    parent: np.ndarray
    child_from: np.ndarray
    child: np.ndarray
    chunk_from: np.ndarray
    chunk_node: np.ndarray
    chunk_start: np.ndarray
    chunk_stop: np.ndarray
    first_free: int
    held: bool


class LeafTerms(NamedTuple):
    """The terms of the leaves, w (x - y)^2, and the bounds of x.

    Attributes:
        y: the noisy values; integers, shape (leaves, n), or one cell more where the last one is known.
        upper: x[l, i] <= upper[l], the public total or infinity; (leaves,).
        least, most: least[l, i] <= x[l, i] <= most[l, i], which decrease nowhere; (leaves, n), or (0, 0) without such
            bounds.
        weight: w, positive; (leaves,).
    """

    y: np.ndarray
    upper: np.ndarray
    least: np.ndarray
    most: np.ndarray
    weight: np.ndarray


class Blocks(NamedTuple):
    """The blocks of every leaf, the runs of cells on which its x is constant.

    Attributes:
        edges: block b of leaf l is the cells edges[l, b] .. edges[l, b + 1] - 1; int32, (leaves, n + 1).
        inside: blocks inside[l, 0] .. inside[l, 1] - 1 of leaf l may move, inside[l, 2] is their number in all;
            int32, (leaves, 3).
        gain: by how much a block's value rises per unit of price on any of its cells, 1 / (2 w |b|) in squares, and 0
            where it is stuck; (leaves, n).
        level: the value of a block; (leaves, n).
    """

    edges: np.ndarray
    inside: np.ndarray
    gain: np.ndarray
    level: np.ndarray


class Takings(NamedTuple):
    """The takings of regions at the prices, less their noisy values, and by how much these are not consistent.

    Attributes:
        residual: y[r] minus the sum of the children's y; (m, n).
        own: c[r] - y[r]; (m, n).
        change: the sum of x - y over the leaves of a chunk; (chunks, n).
    """

    residual: np.ndarray
    own: np.ndarray
    change: np.ndarray


class Diagonal(NamedTuple):
    """The terms of minus the Hessian H besides those of the leaves.

    Attributes:
        rate: by how much a node's own value rises per unit of the price above it, 1 / 2 w[r]; (m, n).
        ridge: takes the place of rate at the held cell.
    """

    rate: np.ndarray
    ridge: float


class PrefixSums(NamedTuple):
    """Sums before every cell, by which the sum over a block is one difference.

    Attributes:
        y: of the leaves' y; (leaves, n + 1).
        prices: of the nodes' prices p; (m, n + 1).
    """

    y: np.ndarray
    prices: np.ndarray


class Wishes(NamedTuple):
    """The wishes of nodes while their leaves settle: a change d of a leaf's cell costs node r stiff d^2 - 2 pull d.

    Attributes:
        parent: the node above r whose wishes count, too, or -1; int64, (m,).
        order, first: the leaves of r are order[first[r] : first[r + 1]]; int64, (leaves,), (m + 1,).
        stiff: at least 0; a node with 0 wants nothing; (m,).
        pull: falls by stiff d with every change d; (m, n), or one cell more.
    """

    parent: np.ndarray
    order: np.ndarray
    first: np.ndarray
    stiff: np.ndarray
    pull: np.ndarray


class Tails(NamedTuple):
    """The cheapest tail of every leaf to move by one.

    Attributes:
        cost: what that adds to the objective, infinite where no tail may move; (leaves,).
        where: the tail's first cell; int64, (leaves,).
    """

    cost: np.ndarray
    where: np.ndarray
