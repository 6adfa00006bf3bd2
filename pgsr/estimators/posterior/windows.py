"""Moving averages and sums over sizes, in windows that grow with the size."""

import numpy as np


def smoothed(counts: np.ndarray, width: float, apart: np.ndarray | None = None) -> np.ndarray:
    """Smooth counts over sizes by `averages`; cells that are `apart` stay as they are.

    Args:
        counts: shape (..., K + 1).
        width: relative to the size, from 0 to 1.
        apart: cells that are neither smoothed nor averaged with others, of the shape of `counts`; none if not given.
    """
    around = averages(counts, width, apart)
    return around if apart is None else np.where(apart, np.maximum(counts, 0.0), around)


def averages(counts: np.ndarray, width: float, apart: np.ndarray | None = None) -> np.ndarray:
    """Average counts in windows of half-width floor(width s) around size s, then the averages again; shape kept.

    Cells that are `apart` are in no average; in their own place is the average of the others in their window. A window
    in which all cells are apart leaves its cell as it is, and so does the last cell, which is in no other's window.
    """
    inner, ends = counts[..., :-1], window_ends(counts.shape[-1] - 1, width)
    if apart is None:
        for _ in range(2):
            inner = sums_between(inner, *ends) / (ends[1] - ends[0])
    else:
        others = (~apart[..., :-1]).astype(float)
        number = sums_between(others, *ends)
        for _ in range(2):
            inner = np.where(number > 0, sums_between(inner * others, *ends) / np.maximum(number, 1.0), inner)
    return np.maximum(np.concatenate([inner, counts[..., -1:]], axis=-1), 0.0)


def window_sums(counts: np.ndarray, width: float, apart: np.ndarray | None = None) -> np.ndarray:
    """Sum up counts in the windows of `averages`, then the sums again; shape kept.

    The last cell stays as it is, and so do cells that are `apart`: the sums are those of the other cells.
    """
    own, ends = counts[..., :-1], window_ends(counts.shape[-1] - 1, width)
    if apart is None:
        inner = sums_between(sums_between(own, *ends), *ends)
    else:
        out = apart[..., :-1]
        once = sums_between(np.where(out, 0.0, own), *ends)
        inner = np.where(out, own, sums_between(np.where(out, 0.0, once), *ends))
    return np.maximum(np.concatenate([inner, counts[..., -1:]], axis=-1), 0.0)


def window_ends(n: int, width: float) -> tuple[np.ndarray, np.ndarray]:
    """Give the first cell of the window of every size below n, and the first one after it; shape (n,) each."""
    sizes = np.arange(n)
    half = np.floor(width * sizes).astype(np.int64)
    return np.maximum(sizes - half, 0), np.minimum(sizes + half, n - 1) + 1


def sums_between(values: np.ndarray, start: np.ndarray, stop: np.ndarray) -> np.ndarray:
    """Sum up values[..., start[i]] to values[..., stop[i] - 1], for every i."""
    upto = np.concatenate([np.zeros((*values.shape[:-1], 1)), np.cumsum(values, axis=-1)], axis=-1)
    return upto[..., stop] - upto[..., start]
