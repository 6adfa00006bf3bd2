"""The command `python -m pgsr.models`, which lists the solvers that this machine has."""

import sys
from collections.abc import Sequence

from pgsr.errors import ArgumentError, PgsrError
from pgsr.machine.extras import extra_of_command
from pgsr.models.availability import solvers

with extra_of_command("release"):
    from rich.console import Console
    from rich.table import Table


def main(arguments: Sequence[str] = ()) -> None:
    """Print the table of solvers; the command takes no arguments."""
    if arguments:
        raise ArgumentError(f"{arguments[0]!r} is unknown; this command takes no arguments and lists all solvers")
    console = Console(width=None if Console().is_terminal else 150)
    table = Table(title="Solvers", title_justify="left", title_style="bold", pad_edge=False)
    for column in ("method", "package", "installed", "licence", "largest problem", "to do"):
        table.add_column(column, overflow="fold")
    for info in solvers():
        installed = info.version if info.installed else "[red]no[/red]"
        table.add_row(repr(info.method), info.package, installed, info.licence, info.limit, info.remedy or "ready")
    console.print(table)
    console.print("pgsr.solvers(problem) says who of them takes a problem, and how.")
    console.print("pgsr.algorithms needs none of these: TreeProjection() solves M_H and M_H^r exactly at any size.")


if __name__ == "__main__":
    try:
        main([argument for argument in sys.argv[1:] if argument not in ("-h", "--help")])
    except PgsrError as error:
        Console(stderr=True).print(f"[bold red]error:[/bold red] {error}", highlight=False, soft_wrap=True)
        raise SystemExit(2) from None
