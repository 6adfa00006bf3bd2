"""The degrees of six friendship networks of Twitch, 2018, for those who download the networks."""

import os

import numpy as np

from pgsr.data.counts import CountOfCounts
from pgsr.datasets.files import DataFile, Total
from pgsr.datasets.parameters import whole_number
from pgsr.datasets.table import count_of_counts

FRIENDSHIPS = {"DE": 153_138, "ENGB": 35_324, "ES": 59_382, "FR": 112_666, "PTBR": 31_299, "RU": 37_304}
"""Edges of every network, by language, as the publishers count them."""

FILE = DataFile(
    "musae_twitch_degrees.csv",
    text=("language",),
    whole=("size", "n_groups"),
    totals=tuple(
        Total(f"friends of users in {language}", 2 * edges, of=("size", "n_groups"), where=("language", language))
        for language, edges in FRIENDSHIPS.items()
    ),
)


def twitch_degrees(folder: str | os.PathLike[str] | None = None, max_size: int = 10_000) -> CountOfCounts:
    """Read users of Twitch, counted by number of friends: all / 6 languages.

    A group is a user, its size the number of mutual friendships. A friendship has two ends, so it is one entity in two
    groups: a release that hides friendships takes `unit=Unit.entity_in_groups(2)`, with noise of twice the scale. The
    networks are connected, so no user is without a friend.

    Args:
        folder: holds musae_twitch_degrees.csv, which `python -m pgsr.datasets` makes; by default the folder that
            PGSR_DATA names.
        max_size: K; larger sizes count as K. The default is a round number fixed beforehand.

    Returns:
        7 regions x (K + 1) sizes, named "twitch-degrees/K=10000".

    Raises:
        DataError: no such folder or file, a file with other columns, or a `max_size` that is no whole number from 1 up.

    Source:
        Rozemberczki, Allen, Sarkar 2019: Multi-scale attributed node embedding; networks published with their code.
    """
    max_size = whole_number("max_size", max_size, least=1)
    cells = FILE.read(folder)
    languages, leaf = np.unique(cells["language"], return_inverse=True)
    leaves = [("Twitch", str(language)) for language in languages]
    name = f"twitch-degrees/K={max_size}"
    return count_of_counts(leaves, leaf, cells["size"], cells["n_groups"], max_size, name)
