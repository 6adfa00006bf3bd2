"""The published run of PGSR-LIB, docs/results/pgsr_lib.parquet, and of its traps: the tables that its page quotes."""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from pgsr.experiments.lib.score import REFUSED, of_kind, scores

ROWS, TRAPS = "pgsr_lib.parquet", "pgsr_lib_traps.json"

COLUMNS = (
    "instance", "method", "kind", "unknowns", "limit", "status", "said_solved", "seconds", "primal", "violated",
    "error",
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
        for kind, words in KINDS.items():
            head = f"{words}, {len(set(of_kind(rows, kind)['instance']))} instances:"
            yield f"pgsr_lib.{kind}", f"{head}\n\n{_kind(scores(taking, kind))}"
    if (folder / TRAPS).exists():
        yield "pgsr_lib.traps", falls(json.loads((folder / TRAPS).read_text("utf-8")))


def falls(rows: Iterable[Mapping[str, Any]]) -> str:
    """Write a row per trap: how many are right, or claim nothing, and who falls into it and what they say.

    Example:
        >>> print(falls([{"method": "A()", "half": "right"}, {"method": "B()", "half": "**2 times**"}]))
        | trap | right | no claim | wrong |
        |---|--:|--:|---|
        | `half` | 1 | 0 | 2 times: `B()` |
    """
    rows = list(rows)
    lines = ["| trap | right | no claim | wrong |", "|---|--:|--:|---|"]
    for trap in [name for name in rows[0] if name != "method"]:
        said: dict[str, list[str]] = {}
        for row in rows:
            if row[trap]:
                said.setdefault(row[trap], []).append(f"`{row['method']}`")
        wrong = "; ".join(f"{word.strip('*')}: {', '.join(who)}" for word, who in said.items() if word.startswith("**"))
        right, nothing = (len(said.get(word, [])) for word in ("right", "no claim"))
        lines.append(f"| `{trap}` | {right} | {nothing} | {wrong or 'nobody'} |")
    return "\n".join(lines)


def _kind(table: pd.DataFrame) -> str:
    """Write the scores of a kind: a row for all methods of which as many instances were taken, solved and wrong."""
    found: dict[tuple[int, ...], list[str]] = {}
    for row in table.to_dict("records"):
        counts = row["1e-06"], int(str(row["taken"]).partition(" ")[0]), row["wrong"]
        found.setdefault(counts, []).append(f"`{row['method']}` {row['time']:.2g}")
    lines = ["| solved | taken | wrong | by (seconds) |", "|--:|--:|--:|---|"]
    order = sorted(found.items(), key=lambda one: (-one[0][0], *one[0][1:]))
    lines += [f"| {' | '.join(map(str, counts))} | {', '.join(methods)} |" for counts, methods in order]
    return "\n".join(lines)
