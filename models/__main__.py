"""The command `python -m pgsr.models`, which lists the solvers that this machine has."""

from pgsr.errors import PgsrError
from pgsr.machine.extras import extra_of_command
from pgsr.models.availability import solvers

with extra_of_command("release"):
    from rich.console import Console
    from rich.table import Table


def main() -> None:
    console = Console(width=None if Console().is_terminal else 150)
    table = Table(title="Solvers", title_justify="left", title_style="bold", pad_edge=False)
    for column in ("method", "solves", "package", "installed", "licence", "largest problem", "to do"):
        table.add_column(column, overflow="fold")
    for info in solvers():
        installed = info.version if info.installed else "[red]no[/red]"
        table.add_row(
            repr(info.method), info.solves, info.package, installed, info.licence, info.limit, info.remedy or "ready"
        )
    console.print(table)
    console.print("pgsr.algorithms needs none of these: TreeProjection() solves M_H and M_H^r exactly at any size.")


if __name__ == "__main__":
    try:
        main()
    except PgsrError as error:
        Console(stderr=True).print(f"[bold red]error:[/bold red] {error}", highlight=False, soft_wrap=True)
        raise SystemExit(2) from None
