"""Counting and long tables with sizes per level, against folded counts."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from instances import rng_of

from pgsr import CountOfCounts, Hierarchy
from pgsr.data.stand_in import stand_in_of
from pgsr.errors import ArgumentError, CountError, HierarchyError, TableError
from pgsr.tables import Entities, Groups, Parents, Quantities, count_groups
from pgsr.tables.inputs import PrivateLog
from pgsr.tables.long import read_long, to_long

LEAVES = [("US", state, county) for state in ("GA", "MI", "WA") for county in ("a", "b")]


def tables(seed: int, n_groups: int = 200) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Entities and groups; the sizes of groups reach 12."""
    generator = rng_of(seed)
    place = generator.integers(0, len(LEAVES), n_groups)
    columns = {name: [LEAVES[leaf][level] for leaf in place] for level, name in enumerate(("us", "state", "county"))}
    size = generator.integers(0, 13, n_groups)
    people = pd.DataFrame({"entity": range(size.sum()), "group": np.repeat(np.arange(n_groups), size)})
    return people, pd.DataFrame({"group": range(n_groups), **columns})


@pytest.mark.parametrize("max_sizes", [(20, 9, 3), (5, 1, 1)])
def test_counts_equal_folded_ones(max_sizes: tuple[int, ...]) -> None:
    """A size above K counts in the last class of a level, whatever the classes of the other levels are."""
    people, homes = tables(sum(max_sizes))
    groups = Groups(homes, region=("us", "state", "county"))
    found = count_groups(Entities(people), groups, max_size=max_sizes)
    whole = count_groups(Entities(people), groups, max_size=max(max_sizes))
    expected = whole.folded(max_sizes)
    assert found.hierarchy.paths == whole.hierarchy.paths
    for table, wanted in zip(found.tables, expected.tables, strict=True):
        assert table.tolist() == wanted.tolist()


def test_quantities_add_up_to_sizes_and_the_log_tells_what_was_clipped() -> None:
    homes = pd.DataFrame({"group": [1, 2], "region": ["GA", "MI"]})
    tuples = pd.DataFrame({"user": [1, 2, 3], "unit": [1, 1, 2], "region": ["GA", "GA", "MI"], "quantity": [3, 2, 1]})
    regions = Parents(pd.DataFrame({"region": ["US", "GA", "MI"], "parent": [None, "US", "US"]}))
    log = PrivateLog()
    entities = Quantities(tuples, max_quantity=3)
    found = count_groups(entities, Groups(homes), regions, max_size=(4, 2), log=log)
    assert [table.tolist() for table in found.tables] == [[[0, 1, 0, 0, 1]], [[0, 0, 1], [0, 1, 0]]]
    assert (log.entities, log.clipped_groups, found.max_quantity) == (3, 1, 3)


def test_sizes_that_do_not_fit_are_refused() -> None:
    people, homes = tables(0)
    groups = Groups(homes, region=("us", "state", "county"))
    with pytest.raises(CountError, match="merged from the root down"):
        count_groups(Entities(people), groups, max_size=(5, 6, 7))
    with pytest.raises(ArgumentError, match="2 largest sizes for 3 levels"):
        count_groups(Entities(people), groups, max_size=(6, 5))


def test_long_tables_read_back(tmp_path: Path) -> None:
    people, homes = tables(3)
    counts = count_groups(Entities(people), Groups(homes, region=("us", "state", "county")), max_size=(30, 8, 2))
    table = to_long(counts, level_names=("us", "state", "county"))
    table.to_pandas().sample(frac=1, random_state=0).to_csv(tmp_path / "long.csv", index=False)
    for given in (table, str(tmp_path / "long.csv")):
        read = read_long(given).counts()
        assert read.max_sizes == (30, 8, 2), "classes without groups are kept, the last of a level too"
        place = [read.hierarchy.index(path) for path in counts.hierarchy.paths]
        for level, wanted in enumerate(counts.tables):
            here = counts.hierarchy.level(level)
            rows = np.array(place[here]) - here.start
            assert read.tables[level][rows].tolist() == wanted.tolist()


def test_no_group_is_counted_twice_in_a_long_table() -> None:
    """GA of level 1 and its copy on level 2 would both have rows of level 1, which then add up to more than US."""
    tree = Hierarchy.from_paths([("US", "GA"), ("US", "MI", "a")], pad_ragged=True)
    counts = CountOfCounts(tree, ([[0, 1, 2]], [[0, 2], [0, 1]], [[0, 2], [0, 1]]))
    with pytest.raises(HierarchyError, match="'US/GA' stands above a copy of itself; give every branch the same depth"):
        to_long(counts)


def test_the_columns_say_whether_levels_have_sizes_of_their_own() -> None:
    """Without classes the root's largest size is that of all levels; asked for, equal sizes have classes, too."""
    tree = Hierarchy.from_parents(["US", "GA"], [-1, 0])
    by_level = to_long(CountOfCounts(tree, ([[1, 1, 1]], [[1, 2]])))
    assert read_long(by_level).sizes.max_sizes == (2, 1)
    assert read_long(by_level.drop_columns("size_class")).sizes.max_sizes == (2, 2)
    same = CountOfCounts(tree, [[1, 2]])
    assert "size_class" not in to_long(same).column_names
    assert to_long(same, classes=True)["size_class"].to_pylist() == ["0", "1 or more"] * 2
    assert read_long(to_long(same, classes=True)).counts().counts.tolist() == same.counts.tolist()
    rows = by_level.to_pandas()
    with pytest.raises(TableError, match="two rows"):
        read_long(pd.concat([rows, rows.tail(1)]))
    with pytest.raises(TableError, match="no rows of 'US'"):
        read_long(rows[rows["level"] == 1])


def test_a_stand_in_by_level_has_the_law_of_the_folded_one() -> None:
    """Means of every class over many draws, against the law; the noise of the mean is four standard errors at most."""
    tree = Hierarchy.from_paths(LEAVES)
    law, sizes, totals, draws = np.array([1, 4, 3, 1, 2, 1]) / 12, (5, 3, 1), [10, 20, 30, 0, 5, 40], 400
    sums = [np.zeros((n, k + 1)) for n, k in zip((1, 3, 6), sizes, strict=True)]
    for seed in range(draws):
        made = stand_in_of(tree, totals, law.tolist(), seed, sizes)
        sums = [total + table for total, table in zip(sums, made.tables, strict=True)]
    groups = [tree.sum_up(np.array(totals))[tree.level(level)] for level in range(3)]
    for total, k, n in zip(sums, sizes, groups, strict=True):
        chance = np.append(law[:k], law[k:].sum())
        spread = np.sqrt(n[:, None] * chance * (1 - chance) / draws)
        assert (np.abs(total / draws - n[:, None] * chance) <= 4 * spread + 1e-9).all()
    folded = stand_in_of(tree, totals, law.tolist()).folded(sizes)
    assert [t.sum() for t in folded.tables] == [t.sum() for t in made.tables]
