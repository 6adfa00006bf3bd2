"""The checks of what a modeller writes: regions, sizes, factors and numbers, refused in sentences."""

from difflib import get_close_matches
from typing import Any

import numpy as np

from pgsr.checks import as_array
from pgsr.data.hierarchy import Hierarchy, Path
from pgsr.data.region_ids import region_id
from pgsr.errors import HierarchyError, ProblemError
from pgsr.problems.conditions.coefficients import LARGEST_NUMBER


def checked_regions(region: Any, level: Any) -> tuple[tuple[Path, ...] | None, int | None]:
    """Check a selection of regions: paths or a level."""
    if region is not None and level is not None:
        raise ProblemError("a region and a level are given; give one of them")
    if level is not None and (not is_whole(level) or level < 0):
        raise ProblemError(f"level={level!r}; give 0 for the root's, 1 for the level below it, and so on")
    if region is None:
        return None, None if level is None else int(level)
    regions = [region] if isinstance(region, tuple) and not (region and isinstance(region[0], tuple)) else region
    good = isinstance(regions, list | tuple) and len(regions) > 0
    if not good or not all(
        isinstance(path, tuple) and path and all(isinstance(n, str) for n in path) for path in regions
    ):
        raise ProblemError(f"region={region!r}; a region is its path from the root, ('US', 'GA'), several are a list")
    return tuple(regions), None


def checked_size(size: Any) -> "int | slice | None":
    """Check a size or a slice of sizes."""
    if isinstance(size, slice):
        parts = [part for part in (size.start, size.stop, size.step) if part is not None]
        if any(not is_whole(part) or part < 0 for part in parts) or size.step == 0:
            raise ProblemError(f"size={size_text(size)}; sizes count from 0, so give whole numbers from 0 on")
        return size
    if size is None:
        return None
    if not is_whole(size) or size < 0:
        raise ProblemError(f"size={size!r}; give a whole number from 0 on, or a slice of these")
    return int(size)


def checked_numbers(value: Any) -> tuple[np.ndarray, tuple[int, int] | None]:
    """Take a number, one per entry or a table of them, row by row, with the shape of a table; int64, shape (n,).

    Raises:
        ProblemError: they are no integers, or too large.
    """
    array = as_array(value)
    whole = array.dtype.kind in "iu" or (array.dtype.kind == "O" and all(is_whole(number) for number in array.flat))
    if array.ndim > 2 or not array.size or not whole:
        raise ProblemError(
            f"a condition compares with {_value_text(value, array)}; give an integer, one per entry, or an array of "
            "integers with a row per region and a column per size (fractions: multiply through)"
        )
    if int(array.max()) > LARGEST_NUMBER or int(array.min()) < -LARGEST_NUMBER:
        raise ProblemError(f"a condition compares with {_beyond(array)}")
    shape = (array.shape[0], array.shape[1]) if array.ndim == 2 else None
    return array.astype(np.int64).ravel(), shape


def index_of(tree: Hierarchy, path: Path) -> int:
    """Find a region, or raise with the nearest name."""
    try:
        return tree.index(path)
    except HierarchyError:
        names = [region_id(known) for known in tree.paths]
        near = get_close_matches(region_id(path), names, 1, 0.0)
        raise ProblemError(f"no region {region_id(path)!r}; the nearest name is {near[0]!r}") from None


def _beyond(array: np.ndarray) -> str:
    largest = max((int(number) for number in array.flat), key=abs)
    text = f"{largest:,}" if abs(largest) < 2**128 else f"an integer of {largest.bit_length():,} bits"
    return f"{text}, which is beyond 2^50; give numbers up to 2^50"


def _value_text(value: Any, array: np.ndarray) -> str:
    """Write a value that cannot be compared with: itself where it is short, or else what it is."""
    if array.ndim and array.size > 4:
        return f"an array of shape {array.shape} and type {array.dtype}"
    if isinstance(value, str | int | float | complex | list | tuple | np.ndarray | np.generic) or value is None:
        text = " ".join(repr(value).split())
        return text if len(text) <= 60 else f"a long {type(value).__name__}"
    return f"a {type(value).__name__}"


def checked_factor(value: Any) -> int:
    """Check what an expression is multiplied by."""
    if not is_whole(value):
        text = _value_text(value, np.asarray(value, object))
        raise ProblemError(f"a condition multiplies by {text}; give an integer (fractions: multiply through)")
    if abs(int(value)) > LARGEST_NUMBER:
        raise ProblemError(f"a condition multiplies by {_beyond(np.array([int(value)], object))}")
    return int(value)


def is_whole(value: Any) -> bool:
    """Say whether a value is an integer, of Python or NumPy."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def size_text(size: "int | slice | None") -> str:
    """Write sizes as a modeller would."""
    if size is None:
        return "every size"
    if isinstance(size, int):
        return str(size)
    parts = [size.start, size.stop] + ([size.step] if size.step is not None else [])
    return ":".join("" if part is None else str(part) for part in parts)
