"""The tables of regions: every form gives the same hierarchy, and tables that are no tree are refused."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from small_tables import HOMES, PEOPLE, REGIONS, counted, frame, with_row

from pgsr import Hierarchy
from pgsr.errors import HierarchyError, TableError
from pgsr.tables import Entities, Groups, Levels, Parents
from pgsr.tables.long import read_long, to_long


def test_level_columns_region_ids_and_a_given_tree_are_the_same_hierarchy() -> None:
    paths = frame(id=["1", "2"], nation=["US", "US"], state=["GA", "MI"])
    homes = HOMES.assign(nation="US", state=HOMES.region, id=HOMES.region.map({"GA": "1", "MI": "2"}))
    found = [
        counted(),
        counted(homes=Groups(homes, region=("nation", "state")), regions=None),
        counted(homes=Groups(homes, region=("nation", "state")), regions=Levels(paths, ("nation", "state"))),
        counted(homes=Groups(homes, region="id"), regions=Levels(paths, ("nation", "state"), region="id")),
        counted(regions=Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])),
        counted(
            homes=Groups(homes, region=("nation", "state")), regions=Hierarchy.from_paths([("US", "GA"), ("US", "MI")])
        ),
    ]
    for truth in found:
        assert truth.hierarchy.paths == (("US",), ("US", "GA"), ("US", "MI"))
        assert truth.counts.tolist() == [[1, 1, 1, 0], [0, 0, 1, 0], [1, 1, 0, 0]]


def test_regions_without_groups_stay() -> None:
    truth = counted(homes=HOMES[HOMES.region == "GA"], people=PEOPLE[PEOPLE.group == "g1"])
    assert truth.totals.tolist() == [1, 1, 0]


def test_number_ids_of_regions_are_read_as_their_digits() -> None:
    homes = frame(group=[1, 2], region=[11, 12])
    tree = Parents(frame(region=[1, 11, 12], parent=pd.array([None, 1, 1], "Int64")))
    truth = counted(frame(entity=[7], group=[2]), homes, tree)
    assert truth.hierarchy.paths == (("1",), ("1", "11"), ("1", "12"))


def test_padded_branches() -> None:
    regions = with_row(REGIONS, "Cobb", "GA")
    homes = frame(group=["g1", "g2", "g3"], region=["Cobb", "MI", "MI"])
    with pytest.raises(HierarchyError, match="ragged"):
        counted(homes=homes, regions=regions)
    truth = counted(homes=homes, regions=Parents(regions, pad_ragged=True))
    assert truth.hierarchy.padded.sum() == 1
    assert truth.counts[truth.hierarchy.index(("US", "MI", "MI"))].tolist() == [1, 1, 0, 0]
    again = read_long(to_long(truth)).counts()
    assert again.hierarchy.paths == truth.hierarchy.paths
    assert np.array_equal(again.counts, truth.counts)
    assert again.hierarchy.padded.tolist() == truth.hierarchy.padded.tolist()


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([("TX", "MX")], "'TX' is an orphan: its parent 'MX' is unknown"),
        ([("CA", None)], "two roots, 'US' and 'CA'"),
        ([("a", "b"), ("b", "a")], "form a cycle"),
        ([("a", "a")], "'a' is its own parent"),
        ([("GA", "MI")], "'GA' has two parents, 'US' and 'MI'"),
        ([("GA", "US")], "'GA' is listed twice"),
        ([(None, "US")], "no region id"),
        ([("Cobb", "GA")], "ragged.*pad_ragged=True"),
    ],
)
def test_tables_of_regions_that_are_no_tree(rows: list[tuple[Any, Any]], message: str) -> None:
    regions = REGIONS
    for row in rows:
        regions = with_row(regions, *row)
    with pytest.raises(HierarchyError, match=message):
        counted(regions=regions)


@pytest.mark.parametrize(
    ("ids", "nations", "states", "message"),
    [
        (["GA", "GA"], ["US", "US"], ["GA", "MI"], "'GA' is listed twice"),
        (["GA", "MI"], ["US", "US"], ["GA", "GA"], "'US' / 'GA' is listed twice"),
        (["GA", "MI"], ["US", "CA"], ["GA", "MI"], "two roots"),
        (["GA", "MI"], ["US", None], ["GA", "MI"], "name every level"),
    ],
)
def test_level_columns_that_are_no_tree(ids: list[Any], nations: list[Any], states: list[Any], message: str) -> None:
    with pytest.raises(HierarchyError, match=message):
        counted(regions=Levels(frame(id=ids, nation=nations, state=states), ("nation", "state"), region="id"))


def test_regions_of_entities_have_to_agree() -> None:
    def of(regions: list[Any], *more: Any, **options: Any) -> Any:
        return counted(Entities(PEOPLE.assign(region=regions), region="region"), *more, **options)

    assert of(["GA", "GA", "MI"]).totals[0] == 3
    with pytest.raises(TableError, match="some groups have entities outside their own region"):
        of(["GA", "MI", "MI"])
    with pytest.raises(TableError, match=r"some groups have entities in several regions.*pairs"):
        of(["GA", "MI", "MI"], None, private_groups=True)
    with pytest.raises(TableError, match="some rows of the table of entities have no region"):
        of(["GA", "GA", None])
    with pytest.raises(TableError, match="some rows of the table of entities lie in an unknown region;") as caught:
        of(["GA", "GA", "secret"])
    assert "secret" not in str(caught.value)


def test_two_roots_name_the_column_that_is_missing() -> None:
    homes = frame(group=["g1", "g2"], state=["GA", "MI"], county=["a", "b"])
    said = r"two roots, 'GA' and 'MI', in column 'state' of the table of regions; add a column .* root first"
    with pytest.raises(HierarchyError, match=said):
        counted(frame(entity=["a"], group=["g1"]), Groups(homes, region=("state", "county")), None)
    regions = frame(region=["GA", "MI"], parent=[None, None])
    with pytest.raises(
        HierarchyError, match=r"two roots, 'GA' and 'MI', which have no parent; add a row for the whole"
    ):
        counted(frame(entity=["a"], group=["g1"]), frame(group=["g1"], region=["GA"]), regions)
