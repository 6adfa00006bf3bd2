"""The knots between which the logarithm of a prior is linear in the size, and the differences that are penalised."""

from dataclasses import dataclass

import numpy as np

FIRST, APART = 12, 0.08
"""Knots lie at every size up to `FIRST`, then `APART` apart, relative to the size; "K or more" is one by itself."""

OWN_FIRST, OWN_APART = 8, 0.3
"""Knots of deviations, some of those of the shape, lie at every size up to `OWN_FIRST`, then `OWN_APART` apart."""

BLOCK, OWN_BLOCK = 8, 6
"""Differences that share a penalty, of shapes and of deviations."""


@dataclass(frozen=True, eq=False)
class Knots:
    """The knots of a function of the sizes 0..K, J of them, and those of a deviation from it, j of them.

    A spike is a size whose value is free: it is a knot between two others, and no penalised difference contains it.

    Attributes:
        at: the sizes of the knots, shape (J,).
        left, part: of every size the knot at or below it, and the part of the way to the next one; shape (K + 1,).
        own: which of the knots are those of deviations, shape (j,).
        spread: C, by which values at the knots of deviations become values at all knots; shape (J, j).
        second: of every block, the second divided differences of values at all knots but spikes and the last, times
            half the distance of the outer knots; shape (differences of the block, J).
        first: of every block, the differences of neighbouring values at the knots of deviations.
    """

    at: np.ndarray
    left: np.ndarray
    part: np.ndarray
    own: np.ndarray
    spread: np.ndarray
    second: list[np.ndarray]
    first: list[np.ndarray]

    @classmethod
    def of(cls, n_sizes: int, spikes: np.ndarray | None = None) -> "Knots":
        """Choose the knots; `spikes` are sizes from 1 to K - 1, in ascending order."""
        spikes = np.empty(0, np.int64) if spikes is None else spikes
        regular = _places(n_sizes, FIRST, APART)
        own = regular[np.unique(np.searchsorted(regular, _places(n_sizes, OWN_FIRST, OWN_APART)))]
        at = np.unique(np.concatenate([regular, spikes - 1, spikes, spikes + 1]))
        start, up = _between(own, at)
        spread = np.zeros((len(at), len(own)))
        spread[np.arange(len(at)), start] += 1 - up
        spread[np.arange(len(at)), start + 1] += up
        smooth = np.flatnonzero(~np.isin(at, spikes))
        second = np.zeros((max(0, len(smooth) - 3), len(at)))
        second[:, smooth] = _second(at[smooth])
        between = _between(at, np.arange(n_sizes))
        return cls(at, *between, np.searchsorted(at, own), spread, _blocks(second, BLOCK), _first(own))


def _places(n_sizes: int, first: int, apart: float) -> np.ndarray:
    at = list(range(min(n_sizes - 1, first + 1)))
    while at[-1] < n_sizes - 2:
        at.append(min(n_sizes - 2, max(at[-1] + 1, int(at[-1] * (1 + apart)))))
    return np.array([*at, n_sizes - 1])


def _between(at: np.ndarray, where: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    left = np.minimum(np.searchsorted(at, where, side="right") - 1, len(at) - 2)
    return left, (where - at[left]) / (at[left + 1] - at[left])


def _second(at: np.ndarray) -> np.ndarray:
    rows = np.arange(max(0, len(at) - 3))
    before, after = (np.diff(at)[rows + i].astype(float) for i in range(2))
    half, out = (before + after) / 2, np.zeros((len(rows), len(at)))
    for place, values in enumerate((half / before, -half / before - half / after, half / after)):
        out[rows, rows + place] = values
    return out


def _first(own: np.ndarray) -> list[np.ndarray]:
    rows, out = np.arange(len(own) - 1), np.zeros((len(own) - 1, len(own)))
    out[rows, rows], out[rows, rows + 1] = -1.0, 1.0
    return _blocks(out, OWN_BLOCK)


def _blocks(differences: np.ndarray, size: int) -> list[np.ndarray]:
    return [differences[start : start + size] for start in range(0, len(differences), size)]
