"""The benchmark of a nation with sizes per level, small."""

from pgsr.datasets.census_blocks import CensusBlocks
from pgsr.experiments.benchmarks import nation
from pgsr.partitions import ParquetFolder


def test_a_small_nation_is_made_measured_and_released(tmp_path):
    data = CensusBlocks(blocks=3_200, groups=20_000, max_sizes=(12,) * 7 + (7,))
    folder = ParquetFolder(str(tmp_path))
    stored = nation.StoredNation(data, folder)
    assert stored.make() == "51 states"
    for made, kept in zip(data.part("Ohio").tables, stored.part("Ohio").tables, strict=True):
        assert (made == kept).all()
    assert nation._measure(stored, folder, "2", "here") == "epsilon 2"
    result = nation._release(stored, folder, "here")
    assert result.startswith("proved optimal, ")
    assert result.endswith(" passes")
    assert nation._measure_cumulative(stored, folder, "2", "here").startswith("epsilon 2")
    result = nation._two_stage(stored, folder, "2", "here")
    assert result.startswith("adds up, ")
    assert result.endswith(" groups before integers")
