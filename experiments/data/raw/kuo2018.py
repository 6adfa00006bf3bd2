"""The two histograms that Kuo et al. 2018 published with their code, from NumPy's format to ours.

A file of theirs is an array of numbers of groups by size, or for the neighbourhoods an array of such arrays. NumPy
stores these as a pickle, which may run code of whoever wrote it; here nothing but arrays is let through.
"""

import pickle
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path

import numpy as np

from pgsr.errors import DataError
from pgsr.experiments.data.kuo_hawaiian import FILE as HAWAIIAN
from pgsr.experiments.data.kuo_taxi import FILE as TAXI
from pgsr.experiments.data.raw.files import member, write_parquet
from pgsr.machine.extras import extra
from pgsr.machine.whole_files import replacing

LOWER_AREAS, AREAS = 18, 28
"""Neighbourhood tabulation areas of lower Manhattan, which come first, and in all."""


def taxi(raw: Sequence[Path], folder: Path) -> Path:
    """Write kuo2018_taxi_nyc2013.parquet from taxi_level3.npy, whose arrays begin with size 1.

    Args:
        raw: the file, or a folder with it.
        folder: where to write.

    Raises:
        DataError: no such file, or one that does not hold 28 arrays of whole numbers.
    """
    with extra("release"):
        import pandas as pd

    name = "taxi_level3.npy"
    areas = [_counts(area, name) for area in _array(member(raw, name), name)]
    if len(areas) != AREAS:
        raise DataError(f"{name} holds {len(areas)} arrays, not {AREAS}; download it again")
    frames = []
    for index, counts in enumerate(areas):
        size = np.flatnonzero(counts)
        half = "lower" if index < LOWER_AREAS else "upper"
        frames.append(pd.DataFrame({"half": half, "nta_index": index, "size": size + 1, "n_groups": counts[size]}))
    return write_parquet(pd.concat(frames, ignore_index=True), folder / TAXI.file)


def hawaiian(raw: Sequence[Path], folder: Path) -> Path:
    """Write kuo2018_hawaiian_national.csv from Hawaiian_nation_H.npy, which begins with size 0.

    Args:
        raw: the file, or a folder with it.
        folder: where to write.

    Raises:
        DataError: no such file, or one that does not hold an array of whole numbers.
    """
    name = "hawaiian_nation_h.npy"
    counts = _counts(_array(member(raw, name), name), name)
    lines = [f"{size},{counts[size]}\n" for size in np.flatnonzero(counts)]
    path = folder / HAWAIIAN.file
    with replacing(path, DataError) as file:
        file.write(("size,n_groups\n" + "".join(lines)).encode())
    return path


def _counts(values: np.ndarray, name: str) -> np.ndarray:
    counts = np.asarray(values)
    whole = counts.ndim == 1 and counts.dtype.kind in "iuf" and (counts >= 0).all() and (counts == counts.round()).all()
    if not whole:
        raise DataError(f"{name} does not hold numbers of groups by size; download it again")
    return counts.astype(np.int64)


def _array(content: bytes, name: str) -> np.ndarray:
    """Read an array of numbers, or of arrays of numbers, in NumPy's format."""
    stream = BytesIO(content)
    try:
        version = np.lib.format.read_magic(stream)
        header = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}[version]
        if header(stream)[2].hasobject:
            return _OnlyArrays(stream, encoding="latin1").load()
        return np.load(BytesIO(content), allow_pickle=False)
    except (ValueError, KeyError, EOFError, pickle.UnpicklingError) as fault:
        raise DataError(f"{name} is no array in NumPy's format ({fault}); download it again") from fault


class _OnlyArrays(pickle.Unpickler):
    """A reader of pickles that makes arrays of numbers and nothing else."""

    def find_class(self, module: str, name: str) -> object:
        modules = ("numpy", "numpy.core.multiarray", "numpy._core.multiarray")
        if module not in modules or name not in ("_reconstruct", "ndarray", "dtype", "scalar"):
            raise pickle.UnpicklingError(f"it holds {module}.{name}")
        return super().find_class(module.replace(".core.", "._core."), name)
