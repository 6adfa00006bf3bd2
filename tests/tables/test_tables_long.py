"""The long tables that releases write: they come back as they were, and tables that are none are refused."""

from pathlib import Path

import numpy as np
import pytest
from instances import rng_of, scale
from made_tables import write_long
from small_tables import counted, frame, with_row

from pgsr import CountOfCounts, Hierarchy, View
from pgsr.data import Estimate
from pgsr.errors import ArgumentError, HierarchyError, TableError
from pgsr.tables.long import read_long, to_long


@pytest.mark.parametrize(
    ("ending", "names", "zeros"), [(".parquet", None, True), (".csv", ("nation", "state, or none", "é"), False)]
)
def test_long_tables_come_back(ending: str, names: tuple[str, ...] | None, zeros: bool, tmp_path: Path) -> None:
    rng = rng_of(73)
    tree = Hierarchy.from_paths(
        [('U"S', "z, é", "0/7"), ('U"S', "z, é", "08"), ('U"S', "a%", "007"), ('U"S', "a%", "x")]
    )
    for i in range(scale(3, 100)):
        leaf_counts = rng.integers(0, 3, (4, 5)) * rng.integers(0, 2, (4, 1))
        truth = CountOfCounts(tree, leaf_counts)
        file = tmp_path / f"{i}{ending}"
        write_long(truth, file, zeros=zeros, level_names=names)
        again = read_long(file).counts()
        assert again.hierarchy.paths == tree.paths
        assert np.array_equal(again.counts, truth.counts)
        rows = to_long(truth, zeros=zeros)
        assert rows.num_rows == (7 * 5 if zeros else (truth.counts[:, 1:] > 0).sum() + 7 + (truth.counts[0, -1] == 0))
        real = Estimate(tree, View.COUNTS, rng.normal(size=(7, 5)))
        write_long(real, file, zeros=zeros, level_names=names)
        assert np.array_equal(read_long(file).values, real.values)
    assert sorted(p.suffix for p in tmp_path.iterdir()) == [ending] * scale(3, 100)


def test_long_tables_of_cumulative_estimates_hold_counts() -> None:
    tree = Hierarchy.from_parents(["US"], [-1])
    assert to_long(Estimate(tree, View.CUMULATIVE, np.array([[1, 1, 4]])))["n_groups"].to_pylist() == [1, 3]


def test_long_tables_that_are_none(tmp_path: Path) -> None:
    good = frame(region_id=["US", "US/GA", "US/MI"], group_size=[0, 0, 0], n_groups=[2, 1, 1])
    assert read_long(good).values.tolist() == [[2], [1], [1]]
    for column, bad in (
        ("region_id", ["US", "US/GA", None]),
        ("group_size", [0, 0, -1]),
        ("group_size", ["0", "0", "x"]),
        ("n_groups", [2, 1, np.inf]),
        ("n_groups", [2, 1, None]),
    ):
        with pytest.raises(TableError, match=r"1 rows of the long table|holds .*string, no numbers"):
            read_long(good.assign(**{column: bad}))
    with pytest.raises(TableError, match="two rows"):
        read_long(with_row(good, "US/GA", 0, 1))
    with pytest.raises(TableError, match="no rows of 'US'"):
        read_long(good[1:])
    with pytest.raises(TableError, match="ids of regions of the long table are numbers"):
        read_long(frame(region_id=[1], group_size=[0], n_groups=[1]))
    with pytest.raises(TableError, match="no column 'n_groups'"):
        read_long(good.drop(columns="n_groups"))
    for wrong in ("US//GA", "US/%", "US/%2f", "US/%FF"):
        with pytest.raises(HierarchyError, match="no id of a region"):
            read_long(good.assign(region_id=["US", "US/GA", wrong]))
    for names, word in ((("a",), "2 levels"), (("a", "a"), "different"), (("a", "n_groups"), "another column")):
        with pytest.raises(ArgumentError, match=word):
            to_long(counted(), level_names=names)
