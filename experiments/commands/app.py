"""The application that commands are added to; it imports no experiment, so that its help is there at once."""

import typer
from rich.console import Console

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


@app.callback()
def experiments() -> None:
    """Run the experiments of pgsr. Results go to the folder results/."""


def console_for_tables() -> Console:
    """Make a console that is wide where it is no terminal, so that tables keep their columns."""
    return Console(width=None if Console().is_terminal else 150)
