"""The distribution of the privacy loss of independent noise on cells, from the exact laws and what changes."""

from collections import Counter
from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate, pairwise
from math import gcd, isqrt, lcm

from pgsr.errors import BudgetError
from pgsr.privacy.accounting.loss_distribution import (
    DROPPED_BITS,
    MOST_LOSSES,
    LossDistribution,
    exp_bounds,
    trimmed,
)
from pgsr.privacy.accounting.search import decimal_down
from pgsr.privacy.enclosure import divided_up, root_above, shifted_up
from pgsr.privacy.laws import DiscreteGaussian, DoubleGeometric, Law

Change = int | tuple[int, ...]
"""Of a cell, or of a vector: its cells' changes, largest first."""

Cells = Mapping[tuple[Law, Change], int]

WIDEST_SIGMA = 1 << 10
"""Largest sigma of Gaussian noise whose loss is computed."""

MOST_CHANGES = 32
"""Most changes of a vector that are compared."""

DEVIATION = 1 << 7
"""Steps that a standard deviation of the loss of one cell has at most."""

GUARD_BITS = 48


@lru_cache(maxsize=64)
def loss_of_cell(law: Law, change: int, precision: int, above: bool = True) -> LossDistribution:
    """Bound the distribution of the loss of one cell's noise where the cell changes by an integer k >= 1.

    Discrete Gaussian: (k^2 - 2 k j) / (2 sigma^2) at noise j. Double-geometric: (|j - k| - |j|) / scale.

    Raises:
        BudgetError: it is another law, or Gaussian with a sigma above 2^10.
    """
    if isinstance(law, DoubleGeometric):
        # Losses k t, (k - 2) t, ..., -k t: noise of at most 0, of 1, ..., k - 1, and of at least k.
        within, one = [law.probability_at_most(m, precision) for m in range(change)], 1 << precision
        between = _halves(within, low=not above)
        if above:
            chances = [shifted_up(one + within[0][1], 1), *between, shifted_up(one - within[-1][0], 1)]
        else:
            chances = [one + within[0][0] >> 1, *between, one - within[-1][1] >> 1]
        return LossDistribution(-change / law.scale, 2 / law.scale, tuple(chances[::-1]), 0, precision, above)
    if not isinstance(law, DiscreteGaussian):
        raise BudgetError(f"the loss of {law!r} is not known; use double-geometric or discrete Gaussian noise")
    if law.sigma_squared > WIDEST_SIGMA**2:
        raise BudgetError(f"the exact loss of Gaussian noise with sigma above {WIDEST_SIGMA:,} takes long; use its rho")
    within: list[tuple[int, int]] = []
    while not within or (1 << precision) - within[-1][0] > 1 << DROPPED_BITS:
        within.append(law.probability_at_most(len(within), precision))
    tail = (1 << precision) - within[-1][0] if above else 0  # of both ends
    middle = within[0][1] if above else within[0][0]
    half = _halves(within, low=not above)
    rate = change / law.sigma_squared
    found = LossDistribution(
        change * rate / 2 - (len(within) - 1) * rate, rate, (*half[::-1], middle, *half), tail, precision, above
    )
    longer = isqrt((law.sigma_squared / DEVIATION**2).__floor__())
    return found.on(rate * longer) if longer > 1 else found


def loss_of_cells(cells: Cells, precision: int, above: bool = True) -> LossDistribution:
    """Bound the distribution of the loss of independent noise on many cells.

    Args:
        cells: (law, change of the cell, at least 1) -> number of cells; (law, change of a vector) -> number of vectors,
            whose change is at most this one, see `loss_of_vector`.
        precision: in bits.
        above: whether deltas are bounded from above.
    """
    parts = []
    for (law, change), n in cells.items():
        of = loss_of_vector if isinstance(change, tuple) else loss_of_cell
        parts.append(of(law, change, precision, above).power(n))
    return _together(parts)


@lru_cache(maxsize=16)
def loss_of_vector(law: Law, change: tuple[int, ...], precision: int, above: bool = True) -> LossDistribution:
    """Bound the distribution of the loss of a vector whose change is at most this one, whatever it is.

    The least delta of every epsilon is the largest over all such changes. Noise is log-concave, so the likelihood ratio
    of a cell that moves by k is monotone in its output, for every k; the best tests are then the same half-lines for
    every k, and have the more power the larger k is. So a change is at least as hard to find as one that is larger in
    some cells, and only those of `largest_changes` matter. They have one sum n, and so the losses of Gaussian noise,
    sum of (k^2 - 2 k j) / (2 sigma^2), lie on n / (2 sigma^2) + (whole numbers) / sigma^2, one grid for all of them.
    Between two places of it every delta is a straight line in exp(epsilon), and at most the line through the largest
    deltas of both places. What has these deltas is put together here, from the largest loss downwards. Where the grid
    is made coarser, as in `LossDistribution`, an epsilon grows by up to 1e-4 of itself.

    Args:
        law: discrete Gaussian.
        change: one that has `largest_changes`.
        precision: in bits.
        above: whether deltas are bounded from above; otherwise they are those of this change alone.

    Raises:
        BudgetError: it is another law, has a sigma above 2^10, or there are too many changes.

    Source: log-concave noise and half-lines, Lehmann & Romano 2005, section 3.4; that the largest deltas of all
    neighbours are those of one pair of laws, and compose, Zhu, Dong & Wang 2022, proposition 8 and theorem 10.
    """
    if not isinstance(law, DiscreteGaussian):
        raise BudgetError(f"the loss of larger changes of {law!r} is not known; count it by its epsilon or its rho")
    if not above:
        return _together([loss_of_cell(law, k, precision, above).power(n) for k, n in Counter(change).items()])
    changes = largest_changes(change)
    if changes is None:
        raise BudgetError(f"the exact loss of more than {MOST_CHANGES} changes takes long; use its rho")
    half = 1 / (2 * law.sigma_squared)
    step = 2 * half * max(1, isqrt((sum(k * k for k in change) * law.sigma_squared / DEVIATION**2).__floor__()))
    cells = {k: loss_of_cell(law, k, precision).on(step, k * half) for k in {k for one in changes for k in one}}
    parts = [_sum_of([cells[k].power(n) for k, n in Counter(one).items()]) for one in changes]
    step = max(part.step for part in parts)
    return _envelope([part.on(step, sum(change) * half) for part in parts])


def largest_changes(change: tuple[int, ...]) -> list[tuple[int, ...]] | None:
    """List the changes that are at most this one (weak majorisation) and have its sum; None if there are over 32.

    Every other change that is at most this one is, cell by cell, at most one of the list (Marshall, Olkin & Arnold
    2011, 5.A.9).

    Example:
        >>> largest_changes((2, 2))
        [(2, 2), (2, 1, 1), (1, 1, 1, 1)]
    """
    most, found = list(accumulate(sorted(change, reverse=True))), []
    started: list[tuple[int, ...]] = [()]
    while started:
        so_far = started.pop()
        left = most[-1] - sum(so_far)
        if not left:
            found.append(so_far)
            if len(found) > MOST_CHANGES:
                return None
            continue
        room = most[min(len(so_far), len(most) - 1)] - sum(so_far)
        started += [(*so_far, k) for k in range(1, min(room, so_far[-1] if so_far else room) + 1)]
    return found


def precision_for(delta: Fraction) -> int:
    """Choose a precision at which rounding is far below delta."""
    return (delta.denominator // delta.numerator).bit_length() + GUARD_BITS + DROPPED_BITS


def _together(parts: list[LossDistribution]) -> LossDistribution:
    """Give the distribution of the sum of independent losses, on a common step."""
    step = _common_step([part.step for part in parts])
    span = root_above(sum(((part.last - part.first) ** 2 for part in parts), Fraction(0)))
    if len(parts) > 1 and span / step > MOST_LOSSES:
        step = decimal_down(span / MOST_LOSSES, 3)
    return _sum_of(parts, step)


def _sum_of(parts: list[LossDistribution], step: Fraction | None = None) -> LossDistribution:
    """Give the distribution of the sum of independent losses, on this step or the longest of theirs."""
    step = step or max(part.step for part in parts)
    found, *rest = [part.on(step) for part in parts]
    for part in rest:
        found = found.times(part)
    return found


def _envelope(parts: list[LossDistribution]) -> LossDistribution:
    """Bound a distribution from above whose deltas are at least those of all parts, on one grid with one step."""
    step, precision, one = parts[0].step, parts[0].precision, 1 << parts[0].precision
    first = min(part.first for part in parts) - step
    n = int((max(part.last for part in parts) - first) / step) + 1
    starts = [int((first - part.first) / step) for part in parts]
    largest = [max(d) for d in zip(*(part.deltas(at, n) for part, at in zip(parts, starts, strict=True)), strict=True)]
    ratio = exp_bounds(step, precision)[1]
    chances, beyond = [0] * n, largest[-1]
    over, shrunk = beyond, 0
    for place in range(n - 1, 0, -1):
        missing = largest[place - 1] - over + shifted_up(shrunk * ratio, precision)
        chances[place] = max(0, divided_up(missing << precision, one - ratio))
        over += chances[place]
        shrunk = shifted_up((shrunk + chances[place]) * ratio, precision)
    chances[0] = max(0, one - over)
    return trimmed(LossDistribution(first, step, tuple(chances), beyond, precision, above=True))


def _halves(within: list[tuple[int, int]], *, low: bool) -> list[int]:
    """Bound P(X = j) for j = 1, 2, ... from enclosures of P(|X| <= j)."""
    if low:
        return [max(0, b[0] - a[1]) >> 1 for a, b in pairwise(within)]
    return [shifted_up(b[1] - a[0], 1) for a, b in pairwise(within)]


def _common_step(steps: list[Fraction]) -> Fraction:
    """Find the longest step of which all of these are multiples."""
    denominator = lcm(*(step.denominator for step in steps))
    return Fraction(gcd(*(step.numerator * (denominator // step.denominator) for step in steps)), denominator)
