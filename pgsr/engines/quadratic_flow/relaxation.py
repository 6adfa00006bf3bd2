"""The prices of a flow of quadratic costs without integrality, by Newton's method."""

import numpy as np

from pgsr.engines.newton import conjugate_gradients, line_search
from pgsr.engines.quadratic_flow.balance import Balance
from pgsr.engines.quadratic_flow.network import FlowNetwork
from pgsr.machine.parallel import inner_product

_MOST_STEPS = 60
_MOST_CONJUGATE_STEPS = 200
_FORCING = 0.05
_TRIALS = 300
MOST_TIE, LEAST_TIE = 1e-2, 1e-7
"""What ties a vertex to the ground in a step, relative to what it could conduct: without it a vertex all of whose arcs
are at their lower bounds would be moved infinitely far. It begins with the most, and falls by whole steps."""


def relaxed_prices(
    network: FlowNetwork,
    start: np.ndarray | None,
    tolerance: float,
    patience: int | None = None,
    ties: tuple[float, float] = (MOST_TIE, LEAST_TIE),
    balanced: bool = False,
) -> np.ndarray:
    """Find the prices of the vertices at which all arcs together balance every vertex, shape (vertices,).

    An arc that is paid d = price[end] - price[start] a unit carries x = max(0, y + d / 2w), or y + d / 2w if it is
    free. Newton's method minimises the dual, which is convex and piecewise quadratic:

        D(price) = sum over arcs of  max over x of  d x - w (x - y)^2    +  sum of price supply.

    A step solves a system of the arcs that carry something, by conjugate gradients with incomplete factors of the
    network, exact on trees, and factors of the coarse network, in which every aggregate moves as a whole.

    Args:
        start: prices to start from; 0 if None.
        tolerance: ends where no vertex is off by more units than this, or where rounding stops all progress.
        patience: ends already where this many steps have not halved the units by which all vertices are off.
        ties: the most and the least that ties a vertex to the ground in a step, relative to what its arcs could
            conduct: `MOST_TIE` throughout for networks that lack arcs, little for weights that differ by orders of
            magnitude.
        balanced: whether a turn of `Balance` follows every step that had to be shortened; large networks need it.

    Example:
        >>> network = FlowNetwork.of([0, 0, 1], [1, 1, 0], [4, -2, 9], [1, 1, 1], [False] * 3, n_vertices=2)
        >>> float(relaxed_prices(network, None, 1e-6)[1].round(4))  # 4 + 7/3 and -2 + 7/3 come in, 9 - 7/3 leave
        4.6667
    """
    system, tie = _System(network), ties[0]
    balance = Balance(network, 1.0) if balanced else None
    price = np.zeros(network.n_vertices) if start is None else np.array(start, float)
    worst, off, length = system.look(price), [], 1.0
    for _ in range(_MOST_STEPS):
        off.append(float(np.abs(system.excess).sum()))
        if worst <= tolerance or (patience and len(off) > patience and off[-1] > 0.5 * off[-1 - patience]):
            break
        if balance is not None and length < 1.0:
            balance.turn(price)
            system.look(price)
        system.solve(tie)
        slope = inner_product(system.excess, system.step)
        if not slope < 0.0:
            break
        length, worst = _length(system, price, slope)
        price += length * system.step
        tie = max(ties[1], 0.1 * tie) if length == 1.0 else min(ties[0], 10.0 * tie)
    return price


def _length(system: "_System", price: np.ndarray, slope: float) -> tuple[float, float]:
    """Find the length of the step, along which the dual falls while its derivative is negative; and the largest excess.

    What a line search raises is the dual with the other sign. Its values are not computed: slopes decide alone.
    """
    worst = np.inf

    def look(length: float) -> tuple[float, float]:
        nonlocal worst
        worst = system.look(price + length * system.step)
        return np.nan, -inner_product(system.excess, system.step)

    return line_search(look, np.nan, -slope, _TRIALS, end=-0.1, longest=1.0).length, worst


class _System:
    """The system of Newton's steps at prices looked at last.

    Attributes:
        c: the conductances of arcs, which are the dual's second derivatives.
        excess: the first derivatives, by vertex.
        step: the step of `solve`.
    """

    def __init__(self, network: FlowNetwork) -> None:
        n, rate = network.n_vertices, 0.5 / network.w
        self.network, self.coarse = network, network.coarse
        self.c, self.excess, self.step, self.pivot = np.empty(len(network.y)), *np.empty((3, n))
        self.bare = np.bincount(network.start, rate, n) + np.bincount(network.end, rate, n)
        self.coarse_pivot = np.empty(len(self.coarse.first) - 1)

    def look(self, price: np.ndarray) -> float:
        """Compute conductances and excesses at these prices; returns the largest excess."""
        from pgsr.engines.quadratic_flow import newton_kernel as kernels

        net = self.network
        kernels.demand(net.start, net.end, net.y, net.w, net.free, price, net.supply, self.c, self.excess)
        return float(np.abs(self.excess).max())

    def solve(self, tie: float) -> None:
        """Find the step from the prices looked at last."""
        from pgsr.engines.quadratic_flow import newton_kernel as kernels

        net, coarse, ties = self.network, self.coarse, tie * self.bare
        arcs, coarse_arcs = (net.first, net.end, self.c), (coarse.first, coarse.end, coarse.conductances(self.c))
        kernels.factorise(*arcs, ties, False, self.pivot)
        kernels.factorise(*coarse_arcs, coarse.ties(ties), True, self.coarse_pivot)
        self.matrix = *arcs, ties
        self.factors = *arcs, self.pivot, coarse.aggregate, *coarse_arcs, self.coarse_pivot
        self.step[:] = conjugate_gradients(self, -self.excess, _FORCING, _MOST_CONJUGATE_STEPS)
        self.step[0] = 0.0

    def multiply(self, p: np.ndarray, product: np.ndarray) -> float:
        from pgsr.engines.quadratic_flow import newton_kernel as kernels

        return kernels.multiply(*self.matrix, p, product)

    def advance(self, step: float, p: np.ndarray, product: np.ndarray, x: np.ndarray, rest: np.ndarray) -> float:
        from pgsr.engines.quadratic_flow import newton_kernel as kernels

        return kernels.advance(*self.factors, step, p, product, x, rest)
