"""The checks of rows before they are counted. Ids of private tables are never quoted, nor their rows numbered."""

from collections.abc import Callable, Sequence

import pyarrow as pa

from pgsr.errors import TableError
from pgsr.tables.inputs import Entities, Groups, Quantities, Region, columns_of
from pgsr.tables.regions import INNER, Key, Located
from pgsr.tables.session import Session
from pgsr.tables.source import Database, Query, Source
from pgsr.tables.sql import INTEGERS, UNSEEN, IdKind, id_kind, id_sql, name, require_one_kind

EMPTY = "; delete rows that are empty"
"""What may be done about rows without an id, which spreadsheets leave at the end of a file."""

REGIONS, GROUPS, ENTITIES = "the table of regions", "the table of groups", "the table of entities"


def leaf_sql(
    session: Session, table: Source, region: Region, located: Located, what: str, public: bool
) -> tuple[str, str]:
    """Write a join clause that finds every row's leaf, and the leaf in SQL; all rows are checked to have one.

    Raises:
        TableError: a row without region, or whose region is unknown or an inner one.
    """
    columns, types = columns_of(region), session.types(table, what)
    if len(columns) != len(located.kinds):
        raise TableError(
            f"{what} names regions by {len(columns)} columns, the hierarchy by {len(located.kinds)}; give one per level"
        )
    for column, kind in zip(columns, located.kinds, strict=True):
        require_one_kind(id_kind(types, column, what), f"column {column!r} of {what}", kind, "the hierarchy")
    keys = [f"CAST({id_sql(column, id_kind(types, column, what))} AS VARCHAR)" for column in columns]
    codes = {f"k{i}": pa.array([key[i] for key in located.leaf], pa.string()) for i in range(len(columns))}
    view = session.register(pa.table({**codes, "leaf": pa.array(list(located.leaf.values()), pa.int32())}))
    _check_regions(session, columns, keys, view, table, what, public)
    on = " AND ".join(f"{key} IS NOT DISTINCT FROM {view}.k{i}" for i, key in enumerate(keys))
    return f"JOIN {view} ON {on}", f"{view}.leaf"


def check_group_ids(session: Session, groups: Groups, kind: IdKind, public: bool) -> None:
    """Raise `TableError` for a missing id, or control characters in one."""
    g, scan = id_sql(groups.group, kind), session.scan(groups.table, GROUPS)
    unseen = _unseen(g, kind)
    [(missing, hidden)] = session.rows(
        f"SELECT count(*) FILTER ({g} IS NULL), count(*) FILTER ({unseen}) FROM {scan}", GROUPS
    )
    for n, condition, fault, remedy in (
        (missing, f"{g} IS NULL", f"rows of {GROUPS} have no group id", f"give every group an id{EMPTY}"),
        (hidden, unseen, f"group ids hold control characters in {GROUPS}", "remove them"),
    ):
        refuse(session, n, fault, remedy, public, at_row(session, groups.table, condition, GROUPS))


def check_entities(session: Session, entities: Entities | Quantities, listed: bool) -> None:
    """Raise `TableError` for a row without entity or group, a hidden character, a bad quantity or a repeated entity.

    The first of these faults, in this order, is told: which one it is does not depend on the order of rows. Group ids
    are looked at if no table lists them.
    """
    table, types = entities.table, session.types(entities.table, ENTITIES)
    scan = session.scan(table, ENTITIES)
    group_kind, entity = id_kind(types, entities.group, ENTITIES), ""
    group = id_sql(entities.group, group_kind)
    remedy = f"name the group of every entity, none is dropped{EMPTY}"
    faults = [(f"{group} IS NULL", "entities have no group", remedy)]
    if not listed and group_kind is IdKind.TEXT:
        hidden = _unseen(group, group_kind)
        faults.append((hidden, f"group ids hold control characters in {ENTITIES}", "remove them"))
    if entities.entity is not None:
        kind = id_kind(types, entities.entity, ENTITIES)
        entity = id_sql(entities.entity, kind)
        faults.append((f"{entity} IS NULL", "rows have no entity id", f"give ids, or {_without_ids(entities)}"))
        if kind is IdKind.TEXT:
            faults.append((_unseen(entity, kind), "entity ids hold control characters", "remove them"))
    if isinstance(entities, Quantities):
        z = quantity_sql(types, entities)
        faults.append((f"{z} IS NULL", "quantities are no whole numbers from 0 up", "mend them"))
        if not entities.clip:
            excess = f"{z} > {entities.max_quantity}"
            remedy = "raise the public bound, or accept clip=True (in a TOML file, clip = true)"
            faults.append((excess, f"quantities exceed max_quantity={entities.max_quantity}", remedy))
    counted = ", ".join(f"count(*) FILTER ({sql})" for sql, _, _ in faults)
    [found] = session.rows(f"SELECT {counted} FROM {scan}", ENTITIES)
    for n, (sql, fault, remedy) in zip(found, faults, strict=True):
        refuse(session, n, fault, remedy, False, at_row(session, table, sql, ENTITIES))
    if entity:
        sql = f"SELECT count(*) FROM (SELECT 1 FROM {scan} GROUP BY {entity} HAVING count(*) > 1)"
        [(repeated,)] = session.rows(sql, ENTITIES)
        remedy = (
            "an entity lies in one group and is protected as one row: remove the repeats, or "
            f"{_without_ids(entities)} to protect rows"
        )
        refuse(session, repeated, "entities have more than one row", remedy, False)


def refuse(
    session: Session, n: int, fault: str, remedy: str, public: bool, where: Callable[[], str] = lambda: ""
) -> None:
    """Raise `TableError` if n rows have a fault. Of a private table only the log is told how many, and where."""
    if not n:
        return
    if public:
        raise TableError(f"{n:,} {fault}{where()}; {remedy}")
    if session.notes:
        session.note(f"{n:,} {fault}{where()}")
    raise TableError(f"some {fault}; {remedy}")


def at_row(session: Session, table: Source, condition: str, what: str) -> Callable[[], str]:
    """Say where the first bad row is, counted from 1 without the header. The rows of a query have no order."""

    def first() -> str:
        if isinstance(table, Query | Database):
            return ""
        numbered = f"(SELECT *, row_number() OVER () AS pgsr_row FROM {session.scan(table, what)})"
        [(row,)] = session.rows(f"SELECT min(pgsr_row) FROM {numbered} WHERE {condition}", what)
        return f" (first in row {row:,})" if row is not None else ""

    return first


def quantity_sql(types: dict[str, str], table: Quantities) -> str:
    """Write z as a whole number in SQL, NULL where it is none."""
    kind, z = types[table.quantity], name(table.quantity)
    if kind in INTEGERS:
        return f"CASE WHEN {z} BETWEEN 0 AND {2**62} THEN CAST({z} AS BIGINT) END"
    if kind in ("FLOAT", "DOUBLE") or kind.startswith("DECIMAL"):
        most = 2**62 if kind.startswith("DECIMAL") else 2**53 - 1  # floats from 2^53 up may be rounded
        whole = f"{z} BETWEEN 0 AND {most} AND {z} = floor({z})"
        return f"CASE WHEN {whole} THEN CAST({z} AS BIGINT) END"
    if kind == "VARCHAR":
        return f"CASE WHEN regexp_full_match({z}, '[0-9]{{1,18}}') THEN CAST({z} AS BIGINT) END"
    raise TableError(f"column {table.quantity!r} of {ENTITIES} is {kind}; quantities are whole numbers")


def _without_ids(entities: Entities | Quantities) -> str:
    key = "user" if isinstance(entities, Quantities) else "entity"
    return f'say {key}=None (in a TOML file, {key} = "")'


def _unseen(sql: str, kind: IdKind) -> str:
    return "false" if kind is IdKind.NUMBER else f"regexp_matches({sql}, {UNSEEN})"


def _check_regions(
    session: Session, columns: Sequence[str], keys: list[str], view: str, table: Source, what: str, public: bool
) -> None:
    """Check for the faults in a fixed order; a public table's first bad region, in the order of ids, is quoted.

    Where a region has a column per level, one that is no leaf lacks a name: the state, if that column is empty.
    """
    aliased = ", ".join(f"{key} AS c{i}" for i, key in enumerate(keys))
    found = f"(SELECT {aliased}, count(*) AS n FROM {session.scan(table, what)} GROUP BY ALL)"
    on = " AND ".join(f"c{i} IS NOT DISTINCT FROM k{i}" for i in range(len(keys)))
    joined = f"{found} LEFT JOIN {view} ON {on}"
    missing = " AND ".join(f"c{i} IS NULL" for i in range(len(keys)))
    c = ", ".join(f"c{i}" for i in range(len(keys)))

    def first(condition: str) -> str:
        if isinstance(table, Query | Database):
            return ""
        rows = f"(SELECT {aliased}, row_number() OVER () AS pgsr_row FROM {session.scan(table, what)})"
        [(row,)] = session.rows(f"SELECT min(pgsr_row) FROM {rows} LEFT JOIN {view} ON {on} WHERE {condition}", what)
        return f" (first in row {row:,})"

    cut_short = " OR ".join(f"c{i} IS NULL" for i in range(len(keys)))
    lacking = [
        (
            f"NOT ({missing}) AND c{i} IS NULL AND (leaf IS NULL OR leaf = {INNER})"
            + "".join(f" AND c{j} IS NOT NULL" for j in range(i)),
            f"have nothing in column {column!r}",
            "name the region of every row on every level, none is dropped",
        )
        for i, column in enumerate(columns)
        if len(columns) > 1
    ]
    for condition, fault, remedy in (
        (missing, "have no region", f"name the region of every row, none is dropped{EMPTY}"),
        *lacking,
        (f"leaf IS NULL AND NOT ({cut_short})", "lie in an unknown region", "add it to the hierarchy, or mend the id"),
        (
            f"leaf = {INNER}",
            "lie in the inner region" if public else "lie in an inner region",
            "a group lies in a leaf",
        ),
    ):
        [(n,)] = session.rows(f"SELECT CAST(sum(n) AS BIGINT) FROM {joined} WHERE {condition}", what)
        shown = ""
        if n and public and condition != missing:
            order = f"ORDER BY {', '.join(f'c{i} NULLS FIRST' for i in range(len(keys)))} LIMIT 1"
            [key] = session.rows(f"SELECT {c} FROM {joined} WHERE {condition} {order}", what)
            shown = f"{' beside' if fault.startswith('have') else ''} {_show(key)}"
        where = (lambda: "") if shown else (lambda condition=condition: first(condition))
        refuse(session, n, f"rows of {what} {fault}{shown}", remedy, public, where)


def _show(key: Key) -> str:
    return " / ".join(repr(part) for part in key if part is not None)
