"""The native Hawaiians of the nation by census block, 2010: the root of the data set Hawaiian of Kuo et al. 2018."""

import os

import numpy as np

from pgsr.data.counts import CountOfCounts
from pgsr.datasets.table import count_of_counts, whole_number
from pgsr.experiments.data.files import DataFile, Total

FILE = DataFile(
    "kuo2018_hawaiian_national.csv",
    whole=("size", "n_groups"),
    totals=(
        Total("distinct sizes", 224),
        Total("blocks", 11_155_486, of=("n_groups",)),
        Total("people", 540_383, of=("size", "n_groups")),
    ),
    content="320f2e493f1a4a257b1b15d40f85a5a57f1e0ac358eda453faa577641f49deff",
)


def kuo_hawaiian(folder: str | os.PathLike[str] | None = None, max_size: int = 1_000) -> CountOfCounts:
    """Read census blocks of 2010 by their native Hawaiians and other Pacific Islanders: the nation alone.

    A group is a block, its size the number of these people who live in it: 11,155,486 groups, of which 11,011,898 are
    empty, 540,383 people, 224 distinct sizes, the largest 908. States and counties were not published;
    `pgsr.experiments.data.census2010_race` counts them from the Bureau's files.

    Args:
        folder: holds kuo2018_hawaiian_national.csv; by default the folder that PGSR_DATA names.
        max_size: K; larger sizes count as K. The default is a round number; the paper's experiments use 100,000.

    Returns:
        1 region x (K + 1) sizes, named "kuo-hawaiian/K=1000".

    Raises:
        DataError: no such folder or file, a file with other columns, or a `max_size` that is no whole number from 1 up.

    Source:
        Kuo, Chiu, Kifer, Hay, Machanavajjhala 2018: the histogram that its authors published with their code, of counts
        of the U.S. Census Bureau's 2010 Census Summary File 1 (public domain).
    """
    max_size = whole_number("max_size", max_size, least=1)
    cells = FILE.read(folder)
    nation = np.zeros(len(cells["size"]), np.int64)
    name = f"kuo-hawaiian/K={max_size}"
    return count_of_counts([("United States",)], nation, cells["size"], cells["n_groups"], max_size, name)
