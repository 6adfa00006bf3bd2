"""The command that shows a published table or figure; it imports no experiment, so that it answers at once."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from pgsr.errors import ArgumentError
from pgsr.experiments.commands.app import app, console_for_tables

HEADS = ("what", "printed", "ours", "s.e.", "ratio", "verdict", "cause")
NEAR = 6
"""Names that are listed where one is unknown."""


@app.command(
    epilog='Examples:  python -m pgsr.experiments show "fioretto figure 9"  |  '
    "python -m pgsr.experiments show slides  |  python -m pgsr.experiments show K3 --run smoke"
)
def show(
    name: Annotated[str, typer.Argument(help='Part of a paper, as "fioretto table 1"; or an id.')],
    run: Annotated[str, typer.Option(help="Compute it anew in this profile, and show that beside it.")] = "",
    out: Annotated[Path, typer.Option("--out", help="Folder of what is computed anew.")] = Path("results"),
    docs: Annotated[Path, typer.Option(help="Folder of the documentation.")] = Path("docs"),
) -> None:
    """Show printed numbers and claims beside what was found: from docs/results, in a second."""
    console = console_for_tables()
    for entry in named(json.loads((docs / "results" / "shown.json").read_text("utf-8")), name):
        heads, rows = HEADS, [tuple(row) for row in entry["rows"]]
        if run:
            from pgsr.experiments.commands.experiments import rows_anew

            anew = {(row[0], row[-1]): row for row in rows_anew(entry["id"], run, out)}
            heads = (*HEADS, f"ours, {run}", "ratio", "verdict")
            rows = [(*row, *(anew[row[0], row[-1]][i] if (row[0], row[-1]) in anew else "" for i in (2, 4, 5)))
                    for row in rows]  # fmt: skip
        print_rows(console, heads, rows, f"{entry['id']} {entry['title']}: {entry['part']}; {entry['results']}")
        for figure in entry["figures"]:
            console.print(f"figure  {docs / figure}", highlight=False, soft_wrap=True)


def named(entries: Sequence[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    """Find the experiments of this id, or all that a name such as "kuo figure 4" describes word by word.

    Raises:
        ArgumentError: there is none; the nearest ones are listed.
    """
    wanted = _words(name)
    own = [entry for entry in entries if entry["id"].lower() == name.strip().lower()]
    found = own or [entry for entry in entries if wanted and wanted <= _words(f"{entry['part']} {entry['title']}")]
    if found:
        return found
    by_words = sorted(entries, key=lambda entry: -len(wanted & _words(f"{entry['part']} {entry['title']}")))
    near = "; ".join(f"{entry['id']} ({entry['part']}: {entry['title']})" for entry in by_words[:NEAR])
    raise ArgumentError(
        f"{name!r} names no published table or figure; near ones are {near}; name one by its id or in words of these"
    )


def print_rows(console: Console, heads: Sequence[str], rows: Sequence[Sequence[str]], title: str) -> None:
    """Print the table: numbers to the right."""
    table = Table(title=title, title_justify="left", title_style="bold", header_style="bold", pad_edge=False)
    for head in heads:
        table.add_column(head, justify="right" if head in HEADS[1:4] else "left", overflow="fold")
    for row in rows:
        table.add_row(*(cell.replace("[", r"\[") for cell in row))
    console.print(table)


def _words(text: str) -> set[str]:
    """List the words of a name; a number belongs to the kind before it.

    Example:
        >>> sorted(_words("Fioretto, figure 9 and table 1"))
        ['and', 'figure', 'figure 9', 'fioretto', 'table', 'table 1']
    """
    numbered = r"(table|figure|section) (\d+(?:\.\d+)*)"
    pairs = {" ".join(pair) for pair in re.findall(numbered, text.lower())}
    return pairs | set(re.findall(r"\w+", re.sub(numbered, r"\1", text.lower())))
