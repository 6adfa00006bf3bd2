"""The public tree of regions."""

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy  # which imports its submodules when they are used

from pgsr.checks import require_places
from pgsr.data.long_form import checked_level_names, region_columns, require_other_names
from pgsr.data.read_only import read_only_arrays
from pgsr.data.region_ids import region_id, region_name
from pgsr.errors import HierarchyError
from pgsr.figures.html import facts_table
from pgsr.machine.extras import extra

if TYPE_CHECKING:
    import pandas as pd
    import scipy.sparse

Path = tuple[str, ...]


@dataclass(frozen=True, eq=False, repr=False)
@read_only_arrays
class Hierarchy:
    """A tree of regions in level order: parents before children, siblings side by side.

    Region 0 is the root, levels count from 0, all leaves lie on the last level. Because siblings are contiguous, a
    level is a slice and a sum over children is one vectorised reduction.

    Attributes:
        paths: for every region its names from the root down, e.g. `("US", "GA")`; the identity of the region.
        parent: index of the parent, -1 at the root; shape (regions,).
        first_child: `children(r) == range(first_child[r], first_child[r + 1])`; shape (regions + 1,).
        level_start: level l is `level_start[l] : level_start[l + 1]`; shape (levels + 1,).
        order: position of each region in the caller's list, -1 where the caller did not list it; a padded region and
            its copies have the position of the one that was listed; shape (regions,).
        padded: regions that stand above a copy of themselves because their branch is short. They hold the same groups
            as the copy, so they are never measured themselves; shape (regions,).
        level_names: of the levels, root first, which tables of the regions have as columns unless others are asked
            for; None for level_0, level_1, ...

    Example:
        >>> tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
        >>> tree
        Hierarchy(3 regions, levels 1 / 2)
        >>> [tree.name(r) for r in tree.children(0)]
        ['GA', 'MI']
    """

    paths: tuple[Path, ...]
    parent: np.ndarray
    first_child: np.ndarray
    level_start: np.ndarray
    order: np.ndarray
    padded: np.ndarray
    level_names: tuple[str, ...] | None = None

    @classmethod
    def from_paths(
        cls,
        paths: Iterable[Sequence[str]],
        *,
        pad_ragged: bool = False,
        level_names: Sequence[str] | None = None,
    ) -> "Hierarchy":
        """Make the hierarchy whose leaves (or all of whose regions) are `paths`; prefixes are implied.

        Args:
            paths: one sequence of names per region, from the root down. Names may repeat in different branches. They
                are taken as `region_name` writes them, so blanks at their ends make no other region.
            pad_ragged: repeat a leaf that lies above the last level downwards as a single child of itself. Such a
                region is measured once, at its deepest copy.
            level_names: of the levels, root first, for the columns of tables.

        Raises:
            HierarchyError: an empty or repeated path, two roots, names that are not text, or (without `pad_ragged`)
                leaves at different depths.
            ArgumentError: the names of levels are too few or many, repeated, or those of other columns.

        Example:
            >>> tree = Hierarchy.from_paths([("US", "GA"), ("US", "MI")], level_names=("nation", "state"))
            >>> list(tree.to_frame())
            ['region_id', 'level', 'level_name', 'is_leaf', 'nation', 'state', 'parent_id']
            >>> Hierarchy.from_paths([("US", "GA"), ("US", "MI")]).paths
            (('US',), ('US', 'GA'), ('US', 'MI'))
        """
        listed: dict[Path, int] = {}
        known: dict[str, str] = {}
        for position, given in enumerate(_items(paths, "paths")):
            path = _checked_path(given, known)
            if path in listed:
                raise HierarchyError(
                    f"region {_show(path)} is listed twice (items {listed[path]} and {position}); list each region once"
                )
            listed[path] = position
        if not listed:
            raise HierarchyError("the hierarchy has no regions; give at least the root")
        children: dict[Path, dict[Path, None]] = {(): {}}
        for path in listed:
            new, region = [], path
            while region not in children:
                new.append(region)
                region = region[:-1]
            for region in reversed(new):
                children[region[:-1]][region], children[region] = None, {}
        roots = list(children[()])
        if len(roots) > 1:
            raise HierarchyError(
                f"two roots, {_show(roots[0])} and {_show(roots[1])}; put them below one common first name"
            )
        tree = _assemble(roots[0], children, listed, pad_ragged)
        return tree if level_names is None else tree.with_level_names(level_names)

    @classmethod
    def from_parents(cls, names: Sequence[str], parents: Sequence[int], *, pad_ragged: bool = False) -> "Hierarchy":
        """Make the hierarchy in which region i is called `names[i]` and lies directly below region `parents[i]`.

        Args:
            names: one name per region; siblings must differ, regions of different branches need not.
            parents: index of each region's parent in the same list, -1 for the one root. Any order.
            pad_ragged: as in `from_paths`.

        Raises:
            HierarchyError: no root or two, a region that is its own parent, an unknown parent, several parents, a
                cycle, or any of the errors of `from_paths`.
        """
        names = _items(names, "names")
        above = _checked_parents(names, _items(parents, "parents"))
        paths: list[Path | None] = [None] * len(names)
        for start in range(len(names)):
            chain, node = [], start
            while node >= 0 and paths[node] is None:
                chain.append(node)
                if len(chain) > len(names):
                    raise HierarchyError(
                        f"region {names[start]!r} never reaches the root: its parents form a cycle; break it"
                    )
                node = above[node]
            prefix = () if node < 0 else paths[node]
            assert prefix is not None
            for node in reversed(chain):
                prefix = (*prefix, names[node])
                paths[node] = prefix
        return cls.from_paths([path for path in paths if path is not None], pad_ragged=pad_ragged)

    def with_level_names(self, level_names: Sequence[str]) -> "Hierarchy":
        """Make the same hierarchy with these names of its levels, root first.

        Raises:
            ArgumentError: as `from_paths`.

        Example:
            >>> Hierarchy.from_parents(["US", "GA"], [-1, 0]).with_level_names(["nation", "state"]).level_names
            ('nation', 'state')
        """
        return replace(self, level_names=checked_level_names(self.n_levels, level_names))

    @property
    def n_regions(self) -> int:
        return len(self.paths)

    @property
    def n_levels(self) -> int:
        return len(self.level_start) - 1

    @property
    def leaves(self) -> slice:
        return self.level(self.n_levels - 1)

    @property
    def n_inner(self) -> int:
        """The number of regions with children: all but the last level; they come first."""
        return int(self.level_start[-2])

    def level(self, level: int) -> slice:
        """Give the regions of one level, as a slice."""
        if not _is_index(level) or not 0 <= level < self.n_levels:
            raise HierarchyError(f"level {level!r} does not exist; levels run 0..{self.n_levels - 1}")
        return slice(int(self.level_start[level]), int(self.level_start[level + 1]))

    def down_to(self, level: int) -> "Hierarchy":
        """Make the hierarchy of the regions of this level and those above.

        Example:
            >>> Hierarchy.from_paths([("US", "GA", "1"), ("US", "MI", "1")]).down_to(1)
            Hierarchy(3 regions, levels 1 / 2)
        """
        stop = self.level(level).stop
        first_child = np.minimum(self.first_child[: stop + 1], stop)
        parts = self.parent[:stop], first_child, self.level_start[: level + 2], self.order[:stop], self.padded[:stop]
        names = None if self.level_names is None else self.level_names[: level + 1]
        return Hierarchy(self.paths[:stop], *parts, level_names=names)

    def children(self, region: int) -> range:
        """Give the regions directly below one, as indices."""
        if not _is_index(region) or not 0 <= region < self.n_regions:
            raise HierarchyError(f"region {region!r} does not exist; regions run 0..{self.n_regions - 1}")
        return range(int(self.first_child[region]), int(self.first_child[region + 1]))

    def name(self, region: int) -> str:
        return self.paths[region][-1]

    def index(self, path: Sequence[str]) -> int:
        """Find the index of the region with this path."""
        try:
            return self._index[tuple(map(region_name, path))]
        except (KeyError, TypeError, AttributeError):
            shown = _show(tuple(path)) if isinstance(path, tuple | list) else repr(path)
            last = path[-1] if isinstance(path, tuple | list) and path else path
            meant = next((known for known in self.paths if isinstance(last, str) and known[-1] == last), None)
            hint = "" if meant is None else f", perhaps {_show(meant)}, {'/'.join(meant)!r} on the command line"
            raise HierarchyError(f"no region {shown}; regions are named by their path from the root{hint}") from None

    def find(self, region: int | Sequence[str] | None) -> int:
        """Find the region with this path or this index; the root if None.

        Raises:
            HierarchyError: there is none.
        """
        if region is None:
            return 0
        if _is_index(region):
            if not 0 <= int(region) < self.n_regions:  # pyright: ignore[reportArgumentType]
                raise HierarchyError(f"region {region!r} does not exist; regions run 0..{self.n_regions - 1}")
            return int(region)  # pyright: ignore[reportArgumentType]
        return self.index(region)  # pyright: ignore[reportArgumentType]

    @cached_property
    def real_paths(self) -> tuple[Path, ...]:
        """The path of every region without the names that padding repeats."""
        paths: list[Path] = []
        for region, parent in enumerate(self.parent):
            paths.append(paths[parent] if parent >= 0 and self.padded[parent] else self.paths[region])
        return tuple(paths)

    @cached_property
    def listed(self) -> np.ndarray:
        """The regions without those that padding put above a copy of themselves; shape (at most regions,)."""
        return np.flatnonzero(~self.padded)

    def region_columns(self, level_names: Sequence[str] | None) -> dict[str, Any]:
        """The columns that describe regions in tables: `region_id`, `level`, `level_name`, `is_leaf`, a name per level.

        Every column has one entry per region; those of a padded region are those of its copies. If no names of levels
        are given, they are those of the hierarchy.
        """
        names = self.level_names if level_names is None else level_names
        leaves = self.padded | (np.arange(self.n_regions) >= self.n_inner)
        return region_columns(self.real_paths, leaves, checked_level_names(self.n_levels, names))

    @property
    def regions_per_level(self) -> list[int]:
        """The number of regions of every level, root first, with the copies that padding makes."""
        return [int(n) for n in np.diff(self.level_start)]

    def to_frame(self, *, level_names: Sequence[str] | None = None) -> "pd.DataFrame":
        """Make a data frame of the regions, one row each: `region_columns` and the `parent_id`, None at the root.

        A region that padding repeats has one row, that of a leaf.

        Example:
            >>> Hierarchy.from_parents(["US", "GA"], [-1, 0]).to_frame()[["region_id", "level", "is_leaf"]]
              region_id  level  is_leaf
            0        US      0    False
            1     US/GA      1     True
        """
        with extra("release"):
            import pandas as pd

        above = [region_id(path[:-1]) if path[1:] else None for path in self.real_paths]
        columns = self.region_columns(level_names)
        require_other_names(columns, "parent_id")
        frame = pd.DataFrame({**columns, "parent_id": above})
        return frame.take(self.listed).reset_index(drop=True)

    @cached_property
    def level_of(self) -> np.ndarray:
        """The level of every region; shape (regions,)."""
        return np.repeat(np.arange(self.n_levels), np.diff(self.level_start))

    @cached_property
    def only_children(self) -> np.ndarray:
        """Whether a region has no siblings, so that it has its parent's counts; shape (regions,), the root False."""
        alone = np.zeros(self.n_regions, bool)
        alone[self.first_child[:-1][np.diff(self.first_child) == 1]] = True
        alone.flags.writeable = False
        return alone

    def sum_children(self, values: np.ndarray, level: int) -> np.ndarray:
        """Add up rows over the children of every region of `level`; rows are of all regions; shape (of level, ...)."""
        return self.sum_below(values[self.level(level + 1)], level)

    def sum_below(self, values: np.ndarray, level: int) -> np.ndarray:
        """Add up rows over the children of every region of `level`; rows are of the level below it alone."""
        here = self.level(level)
        return np.add.reduceat(values, self.first_child[here] - here.stop, axis=0)

    def sum_up(self, leaf_values: np.ndarray) -> np.ndarray:
        """Add the values of the leaves upwards to those of all regions; shape (regions, ...)."""
        values = np.empty((self.n_regions, *leaf_values.shape[1:]), leaf_values.dtype)
        values[self.leaves] = leaf_values
        for level in range(self.n_levels - 2, -1, -1):
            values[self.level(level)] = self.sum_children(values, level)
        return values

    def sum_up_sparse(self, leaf_values: "scipy.sparse.csr_array") -> "scipy.sparse.csr_array":
        """Do the same as `sum_up` for sparse rows."""
        levels: list[Any] = [scipy.sparse.csr_array(leaf_values)]
        for level in range(self.n_levels - 2, -1, -1):
            here = self.level(level)
            bounds = self.first_child[here.start : here.stop + 1] - here.stop
            n_children = int(bounds[-1])
            parents = scipy.sparse.csr_array((np.ones(n_children, np.int64), np.arange(n_children), bounds))
            levels.insert(0, scipy.sparse.csr_array(parents @ levels[0]))
        return scipy.sparse.csr_array(scipy.sparse.vstack(levels))

    @cached_property
    def _index(self) -> dict[Path, int]:
        return {path: region for region, path in enumerate(self.paths)}

    @property
    def levels_text(self) -> str:
        """The numbers of regions from the root down in words, such as 1 / 9 / 51."""
        return " / ".join(f"{n:,}" for n in np.diff(self.level_start))

    def __repr__(self) -> str:
        return f"Hierarchy({self.n_regions:,} regions, levels {self.levels_text})"

    def _repr_html_(self) -> str:
        return facts_table(
            "Hierarchy",
            {
                "regions": self.n_regions,
                "regions by level, root first": self.levels_text,
                "names of levels": " / ".join(self.level_names or ()) or None,
                "root": self.name(0),
                "first leaf": " / ".join(self.paths[self.n_inner]),
                "padded": int(self.padded.sum()) or None,
            },
        )


class RegionNames(Sequence[str]):
    """The names of the regions of a hierarchy, in full, made when they are asked for."""

    def __init__(self, hierarchy: Hierarchy) -> None:
        self.paths = hierarchy.paths

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, region: int) -> str:  # pyright: ignore[reportIncompatibleMethodOverride]
        return "/".join(self.paths[region])


def _is_index(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _items(values: Iterable[Any], what: str) -> list[Any]:
    require_places(values)
    try:
        return list(values)
    except TypeError:
        raise HierarchyError(f"{what} is {values!r}; give a list with one item per region") from None


def _checked_path(given: object, known: dict[str, str]) -> Path:
    """Check a path; `known` are names that need no more checking, and what they are written as."""
    if isinstance(given, str) or not (isinstance(given, Sequence) or (isinstance(given, np.ndarray) and given.ndim)):
        raise HierarchyError(f"a region is a sequence of names from the root down, not {given!r}; write ('US', 'GA')")
    for name in given:
        if type(name) is not str or name not in known:
            known[name] = _checked_name(name)
    if not len(given):
        raise HierarchyError("a region has an empty path; the shortest is the root's, ('US',)")
    return tuple([known[name] for name in given])


def _checked_name(name: object) -> str:
    if not isinstance(name, str):
        raise HierarchyError(
            f"region id {name!r} is a {type(name).__name__}, not text; read ids as text, else '01001' becomes 1001"
        )
    written = region_name(name)
    if not written:
        raise HierarchyError("a region has an empty name; name every region")
    if not written.isprintable() and any(unicodedata.category(c) in ("Cc", "Cf", "Cs") for c in written):
        raise HierarchyError(f"region name {name!r} holds a control character; remove it")
    return str(written)


def _checked_parents(names: list[str], parents: list[object]) -> list[int]:
    if len(names) != len(parents):
        raise HierarchyError(f"{len(names)} names but {len(parents)} parents; give one parent per region")
    above: list[int] = []
    root = None
    for name, parent in zip(names, parents, strict=True):
        _checked_name(name)
        if isinstance(parent, Sequence | np.ndarray) and not isinstance(parent, str):
            raise HierarchyError(f"region {name!r} has several parents, {parent!r}; a region lies in exactly one")
        if isinstance(parent, bool) or not isinstance(parent, int | np.integer):
            raise HierarchyError(
                f"region {name!r} has parent {parent!r}; parents are positions in the list, -1 the root's"
            )
        if parent == len(above):
            raise HierarchyError(f"region {name!r} is its own parent; give the region above it")
        if not -1 <= parent < len(names):
            raise HierarchyError(
                f"region {name!r} is an orphan: its parent {parent} is unknown; parents are positions "
                f"0..{len(names) - 1}"
            )
        if parent == -1 and root is not None:
            raise HierarchyError(f"two roots, {root!r} and {name!r}; put them below one common region")
        if parent == -1:
            root = name
        above.append(int(parent))
    if names and root is None:
        raise HierarchyError("no root: every region has a parent, so some form a cycle; give the root parent -1")
    return above


def _assemble(
    root: Path, children: dict[Path, dict[Path, None]], listed: dict[Path, int], pad_ragged: bool
) -> Hierarchy:
    depth = max(map(len, listed))
    short = [path for path in listed if not children[path] and len(path) < depth]
    if short and not pad_ragged:
        raise HierarchyError(
            f"ragged hierarchy: {_show(short[0])} ends at level {len(short[0]) - 1}, others at level {depth - 1}; "
            "give every branch the same depth, or pass pad_ragged=True (in a TOML file, pad_ragged = true)"
        )
    padded: set[Path] = set()
    for path in short:
        for copies in range(depth - len(path)):
            upper = (*path, *path[-1:] * copies)
            lower = (*upper, path[-1])
            padded.add(upper)
            children[upper], children[lower] = {lower: None}, {}
            listed[lower] = listed[path]
    paths: list[Path] = [root]
    parent, first_child, level_start = [-1], [], [0]
    while level_start[-1] < len(paths):
        start, end = level_start[-1], len(paths)
        for region in range(start, end):
            first_child.append(len(paths))
            for child in children[paths[region]]:
                paths.append(child)
                parent.append(region)
        level_start.append(end)
    first_child.append(len(paths))
    return Hierarchy(
        tuple(paths),
        _frozen(parent),
        _frozen(first_child),
        _frozen(level_start),
        _frozen([listed.get(path, -1) for path in paths]),
        _frozen([path in padded for path in paths], bool),
    )


def _frozen(values: list, dtype: type = np.int64) -> np.ndarray:
    array = np.array(values, dtype)
    array.flags.writeable = False
    return array


def _show(path: Path) -> str:
    return " / ".join(map(repr, path))
