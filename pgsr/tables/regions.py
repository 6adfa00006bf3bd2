"""The public table of regions, and which leaf a region id or a path of names stands for."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from pgsr.data.hierarchy import Hierarchy, Path
from pgsr.data.region_ids import like, notes_of_names, region_name
from pgsr.errors import ArgumentError, HierarchyError, TableError
from pgsr.tables.session import Session
from pgsr.tables.source import Source, source
from pgsr.tables.sql import IdKind, id_kind, name, require_one_kind

Key = tuple[str | None, ...]
"""How a table refers to a region: (id,), or one name per level, None below an inner region."""

LARGEST_TABLE = 10_000_000
"""Most regions; a column with more ids is no column of regions."""


@dataclass(frozen=True, eq=False)
class Parents:
    """The table Hierarchy(region, parent): one row per region, no parent at the root. A region's id is its name.

    Args:
        table: anything `source` takes.
        region, parent: the columns.
        pad_ragged: as in `Hierarchy.from_paths`.
    """

    table: Any
    region: str = "region"
    parent: str = "parent"
    pad_ragged: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "table", source(self.table))


@dataclass(frozen=True, eq=False)
class Levels:
    """A table with one column of names per level, root first; empty below a branch's end (see `pad_ragged`).

    Args:
        table: anything `source` takes.
        levels: the columns, root first.
        region: a column of ids for the paths, each id and path once; None where regions are named by their path. Paths
            may repeat then, so the table of groups itself will do.
        pad_ragged: as in `Hierarchy.from_paths`.
    """

    table: Any
    levels: tuple[str, ...]
    region: str | None = None
    pad_ragged: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "table", source(self.table))
        object.__setattr__(self, "levels", column_tuple(self.levels))


@dataclass(frozen=True, eq=False)
class Located:
    """A hierarchy, the leaf that every key stands for (its position among the leaves, or `INNER`), notes on names."""

    hierarchy: Hierarchy
    kinds: tuple[IdKind, ...]
    leaf: dict[Key, int]
    notes: tuple[str, ...]


INNER = -1


def source_of(given: "Hierarchy | Parents | Levels") -> list[Source]:
    """Find the source to be read for a hierarchy, if any."""
    return [] if isinstance(given, Hierarchy) else [given.table]


def locate(given: "Hierarchy | Parents | Levels", by_path: bool, session: Session) -> Located:
    """Read a hierarchy; its regions are referred to by a path of names or by one id.

    Raises:
        HierarchyError: the rows form no tree, or repeat a region.
        TableError: a column is missing or no column of ids.
    """
    if isinstance(given, Hierarchy):
        return _located(given, (IdKind.TEXT,) * (given.n_levels if by_path else 1), by_path)
    what = "the table of regions"
    if isinstance(given, Parents):
        types = session.require(given.table, (given.region, given.parent), what)
        if by_path:
            raise TableError("a hierarchy of regions and parents names regions by id; give one region column")
        kind, above = id_kind(types, given.region, what), id_kind(types, given.parent, what)
        require_one_kind(kind, f"column {given.region!r}", above, f"column {given.parent!r}")
        rows, spelled = _names(session, (given.region, given.parent), given.table, what, "")
        found = _located(_from_parents(rows, given.pad_ragged), (kind,), False)
        return replace(found, notes=tuple(notes_of_names(chain(*spelled))))
    columns = given.levels if given.region is None else (given.region, *given.levels)
    types = session.require(given.table, columns, what)
    kinds = tuple(id_kind(types, column, what) for column in columns)
    if given.region is None:
        if not by_path:
            raise TableError(f"regions are named by {len(given.levels)} levels here; give groups a tuple of columns")
        keys, spelled = _names(session, columns, given.table, what, "DISTINCT")
        listed_paths = sorted(set(map(path_of, keys)))
        _require_one_root(listed_paths, given, what)
        tree = Hierarchy.from_paths(listed_paths, pad_ragged=given.pad_ragged)
        return replace(_located(_named(tree, given.levels), kinds, True), notes=_notes(spelled))
    if by_path:
        raise TableError(f"regions have ids in column {given.region!r}; give groups the one column with these ids")
    paths: dict[str, Path] = {}
    keys, spelled = _names(session, columns, given.table, what, "")
    for region, *names in keys:
        _require_new(region, paths)
        paths[str(region)] = path_of(tuple(names))
    _require_one_root(paths.values(), given, what)
    tree = _named(Hierarchy.from_paths(paths.values(), pad_ragged=given.pad_ragged), given.levels)
    leaf = _located(tree, kinds[1:], True).leaf
    filled = {id_: (*path, *(None,) * (len(given.levels) - len(path))) for id_, path in paths.items()}
    return Located(tree, kinds[:1], {(id_,): leaf[key] for id_, key in filled.items()}, _notes(spelled))


def _require_one_root(paths: Iterable[Path], given: Levels, what: str) -> None:
    """Raise `HierarchyError` if the first column has several names, and say which column is missing."""
    roots = {path[0] for path in paths}
    if len(roots) > 1:
        first, second, *_ = sorted(roots)
        raise HierarchyError(
            f"two roots, {first!r} and {second!r}, in column {given.levels[0]!r} of {what}; add a column in which "
            "every row has the name of the whole, such as 'USA', and name it before the others, root first"
        )


def _named(tree: Hierarchy, columns: tuple[str, ...]) -> Hierarchy:
    """Name the levels by their columns; a table may lack names in the last ones, and so have fewer levels.

    Columns whose names a long table cannot give to levels, such as `level`, are read as any other, and name none.
    """
    try:
        return tree.with_level_names(columns[: tree.n_levels])
    except ArgumentError:
        return tree


def path_of(key: Key) -> Path:
    """Make a path from one name per level.

    Raises:
        HierarchyError: a level is empty above a named one, or all are.

    Example:
        >>> path_of(("US", "GA", None))
        ('US', 'GA')
    """
    path = tuple(name for name in key if name is not None)
    if not path or key[: len(path)] != path:
        raise HierarchyError(f"a region has the levels {key!r}; name every level from the root down to the region")
    return path


def column_tuple(columns: object) -> tuple[str, ...]:
    """Check several column names, root first, and return them as a tuple."""
    if isinstance(columns, str) or not isinstance(columns, tuple | list) or not columns:
        raise ArgumentError(f"levels are {columns!r}; give a tuple of columns, root first, ('nation', 'state')")
    return tuple(columns)


def _located(tree: Hierarchy, kinds: tuple[IdKind, ...], by_path: bool) -> Located:
    leaf: dict[Key, int] = {}
    for region, path in enumerate(tree.real_paths):
        key = (*path, *(None,) * (len(kinds) - len(path))) if by_path else path[-1:]
        copy = key in leaf and bool(tree.padded[tree.parent[region]])
        if key in leaf and not copy:
            raise TableError(f"two regions are called {path[-1]!r}; name regions by their path, one column per level")
        leaf[key] = region - tree.n_inner if region >= tree.n_inner else INNER
    return Located(tree, kinds, leaf, ())


def _names(session: Session, columns: Sequence[str], table: Source, what: str, how: str) -> tuple[list[Key], list[Key]]:
    """Read rows of names, and how every column spells them."""
    listed = ", ".join(f"CAST({name(column)} AS VARCHAR)" for column in columns)
    scan = session.scan(table, what)
    rows = session.rows(f"SELECT {how} {listed} FROM {scan} LIMIT {LARGEST_TABLE + 1}", what)
    if len(rows) > LARGEST_TABLE:
        raise TableError(f"{what} has more than {LARGEST_TABLE:,} regions; name the columns of regions, not of groups")
    return [tuple(region_name(value or "") or None for value in row) for row in rows], list(zip(*rows, strict=True))


def _notes(spelled: list[Key]) -> tuple[str, ...]:
    return tuple(note for column in spelled for note in notes_of_names(column))


def _from_parents(rows: list[Key], pad_ragged: bool) -> Hierarchy:
    place: dict[str, int] = {}
    above: list[str | None] = []
    for region, parent in rows:
        if region in place and above[place[region]] != parent:
            both = " and ".join(repr(p) if p else "none" for p in (above[place[region]], parent))
            raise HierarchyError(f"region {region!r} has two parents, {both}; a region lies in exactly one")
        _require_new(region, place)
        place[str(region)] = len(above)
        above.append(parent)
    for region, parent in zip(place, above, strict=True):
        if parent is not None and parent not in place:
            raise HierarchyError(
                f"region {region!r} is an orphan: its parent {parent!r} is unknown{like(parent, place)}; give the "
                "parent a row, with an empty parent if it is the root"
            )
    roots = [region for region, parent in zip(place, above, strict=True) if parent is None]
    if len(roots) > 1:
        raise HierarchyError(
            f"two roots, {roots[0]!r} and {roots[1]!r}, which have no parent; add a row for the whole, such as 'USA' "
            "with an empty parent, and name it as the parent of both"
        )
    positions = [-1 if parent is None else place[parent] for parent in above]
    return Hierarchy.from_parents(list(place), positions, pad_ragged=pad_ragged)


def _require_new(region: str | None, known: Iterable[str]) -> None:
    if region is None:
        raise HierarchyError("a row of the table of regions has no region id; give every region an id")
    if region in known:
        raise HierarchyError(f"region {region!r} is listed twice; list each region once")
