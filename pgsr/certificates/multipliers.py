"""The multipliers of the public conditions, from which Lagrangian bounds are computed."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pgsr.data.read_only import read_only_arrays
from pgsr.data.sizes import Sizes


@dataclass(frozen=True, eq=False)
@read_only_arrays
class Multipliers:
    """The prices that a bound may use. They need not be trusted, because any numbers give a valid bound.

    In the Lagrangian of a consistent problem,

        sum w |x - y|^norm + sum over inner r, cells s of consistency[r, s] (x[r, s] - sum over children x[c, s])
                           + sum over regions r with a public total of totals[r] (G[r] - sum_s x[r, s])
                           + sum over stated rows k of conditions[k] (b[k] - rows[k] x)
                           + sum over cells with stated bounds of bounds[r, s] (b[r, s] - x[r, s]),

    `consistency[r, s]` is what one more unit of cell s below region r is paid, `totals[r]` what one more group in
    region r is paid (in the cumulative view totals are fixed cells and have no price). `conditions[k]` is what one more
    unit of a stated row is paid, where b is its lower bound if the price is positive and its upper one if it is
    negative; without such a bound the price counts as 0. So do `bounds` of cells. Conditions on signs and order are
    kept, and so are stated bounds; only with order and norm 1 they need prices.

    Attributes:
        consistency: shape (inner regions, K + 1); where levels have sizes of their own, a tuple with one table per
            level with children, of shape (regions of the level, K of the level below + 1): a price per sum.
        totals: shape (1,) where the root's total is public, (regions,) where every region's is, else (0,).
        conditions: one per stated row, shape (m,); None stands for prices of 0.
        bounds: one per cell, region by region, shape (cells,); None stands for prices of 0.
    """

    consistency: np.ndarray | tuple[np.ndarray, ...]
    totals: np.ndarray
    conditions: np.ndarray | None = None
    bounds: np.ndarray | None = None


def of_levels(consistency: Sequence[np.ndarray], sizes: Sizes) -> np.ndarray | tuple[np.ndarray, ...]:
    """Put prices of consistency by level into the shape that `Multipliers` has for these sizes."""
    if not sizes.equal:
        return tuple(consistency)
    return np.concatenate(consistency) if len(consistency) else np.empty((0, sizes.max_sizes[0] + 1))
