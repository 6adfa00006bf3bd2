"""The command `pgsr plan`; `pgsr.cli` registers it."""

from math import isfinite, isnan
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table

from pgsr.commands.options import MECHANISMS, Config, console_of
from pgsr.help import examples

if TYPE_CHECKING:
    import pandas as pd

STANDARD_ERROR = " s.e."
"""The end of the name of a column of standard errors."""

EPILOG = examples(
    ("pgsr plan release.toml", "all mechanisms and some splits of epsilon, and which to take"),
    ("pgsr plan release.toml --weight county=2 --weight nation=0", "counties count most, the nation not at all"),
    ("pgsr plan release.toml --mechanism kuo --mechanism posterior", "these and the configured one alone"),
    ("pgsr plan release.toml --mean-size 2.6 --replicates 10", "a better guess of sizes, smaller chance errors"),
    ("pgsr plan release.toml --mechanism posterior --search-shares", "other splits than the usual ones, too"),
    ("pgsr plan release.toml --cell county:4", "how wide the published interval of this cell would be"),
    ("pgsr plan release.toml --groups 20000", "where the table of groups is private: a public guess"),
    ("pgsr plan release.toml --target-error county=50", "the epsilon at which the configured one gets there"),
)


def plan(
    config: Config,
    mean_size: Annotated[float, typer.Option(help="Entities per group, a public guess.", min=0.001)] = 3.0,
    replicates: Annotated[
        int,
        typer.Option(
            help="Replicates: independent draws of the noise; fewer of choices that are clearly worse.", min=2
        ),
    ] = 5,
    groups: Annotated[
        int | None, typer.Option(help="Number of groups, a public guess; where their table is private.", min=1)
    ] = None,
    mechanism: Annotated[
        list[str] | None,
        typer.Option(
            help="Mechanism to compare with the configured one (repeat it); all if left out.",
            autocompletion=lambda: list(MECHANISMS),
        ),
    ] = None,
    weight: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LEVEL=W",
            help="Weight of a level in the recommendation (repeat it): 1 if left out, 0 to disregard it.",
        ),
    ] = None,
    cell: Annotated[
        str | None,
        typer.Option(
            metavar="LEVEL:SIZE",
            help="Cell whose published interval's width is shown; the last level and about the mean size if left out.",
        ),
    ] = None,
    search_shares: Annotated[
        bool,
        typer.Option(
            "--search-shares",
            help="Search shares of epsilon for the best mechanism; some fifty splits more are simulated.",
        ),
    ] = False,
    target_error: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LEVEL=ERROR",
            help="Find the smallest epsilon with at most this expected error at the level, instead of comparing.",
        ),
    ] = None,
) -> None:
    """Recommend mechanism and split, or epsilon, before any is spent. On made-up sizes; opens no private table."""
    from pgsr.release import ReleaseConfig, epsilon_for, forecast
    from pgsr.release.plan.planning import WORST
    from pgsr.release.publishing.errors import ConfigError
    from pgsr.release.publishing.progress import Stages
    from pgsr.release.publishing.saying import told_if_stopped

    console, asked = console_of(), ReleaseConfig.read(config)
    weights, targets = _by_level(weight, "--weight", 0), _by_level(target_error, "--target-error")
    if targets and (weights or mechanism or cell or search_shares):
        raise ConfigError(
            "--target-error is about the configured mechanism; leave out --weight, --mechanism and --cell, and "
            "--search-shares"
        )
    with Stages(console) as stages, told_if_stopped(stages):
        if targets:
            found = epsilon_for(asked, targets, mean_size, replicates, stages.advance, stages, groups)
            frame, text, lines = found.to_frame(), found.sentence, ""
        else:
            compared = forecast(
                asked,
                None,
                mean_size,
                replicates,
                stages.advance,
                stages,
                groups,
                mechanism,
                weights,
                cell,
                search_shares,
            )
            frame = compared.to_frame().sort_values(WORST, kind="stable")
            text = f"{compared.recommendation(weights)} {compared.limit} {compared.effort}"
            lines = f"\nTo take it, write into {config}:\n\n{compared.recommended(weights).toml}"
    _show_plan(frame, "Expected earth mover's distance per region, on a made-up stand-in")
    console.print(escape(text), highlight=False)
    if lines:
        console.print(escape(lines), highlight=False, soft_wrap=True)


def _by_level(texts: list[str] | None, option: str, least: float | None = None) -> dict[str, float]:
    """Read the values of an option that are written LEVEL=NUMBER, with numbers from `least` up."""
    from pgsr.release.publishing.errors import ConfigError

    found: dict[str, float] = {}
    for text in texts or []:
        name, _, number = text.rpartition("=")
        if name in found:
            raise ConfigError(f"{option} is given twice for {name}; write it once")
        try:
            found[name] = float(number)
        except ValueError:
            name = ""
        if not name or not isfinite(found[name]):
            raise ConfigError(f"{option} is {text!r}; write LEVEL=NUMBER, such as county=2")
        if least is not None and found[name] < least:
            raise ConfigError(f"{option} {text}: give a number from {least:g} up")
    return found


def _show_plan(frame: "pd.DataFrame", title: str) -> None:
    """Print a table of choices; a standard error stands behind its mean, so that a line is not too long."""
    table, errors = Table(title=title), {column for column in frame.columns if str(column).endswith(STANDARD_ERROR)}
    shown = [column for column in frame.columns if column not in errors]
    for column in shown:
        left = column in ("mechanism", "split", "public totals", "epsilon")
        with_error = f"{column}{STANDARD_ERROR}" in errors
        name = f"{column} ± s.e." if with_error else str(column)
        table.add_column(name, justify="left" if left else "right", overflow="fold", no_wrap=column == "split")
    for _, row in frame.iterrows():
        cells = []
        for column in shown:
            error = _shown(row[f"{column}{STANDARD_ERROR}"]) if f"{column}{STANDARD_ERROR}" in errors else ""
            cells.append(f"{_shown(row[column])} ± {error}" if error else _shown(row[column]))
        table.add_row(*cells)
    console_of().print(table)


def _shown(value: object) -> str:
    """Write a cell of a table; one that holds no number stays empty."""
    if isinstance(value, float) and isnan(value):
        return ""
    if isinstance(value, int | float):
        return f"{value:,.0f}" if abs(value) >= 100 else f"{value:,.3g}"
    return escape(str(value))
