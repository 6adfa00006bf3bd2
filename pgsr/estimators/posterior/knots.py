"""The knots between which the logarithm of a prior is linear in the size, and the differences that are penalised."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

FIRST, APART = 12, 0.08
"""Knots lie at every size up to `FIRST`, then `APART` apart, relative to the size; "K or more" is one by itself."""

OWN_APART = 0.15
"""Knots of deviations, some of those of the shape, lie at every size up to `FIRST`, then this far apart."""

BLOCK, OWN_BLOCK = 8, 6
"""Knots whose counts share a dispersion, and differences of deviations that share a scale."""


@dataclass(frozen=True, eq=False)
class Knots:
    """The knots of a function of the sizes 0..K, J of them, and those of a deviation from it, j of them.

    The sizes 0 and K are classes of their own, and so are spikes: their values are free, and no penalised difference of
    the shape contains them. A spike is a knot between two others.

    Attributes:
        at: the sizes of the knots, shape (J,).
        left, part: of every size the knot at or below it, and the part of the way to the next one; shape (K + 1,).
        own: the sizes of the knots of deviations, shape (j,).
        own_left, own_part: of every knot the knot of deviations at or below it, and the part of the way to the next.
        free: which knots are free, shape (free sizes,).
        second: D, the second divided differences of values at all knots that are not free, times half the distance of
            the outer ones; shape (differences, J).
        steep: which of these differences lie beyond the unit steps.
        band: of every size, which dispersion it has.
        block: of every difference of neighbouring knots of deviations, which scale it has; shape (j - 1,).
    """

    at: np.ndarray
    left: np.ndarray
    part: np.ndarray
    own: np.ndarray
    own_left: np.ndarray
    own_part: np.ndarray
    free: np.ndarray
    second: np.ndarray
    steep: np.ndarray
    band: np.ndarray
    block: np.ndarray

    @classmethod
    def of(cls, n_sizes: int, spikes: np.ndarray | None = None) -> "Knots":
        """Choose the knots; `spikes` are sizes from 1 to K - 1, in ascending order."""
        spikes = np.empty(0, np.int64) if spikes is None else spikes
        regular = _places(n_sizes, APART)
        own = regular[np.unique(np.searchsorted(regular, _places(n_sizes, OWN_APART)))]
        at = np.unique(np.concatenate([regular, spikes - 1, spikes, spikes + 1]))
        free = np.unique(np.concatenate([[0], spikes, [n_sizes - 1]]))
        smooth = np.flatnonzero(~np.isin(at, free))
        second = np.zeros((max(0, len(smooth) - 2), len(at)))
        second[:, smooth] = _second(at[smooth])
        band = (np.searchsorted(regular, np.arange(n_sizes), side="right") - 1) // BLOCK
        last = len(own) - 2  # the difference to "K or more" has a scale of its own
        block = np.where(np.arange(len(own) - 1) < last, np.arange(len(own) - 1) // OWN_BLOCK, -(-last // OWN_BLOCK))
        between = *_between(at, np.arange(n_sizes)), own, *_between(own, at)
        return cls(at, *between, np.searchsorted(at, free), second, at[smooth][1:-1] > FIRST, band, block)

    @property
    def n_blocks(self) -> int:
        """The number of scales of deviations on a level."""
        return int(self.block[-1]) + 1

    @cached_property
    def beside(self) -> np.ndarray:
        """The knots that free knots are pulled towards: the knot before each, or the one after size 0."""
        return np.where(self.free > 0, self.free - 1, 1)

    def spread(self, deviation: np.ndarray) -> np.ndarray:
        """C d: give the values at all knots of a deviation given at its own; shape (j, ...) to (J, ...)."""
        part = self.own_part.reshape(-1, *[1] * (deviation.ndim - 1))
        return (1 - part) * deviation[self.own_left] + part * deviation[self.own_left + 1]


def _places(n_sizes: int, apart: float) -> np.ndarray:
    at = list(range(min(n_sizes - 1, FIRST + 1)))
    while at[-1] < n_sizes - 2:
        at.append(min(n_sizes - 2, max(at[-1] + 1, int(at[-1] * (1 + apart)))))
    return np.array([*at, n_sizes - 1])


def _between(at: np.ndarray, where: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    left = np.minimum(np.searchsorted(at, where, side="right") - 1, len(at) - 2)
    return left, (where - at[left]) / (at[left + 1] - at[left])


def _second(at: np.ndarray) -> np.ndarray:
    rows = np.arange(max(0, len(at) - 2))
    before, after = (np.diff(at)[rows + i].astype(float) for i in range(2))
    half, out = (before + after) / 2, np.zeros((len(rows), len(at)))
    for place, values in enumerate((half / before, -half / before - half / after, half / after)):
        out[rows, rows + place] = values
    return out
