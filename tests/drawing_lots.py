"""Which of the tests that repeat one path run in `make test`: drawn by lot for each commit, all in `make test-all`.

`@pytest.mark.drawn(3)` on a test: three of its sets of parameters run. `pytestmark = pytest.mark.drawn(3)` in a file:
three of the file's items. `drawn(3, pool="a nation in parts")`: three of all items with that pool. The mark of a set of
parameters goes before that of its test, and this before the file's. The lot is the environment variable PGSR_LOT if it
is set, else the commit, else the date; PGSR_LOT=all draws all. `of="planted bugs"` prints at the end which ones ran.
"""

import datetime
import hashlib
import os
import subprocess
from collections import defaultdict
from pathlib import Path

import pytest

LOT = "PGSR_LOT"


def settle_lot() -> str:
    """Fix the lot for this run; processes that it starts, the workers among them, inherit it."""
    if not os.environ.get(LOT):
        here = Path(__file__).parent
        asked = subprocess.run(
            ["git", "rev-parse", "--short=12", "HEAD"], cwd=here, capture_output=True, text=True, check=False
        )
        os.environ[LOT] = asked.stdout.strip() or datetime.date.today().isoformat()
    return os.environ[LOT]


def split(items: list[pytest.Item], lot: str) -> tuple[list[pytest.Item], list[pytest.Item]]:
    """Separate the items that run from those that were not drawn."""
    if lot == "all":
        return list(items), []
    groups: dict[str, list[pytest.Item]] = defaultdict(list)
    sizes: dict[str, int] = {}
    for item in items:
        marked = list(item.iter_markers_with_node("drawn"))
        if marked:
            own = [entry for entry in marked if entry[0] is item]
            node, mark = own[-1] if own else marked[0]  # pytest lists those of the function, then of the parameters
            group = mark.kwargs.get("pool") or (item.nodeid.partition("[")[0] if node is item else node.nodeid)
            groups[group].append(item)
            if sizes.setdefault(group, mark.args[0]) != mark.args[0]:
                raise pytest.UsageError(f"{item.nodeid}: {group!r} is marked with two numbers of tests to draw")
    left_out = set()
    for group, members in groups.items():
        members.sort(key=lambda item: hashlib.sha256(f"{lot} {item.nodeid}".encode()).digest())
        left_out.update(members[sizes[group] :])
        _note(members, sizes[group])
    return [item for item in items if item not in left_out], [item for item in items if item in left_out]


def _note(members: list[pytest.Item], size: int) -> None:
    """Let the reports of drawn items say what they stand for."""
    for item in members[:size]:
        of = next((mark.kwargs["of"] for mark in item.iter_markers("drawn") if "of" in mark.kwargs), None)
        if of is not None:
            item.user_properties.append(("drawn", (of, len(members), item.callspec.id)))


def summary(properties: list[tuple[str, object]]) -> list[str]:
    """Name the drawn items whose mark says what they are, a line for each kind."""
    kinds: dict[tuple[str, int], set[str]] = defaultdict(set)
    for key, value in properties:
        if key == "drawn":
            of, number, name = value
            kinds[of, number].add(name)
    return [f"{len(names)} of {number} {of}: {', '.join(sorted(names))}" for (of, number), names in kinds.items()]
