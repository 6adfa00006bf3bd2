"""The taxi pickups in Manhattan, 2013: the real data set of Kuo et al. 2018."""

import os

import numpy as np

from pgsr.data.counts import CountOfCounts
from pgsr.datasets.table import count_of_counts, whole_number
from pgsr.experiments.data.files import DataFile, Total

FILE = DataFile(
    "kuo2018_taxi_nyc2013.parquet",
    text=("half",),
    whole=("nta_index", "size", "n_groups"),
    totals=(
        Total("rows", 23_068),
        Total("groups", 360_872, of=("n_groups",)),
        Total("groups in the lower half", 241_535, of=("n_groups",), where=("half", "lower")),
        Total("groups in the upper half", 119_337, of=("n_groups",), where=("half", "upper")),
        Total("pickups", 130_962_398, of=("size", "n_groups")),
    ),
    content="fcbe7ee3c62c9baaac7f59ea6eba99749a18d09b380e145f191560478d3a8d50",
)


def kuo_taxi(folder: str | os.PathLike[str] | None = None, max_size: int = 4_919) -> CountOfCounts:
    """Read pairs of a taxi and a neighbourhood, counted by number of pickups: Manhattan / 2 halves / 28.

    A group is a (taxi, neighbourhood tabulation area) pair, its size the pickups of that taxi there in 2013: 360,872
    groups, 130,962,398 pickups, 3,128 distinct sizes. Halves are called "lower" (areas 0-17) and "upper" (18-27),
    areas "NTA 0" to "NTA 27". No pair has size 0, by construction of the data.

    Args:
        folder: holds kuo2018_taxi_nyc2013.parquet; by default the folder that PGSR_DATA names.
        max_size: K; larger sizes count as K. A release must fix K without looking: the default is the largest size of
            this data set, convenient in experiments; the paper's experiments use 100,000.

    Returns:
        31 regions x (K + 1) sizes, named "kuo-taxi/K=4919".

    Raises:
        DataError: no such folder or file, a file with other columns, or a `max_size` that is no whole number from 1 up.

    Source:
        Kuo, Chiu, Kifer, Hay, Machanavajjhala 2018: data that its authors published with their code. It came
        without a licence, so the project reads it and does not ship it.
    """
    max_size = whole_number("max_size", max_size, least=1)
    cells = FILE.read(folder)
    paths = [
        ("Manhattan", str(half), f"NTA {area}") for half, area in zip(cells["half"], cells["nta_index"], strict=True)
    ]
    leaf_of = {path: leaf for leaf, path in enumerate(dict.fromkeys(paths))}
    leaf = np.array([leaf_of[path] for path in paths], np.int64)
    name = f"kuo-taxi/K={max_size}"
    return count_of_counts(list(leaf_of), leaf, cells["size"], cells["n_groups"], max_size, name)
