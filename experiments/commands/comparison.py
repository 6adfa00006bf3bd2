"""The command that compares every variant; it imports no other experiment, which would take as long as its own work."""

from functools import partial
from html import escape
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from pgsr import View
from pgsr.errors import ArgumentError
from pgsr.experiments.benchmarks.compare import (
    CompareExperiment,
    Data,
    OwnTable,
    VariantSection,
    compared,
    notes_text,
    verdict,
    writable,
    write,
)
from pgsr.experiments.benchmarks.lanes import Lanes
from pgsr.experiments.benchmarks.variants import KEYS, Size, chosen
from pgsr.experiments.commands.app import app
from pgsr.help import examples
from pgsr.noise import Geometric
from pgsr.privacy import Seeded
from pgsr.privacy.budget import exact


@app.command(
    epilog="Examples:  python -m pgsr.experiments compare  |  "
    "python -m pgsr.experiments compare --problem m_h --problem m_c  |  "
    "python -m pgsr.experiments compare --sizes-per-level 20,10,5  |  "
    "python -m pgsr.experiments compare --size full --time-limit 120"
)
def compare(
    data: Annotated[
        Data,
        typer.Option(help="Hierarchy; taxi and census2000 need the folder PGSR_DATA; docs/study/data.md."),
    ] = Data.CENSUS,
    size: Annotated[
        Size,
        typer.Option(help="census: small, 61 regions x 21 sizes, or full; census2000: counties or tracts."),
    ] = Size.STATES,
    epsilon: Annotated[str, typer.Option(help="Total privacy budget, as '1', '0.1' or '1/3'.")] = "1",
    seed: Annotated[str, typer.Option(help="Any text; the same text gives the same noise.")] = "compare",
    problem: Annotated[
        list[str] | None, typer.Option(help=f"Only this problem (repeat it): {', '.join(KEYS)}.")
    ] = None,
    sizes_per_level: Annotated[
        str, typer.Option(help="Largest sizes of the levels, root first, as 20,10,5; all alike if left out.")
    ] = "",
    time_limit: Annotated[
        float | None,
        typer.Option(help="Seconds per method, a tenth of a release's; 2, or 600 at full size.", min=1),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for table (Parquet), page (HTML) and figure (PNG).")] = Path(
        "results/compare"
    ),
) -> None:
    """Put every variant of post-processing side by side, exact, relaxed and specialised, on one noisy hierarchy."""
    experiment = CompareExperiment(
        data, size, exact(epsilon), seed, time_limit, tuple(problem or ()), _sizes(sizes_per_level)
    )
    page_of(experiment, out)


OF_PGSR: dict[str, Any] = {
    "name": "compare",
    "rich_help_panel": "Research",
    "epilog": examples(
        ("pgsr compare homes.csv --regions State,County --size Members --max-size 10", "all methods, as a page")
    ),
}
"""What `pgsr.__main__` says of the command `pgsr compare`, which is this one."""


def compare_table(
    file: Annotated[Path, typer.Argument(help="CSV or Parquet, a row per group.")],
    regions: Annotated[str, typer.Option(help="Columns, from the largest regions down, as Country,State,County.")],
    size: Annotated[str, typer.Option(help="The column with numbers of members.")],
    max_size: Annotated[int, typer.Option(help="The largest size that is told apart.", min=1)],
    epsilon: Annotated[str, typer.Option(help="Total privacy budget, as '1', '0.1' or '1/3'.")] = "1",
    seed: Annotated[str, typer.Option(help="Any text; the same text gives the same noise.")] = "compare",
    time_limit: Annotated[float, typer.Option(help="Seconds per method, a tenth of a release's.", min=1)] = 2.0,
    out: Annotated[Path, typer.Option(help="Folder for page, table, figure and script.")] = Path("results/compare"),
) -> None:
    """Put all methods side by side on your own table, for research: the page shows private errors."""
    table = OwnTable(file.resolve(), tuple(name.strip() for name in regions.split(",")), size, max_size)
    page_of(CompareExperiment(table, epsilon=exact(epsilon), seed=seed, time_limit=time_limit), out)


def page_of(experiment: CompareExperiment, out: Path) -> None:
    """Compare, print the tables and the verdict, and write the page; of one's own table also the script."""
    console = Console(width=None if Console().is_terminal else 150)
    writable(out)
    chosen(experiment.problems)
    with Lanes() as lanes:
        sections = _compared(experiment, console, lanes)
    about, table = "", experiment.data
    if isinstance(table, OwnTable):
        script = SCRIPT.format(
            name=experiment.name, table=table, path=str(table.path), experiment=experiment,
            epsilon=str(experiment.epsilon), out=str(out.resolve()),
        )  # fmt: skip
        (out / f"{experiment.name}.py").write_text(script, encoding="utf-8")
        about = ABOUT.format(seed=escape(experiment.seed), script=escape(script))
    parquet, png, page = write(sections, out, experiment.name, about)
    console.print(f"\ntable   {parquet}\npage    {page}\nfigure  {png}", highlight=False)
    if about:
        console.print(f"script  {out / experiment.name}.py", highlight=False)
    console.print(f"\n{verdict(sections)}", highlight=False)


SCRIPT = '''"""Makes {name}.html again. The page is for research: it shows errors against a private table."""

from fractions import Fraction
from pathlib import Path

import pgsr
from pgsr.experiments.benchmarks.compare import CompareExperiment, OwnTable
from pgsr.experiments.commands.comparison import page_of

table = OwnTable(Path({path!r}), {table.regions!r}, {table.members!r}, {table.max_size})
seconds, seed = {experiment.limit:g}, {experiment.seed!r}
experiment = CompareExperiment(table, epsilon=Fraction({epsilon!r}), seed=seed, time_limit=seconds)
page_of(experiment, Path({out!r}))

# One problem alone, by methods that you name:
truth = pgsr.read({path!r}, {table.regions!r}, size={table.members!r}, max_size={table.max_size})
noisy = pgsr.measure(truth, "counts", epsilon={epsilon!r}, seed=seed)
print(pgsr.compare(pgsr.Problem.m_h(noisy), ["pgsr", "highs"], truth=truth, progress=False))
'''

ABOUT = """<p><strong>For research, not for publication.</strong> The noise comes from the seed {seed!r}, so anybody can
draw it again, and errors are measured against the private table. <code>pgsr release</code> publishes.</p>
<details><summary>The script that makes this page</summary><pre>{script}</pre></details>"""


def _compared(experiment: CompareExperiment, console: Console, lanes: Lanes) -> list[VariantSection]:
    """Compare, and print the tables."""
    sizes = experiment.max_sizes
    truth = experiment.truth()
    if sizes:
        Geometric(View.COUNTS, 1, max_sizes=sizes).check(truth, Seeded(experiment.seed))
    levels = truth.hierarchy.n_levels
    scales = [view.sensitivity * levels / experiment.epsilon for view in (View.COUNTS, View.CUMULATIVE)]
    console.print(
        f"An equal share of epsilon per level: noise scale {scales[0]} on counts, {scales[1]} on "
        f"cumulative counts and ranked sizes. Research noise (seed {experiment.seed!r}): no privacy claim.\n"
        "Two methods run at a time, each on a processor of its own.",
        highlight=False,
    )
    say = partial(console.print, highlight=False, markup=False, soft_wrap=True)
    asked, before = [(experiment, truth)], experiment.before
    if before is not None:
        small = before.truth()
        asked.insert(0, (before, small))
    sections = compared(asked, say, lanes)
    say(f"\n{notes_text(sections)}")
    return sections


def _sizes(text: str) -> tuple[int, ...]:
    """Read largest sizes such as 20,10,5.

    Raises:
        ArgumentError: something else than whole numbers with commas between them.
    """
    try:
        return tuple(map(int, text.split(","))) if text else ()
    except ValueError:
        raise ArgumentError(
            f"--sizes-per-level {text!r} is no list of whole numbers; write one per level, root first, as 20,10,5"
        ) from None
