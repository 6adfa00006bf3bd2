"""The record of benchmarks, docs/results/benchmarks.json: the table of docs/model/benchmarks.md.

A row says what was measured, its size, what it took ("0.12 s, 0.4 GB"), its peer, and how many times longer that took.
`bench` names the rows of `python -m pgsr.experiments bench` that measure the same; `measured_anew` replaces it by them.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

Row = Mapping[str, Any]

FILE = "benchmarks.json"
HEADS = ("what", "size", "ours", "peer", "ratio")


def read(folder: Path) -> list[Row]:
    """Read the record from a folder of published results; no rows where there is none."""
    path = folder / FILE
    return json.loads(path.read_text("utf-8")) if path.exists() else []


def write(rows: Sequence[Row], folder: Path) -> None:
    lines = ",\n".join(" " + json.dumps(row, ensure_ascii=False) for row in rows)
    (folder / FILE).write_text(f"[\n{lines}\n]\n", encoding="utf-8")


def quoted(rows: Iterable[Row]) -> dict[str, str]:
    """Collect what pages quote: the whole table, and time and memory of the rows that have a name.

    Example:
        >>> row = {"name": "m_h", "what": "M_H", "size": "big", "ours": "3 s, 0.4 GB (1)", "peer": "", "ratio": ""}
        >>> found = quoted([row])
        >>> found["benchmarks.m_h.time"], found["benchmarks.m_h.memory"], found["benchmarks"].splitlines()[-1]
        ('3 s', '0.4 GB', '| M_H | big | 3 s, 0.4 GB (1) | | |')
    """
    rows, found = list(rows), {}
    for row in rows:
        if "name" in row:
            ours = re.sub(r" \(\d+\)$", "", row["ours"])
            found[f"benchmarks.{row['name']}.time"] = re.sub(r", [\d.]+ GB$", "", ours)
            if memory := re.search(r"[\d.]+ GB$", ours):
                found[f"benchmarks.{row['name']}.memory"] = memory[0]
    if rows:
        lines = ["|".join(["", *(f" {row[head]} " if row[head] else " " for head in HEADS), ""]) for row in rows]
        found["benchmarks"] = "\n".join([f"| {' | '.join(HEADS)} |", "|---" * len(HEADS) + "|", *lines])
    return found


def measured_anew(rows: Sequence[Row], measured: Sequence[Row]) -> list[Row]:
    """Replace what a run of `bench` measured again, given what it wrote; rows of which it lacks a part stay.

    Example:
        >>> row = {"what": "M_H", "size": "big", "ours": "3 s, 1.0 GB", "peer": "", "ratio": "", "bench": ["a", "b"]}
        >>> new = [{"name": "a", "seconds": 1, "peak_mb": 400.0, "peer": "", "ratio": None}]
        >>> new += [{"name": "b", "seconds": 2, "peak_mb": 380.0, "peer": "", "ratio": None}]
        >>> measured_anew([row], new)[0]["ours"], measured_anew([row], new[:1])[0]["ours"]
        ('1.0 to 2.0 s, 0.4 GB', '3 s, 1.0 GB')
    """
    by_name = {row["name"]: row for row in measured}
    of = [[by_name[name] for name in row.get("bench", ()) if name in by_name] for row in rows]
    return [
        {**row, **_taken(new)} if new and len(new) == len(row["bench"]) else row
        for row, new in zip(rows, of, strict=True)
    ]


def _taken(measured: Sequence[Row]) -> Row:
    """Write the time and the memory that rows of `bench` took, and the peer that stands beside the last."""
    times = [_seconds(value) for value in sorted(row["seconds"] for row in measured)]
    span = times[0] if times[0] == times[-1] else f"{times[0]} to {times[-1]}"
    peer = ", ".join(measured[-1]["peer"].split(", ")[:2])
    return {
        "ours": f"{span} s, {max(row['peak_mb'] for row in measured) / 1_000:.1f} GB",
        "peer": peer,
        "ratio": f"{measured[-1]['ratio']:.0f}" if peer else "",
    }


def _seconds(value: float) -> str:
    return f"{value:.0f}" if value >= 10 else f"{value:.1f}" if value >= 1 else f"{value:.2f}"
