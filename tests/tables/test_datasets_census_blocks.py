"""The generated nation down to blocks, state by state."""

import numpy as np
import pytest

from pgsr import CountOfCounts, Hierarchy
from pgsr.datasets import census_like
from pgsr.datasets.census_blocks import CensusBlocks
from pgsr.errors import CountError, DataError

NATION = CensusBlocks(blocks=6_000, groups=2_000_000)


@pytest.mark.slow
def test_states_add_up_to_the_nation_of_census_like():
    """Counties are those of `census_like`, and so is the nation; everything adds up, and every state has its tree."""
    known = census_like("counties", max_size=1_000, groups=2_000_000)
    states = {name: NATION.part(name) for name in NATION.keys}
    assert len(states) == 51
    for part in states.values():
        assert isinstance(part, CountOfCounts), "which adds up, or is refused"
    for name in ("Georgia", "Delaware", "Wyoming"):
        first = known.hierarchy.first_child[known.hierarchy.index(("United States", name))]
        table = states[name].tables[1]
        assert np.array_equal(table, known.counts[first : first + len(table)])
    upper = NATION.above()
    assert np.array_equal(upper.tables[3], np.concatenate([part.tables[0] for part in states.values()]))
    assert np.array_equal(upper.tables[0][0], known.counts[0])
    assert [len(table) for table in upper.tables] == [1, 4, 9, 51]
    assert isinstance(upper, CountOfCounts)
    blocks = sum(len(part.tables[-1]) for part in states.values())
    assert blocks == 6_000


def test_a_states_hierarchy_is_what_its_parents_say():
    tree = NATION.tree("Delaware")
    listed = Hierarchy.from_parents([str(region) for region in range(tree.n_regions)], tree.parent.tolist())
    for name in ("parent", "first_child", "level_start", "order", "padded"):
        assert np.array_equal(getattr(listed, name), getattr(tree, name))


def test_largest_sizes_fold_the_same_groups():
    small = CensusBlocks(blocks=6_000, groups=2_000_000, max_sizes=(20, 20, 20, 20, 20, 9, 9, 2))
    table, folded = NATION.part("Delaware").tables[2], small.part("Delaware").tables[2]
    assert np.array_equal(folded[:, :9], table[:, :9])
    assert np.array_equal(folded[:, 9], table[:, 9:].sum(axis=1))


def test_seeds_differ_and_repeat():
    again = CensusBlocks(blocks=6_000, groups=2_000_000).part("Delaware")
    other = CensusBlocks(blocks=6_000, groups=2_000_000, seed=1).part("Delaware")
    assert np.array_equal(NATION.part("Delaware").tables[-1], again.tables[-1])
    assert not np.array_equal(NATION.part("Delaware").tables[-1], other.tables[-1])


@pytest.mark.parametrize(
    ("build", "error", "says"),
    [
        (lambda: CensusBlocks(blocks=10), DataError, "from 3143 up"),
        (lambda: CensusBlocks(groups=2**31), DataError, "give at most 2,147,483,647, which counts of 32 bits hold"),
        (lambda: CensusBlocks(max_sizes=(7, 7)), DataError, "give one per level"),
        (lambda: CensusBlocks(max_sizes=(7,) * 7 + (8,)), CountError, "merged from the root down"),
        (lambda: NATION.part("Guam"), DataError, "'Guam' is unknown"),
    ],
)
def test_what_cannot_be_made_is_told(build, error, says):
    with pytest.raises(error, match=says):
        build()
