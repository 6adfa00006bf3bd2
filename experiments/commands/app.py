"""The application that commands are added to, and what several of them share."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from pgsr.experiments.engine.experiment import Profile
from pgsr.experiments.registry import EXPERIMENTS

EXAMPLES = """Examples:

\b
  python -m pgsr.experiments list                         all experiments
  python -m pgsr.experiments run K8 --profile smoke       one of them, in seconds
  python -m pgsr.experiments report K8 --profile smoke    its figure and verdicts
  python -m pgsr.experiments new mine                     mine.py, to start from
  python -m pgsr.experiments run mine.py --profile smoke  it runs as it is
  python -m pgsr.experiments compare --data flights       methods side by side
  python -m pgsr.experiments lib --help                   PGSR-LIB: instances with proved optima
"""

app = typer.Typer(
    help="Run the experiments of pgsr.",
    epilog=EXAMPLES,
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)

NamesArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="NAME...",
        help="Experiments, such as K8 (`list` shows them), or files that define one, such as mine.py.",
        autocompletion=lambda: [experiment.id for experiment in EXPERIMENTS],
    ),
]
SomeNamesArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[NAME...]",
        help="Experiments, or files that define one; all experiments if none is named.",
        autocompletion=lambda: [experiment.id for experiment in EXPERIMENTS],
    ),
]
ProfileOption = Annotated[
    Profile,
    typer.Option(help="smoke: seconds; quick: minutes; reduced: hours, where there is one; paper: the papers' sizes."),
]
ResultsOption = Annotated[Path, typer.Option("--out", help="Folder of all results.")]


@app.callback()
def experiments() -> None:
    """Run the experiments of pgsr. Results go to the folder results/."""


def console_for_tables() -> Console:
    """Make a console that is wide where it is no terminal, so that tables keep their columns."""
    return Console(width=None if Console().is_terminal else 150)
