"""The command line `python -m pgsr.experiments`."""

import sys
from importlib import import_module

from pgsr.errors import PgsrError
from pgsr.machine.extras import extra_of_command

with extra_of_command("experiments"):
    from rich.console import Console

    from pgsr.experiments.commands.app import app
    from pgsr.experiments.commands.overview import list_commands


def main() -> None:
    """Run the command line; its help alone imports no experiment, `compare` and `show` no other one."""
    if sys.argv[1:] in ([], ["--help"]):
        list_commands(app)
    elif sys.argv[1:2] in (["compare"], ["show"]):
        with extra_of_command("experiments"):
            import_module(f"pgsr.experiments.commands.{'comparison' if sys.argv[1] == 'compare' else 'results'}")
    else:
        with extra_of_command("experiments"):
            from pgsr.experiments.commands import complete  # noqa: F401
    app()


if __name__ == "__main__":
    try:
        main()
    except PgsrError as error:
        Console(stderr=True).print(f"[bold red]error:[/bold red] {error}", highlight=False, soft_wrap=True)
        raise SystemExit(2) from None
