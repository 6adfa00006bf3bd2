"""The households of the Privacy-Protected Microdata File by size, from the nation to its blocks, state by state."""

import os
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path

import numpy as np

from pgsr.data.counts import CountOfCounts
from pgsr.data.hierarchy import Hierarchy
from pgsr.data.sizes import fold, require_falling
from pgsr.datasets.counted_tree import counted_tree
from pgsr.datasets.parameters import whole_number
from pgsr.datasets.ppmf_units import CLASSES, CODES, FILE, GROUP_QUARTERS, LARGEST_SIZE, VACANT
from pgsr.errors import DataError
from pgsr.machine import memory
from pgsr.machine.extras import extra

ROOT = "United States"

BELOW = (10**16, 10**14, 10**11, 10**5, 10**4, 1)
"""What a block's code of 16 digits is divided by to get that of its region on every level, the nation's first."""

STATE_LEVEL, BLOCK_LEVEL = 1, 5

NAME_DIGITS = (0, 2, 5, 11, 12, 15)
"""Digits of the names of regions by level. A block's name leaves out the block group, whose digit begins its number."""


@dataclass(frozen=True)
class PpmfBlocks:
    """Occupied housing units by household size: nation / states / counties / tracts / block groups / blocks.

    A group is an occupied housing unit, its size the number of its persons; the file ends at 7, which means 7 or more.
    Vacant units are no households and are left out, or with `vacant` counted as groups of size 0: then the number of
    groups of a region is that of its housing units, which the Census Bureau published without noise. Group quarters are
    never counted; the file does not say how many people live there. `n_units` has the numbers of all three.

    Regions are those with a unit of any kind, so a block may have no household; blocks without units have no row in the
    file, and are no regions here. They are named by their codes, ("United States", "10", "10001", "10001040100",
    "100010401001", "100010401001000"). Real counts are in no release of the Bureau: these are its own protected ones.

    The methods are those of `CensusBlocks`, so that what works on a nation state by state takes this in its place
    (`pgsr.nation.measure`); `whole` is all of it at once. A state is called by its code, "10".

    Attributes:
        folder: holds ppmf_block_units.parquet, which `pgsr.datasets.ppmf_units.convert` writes; by default the folder
            that PGSR_DATA names.
        max_sizes: largest sizes by level, root first, from 7 down; larger households count in the last class.
        vacant: whether vacant units are groups of size 0.
        named: whether the regions of `tree` and `part` have names; without, they take much less memory.

    Raises:
        DataError: no such folder or file, a file of another kind, or sizes that are not whole numbers from 1 to 7, one
            per level.
        CountError: sizes that rise from a level to the one below it.

    Source:
        U.S. Census Bureau, 2020 Census Privacy-Protected Microdata File (public domain).

    Example:
        >>> from tempfile import mkdtemp
        >>> from pgsr.datasets.ppmf_units import convert
        >>> folder = Path(mkdtemp())
        >>> _ = (folder / "units.csv").write_text(
        ...     "RTYPE,HHSIZE,TABBLKST,TABBLKCOU,TABTRACTCE,TABBLKGRPCE,TABBLK\\n"
        ...     "2,3,10,001,040100,1,1000\\n2,7,10,001,040100,1,1002\\n2,0,10,001,040100,1,1002\\n"
        ... )
        >>> _ = convert(folder / "units.csv", folder)
        >>> delaware = PpmfBlocks(folder, max_sizes=(7, 7, 7, 7, 7, 3)).part("10")
        >>> delaware.hierarchy, delaware.tables[-1].tolist()
        (Hierarchy(6 regions, levels 1 / 1 / 1 / 1 / 2), [[0, 0, 0, 1], [0, 0, 0, 1]])
    """

    folder: str | os.PathLike[str] | None = None
    max_sizes: tuple[int, ...] = (LARGEST_SIZE,) * 6
    vacant: bool = False
    named: bool = True

    def __post_init__(self) -> None:
        if len(self.max_sizes) != len(BELOW):
            raise DataError(f"{len(self.max_sizes)} largest sizes for {len(BELOW)} levels; give one per level")
        sizes = tuple(whole_number("a largest size", size, least=1) for size in self.max_sizes)
        if max(sizes) > LARGEST_SIZE:
            raise DataError(
                f"largest size {max(sizes)}, and the file ends at {LARGEST_SIZE} (7 or more); give 7 or less"
            )
        require_falling(sizes)
        object.__setattr__(self, "max_sizes", sizes)
        self._require_columns()

    @property
    def name(self) -> str:
        """The name by which noise is keyed."""
        return f"ppmf-blocks/{'housing-units' if self.vacant else 'households'}"

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """The codes of the states, in the order of the last level of `upper`."""
        return tuple(self._read(["state"])["state"].unique().to_pylist())

    @cached_property
    def upper(self) -> Hierarchy:
        """The hierarchy from the nation to the states."""
        return Hierarchy.from_paths([(ROOT, key) for key in self.keys])

    def tree(self, state: str) -> Hierarchy:
        """Make the public hierarchy of a state, from the state to its blocks."""
        return self._tree(self._codes(state), STATE_LEVEL, (state,))

    def part(self, state: str) -> CountOfCounts:
        """Make the counts of a state, from the state to its blocks; int32."""
        codes = self._codes(state)
        tables = self._tables(codes, self._units(state), STATE_LEVEL)
        return CountOfCounts(self._tree(codes, STATE_LEVEL, (state,)), tables)

    def above(self) -> CountOfCounts:
        """Make the counts of the nation and the states; int32."""
        units = np.concatenate([self._units(state).sum(axis=0, keepdims=True) for state in self.keys])
        nation, states = self._groups(units.sum(axis=0, keepdims=True)), self._groups(units)
        return CountOfCounts(self.upper, (_folded(nation, self.max_sizes[0]), _folded(states, self.max_sizes[1])))

    def whole(self) -> CountOfCounts:
        """Make the counts of all regions, from the nation to the blocks; int32.

        Raises:
            MemoryNeededError: they do not fit; take the states one by one.
        """
        with extra("release"):
            import pyarrow.parquet as pq

        n_blocks = pq.read_metadata(self._path).num_rows
        per_block = 200 + 4 * (self.max_sizes[-1] + 1) + (400 if self.named else 0)
        memory.require(per_block * n_blocks, f"the counts of {n_blocks:,} blocks", "take the states one by one")
        codes = self._codes(None)
        return CountOfCounts(self._tree(codes, 0, (ROOT,)), self._tables(codes, self._units(None), 0))

    def n_units(self, state: str | None = None) -> dict[str, int]:
        """Count the occupied units, vacant units and group quarters of a state, or of the nation.

        Only the first are groups, or with `vacant` the first two.
        """
        units = self._units(state).sum(axis=0, dtype=np.int64)
        occupied = int(units[VACANT + 1 : GROUP_QUARTERS].sum())
        return {"occupied": occupied, "vacant": int(units[VACANT]), "group quarters": int(units[GROUP_QUARTERS])}

    @property
    def _path(self) -> Path:
        return FILE.path(self.folder)

    def _require_columns(self) -> None:
        with extra("release"):
            import pyarrow as pa
            import pyarrow.parquet as pq

        path = self._path
        try:
            schema = pq.read_schema(path)
        except (OSError, pa.ArrowException) as fault:
            raise DataError(f"{path} cannot be read ({fault}); write it again with convert") from fault
        expected = dict.fromkeys(CODES, pa.string()) | dict.fromkeys(CLASSES, pa.int32())
        if dict(zip(schema.names, schema.types, strict=True)) != expected:
            raise DataError(f"{path} is not what pgsr.datasets.ppmf_units.convert writes; write it again with that")

    def _read(self, columns: list[str], state: str | None = None):
        """Read some columns of the blocks of a state, or of all."""
        with extra("release"):
            import pyarrow.parquet as pq

        if state is not None and state not in self.keys:
            raise DataError(f"state {state!r} is not in {self._path}; use a code such as {self.keys[0]!r}")
        return pq.read_table(self._path, columns=columns, filters=state and [("state", "==", state)])

    def _codes(self, state: str | None) -> np.ndarray:
        """Read the codes of the blocks, ascending; int64, shape (blocks,)."""
        table = self._read(list(CODES), state)
        codes = np.zeros(len(table), np.int64)
        for name, n_digits in CODES.items():
            codes = codes * 10**n_digits + table[name].cast("int64").to_numpy()
        if (codes[1:] <= codes[:-1]).any():
            raise DataError(f"the blocks of {self._path} are not in order; write it again with convert")
        return codes

    def _units(self, state: str | None) -> np.ndarray:
        """Read the numbers of units by block and class; int32, shape (blocks, classes)."""
        table = self._read(list(CLASSES), state)
        return np.stack([table[name].to_numpy() for name in CLASSES], axis=1)

    def _groups(self, units: np.ndarray) -> np.ndarray:
        """Turn units by class into groups by size, without group quarters, and vacant units only if asked for."""
        groups = units[:, :GROUP_QUARTERS].copy()
        if not self.vacant:
            groups[:, VACANT] = 0
        return groups

    def _tables(self, codes: np.ndarray, units: np.ndarray, first: int) -> tuple[np.ndarray, ...]:
        """Add up the groups of every region from a first level down to the blocks."""
        groups, levels = self._groups(units), range(first, BLOCK_LEVEL + 1)
        sums = ((level, np.add.reduceat(groups, _heads(codes, level))) for level in levels)
        return tuple(_folded(table, self.max_sizes[level]) for level, table in sums)

    def _tree(self, codes: np.ndarray, first: int, root: tuple[str, ...]) -> Hierarchy:
        """Make the hierarchy of blocks from a first level down, where `root` is the only region."""
        heads = [_heads(codes, level) for level in range(first, BLOCK_LEVEL + 1)]
        children = [np.diff(np.searchsorted(below, [*here, len(codes)])) for here, below in pairwise(heads)]
        if not self.named:
            return counted_tree(children, (root,) * sum(map(len, heads)))
        paths, above = [root], [root]
        for level, (here, numbers) in enumerate(zip(heads[1:], children, strict=True), first + 1):
            parents = np.repeat(np.arange(len(above)), numbers).tolist()
            above = [(*above[p], name) for p, name in zip(parents, _names(codes[here], level), strict=True)]
            paths += above
        return counted_tree(children, paths)


def _heads(codes: np.ndarray, level: int) -> np.ndarray:
    """Find the first block of every region of a level, as positions in ascending codes."""
    return np.flatnonzero(np.diff(codes // BELOW[level], prepend=-1))


def _names(codes: np.ndarray, level: int) -> list[str]:
    """Name the regions of a level that hold these blocks."""
    numbers = codes // BELOW[level]
    if level == BLOCK_LEVEL:
        numbers = numbers // 10**5 * 10**4 + numbers % 10**4
    return [f"{number:0{NAME_DIGITS[level]}d}" for number in numbers.tolist()]


def _folded(table: np.ndarray, k: int) -> np.ndarray:
    return fold(table, k).astype(np.int32)
