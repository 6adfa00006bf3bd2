"""The command line `python -m pgsr.experiments`."""

from pgsr import PgsrError
from pgsr.machine.extras import extra_of_command

with extra_of_command("experiments"):
    from rich.console import Console

    from pgsr.experiments.commands import benchmarks, registered
    from pgsr.experiments.commands.app import app
    from pgsr.experiments.data import command as data_command
    from pgsr.experiments.lib import command as lib_command

__all__ = ["app", "benchmarks", "registered"]

app.add_typer(data_command.app, name="data")
app.add_typer(lib_command.app, name="lib")


if __name__ == "__main__":
    try:
        app()
    except PgsrError as error:
        Console(stderr=True).print(f"[bold red]error:[/bold red] {error}", highlight=False, soft_wrap=True)
        raise SystemExit(2) from None
