"""The history of benchmarks: seconds by version and machine, and how they changed from one version to the next.

Machines differ, and the load of one machine, too. So what counts is a ratio: seconds of a version over seconds of
the version before, on the same machine.
"""

import csv
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from math import exp, log
from pathlib import Path

from pgsr.errors import ArgumentError

FILE = "bench_history.csv"


@dataclass(frozen=True)
class TimedRow:
    """The seconds of one benchmark.

    Attributes:
        date: of the run, as 2026-11-27.
        version: the commit that ran.
        machine: its processor and number of cores, without its name.
        name, size: of the benchmark.
        seconds: the median after compilation.
        peak_mb: the peak memory of its process; 0 where it was not measured.
    """

    date: str
    version: str
    machine: str
    name: str
    size: str
    seconds: float
    peak_mb: float


def append(path: Path, rows: Iterable[TimedRow]) -> None:
    """Add rows to the end of a history, which is begun if there is none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    begun = path.exists()
    with path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(TimedRow)], lineterminator="\n")
        if not begun:
            writer.writeheader()
        writer.writerows(asdict(row) for row in rows)


def read(path: Path) -> list[TimedRow]:
    """Read a history, oldest rows first; no rows where there is none.

    Raises:
        ArgumentError: a row is no row of a history.
    """
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return [_row(path, number, row) for number, row in enumerate(csv.DictReader(file), start=2)]


def _row(path: Path, line: int, row: dict[str, str]) -> TimedRow:
    try:
        numbers = {name: float(row[name]) for name in ("seconds", "peak_mb")}
        return TimedRow(**{**{name: row[name] for name in ("date", "version", "machine", "name", "size")}, **numbers})
    except (KeyError, TypeError, ValueError):
        raise ArgumentError(f"{path}, line {line}: this is no row of a history; delete it") from None


def mean_ratio(rows: Sequence[TimedRow]) -> float | None:
    """Compute the geometric mean of seconds of the last version over those of the one before, on the same machine.

    Example:
        >>> common = {"machine": "CPU, 2 cores", "name": "m_h", "size": "4 unknowns", "peak_mb": 0.0}
        >>> rows = [TimedRow("2026-11-26", "a1", seconds=2.0, **common)]
        >>> mean_ratio([*rows, TimedRow("2026-11-27", "b2", seconds=1.0, **common)])
        0.5
    """
    here = [row for row in rows if row.machine == rows[-1].machine]
    before, now = ["", *dict.fromkeys(row.version for row in here)][-2:]
    seconds = {(row.version, row.name, row.size): row.seconds for row in here if row.seconds > 0}
    logarithms = [
        log(value / seconds[before, name, size])
        for (version, name, size), value in seconds.items()
        if version == now and (before, name, size) in seconds
    ]
    return exp(sum(logarithms) / len(logarithms)) if logarithms else None
