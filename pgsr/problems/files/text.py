"""Text made by NumPy: many lines at once, from columns of byte strings."""

from collections.abc import Iterator

import numpy as np

AT_ONCE = 100_000
"""The lines of one piece, about 10 MB."""

_TABLE = 100_000
"""The widest range of integers whose texts are looked up instead of made one by one."""


def lines(*fields: bytes | np.ndarray) -> bytes:
    """Write one line per item of the arrays: the fields side by side, without anything between them.

    Args:
        fields: arrays of byte strings, all of one length, and byte strings that are the same on every line.

    Example:
        >>> lines(b" x", np.array([b"1", b"23"]), b" >= ", np.array([b"0", b"-1"]), b"\\n")
        b' x1 >= 0\\n x23 >= -1\\n'
    """
    flat = _page(fields).ravel()
    return flat[flat != 0].tobytes()  # byte strings are padded with zeros


def joined(*fields: bytes | np.ndarray) -> np.ndarray:
    """Join byte strings item by item; zeros that pad the parts stay between them, and `lines` leaves them out."""
    page = _page(fields)
    return page.view(f"S{page.shape[1]}")[:, 0] if len(page) else np.zeros(0, "S1")


def numbers(values: np.ndarray) -> np.ndarray:
    """Write numbers as text, integers as integers, others with all digits that they need; an array of byte strings.

    Example:
        >>> numbers(np.array([3.0, -10.0])), numbers(np.array([0.1, 2.0]))
        (array([b'3', b'-10'], dtype='|S21'), array([b'0.1', b'2.0'], dtype='|S32'))
    """
    if values.dtype.kind == "f":
        if len(values) and not ((np.abs(values) < 2**62) & (values == np.rint(values))).all():
            return values.astype("S32")
        values = values.astype(np.int64)
    if not len(values):
        return np.zeros(0, "S21")
    least = int(values.min())
    span = int(values.max()) - least
    if span < min(_TABLE, len(values)):
        return np.arange(least, least + span + 1).astype("S21")[values - least]
    return values.astype("S21")


def pieces(indptr: np.ndarray) -> Iterator[tuple[int, int]]:
    """Cut the rows of a sparse matrix into runs of about `AT_ONCE` entries, or as many rows; (first, end) each."""
    first, n = 0, len(indptr) - 1
    while first < n:
        end = int(np.searchsorted(indptr, indptr[first] + AT_ONCE))
        end = min(max(end, first + 1), first + AT_ONCE, n)
        yield first, end
        first = end


def runs(n: int) -> Iterator[slice]:
    """Cut n items into runs of `AT_ONCE`."""
    return (slice(first, min(first + AT_ONCE, n)) for first in range(0, n, AT_ONCE))


def only(shape: int, where: np.ndarray, texts: np.ndarray) -> np.ndarray:
    """Make an array of empty byte strings with texts at some places."""
    out = np.zeros(shape, texts.dtype)
    out[where] = texts
    return out


def _page(fields: tuple[bytes | np.ndarray, ...]) -> np.ndarray:
    """Put the fields side by side, one row per item; uint8."""
    n = next(len(field) for field in fields if isinstance(field, np.ndarray))
    widths = [len(field) if isinstance(field, bytes) else field.dtype.itemsize for field in fields]
    page, at = np.empty((n, sum(widths)), np.uint8), 0
    for field, width in zip(fields, widths, strict=True):
        if n and width and isinstance(field, bytes):
            page[:, at : at + width] = np.frombuffer(field, np.uint8)
        elif n and width:
            page[:, at : at + width] = np.ascontiguousarray(field).view(np.uint8).reshape(n, width)
        at += width
    return page
