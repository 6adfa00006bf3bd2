"""The counting of groups, from the papers' tables to counts by region and size, in bounded memory."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import NoneType
from typing import Any

import numpy as np
from scipy import sparse

from pgsr.checks import require_kind, whole_number
from pgsr.data.counts import LARGEST_DENSE, CountOfCounts
from pgsr.data.hierarchy import Hierarchy
from pgsr.data.sizes import require_falling
from pgsr.errors import ArgumentError, MemoryNeededError, TableError
from pgsr.machine import memory
from pgsr.tables.checks import (
    ENTITIES,
    GROUPS,
    at_row,
    check_entities,
    check_group_ids,
    leaf_sql,
    quantity_sql,
    refuse,
)
from pgsr.tables.inputs import Entities, Groups, PrivateLog, Quantities, columns_of
from pgsr.tables.regions import Levels, Located, Parents, locate, source_of
from pgsr.tables.session import Limits, Session
from pgsr.tables.sql import IdKind, id_kind, id_sql, require_one_kind


def count_groups(
    entities: Entities | Quantities,
    groups: Groups | None,
    hierarchy: Hierarchy | Parents | Levels | None = None,
    *,
    max_size: int | Sequence[int],
    private_groups: bool = False,
    name: str = "",
    limits: Limits | None = None,
    log: PrivateLog | None = None,
) -> CountOfCounts:
    """Count the groups of every size 0..K in every region:

        counts[r, s] = #{groups g in r: min(size(g), K) = s},   size(g) = #{rows of g}, or the sum of z over its tuples.

    The public table of groups gives the groups of size 0 and every region's total, on which the sensitivities rest.
    Rows that fit nowhere are refused, never dropped. How tables are read follows from declarations and schemas, never
    from rows.

    Args:
        entities: the private rows.
        groups: the public table of groups.
        hierarchy: the public regions; None if `groups` has a column per level and every region has a group.
        max_size: K, public, at least 1. Larger groups count as K. Or one K per level, root first, which do not rise.
        private_groups: the table of groups is private, or absent (`groups=None`; then a group exists if it has a row,
            and rows must tell their region). The noise pays for totals, too: `Geometric(..., totals="noisy")`.
        name: the data set's name; research noise is keyed by it.
        limits: of memory, threads and disk.
        log: takes the numbers that are not for publication.

    Raises:
        TableError: an absent table, a missing or wrong column, a row that fits nowhere or twice, a group in two leaves.
        HierarchyError: the regions form no tree.
        CountError, MemoryNeededError: a largest size rises from a level to the one below it; the counts do not fit.
        ArgumentError: an argument of the wrong kind, K < 1, or there is not one K per level.

    Example:
        >>> import pandas as pd
        >>> people = pd.DataFrame({"entity": ["Ann", "Bob", "Cy"], "group": [1, 1, 2]})
        >>> homes = pd.DataFrame({"group": [1, 2, 3], "nation": "US", "state": ["GA", "MI", "MI"]})
        >>> truth = count_groups(Entities(people), Groups(homes, region=("nation", "state")), max_size=3)
        >>> truth.counts[truth.hierarchy.index(("US", "MI"))]
        array([1, 1, 0, 0])
        >>> truth = count_groups(Entities(people), Groups(homes, region=("nation", "state")), max_size=(2, 1))
        >>> [table.tolist() for table in truth.tables]
        [[[1, 1, 1]], [[0, 1], [1, 1]]]

    Source: Kuo et al. 2018, section 3; Fioretto and Van Hentenryck 2019, section 2. Against a loop over dictionaries:
    `test_tables.py::test_counts_equal_a_loop_over_dictionaries`.
    """
    sizes = tuple(max_size) if isinstance(max_size, list | tuple) else (max_size,)
    sizes = tuple(whole_number("max_size", each, 1, ArgumentError) for each in sizes)
    require_falling(sizes)
    with _counted(entities, groups, hierarchy, sizes, private_groups, limits, log) as found:
        per_level = isinstance(max_size, list | tuple)
        counts = _tables(found, sizes) if per_level else _table(found, sizes[0])
        made = CountOfCounts(found.tree, counts, name, max_quantity=_most(entities), private_groups=private_groups)
        made.about = "; ".join(found.notes)
        return made


@dataclass(frozen=True)
class _Counted:
    """The filled cells of all leaves, in a table of the session."""

    session: Session
    cells: str
    tree: Hierarchy
    notes: tuple[str, ...]
    log: PrivateLog | None

    def leaf_cells(self, needed: Callable[[int], int], what: str) -> dict[str, np.ndarray]:
        """Read leaf, size and number of groups of every filled cell, if the memory suffices that so many need."""
        [(n_cells, n_rows, clipped, cut)] = self.session.rows(
            f"SELECT count(*), sum(n_rows), sum(clipped), sum(cut) FROM {self.cells}", ENTITIES
        )
        try:
            memory.require(needed(n_cells), what)
        except MemoryNeededError as error:  # how much is needed tells how many cells are filled
            self.session.note(str(error))
            raise MemoryNeededError(f"{what} does not fit into the memory that is free; {memory.SMALLER}") from None
        if self.log is not None:
            self.log.entities, self.log.clipped_groups = int(n_rows or 0), int(clipped or 0)
            self.log.clipped_quantities = int(cut or 0)
        found = self.session.columns(f"SELECT leaf, size, n_groups FROM {self.cells}", ENTITIES)
        return {name: np.asarray(column, np.int64) for name, column in found.items()}


@contextmanager
def _counted(
    entities: Entities | Quantities,
    groups: Groups | None,
    hierarchy: Hierarchy | Parents | Levels | None,
    sizes: tuple[int, ...],
    private_groups: bool,
    limits: Limits | None,
    log: PrivateLog | None,
) -> Iterator[_Counted]:
    """Read the tables and count sizes up to the largest one; a single one stands for all levels."""
    largest = sizes[0]
    _check_arguments(entities, groups, hierarchy, private_groups, limits, log)
    if hierarchy is None:
        assert groups is not None
        hierarchy = Levels(groups.table, columns_of(groups.region))
    memory.require(32 * (largest + 1), f"a row of {largest + 1:,} sizes")
    sources = [entities.table, *([groups.table] if groups else []), *source_of(hierarchy)]
    public = [source for source in sources[1:] if groups is None or source is not groups.table or not private_groups]
    with Session(limits or Limits(), sources, public, log.faults if log is not None else None) as session:
        kind = _checked_kinds(session, entities, groups)
        region = groups.region if groups is not None else entities.region
        located = locate(hierarchy, not isinstance(region, str), session)
        if len(sizes) not in (1, located.hierarchy.n_levels):
            raise ArgumentError(
                f"{len(sizes)} largest sizes for {located.hierarchy.n_levels} levels; give one per level, root first"
            )
        parts = []
        if groups is not None:
            check_group_ids(session, groups, kind, not private_groups)
            join, leaf = leaf_sql(session, groups.table, groups.region, located, GROUPS, not private_groups)
            zero = ", 0 AS z, 0 AS cut" if isinstance(entities, Quantities) else ""
            g = id_sql(groups.group, kind)
            parts.append(
                f"SELECT {g} AS g, {leaf} AS leaf, 1 AS listed{zero} FROM {session.scan(groups.table, GROUPS)} {join}"
            )
        check_entities(session, entities, groups is not None)
        parts.append(_entity_part(session, entities, located, kind))
        states = _states(entities, groups, " UNION ALL ".join(parts))
        cells = session.keep(_cells(states, largest), ENTITIES)
        _refuse_states(session, cells, entities, groups, kind, " UNION ALL ".join(parts), located, not private_groups)
        yield _Counted(session, cells, located.hierarchy, located.notes, log)


def _check_arguments(
    entities: object, groups: object, hierarchy: object, private_groups: bool, limits: object, log: object
) -> None:
    require_kind(limits, (Limits, NoneType), "limits", "give Limits(...) or None")
    require_kind(
        entities, (Entities, Quantities), "entities", "give Entities(table) or Quantities(table, max_quantity)"
    )
    assert isinstance(entities, Entities | Quantities)
    require_kind(log, (PrivateLog, NoneType), "log", "give PrivateLog() or None")
    if hierarchy is not None:
        require_kind(hierarchy, (Hierarchy, Parents, Levels), "hierarchy", "give a Hierarchy, Parents or Levels")
    if groups is None:
        if not private_groups:
            raise TableError(
                "there is no table of groups, so groups without entities and the regions' totals are unknown; give "
                "Groups(table), or say private_groups=True and pay for the totals with Geometric(..., totals='noisy')"
            )
        if entities.region is None:
            raise TableError("without a table of groups the entities must tell their region; name its column")
    else:
        require_kind(groups, Groups, "groups", "give Groups(table) or None")
        if hierarchy is None and isinstance(groups.region, str):  # pyright: ignore[reportAttributeAccessIssue]
            raise TableError("there is no hierarchy; give one, or name a column per level in Groups(region=(...))")
    if hierarchy is None and private_groups:
        raise TableError("the hierarchy is public and cannot come from private groups; give it")


def _checked_kinds(session: Session, entities: Entities | Quantities, groups: Groups | None) -> IdKind:
    wanted = [entities.group, *([entities.entity] if entities.entity is not None else [])]
    wanted += list(columns_of(entities.region)) if entities.region else []
    wanted += [entities.quantity] if isinstance(entities, Quantities) else []
    types = session.require(entities.table, wanted, ENTITIES)
    kind = id_kind(types, entities.group, ENTITIES)
    if groups is not None:
        listed = session.require(groups.table, [groups.group, *columns_of(groups.region)], GROUPS)
        require_one_kind(
            kind,
            f"column {entities.group!r} of {ENTITIES}",
            id_kind(listed, groups.group, GROUPS),
            f"column {groups.group!r} of {GROUPS}",
        )
    return kind


def _entity_part(session: Session, entities: Entities | Quantities, located: Located, kind: IdKind) -> str:
    join, leaf = "", "CAST(NULL AS INTEGER)"
    if entities.region is not None:
        join, leaf = leaf_sql(session, entities.table, entities.region, located, ENTITIES, False)
    amounts = ""
    if isinstance(entities, Quantities):
        z, most = quantity_sql(session.types(entities.table, ENTITIES), entities), entities.max_quantity
        amounts = f", least({z}, {most}) AS z, CAST({z} > {most} AS INTEGER) AS cut"
    scan = session.scan(entities.table, ENTITIES)
    return f"SELECT {id_sql(entities.group, kind)} AS g, {leaf} AS leaf, NULL AS listed{amounts} FROM {scan} {join}"


def _states(entities: Entities | Quantities, groups: Groups | None, rows: str) -> str:
    """Make one row per group: its leaf, its size and what is wrong with it.

    Groups and entities go through one aggregation, so that no join of two large tables is needed.
    """
    weighted = isinstance(entities, Quantities)
    size = "sum(z)" if weighted else "count(*) - count(listed)"
    cut = "sum(cut)" if weighted else "0"
    faults = "WHEN count(listed) = 0 THEN 1 WHEN count(listed) > 1 THEN 2 " if groups is not None else ""
    if entities.region is not None:
        faults += "WHEN min(leaf) <> max(leaf) THEN 3 "
    state = f"CASE {faults}ELSE 0 END" if faults else "0"
    n_rows = "count(*) - count(listed)"
    return (
        f"SELECT max(leaf) AS leaf, {state} AS state, {size} AS size, {n_rows} AS n_rows, {cut} AS cut "
        f"FROM ({rows}) GROUP BY g"
    )


def _cells(states: str, largest: int) -> str:
    return (
        f"SELECT state, CASE WHEN state = 0 THEN leaf END AS leaf, CAST(least(size, {largest}) AS BIGINT) AS size, "
        f"count(*) AS n_groups, CAST(sum(n_rows) AS BIGINT) AS n_rows, CAST(sum(cut) AS BIGINT) AS cut, "
        f"count(*) FILTER (size > {largest}) AS clipped FROM ({states}) GROUP BY ALL"
    )


def _refuse_states(
    session: Session,
    cells: str,
    entities: Entities | Quantities,
    groups: Groups | None,
    kind: IdKind,
    rows: str,
    located: Located,
    public: bool,
) -> None:
    found = dict.fromkeys((1, 2, 3), (0, 0))
    for state, n_groups, n_rows in session.rows(
        f"SELECT state, CAST(sum(n_groups) AS BIGINT), CAST(sum(n_rows) AS BIGINT) FROM {cells} GROUP BY state",
        ENTITIES,
    ):
        found[state] = n_groups, n_rows
    if found[1][0]:
        assert groups is not None
        known = f"SELECT {id_sql(groups.group, kind)} FROM {session.scan(groups.table, GROUPS)}"
        condition = f"{id_sql(entities.group, kind)} NOT IN ({known})"
        where = at_row(session, entities.table, condition, ENTITIES)
        fault = f"entities are in groups that {GROUPS} does not list"
        remedy = "add the groups or mend the ids, none is dropped"
        refuse(session, found[1][1], fault, remedy, False, lambda: f"{where()}, {found[1][0]:,} such groups")
    if found[2][0]:
        _refuse_repeats(session, found[2][0], rows, located, public)
    own = "entities outside their own region" if groups is not None else "entities in several regions"
    remedy = "a group lies in one leaf: mend the regions, or make (group, region) pairs the groups"
    refuse(session, found[3][0], f"groups have {own}", remedy, False)


def _refuse_repeats(session: Session, n: int, rows: str, located: Located, public: bool) -> None:
    """Refuse groups that are listed more than once; a group in two leaves is told first."""
    [(g, low, high)] = session.rows(
        f"SELECT g, min(leaf), max(leaf) FROM ({rows}) WHERE listed = 1 GROUP BY g HAVING count(*) > 1 "
        "ORDER BY min(leaf) = max(leaf), g LIMIT 1",
        GROUPS,
    )
    many = f" ({n:,} groups are listed more than once)" if public else ""
    if not public:
        session.note(f"{n:,} groups are listed more than once in {GROUPS}")
    which = f"group {g!r}" if public else "a group"
    if low == high:
        raise TableError(f"{which} is listed twice in {GROUPS}{many}; list each once")
    both = " and ".join(_leaf_name(located.hierarchy, leaf) for leaf in (low, high)) if public else "two leaves"
    raise TableError(
        f"{which} lies in {both}{many}; a group lies in one leaf: make (group, region) pairs the groups if it may span "
        "several"
    )


def _table(found: _Counted, largest: int) -> Any:
    """Make the counts of the leaves, dense or sparse."""
    tree = found.tree
    dense = 8 * tree.n_regions * (largest + 1)
    what = f"a table of {tree.n_regions:,} regions x {largest + 1:,} sizes"
    cells = found.leaf_cells(lambda n_cells: 3 * min(dense, 24 * n_cells * tree.n_levels), what)
    n_leaves = tree.n_regions - tree.n_inner
    place = cells["leaf"], cells["size"]
    table = sparse.csr_array((cells["n_groups"], place), shape=(n_leaves, largest + 1))
    return table if dense > LARGEST_DENSE else table.toarray()


def _most(entities: Entities | Quantities) -> int:
    """Say what a row adds to the size of its group at most."""
    return entities.max_quantity if isinstance(entities, Quantities) else 1


def _tables(found: _Counted, max_sizes: Sequence[int]) -> list[np.ndarray]:
    """Make the counts of every level, root first."""
    tree = found.tree
    levels = [tree.level(level) for level in range(tree.n_levels)]
    shapes = [(here.stop - here.start, k + 1) for here, k in zip(levels, max_sizes, strict=True)]
    dense = 8 * sum(n * m for n, m in shapes)
    cells = found.leaf_cells(lambda n_cells: dense + 40 * n_cells, f"a table of {tree.n_regions:,} regions")
    tables, region = [], cells["leaf"] + tree.n_inner
    for here, shape, k in zip(reversed(levels), reversed(shapes), reversed(max_sizes), strict=True):
        table = np.zeros(shape, np.int64)
        np.add.at(table, (region - here.start, np.minimum(cells["size"], k)), cells["n_groups"])
        tables.insert(0, table)
        region = tree.parent[region]
    return tables


def _leaf_name(tree: Hierarchy, leaf: int) -> str:
    return " / ".join(map(repr, tree.paths[tree.n_inner + leaf]))
