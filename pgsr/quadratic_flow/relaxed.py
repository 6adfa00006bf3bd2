"""The prices of a flow of quadratic costs without integrality, by Newton's method."""

import numpy as np

from pgsr.parallel import inner_product
from pgsr.quadratic_flow.network import Network

_MOST_STEPS = 60
_MOST_CONJUGATE_STEPS = 200
_FORCING = 0.05
_SHORTEST = 1e-12
_TIE = 1e-7
"""What ties a vertex to the ground in a step, relative to what it could conduct: without it a vertex all of whose arcs
are at their lower bounds would be moved infinitely far."""


def relaxed_prices(network: Network, start: np.ndarray | None = None, tolerance: float = 1e-6) -> np.ndarray:
    """Find the prices of the vertices at which all arcs together balance every vertex, shape (vertices,).

    An arc that is paid d = price[end] - price[start] a unit carries x = max(0, y + d / 2w), or y + d / 2w if it is
    free. The dual

        D(price) = sum over arcs of  max over x of  d x - w (x - y)^2    +  sum of price supply

    is convex, once differentiable and piecewise quadratic; its derivative by a vertex's price is the vertex's excess.
    Newton's method minimises it. A step solves a system of the network of arcs that carry something, by conjugate
    gradients. Their preconditioner has two parts: incomplete factors of the network, which are exact on trees, and
    factors of the coarse network, in which every aggregate moves as a whole (`newton_kernel.precondition`). The former
    alone see no further than from a vertex to those around it; a unit that has to move through a nation takes them
    hundreds of steps.

    Args:
        start: prices to start from; 0 if None.
        tolerance: ends where no vertex is off by more units than this, or where rounding stops all progress.

    Example:
        >>> network = Network.of([0, 0, 1], [1, 1, 0], [4, -2, 9], [1, 1, 1], [False] * 3, n_vertices=2)
        >>> float(relaxed_prices(network)[1].round(4))  # 4 + 7/3 and -2 + 7/3 come in, 9 - 7/3 leave
        4.6667
    """
    from pgsr.quadratic_flow import newton_kernel as kernels

    n = network.n_vertices
    price = np.zeros(n) if start is None else np.array(start, float)
    c, excess, pivot, step = np.empty(len(network.y)), *np.empty((3, n))
    coarse = network.coarse
    coarse_pivot = np.empty(len(coarse.first) - 1)
    rate = 0.5 / network.w
    tie = _TIE * (np.bincount(network.start, rate, n) + np.bincount(network.end, rate, n))
    coarse_tie = coarse.ties(tie)
    del rate
    arcs = network.start, network.end, network.y, network.w, network.free

    def look(at: np.ndarray) -> float:
        kernels.demand(*arcs, at, network.supply, c, excess)
        return float(np.abs(excess).max())

    worst = look(price)
    for _ in range(_MOST_STEPS):
        if worst <= tolerance:
            break
        kernels.factorise(network.first, network.end, c, tie, False, pivot)
        coarse_arcs = coarse.first, coarse.end, coarse.conductances(c)
        kernels.factorise(*coarse_arcs, coarse_tie, True, coarse_pivot)
        links = network.first, network.end, c, tie, pivot, coarse.aggregate, *coarse_arcs, coarse_pivot
        kernels.conjugate_gradients(*links, -excess, _FORCING, _MOST_CONJUGATE_STEPS, step)
        step[0] = 0.0
        slope, length = inner_product(excess, step), 1.0
        if not slope < 0.0:
            break
        # Along the step the dual falls for as long as its derivative is negative.
        while True:
            worst = look(price + length * step)
            here = inner_product(excess, step)
            if here <= -0.1 * slope or length < _SHORTEST:
                break
            length *= max(0.1, slope / (slope - here))
        price += length * step
    return price
