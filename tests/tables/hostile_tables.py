"""The hostile rows that tests of reading put into tables, and the count of groups by a dictionary."""

import re
from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa

from pgsr import Hierarchy
from pgsr.errors import TableError
from pgsr.tables import Entities, Groups, Limits, count_groups
from pgsr.tables.csv_files import ENCODING, FAULTS, MARKED, OPEN, UNREADABLE

TREE = Hierarchy.from_parents(["US"], [-1])
ONE = Limits(gibibytes=1, threads=1)
LARGEST = 60

IDS = [
    "#1", "#", "null", "NULL", "NA", "NaN", "None", "1", "01", "007", "7", "+1", "-1", "1e5", "100000", "1.0", "1.5",
    "true", "2020-01-01", " x", "x ", "x", "a;b", "a,b", "a\"b", "'a'", "\\", "\\N", "é", "//", "--", "inf", "0x1F",
]  # fmt: skip
"""Ids that readers like to take for something else; all are listed groups, blanks at the ends aside."""

NOTES = [*IDS, "", "a\nb", "a\r\nb", "\t", "\n#\n", '"', '""', "x" * 3000, ",,,", "line\n1,1\n"]
"""What may stand in a column that is not looked at."""

ENTITY_FAULTS = (
    "some entities have no group; name the group of every entity, none is dropped; delete rows that are empty",
    "some entities are in groups that the table of groups does not list; add the groups or mend the ids, none is "
    "dropped",
)
COLUMN_FAULT = re.compile(
    "column 'group' of the table of entities (holds values that are no plain whole numbers, such as 7|mixes types;)"
)


def told(message: str) -> bool:
    """Say whether a refusal is one of the sentences that are the same whatever the rows are."""
    of_file = {
        f"the table of entities {sentence}" for sentence in (*FAULTS.values(), OPEN, ENCODING, MARKED, UNREADABLE)
    }
    return message in of_file or message in ENTITY_FAULTS or bool(COLUMN_FAULT.match(message))


def listed(ids: list[Any]) -> Groups:
    return Groups(pa.table({"group": ids, "region": ["US"] * len(ids)}))


TEXTS = listed([*dict.fromkeys(map(str.strip, IDS))])
NUMBERS = listed([0, 1, 7, 10, -1, 100_000])


def counted(table: Any, groups: Groups = TEXTS) -> tuple[int, ...] | None:
    """Counts by size, or None if the table is refused by a sentence that tells nothing."""
    try:
        truth = count_groups(Entities(table, entity=None), groups, TREE, max_size=LARGEST, limits=ONE)
    except TableError as error:
        refusal = str(error)
    else:
        return tuple(truth.counts[0].tolist())
    assert told(refusal), refusal
    return None


def by_dictionary(groups: list[str | None], of: Groups = TEXTS) -> tuple[int, ...] | None:
    ids = of.table.table["group"].to_pylist()
    if of is NUMBERS:
        if not all(not g or re.fullmatch(r"0|-?[1-9][0-9]{0,17}", g) for g in groups):
            return None
        groups = [str(int(g)) if g else None for g in groups]
        ids = list(map(str, ids))
    groups = [g and g.strip() for g in groups]
    if not all(g and g in ids for g in groups):
        return None
    size = Counter(groups)
    sizes = Counter(min(size[i], LARGEST) for i in ids)
    return tuple(sizes[s] for s in range(LARGEST + 1))


def one_up(before: tuple[int, ...], after: tuple[int, ...]) -> bool:
    """Say whether exactly one group has grown by one."""
    change = np.subtract(after, before)
    [size] = np.flatnonzero(change == -1)
    return change[size + 1] == 1 and np.abs(change).sum() == 2


count = counted
"""The function above, where a test has the fixture of that name."""
