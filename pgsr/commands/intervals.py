"""The command `pgsr intervals`; `pgsr.cli` registers it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table

from pgsr.commands.options import console_of, require_left_out
from pgsr.data.intervals import number_text
from pgsr.help import examples
from pgsr.intervals.statistics import SPELLINGS

if TYPE_CHECKING:
    import pandas as pd

    from pgsr.release import Published

KINDS_OF_INTERVALS = ("posterior", "bootstrap", "band")

MOST_ROWS = 40
"""Rows of intervals that are printed; `--output` writes all."""

EPILOG = examples(
    ("pgsr intervals release --statistic tail:100", "how many groups are larger than 100"),
    ("pgsr intervals release --kind bootstrap", "by releasing the release again, whatever its mechanism"),
    ("pgsr intervals release --kind band --statistic cumulative --output band.csv", "bounds of everything at once"),
    ("pgsr intervals release --statistic mean --statistic gini --region US/GA", "two statistics of one region"),
)


def intervals(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A release, as it was published.")],
    statistic: Annotated[
        list[str] | None,
        typer.Option(help=f"One or several of {SPELLINGS}; the numbers are sizes. If left out: mean."),
    ] = None,
    kind: Annotated[
        str | None,
        typer.Option(
            help="posterior: each interval by itself, from the noisy values; of releases by mechanism posterior. "
            "bootstrap: each by itself, approximate. band: all at once, guaranteed. "
            "If left out: posterior where the release knows it, else bootstrap.",
            autocompletion=lambda: list(KINDS_OF_INTERVALS),
        ),
    ] = None,
    level: Annotated[str, typer.Option(help="The probability aimed at, as '0.9'.")] = "0.9",
    replicates: Annotated[
        int | None, typer.Option(help="Releases of the bootstrap, 200 if left out, or draws from the posterior, 100.")
    ] = None,
    seed: Annotated[
        str | None,
        typer.Option(help="Seed of these releases or draws: any text; the same text gives the same intervals."),
    ] = None,
    region: Annotated[str | None, typer.Option(help="Id of one region, such as US/GA; else all.")] = None,
    output: Annotated[Path | None, typer.Option(help="A CSV file that does not exist yet; else a table here.")] = None,
) -> None:
    """Say how far released counts may be from the truth, from the folder alone. Costs no privacy."""
    import pandas as pd

    from pgsr.data.region_ids import path_of_id
    from pgsr.intervals.replicates import DRAWS, RELEASES, SEED
    from pgsr.intervals.statistics import exact_level
    from pgsr.release import read_release
    from pgsr.release.checks.published import intervals_of
    from pgsr.release.make.forecast import SIMULATING
    from pgsr.release.publishing.errors import ConfigError
    from pgsr.release.publishing.progress import DRAWING, Stages

    if kind is not None and kind not in KINDS_OF_INTERVALS:
        raise ConfigError(f"--kind is {kind!r}; write {', '.join(KINDS_OF_INTERVALS[:-1])} or {KINDS_OF_INTERVALS[-1]}")
    if output is not None and output.exists():
        raise ConfigError(f"{output} exists; name a file that does not")
    if output is not None and output.resolve().parent == folder.resolve():
        raise ConfigError(f"{output} would lie in the release, which has no such file; name another place")
    draws = {"replicates": replicates, "seed": seed}
    if kind == "band":
        require_left_out(draws, "with --kind band, which draws nothing")
    wanted, published, console = exact_level(level), read_release(folder), console_of()
    place = None if region is None else published.counts.hierarchy.find(path_of_id(region))
    kind = _kind_of_intervals(published, kind)
    usual = DRAWS if kind == "posterior" else RELEASES
    n, key = usual if replicates is None else replicates, SEED if seed is None else seed
    with Stages(console_of()) as stages:
        if kind != "band":
            stages(DRAWING if kind == "posterior" else SIMULATING)
        found = intervals_of(published, statistic or ["mean"], wanted, kind, n, key)
    frame = pd.concat([each.to_frame(place, level_names=published.plan.names) for each in found], ignore_index=True)
    if not published.secure:
        console.print("[bold red]Of a rehearsal: NOT private. Keep these as secret as the data.[/bold red]")
    if output is not None:
        frame.to_csv(output, index=False)
        console.print(f"intervals  {output}", highlight=False, soft_wrap=True)
        return
    # The names of levels stand in the ids of the regions, too.
    _show_intervals(frame.drop(columns=list(published.plan.names)), f"{float(100 * wanted):.4g} % intervals, {kind}")


def _kind_of_intervals(published: "Published", kind: str | None) -> str:
    """Choose the kind of intervals of a release, or check the one that was asked for."""
    from pgsr.release.publishing.errors import ConfigError
    from pgsr.release.terms.kinds import MeasuredView

    terms = published.terms
    own = terms.may_have_intervals and terms.view is not MeasuredView.COUNTS
    if kind == "posterior" and not own:
        raise ConfigError(
            "the release knows no intervals of its own: only mechanism posterior does, of noisy values that determine "
            "sums over sizes and with public numbers of groups; write --kind bootstrap"
        )
    if kind == "band" and terms.by_root:
        raise ConfigError(
            "thresholds of the release follow from the noisy root, and a band holds where noise does not choose what "
            "is measured; leave --kind out"
        )
    return kind or ("posterior" if own else "bootstrap")


def _show_intervals(frame: "pd.DataFrame", title: str) -> None:
    table = Table(title=title)
    for name in frame.columns:
        table.add_column(name, justify="left" if name in ("region_id", "statistic") else "right", overflow="fold")
    for row in frame.head(MOST_ROWS).itertuples(index=False):
        table.add_row(*(escape(value) if isinstance(value, str) else number_text(value) for value in row))
    console_of().print(table)
    if len(frame) > MOST_ROWS:
        text = f"and {len(frame) - MOST_ROWS:,} rows more; write all with --output"
        console_of().print(text, highlight=False)
