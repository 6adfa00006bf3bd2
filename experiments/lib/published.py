"""The published run of PGSR-LIB, docs/results/pgsr_lib.parquet, and of its traps: the tables that its page quotes."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from pgsr.experiments.lib.score import REFUSED, duration, of_kind, scores

ROWS, TRAPS = "pgsr_lib.parquet", "pgsr_lib_traps.json"

COLUMNS = (
    "instance", "method", "kind", "unknowns", "limit", "status", "said_solved", "seconds", "primal", "violated", "error",
)  # fmt: skip

KINDS = {
    "QP": "Squares in reals (QP)",
    "LP": "Absolute values in reals (LP)",
    "MIQP": "Squares in integers (MIQP)",
    "MILP": "Absolute values in integers (MILP)",
}


def publish(rows: pd.DataFrame, traps: pd.DataFrame | None, folder: Path) -> None:
    """Put the rows of a run, and the table of traps if there is one, where `quoted` reads them."""
    rows.loc[:, [name for name in COLUMNS if name in rows]].to_parquet(folder / ROWS, index=False)
    if traps is not None:
        lines = ",\n".join(" " + json.dumps(row) for row in traps.to_dict("records"))
        (folder / TRAPS).write_text(f"[\n{lines}\n]\n", encoding="utf-8")


def quoted(folder: Path) -> Iterator[tuple[str, str]]:
    """Write the tables of the published run, each with the name by which the page quotes it."""
    if (folder / ROWS).exists():
        rows = pd.read_parquet(folder / ROWS)
        taking = rows.loc[~rows["status"].isin(REFUSED)]
        asked = dict.fromkeys(rows["method"])
        for kind, words in KINDS.items():
            table = scores(taking, kind)
            yield f"pgsr_lib.{kind}", f"{words}, {len(set(of_kind(rows, kind)['instance']))} instances:\n\n{_kind(table)}"
        yield "pgsr_lib.unlicensed", ", ".join(f"`{name}`" for name in asked if name not in set(taking["method"]))
    if (folder / TRAPS).exists():
        yield "pgsr_lib.traps", falls(json.loads((folder / TRAPS).read_text("utf-8")))


def falls(rows: Iterable[Mapping[str, Any]]) -> str:
    """Write a row per trap: who falls into it, by what happens, and who does not.

    Example:
        >>> print(falls([{"method": "A()", "half": "right"}, {"method": "B()", "half": "**2 times**"}]))
        | trap | wrong | right |
        |---|---|---|
        | half | 2 times `B()` | `A()` |
    """
    rows = list(rows)
    lines = ["| trap | wrong | right |", "|---|---|---|"]
    for trap in [name for name in rows[0] if name != "method"]:
        said: dict[str, list[str]] = {}
        for row in rows:
            said.setdefault(row[trap], []).append(f"`{row['method']}`")
        wrong = "; ".join(f"{word.strip('*')} {', '.join(who)}" for word, who in said.items() if word.startswith("**"))
        lines.append(f"| {trap} | {wrong} | {', '.join(said.get('right', []))} |".replace("|  |", "| |"))
    return "\n".join(lines)


def _kind(table: pd.DataFrame) -> str:
    lines = ["| method | taken | said | solved | wrong | time |", "|---|--:|--:|--:|--:|--:|"]
    lines += [f"| {' | '.join(_cells(row))} |" for row in table.to_dict("records")]
    return "\n".join(lines)


def _cells(row: Mapping[Any, Any]) -> Sequence[str]:
    taken = str(row["taken"]).partition(" ")[0]
    return f"`{row['method']}`", taken, str(row["said"]), str(row["1e-06"]), str(row["wrong"]), duration(row["time"])
