"""The commands that measure: benchmarks, agreement; and the papers' items."""

from functools import partial
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer
from rich.console import Console

from pgsr.datasets.table import CensusRegions
from pgsr.errors import ArgumentError
from pgsr.experiments.benchmarks import agreement, by_hand, formulations, history, nation, peers
from pgsr.experiments.benchmarks.compare import writable
from pgsr.experiments.commands.app import app, console_for_tables
from pgsr.experiments.engine.tables import print_frame
from pgsr.experiments.registry import EXPERIMENTS
from pgsr.experiments.report import html
from pgsr.experiments.report.environment import commit
from pgsr.experiments.report.items import all_items, beyond, counted, item_blocks


@app.command(epilog="Example:  python -m pgsr.experiments bench --quick")
def bench(
    quick: Annotated[
        bool, typer.Option("--quick", help="Skip the solver that takes minutes and the largest size.")
    ] = False,
    out: Annotated[Path, typer.Option(help="Folder for the rows (JSON).")] = Path("results/bench"),
    past: Annotated[
        Path, typer.Option("--history", help="Table of all runs (CSV), which this one is added to.")
    ] = Path("docs/results") / history.FILE,
) -> None:
    """Measure speed and memory at full size, each beside its peer in the same run."""
    from pgsr.experiments.benchmarks import speed

    writable(out)
    version = commit().removeprefix("commit ")
    speed.main(Console(width=None if Console().is_terminal else 150), out, past, version, quick)


@app.command(epilog="Example:  python -m pgsr.experiments bench-peers --limit 20")
def bench_peers(
    limit: Annotated[float, typer.Option(help="Seconds per solve; a solver that takes longer gets no larger size.")] = (
        peers.LIMIT
    ),
    out: Annotated[Path, typer.Option(help="Folder for the record (JSON).")] = Path("results/bench"),
) -> None:
    """Measure general solvers at their best formulation beside pgsr, 12,780 to 3.2 million unknowns (half an hour)."""
    writable(out)
    path = peers.main(out, partial(print, flush=True), limit=limit)
    print(f"record  {path}")


@app.command(epilog="Example:  python -m pgsr.experiments bench-formulations")
def bench_formulations(
    limit: Annotated[float, typer.Option(help="Seconds per solve.", min=1)] = formulations.LIMIT,
    out: Annotated[Path, typer.Option(help="Folder for the record (JSON).")] = Path("results/bench"),
) -> None:
    """Measure squares, steps of a window and a network, and solver models beside models written by hand."""
    writable(out)
    say = partial(print, flush=True)
    print(f"records  {formulations.main(out, say, limit)}, {by_hand.main(out, say)}")


@app.command(
    epilog="Examples:  python -m pgsr.experiments bench-release  |  "
    "python -m pgsr.experiments bench-release --rows 10000000 --regions tracts  |  "
    "python -m pgsr.experiments bench-release --keep made  |  "
    "python -m pgsr.experiments bench-release --rows 10000000 --blocks --max-size 100"
)
def bench_release(
    rows: Annotated[int, typer.Option(help="Persons in the entity table.", min=1)] = 100_000_000,
    regions: Annotated[
        CensusRegions | None, typer.Option(help="Finest regions: states, counties (if left out) or tracts.")
    ] = None,
    blocks: Annotated[
        bool, typer.Option("--blocks", help="Down to made blocks, by M_H with sizes per level; leave out --regions.")
    ] = False,
    max_size: Annotated[int, typer.Option(help="The public largest size of the releases.", min=1)] = 20,
    keep: Annotated[Path | None, typer.Option(help="Keep tables and releases here; deleted if not given.")] = None,
    out: Annotated[Path, typer.Option(help="Folder for the steps (JSON).")] = Path("results/bench"),
) -> None:
    """Release and check made entity tables, end to end: seconds and memory of every step."""
    from pgsr.experiments.benchmarks import release_run

    if blocks and regions is not None:
        raise ArgumentError("--blocks has regions of its own, so --regions has no meaning; leave one of them out")
    writable(out)
    finest = "blocks" if blocks else (regions or CensusRegions.COUNTIES)
    release_run.main(console_for_tables(), out, rows, finest, max_size, keep)


@app.command(
    epilog="Examples:  python -m pgsr.experiments bench-nation  |  "
    "python -m pgsr.experiments bench-nation --blocks 60000 --blocks 200000 --method m_c_dp --place threads"
)
def bench_nation(
    blocks: Annotated[
        list[int] | None, typer.Option(help="Number of census blocks of a generated nation (repeat it).", min=3143)
    ] = None,
    method: Annotated[
        list[str] | None, typer.Option(help=f"Only this release (repeat it): {', '.join(nation.METHODS)}.")
    ] = None,
    epsilon: Annotated[str, typer.Option(help="Total epsilon of all levels.")] = "1",
    place: Annotated[str, typer.Option(help="Where states run: here, threads, dask, or an address.")] = "here",
    keep: Annotated[Path | None, typer.Option(help="Keep tables here; deleted if not given.")] = None,
    out: Annotated[Path, typer.Option(help="Folder for the steps (JSON).")] = Path("results/bench"),
) -> None:
    """Measure and release generated nations down to blocks, state by state: seconds and memory of every step."""
    writable(out)
    sizes, methods = blocks or list(nation.BLOCKS), method or list(nation.METHODS)
    nation.main(console_for_tables(), out, sizes, methods, epsilon, place, keep)


@app.command(epilog="Example:  python -m pgsr.experiments bench-reconcile --cells 1000 --cells 100000 --limit 30")
def bench_reconcile(
    cells: Annotated[list[int] | None, typer.Option(help="Cells of a table (repeat it).", min=8)] = None,
    limit: Annotated[float, typer.Option(help="Seconds that a peer may take.", min=1)] = 60,
    memory: Annotated[float, typer.Option(help="GiB of addresses that a peer may take.", min=1)] = 8,
    out: Annotated[Path, typer.Option(help="Folder for the rows (JSON).")] = Path("results/bench"),
) -> None:
    """Make noisy tables add up, beside programs and reconcilers of others: seconds, violations, distance, intervals."""
    from pgsr.experiments.benchmarks import interval_peers, reconcile_peers

    writable(out)
    interval_peers.main(console_for_tables())
    reconcile_peers.main(console_for_tables(), out, cells or [1_000, 100_000, 10_000_000], limit, memory)


@app.command(epilog="Examples:  python -m pgsr.experiments items  |  python -m pgsr.experiments items --out items.html")
def items(
    out: Annotated[Path, typer.Option(help="File for the page (HTML).")] = Path("results/items.html"),
) -> None:
    """List the papers' methods, theorems, tables, claims, numbers and data sets, where each lives, and if it works."""
    found = all_items(EXPERIMENTS)
    writable(out.parent)
    out.write_text(html.render(item_blocks(found, beyond(EXPERIMENTS))), encoding="utf-8")
    print_frame(console_for_tables(), pd.DataFrame(counted(found)), f"{len(found):,} items of the papers")
    console_for_tables().print(f"page   {out}", highlight=False)


@app.command(
    name="agreement",
    epilog="Examples:  python -m pgsr.experiments agreement  |  "
    "python -m pgsr.experiments agreement --instances 5 --problem M_c",
)
def agreement_(
    instances: Annotated[int, typer.Option(help="Random instances per problem.", min=1)] = 200,
    problem: Annotated[
        list[str] | None,
        typer.Option(help="Only these problems (repeat it).", autocompletion=lambda: list(agreement.PROBLEMS)),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for the pairs (Parquet).")] = Path("results/agreement"),
) -> None:
    """Solve every problem by all its methods, and compare objectives: exact for integers, to 1e-6 for reals."""
    unknown = [name for name in problem or () if name not in agreement.PROBLEMS]
    if unknown:
        raise ArgumentError(f"problem {unknown[0]!r} is unknown; use one of {', '.join(agreement.PROBLEMS)}")
    console = Console(width=None if Console().is_terminal else 150)
    writable(out)
    pairs = agreement.agreement(instances, problem or list(agreement.PROBLEMS))
    for title, relaxed in (("Integers", False), ("Relaxations", True)):
        part = {(method, name): pair for (method, name), pair in pairs.items() if agreement.is_relaxed(name) == relaxed}
        if part:
            print_frame(console, agreement.table(part), f"{title}: agreed of {instances} random instances")
    console.print(
        "r: the relaxation rounded; its bound is not above the integer optimum. -: not supported.", highlight=False
    )
    found = agreement.frame(pairs)
    for row in found.to_dict("records"):
        if row["agreed"] < row["asked"]:
            about = f"{row['method']} on {row['problem']}"
            console.print(f"[red]{about}[/red]: {row['agreed']} of {row['asked']}; {row['first_failure']}")
    found.to_parquet(out / "agreement.parquet", index=False)
    console.print(f"\ntable   {out / 'agreement.parquet'}", highlight=False)
