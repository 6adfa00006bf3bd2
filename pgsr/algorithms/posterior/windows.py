"""Moving averages and sums over sizes, in windows that grow with the size."""

import numpy as np


def smoothed(counts: np.ndarray, width: float, apart: np.ndarray | None = None) -> np.ndarray:
    """Smooth counts over sizes by two moving averages of half-width floor(width s) at size s.

    The last cell stays as it is, and so do cells that are `apart`: the averages are those of the other cells.

    Args:
        counts: shape (..., K + 1).
        width: relative to the size, from 0 to 1.
        apart: cells that are not averaged, of the shape of `counts`; none if not given.
    """
    around = averages(counts, width, apart)
    return around if apart is None else np.where(apart, np.maximum(counts, 0.0), around)


def averages(counts: np.ndarray, width: float, apart: np.ndarray | None = None) -> np.ndarray:
    """Do the same, with the average of the cells around it in the place of a cell that is `apart`."""
    inner, sizes = counts[..., :-1], window_ends(counts.shape[-1] - 1, width)
    if apart is None:
        for _ in range(2):
            inner = _sums(inner, *sizes) / (sizes[1] - sizes[0])
    else:
        others = (~apart[..., :-1]).astype(float)
        number = _sums(others, *sizes)
        for _ in range(2):
            inner = np.where(number > 0, _sums(inner * others, *sizes) / np.maximum(number, 1.0), inner)
    return np.maximum(np.concatenate([inner, counts[..., -1:]], axis=-1), 0.0)


def window_sums(counts: np.ndarray, width: float, apart: np.ndarray | None = None) -> np.ndarray:
    """Sum counts over windows of half-width floor(width s), twice; shape kept.

    The last cell stays as it is, and so do cells that are `apart`: the sums are those of the other cells.
    """
    inner, sizes = counts[..., :-1], window_ends(counts.shape[-1] - 1, width)
    if apart is not None:
        inner = np.where(apart[..., :-1], 0.0, inner)
        inner = np.where(apart[..., :-1], 0.0, _sums(inner, *sizes))
    else:
        inner = _sums(inner, *sizes)
    inner = _sums(inner, *sizes)
    if apart is not None:
        inner = np.where(apart[..., :-1], counts[..., :-1], inner)
    return np.maximum(np.concatenate([inner, counts[..., -1:]], axis=-1), 0.0)


def window_ends(n: int, width: float) -> tuple[np.ndarray, np.ndarray]:
    """Give the first cell of the window of every size below n, and the first one after it; shape (n,) each."""
    sizes = np.arange(n)
    half = np.floor(width * sizes).astype(np.int64)
    return np.maximum(sizes - half, 0), np.minimum(sizes + half, n - 1) + 1


def _sums(counts: np.ndarray, start: np.ndarray, stop: np.ndarray) -> np.ndarray:
    upto = np.concatenate([np.zeros((*counts.shape[:-1], 1)), np.cumsum(counts, axis=-1)], axis=-1)
    return upto[..., stop] - upto[..., start]
