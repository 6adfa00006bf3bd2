"""What rows must hold before they are counted. Ids of private tables are never quoted."""

from collections.abc import Sequence

import pyarrow as pa

from pgsr.errors import TableError
from pgsr.tables.ids import INTEGERS, UNSEEN, IdKind, id_kind, id_sql, require_one_kind
from pgsr.tables.inputs import Entities, Groups, Quantities, Region, columns_of
from pgsr.tables.regions import INNER, Key, Located
from pgsr.tables.session import Session, name
from pgsr.tables.source import Query, Source

REGIONS, GROUPS, ENTITIES = "the table of regions", "the table of groups", "the table of entities"


def leaf_sql(
    session: Session, table: Source, region: Region, located: Located, what: str, public: bool
) -> tuple[str, str]:
    """A join clause that finds every row's leaf, and the leaf in SQL; all rows are checked to have one.

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
    keys = list(map(id_sql, columns, (id_kind(types, column, what) for column in columns)))
    listed = ", ".join(f"CAST({key} AS VARCHAR)" for key in keys)
    limit = len(located.leaf) + 1
    found = session.rows(f"SELECT {listed}, count(*) FROM {session.scan(table)} GROUP BY ALL LIMIT {limit + 1}", what)
    for *key, n in sorted(found, key=lambda row: tuple(part or "" for part in row[:-1])):
        _check_key(tuple(key), n, located, what, public)
    leaves = [(key, leaf) for key, leaf in located.leaf.items() if leaf != INNER]
    codes = {f"k{i}": pa.array([key[i] for key, _ in leaves], pa.string()) for i in range(len(columns))}
    view = session.register(pa.table({**codes, "leaf": pa.array([leaf for _, leaf in leaves], pa.int32())}))
    on = " AND ".join(f"CAST({key} AS VARCHAR) IS NOT DISTINCT FROM {view}.k{i}" for i, key in enumerate(keys))
    return f"JOIN {view} ON {on}", f"{view}.leaf"


def check_group_ids(session: Session, groups: Groups, kind: IdKind, public: bool) -> None:
    """Raise `TableError` for a missing id, control characters, or two Unicode spellings of one id."""
    g, scan = id_sql(groups.group, kind), session.scan(groups.table)
    unseen, spelled = _text_faults(g, kind)
    [(missing, hidden, other)] = session.rows(
        f"SELECT count(*) FILTER ({g} IS NULL), count(*) FILTER ({unseen}), count(*) FILTER ({spelled}) FROM {scan}",
        GROUPS,
    )
    _refuse(
        missing, f"rows of {GROUPS} have no group id", "give every group an id", session, groups.table, f"{g} IS NULL"
    )
    _refuse(hidden, f"group ids hold control characters in {GROUPS}", "remove them", session, groups.table, unseen)
    if other:
        both = session.rows(
            f"WITH ids AS (SELECT {g} AS g, nfc_normalize({g}) AS n FROM {scan}) "
            "SELECT a.g, b.g FROM ids a JOIN ids b ON a.n = b.n AND a.g <> b.g WHERE a.g <> a.n LIMIT 1",
            GROUPS,
        )
        if both:
            which = f"group {both[0][0]!r}" if public else "a group"
            raise TableError(f"{which} is listed in two Unicode spellings; use one (NFC) throughout")


def check_entities(session: Session, entities: Entities | Quantities) -> None:
    """Raise `TableError` for a row without entity or group, a hidden character, a bad quantity or a repeated entity."""
    table, types = entities.table, session.types(entities.table, ENTITIES)
    scan = session.scan(table)
    faults: list[tuple[str, str, str]] = []
    group = id_sql(entities.group, id_kind(types, entities.group, ENTITIES))
    faults.append((f"{group} IS NULL", "entities have no group", "name the group of every entity; none is dropped"))
    if entities.entity is not None:
        kind = id_kind(types, entities.entity, ENTITIES)
        entity = id_sql(entities.entity, kind)
        faults.append((f"{entity} IS NULL", "rows have no entity id", "give ids, or say entity=None (user=None)"))
        if kind is IdKind.TEXT:
            faults.append((_text_faults(entity, kind)[0], "entity ids hold control characters", "remove them"))
    if isinstance(entities, Quantities):
        z = quantity_sql(types, entities)
        faults.append((f"{z} IS NULL", "quantities are no whole numbers from 0 up", "mend them"))
        if not entities.clip:
            excess = f"{z} > {entities.max_quantity}"
            remedy = "raise the public bound, or accept clip=True"
            faults.append((excess, f"quantities exceed max_quantity={entities.max_quantity}", remedy))
    counted = ", ".join(f"count(*) FILTER ({sql})" for sql, _, _ in faults)
    [found] = session.rows(f"SELECT {counted} FROM {scan}", ENTITIES)
    for n, (sql, fault, remedy) in zip(found, faults, strict=True):
        _refuse(n, fault, remedy, session, table, sql)
    if entities.entity is not None:
        kind = id_kind(types, entities.entity, ENTITIES)
        entity = id_sql(entities.entity, kind)
        key = f"nfc_normalize({entity})" if kind is IdKind.TEXT else entity
        sql = f"SELECT count(*) FROM (SELECT 1 FROM {scan} GROUP BY {key} HAVING count(*) > 1)"
        [(repeated,)] = session.rows(sql, ENTITIES)
        if repeated:
            raise TableError(
                f"{repeated:,} entities have more than one row; an entity lies in one group and is protected as one "
                "row: remove the repeats, or say entity=None (user=None) to protect rows"
            )


def quantity_sql(types: dict[str, str], table: Quantities) -> str:
    """z as a whole number, NULL where it is none."""
    kind, z = types[table.quantity], name(table.quantity)
    if kind in INTEGERS:
        return f"CASE WHEN {z} BETWEEN 0 AND {2**62} THEN CAST({z} AS BIGINT) END"
    if kind in ("FLOAT", "DOUBLE") or kind.startswith("DECIMAL"):
        whole = f"{z} BETWEEN 0 AND {2**53} AND {z} = floor({z})"
        return f"CASE WHEN {whole} THEN CAST({z} AS BIGINT) END"
    if kind == "VARCHAR":
        return f"CASE WHEN regexp_full_match({z}, '[0-9]{{1,18}}') THEN CAST({z} AS BIGINT) END"
    raise TableError(f"column {table.quantity!r} of {ENTITIES} is {kind}; quantities are whole numbers")


def at_row(session: Session, table: Source, condition: str) -> str:
    """Where the first bad row is, counted from 1 without the header. The rows of a query have no order."""
    if isinstance(table, Query):
        return ""
    numbered = f"(SELECT *, row_number() OVER () AS pgsr_row FROM {session.scan(table)})"
    [(row,)] = session.rows(f"SELECT min(pgsr_row) FROM {numbered} WHERE {condition}", ENTITIES)
    return f" (first in row {row:,})" if row is not None else ""


def _refuse(n: int, fault: str, remedy: str, session: Session, table: Source, condition: str) -> None:
    if n:
        raise TableError(f"{n:,} {fault}{at_row(session, table, condition)}; {remedy}")


def _text_faults(sql: str, kind: IdKind) -> tuple[str, str]:
    if kind is IdKind.NUMBER:
        return "false", "false"
    return f"regexp_matches({sql}, {UNSEEN})", f"{sql} <> nfc_normalize({sql})"


def _check_key(key: Key, n: int, located: Located, what: str, public: bool) -> None:
    rows = f"{n:,} rows of {what}"
    if all(part is None for part in key):
        raise TableError(f"{rows} have no region; name the region of every row, none is dropped")
    shown = f" {_show(key)}" if public else ""
    if key not in located.leaf:
        raise TableError(f"{rows} lie in an unknown region{shown}; add it to the hierarchy, or mend the id")
    if located.leaf[key] == INNER:
        raise TableError(f"{rows} lie in the inner region {_show(key)}; a group lies in a leaf")


def _show(key: Sequence[str | None]) -> str:
    return " / ".join(repr(part) for part in key if part is not None)
