"""Matching of a nation in parts, against the whole in memory."""

import numpy as np
import pytest
from made_measurements import measurement_of
from test_nation_m_h import HERE, joined, nation

from pgsr import View
from pgsr.algorithms import IsotonicFit
from pgsr.errors import ArgumentError, ProblemError
from pgsr.estimators import Matching
from pgsr.machine.partitions import Engine, ParquetFolder
from pgsr.nation import StreamedLevelMatching, measure
from pgsr.noise import Geometric, Measurement, Totals
from pgsr.privacy import Seeded

SIZES = (12, 12, 12, 12, 8, 5, 5, 2)
NOISE = Geometric(View.CUMULATIVE, 4)


def whole_of(data, folder) -> Measurement:
    """The measurement of all parts as one."""
    values = joined(data, folder, "cumulative")
    totals = np.concatenate([folder.read(key, "totals-7")[:, 0] for key in data.keys])
    about = NOISE.levels(8, SIZES), Totals.REGIONS, values.hierarchy.sum_up(totals), False
    return measurement_of(values.hierarchy, View.CUMULATIVE, values.tables, SIZES[0], *about)


@pytest.mark.slow
@pytest.mark.parametrize(("engine", "method"), [(Engine(), None), (HERE, Matching())])
def test_a_nation_in_parts_equals_the_whole(tmp_path, engine, method):
    data, folder = nation(SIZES), ParquetFolder(str(tmp_path))
    measure(data, folder, NOISE, Seeded("s"), HERE, totals_of=7)
    streamed = StreamedLevelMatching(engine) if method is None else StreamedLevelMatching(engine, method)
    found = streamed.release(data, folder, NOISE)
    assert not any(found.violations.values())
    answer = joined(data, folder, "counts")
    assert found.n_cells == answer.sizes.n_cells
    whole = (method or Matching(IsotonicFit(optimum="midpoint"))).apply(whole_of(data, folder))
    for a, b in zip(answer.tables, whole.estimate.as_counts, strict=True):
        assert np.array_equal(a, b)


@pytest.mark.slow
def test_what_cannot_be_done_is_told(tmp_path):
    data, folder = nation(SIZES), ParquetFolder(str(tmp_path))
    measure(data, folder, Geometric(View.COUNTS, 4), Seeded("s"), HERE, totals_of=7)
    with pytest.raises(ProblemError, match="isotonic fits need View"):
        StreamedLevelMatching(HERE).release(data, folder, Geometric(View.COUNTS, 4))
    with pytest.raises(ArgumentError, match=r"give Matching\(\)"):
        StreamedLevelMatching(HERE, IsotonicFit())
