"""The command `pgsr plan`; `pgsr.cli` registers it."""

from math import isfinite
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table

from pgsr.commands.options import Config, console_of
from pgsr.help import examples

if TYPE_CHECKING:
    import pandas as pd

EPILOG = examples(
    ("pgsr plan release.toml", "the errors to expect of the configured release"),
    ("pgsr plan release.toml --mean-size 2.6 --replicates 10", "a better guess of sizes, smaller chance errors"),
    ("pgsr plan release.toml --groups 20000", "where the table of groups is private: a public guess"),
    ("pgsr plan release.toml --target-error county=50", "the epsilon at which it gets there"),
)


def plan(
    config: Config,
    mean_size: Annotated[float, typer.Option(help="Entities per group, a public guess.", min=0.001)] = 3.0,
    replicates: Annotated[int, typer.Option(help="Replicates: independent draws of the noise.", min=2)] = 5,
    groups: Annotated[
        int | None, typer.Option(help="Number of groups, a public guess; where their table is private.", min=1)
    ] = None,
    target_error: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LEVEL=ERROR",
            help="Find the smallest epsilon with at most this expected error at the level (repeat it).",
        ),
    ] = None,
) -> None:
    """Tell the errors of a release, or the epsilon of an error, before any is spent. Opens no private table."""
    from pgsr.release import ReleaseConfig, epsilon_for, forecast
    from pgsr.release.publishing.console import told_if_stopped
    from pgsr.release.publishing.progress import Stages

    console, asked, targets = console_of(), ReleaseConfig.read(config), _by_level(target_error)
    with Stages(console) as stages, told_if_stopped(stages):
        if targets:
            found = epsilon_for(asked, targets, mean_size, replicates, stages, groups)
            frame, text = found.to_frame(), found.sentence
        else:
            expected = forecast(asked, None, mean_size, replicates, stages, groups)
            frame, text = expected.to_frame(), f"{expected.sentence} {expected.limit} {expected.effort}"
    _show_plan(frame)
    console.print(escape(f"Errors are earth mover's distances per region. {text}"), highlight=False)


def _by_level(texts: list[str] | None) -> dict[str, float]:
    """Read the values of the option, which are written LEVEL=ERROR."""
    from pgsr.release.publishing.errors import ConfigError

    found: dict[str, float] = {}
    for text in texts or []:
        name, _, number = text.rpartition("=")
        if name in found:
            raise ConfigError(f"--target-error is given twice for {name}; write it once")
        try:
            found[name] = float(number)
        except ValueError:
            name = ""
        if not name or not isfinite(found[name]):
            raise ConfigError(f"--target-error is {text!r}; write LEVEL=ERROR, such as county=50")
    return found


def _show_plan(frame: "pd.DataFrame") -> None:
    """Print a table of errors."""
    table = Table()
    for column in frame.columns:
        table.add_column(str(column), justify="left" if column in ("level", "epsilon") else "right", overflow="fold")
    for row in frame.itertuples(index=False):
        table.add_row(*(_shown(value) for value in row))
    console_of().print(table)


def _shown(value: object) -> str:
    """Write a cell of a table."""
    if isinstance(value, int | float):
        return f"{value:,.0f}" if abs(value) >= 100 else f"{value:,.3g}"
    return escape(str(value))
