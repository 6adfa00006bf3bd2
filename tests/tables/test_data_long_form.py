"""The names of levels: a hierarchy keeps those that it was given, and tables have them as columns."""

from dataclasses import replace

import pandas as pd
import pytest

from pgsr import CountOfCounts, Hierarchy, PgsrError, Problem, View
from pgsr.algorithms import TreeProjection
from pgsr.data import Estimate
from pgsr.noise import Geometric
from pgsr.privacy import Seeded
from pgsr.release import ReleaseConfig, Terms, publish, read_release
from pgsr.tables import Entities, Groups, Levels, count_groups
from pgsr.tables.long import to_long

PATHS = [("US", "GA"), ("US", "MI")]
NAMES = ["nation", "state"]
TREE = Hierarchy.from_paths(PATHS, level_names=NAMES)
TABLE = [[0, 2, 1], [1, 0, 3]]
HOMES = pd.DataFrame({"group": range(8), "nation": "US", "state": ["GA", "MI"] * 4})
PEOPLE = pd.DataFrame({"entity": range(5), "group": [0, 0, 1, 2, 3]})


def levels_of(columns: object) -> list[str]:
    """The columns of names: those between `is_leaf` and the size, or the region above."""
    names = list(columns)  # pyright: ignore[reportArgumentType, reportCallIssue]
    start = names.index("is_leaf") + 1
    return names[start : next(i for i, n in enumerate(names) if n in ("group_size", "rank", "parent_id"))]


def test_frames_have_the_names_that_the_hierarchy_was_given():
    truth = CountOfCounts(TREE, TABLE)
    counts, ranks = (Geometric(view, "1").measure(truth, Seeded("names")) for view in (View.COUNTS, View.RANKED))
    estimate = TreeProjection().solve(Problem.m_h(counts)).estimate
    assert isinstance(estimate, Estimate)
    for thing in (TREE, truth, counts, ranks, estimate, estimate.counts()):
        assert levels_of(thing.to_frame()) == NAMES, thing
        assert set(thing.to_frame()["level_name"]) == set(NAMES), thing
        assert levels_of(thing.to_frame(level_names=["a", "b"])) == ["a", "b"], "those of the call go first"
    assert levels_of(to_long(truth).column_names) == NAMES
    by_level = CountOfCounts(TREE, ([[1, 2, 4]], [[0, 3], [1, 3]]))
    assert levels_of(to_long(by_level).column_names) == levels_of(by_level.to_frame()) == NAMES


def test_a_hierarchy_without_names_numbers_its_levels():
    tree = Hierarchy.from_paths(PATHS)
    assert tree.level_names is None
    assert levels_of(tree.to_frame()) == ["level_0", "level_1"]


def test_names_go_with_the_upper_levels():
    tree = Hierarchy.from_paths([("US", "GA", "1")], level_names=["nation", "state", "tract"])
    assert tree.down_to(1).level_names == ("nation", "state")
    assert "nation / state / tract" in tree._repr_html_()


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["nation"], "give one each"),
        (["a", "a"], "give different"),
        (["nation", "level"], "the name of another column"),
    ],
)
def test_names_that_no_table_can_have_are_refused(names, words):
    with pytest.raises(PgsrError, match=words):
        Hierarchy.from_paths(PATHS, level_names=names)


def test_a_level_called_as_a_column_of_one_table_is_refused_there():
    tree = Hierarchy.from_paths(PATHS, level_names=["nation", "rank"])
    truth = CountOfCounts(tree, TABLE)
    assert levels_of(truth.to_frame())[0] == "nation"
    with pytest.raises(PgsrError, match=r"'rank'.*level_names"):
        Geometric(View.RANKED, "1").measure(truth, Seeded("names")).to_frame()
    with pytest.raises(PgsrError, match=r"'parent_id'.*level_names"):
        tree.to_frame(level_names=["nation", "parent_id"])


@pytest.mark.parametrize("regions", [None, Levels(HOMES[["nation", "state"]].drop_duplicates(), ("nation", "state"))])
def test_tables_with_a_column_per_level_name_the_levels(regions):
    found = count_groups(Entities(PEOPLE), Groups(HOMES, region=("nation", "state")), regions, max_size=3)
    assert levels_of(found.to_frame()) == NAMES


def test_columns_that_cannot_name_levels_are_read_all_the_same():
    homes = HOMES.rename(columns={"state": "level"})
    found = count_groups(Entities(PEOPLE), Groups(homes, region=("nation", "level")), max_size=3)
    assert levels_of(found.to_frame()) == ["level_0", "level_1"]


def test_a_published_folder_names_its_levels(tmp_path):
    config = ReleaseConfig(
        terms=Terms("demo", max_size=3, epsilon="1", kind="m_h"),  # pyright: ignore[reportArgumentType]
        entities=Entities(PEOPLE),
        groups=Groups(HOMES, region=("nation", "state")),
        output=tmp_path / "release",
        ledger=tmp_path / "ledger.jsonl",
    )
    found = read_release(publish(config, rehearse=True).folder)
    assert levels_of(found.counts.to_frame()) == levels_of(found.measurement.to_frame()) == NAMES
    other = replace(config, terms=replace(config.terms, level_names=("US", "part")), output=tmp_path / "other")
    assert levels_of(read_release(publish(other, rehearse=True).folder).counts.to_frame()) == ["US", "part"]
