"""The generator of census-like data down to blocks, state by state: eight levels with sizes of their own."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from pgsr.data.counts import CountOfCounts
from pgsr.data.hierarchy import Hierarchy, Path
from pgsr.data.sizes import fold, require_falling
from pgsr.datasets.census_figures import DIVISIONS, HOUSEHOLDS, states
from pgsr.datasets.census_like import (
    LARGEST_SIZE,
    Draw,
    LevelCells,
    TailShape,
    county_shares,
    groups_by_state,
    tract_shares,
    tracts_per_county,
)
from pgsr.datasets.table import whole_number
from pgsr.errors import DataError

BLOCKS_PER_GROUP = 25
"""Blocks per block group, as in 2020: 5.9 million inhabited and other blocks in 242,180 block groups are 24.3."""

GROUPS_PER_TRACT = 2.85
"""Block groups per tract, as in 2020: 242,180 in 85,074 tracts."""

SIZES = (1_000, 1_000, 1_000, 1_000, 1_000, 1_000, 1_000, 7)
"""Largest sizes by level: single sizes down to block groups, eight classes in blocks."""

STATE_LEVEL = 3
"""The level of states; above lie the nation, four regions and nine divisions."""

LARGEST_GROUPS = 2**31 - 1
"""Most groups of the nation: the counts of states and of what is below them are int32."""

CENSUS_REGIONS = {
    "Northeast": ("NE", "MA"),
    "Midwest": ("ENC", "WNC"),
    "South": ("SA", "ESC", "WSC"),
    "West": ("MTN", "PAC"),
}
"""The four regions of the census, by their divisions."""


@dataclass(frozen=True)
class CensusBlocks:
    """A generated nation, made state by state.

    Its levels are nation / 4 regions / 9 divisions / 51 states / 3,143 counties / tracts / block groups / blocks.

    Groups of states and counties are those of `census_like(tail="calibrated")`. Below counties everything is synthetic:
    with B blocks there are B / 25 block groups and as many / 2.85 tracts, one per county at least. The j-th largest of
    n parts takes a share ~ 1 / (j + n / 4), at random, size by size. Every region has random numbers of its own, so a
    state is always the same, whichever others are made.

    Attributes:
        blocks: their number, 3,143 at least.
        max_sizes: largest sizes by level, root first.
        groups: number of groups of the nation, at most 2^31 - 1.
        seed: equal seeds, equal data.

    Raises:
        DataError: a number that is not whole, too small or too large, or sizes for another number of levels.

    Example:
        >>> nation = CensusBlocks(blocks=20_000, groups=1_000_000)
        >>> state = nation.part("Delaware")
        >>> state.hierarchy, state.max_sizes
        (Hierarchy(29 regions, levels 1 / 3 / 3 / 3 / 19), (1000, 1000, 1000, 1000, 7))
        >>> state.tables[-1].sum(axis=0)
        array([  0, 707, 967, 488, 403, 172,  58,  37])
    """

    blocks: int = 6_000_000
    max_sizes: tuple[int, ...] = SIZES
    groups: int = HOUSEHOLDS
    seed: int = 0

    def __post_init__(self) -> None:
        whole_number("blocks", self.blocks, least=sum(state.n_counties for state in states()))
        if whole_number("groups", self.groups, least=1) > LARGEST_GROUPS:
            raise DataError(f"groups={self.groups:,}; give at most {LARGEST_GROUPS:,}, which counts of 32 bits hold")
        whole_number("seed", self.seed, least=0)
        if len(self.max_sizes) != len(SIZES):
            raise DataError(f"{len(self.max_sizes)} largest sizes for {len(SIZES)} levels; give one per level")
        require_falling(self.max_sizes)

    @property
    def name(self) -> str:
        """The name by which noise is keyed."""
        return f"census-blocks/{self.blocks}/seed={self.seed}/{self.groups}"

    @property
    def keys(self) -> tuple[str, ...]:
        """The names of the states, in the order of the last level of `upper`."""
        return tuple(path[-1] for path in self.upper.paths[self.upper.leaves])

    @cached_property
    def upper(self) -> Hierarchy:
        """The hierarchy from the nation to the states."""
        above = {DIVISIONS[short]: region for region, shorts in CENSUS_REGIONS.items() for short in shorts}
        by_region = {region: [s for s in states() if above[s.division] == region] for region in CENSUS_REGIONS}
        paths = [("United States", region, s.division, s.name) for region, part in by_region.items() for s in part]
        return Hierarchy.from_paths(paths)

    def tree(self, state: str) -> Hierarchy:
        """Make the public hierarchy of a state, from the state to its blocks.

        Regions below the state have no names of their own, which would be most of the memory.
        """
        children = self._children(_index(state))
        n = 1 + sum(int(numbers.sum()) for numbers in children)
        return counted_tree(children, ((state,),) * n)

    def part(self, state: str) -> CountOfCounts:
        """Make the counts of a state, from the state to its blocks; int32."""
        index = _index(state)
        row = _by_state(self.groups, self.seed)[index]
        size = np.flatnonzero(row)
        cells = LevelCells(np.zeros_like(size), size, row[size])
        tracts, groups, blocks = self._children(index)[1:]
        first = [sum(part[:index]) for part in self._regions_by_state]
        tree, steps = self.tree(state), (Draw.COUNTY, Draw.TRACT, Draw.BLOCK_GROUP, Draw.BLOCK)
        shares = [[county_shares(states()[index].n_counties)]]
        shares += [[tract_shares(int(n)) for n in numbers] for numbers in (tracts, groups, blocks)]
        tables = [_table(cells, 1, self.max_sizes[STATE_LEVEL])]
        for level, (draw, share, start) in enumerate(zip(steps, shares, first, strict=True), 1):
            cells = cells.divide(share, self.seed, draw, start)
            here = tree.level(level)
            tables.append(_table(cells, here.stop - here.start, self.max_sizes[STATE_LEVEL + level]))
        return CountOfCounts(tree, tuple(tables))

    def above(self) -> CountOfCounts:
        """Make the counts of the nation, regions, divisions and states."""
        names = [state.name for state in states()]
        rows = _by_state(self.groups, self.seed)[[names.index(state) for state in self.keys]]
        tables = []
        for level in range(STATE_LEVEL, -1, -1):
            tables.insert(0, fold(rows, self.max_sizes[level]))
            if level:
                rows = self.upper.sum_below(rows, level - 1)
        return CountOfCounts(self.upper, tuple(tables))

    @cached_property
    def _numbers(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The numbers of tracts by county, block groups by tract and blocks by block group, in the whole nation."""
        counties = [county_shares(state.n_counties) for state in states()]
        n_counties = sum(map(len, counties))
        n_groups = max(n_counties, round(self.blocks / BLOCKS_PER_GROUP))
        n_tracts = max(n_counties, round(n_groups / GROUPS_PER_TRACT))
        tracts = tracts_per_county(counties, n_tracts)
        return tracts, _evenly(max(n_groups, n_tracts), n_tracts), _evenly(self.blocks, max(n_groups, n_tracts))

    @cached_property
    def _regions_by_state(self) -> list[list[int]]:
        """The numbers of states, counties, tracts and block groups by state, in the order of `census_figures`."""
        numbers: list[list[int]] = [[1] * len(states()), [state.n_counties for state in states()]]
        for children in self._numbers[:2]:
            parts = np.split(children, np.cumsum(numbers[-1])[:-1])
            numbers.append([int(part.sum()) for part in parts])
        return numbers

    def _children(self, index: int) -> list[np.ndarray]:
        """Give the number of children of every region of a state: the state's, counties', tracts', block groups'."""
        found = [np.array([states()[index].n_counties])]
        for by_state, children in zip(self._regions_by_state[1:], self._numbers, strict=True):
            first = sum(by_state[:index])
            found.append(children[first : first + by_state[index]])
        return found


@lru_cache(1)
def _by_state(groups: int, seed: int) -> np.ndarray:
    return groups_by_state(groups, LARGEST_SIZE, seed, TailShape.CALIBRATED)


def _index(state: str) -> int:
    for index, known in enumerate(states()):
        if known.name == state:
            return index
    raise DataError(f"state {state!r} is unknown; use a name such as {states()[0].name!r}")


def _evenly(total: int, n: int) -> np.ndarray:
    """Divide a total into n numbers that differ by one at most."""
    return np.diff(np.arange(n + 1) * total // n)


def _table(cells: LevelCells, n: int, max_size: int) -> np.ndarray:
    table = np.zeros((n, max_size + 1), np.int32)
    np.add.at(table, (cells.region, np.minimum(cells.size, max_size)), cells.n_groups.astype(np.int32))
    return table


def counted_tree(children: Sequence[np.ndarray], paths: Sequence[Path]) -> Hierarchy:
    """Make the hierarchy whose regions have these numbers of children.

    It is what `Hierarchy.from_paths` makes, without its checks and its dictionaries of names: these take most of the
    time and memory where there are millions of regions, and numbers of children cannot be inconsistent.

    Args:
        children: for every level but the last, root first: the number of children of each of its regions, 1 at least.
        paths: of all regions in level order. One path may stand for many: regions without names cannot be looked up.

    Example:
        >>> tree = counted_tree([np.array([2])], [("US",), ("US", "GA"), ("US", "MI")])
        >>> tree, tree.index(("US", "MI"))
        (Hierarchy(3 regions, levels 1 / 2), 2)
    """
    sizes = [1, *(int(numbers.sum()) for numbers in children)]
    level_start = np.concatenate([[0], np.cumsum(sizes)])
    of_inner = np.concatenate([np.zeros(0, np.int64), *children])
    n = int(level_start[-1])
    parent = np.concatenate([[-1], np.repeat(np.arange(len(of_inner)), of_inner)])
    n_children = np.concatenate([of_inner, np.zeros(n - len(of_inner), np.int64)])
    first_child = 1 + np.concatenate([[0], np.cumsum(n_children)])
    return Hierarchy(tuple(paths), parent, first_child, level_start, np.arange(n), np.zeros(n, bool))
