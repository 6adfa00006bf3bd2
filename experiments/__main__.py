"""`python -m experiments`: the command line. Text becomes values here and nowhere else."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from experiments import agreement, kuo_claims
from experiments import bench as benchmarks
from experiments.compare import CompareExperiment, Data, Size, writable, write
from experiments.tables import print_comparison, print_frame
from pgsr import PgsrError, View
from pgsr.budget import exact
from pgsr.errors import ArgumentError

app = typer.Typer(
    help="Run the experiments of pgsr.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)


@app.callback()
def experiments() -> None:
    """Run the experiments of pgsr. Results go to the folder results/."""


@app.command(
    epilog="Examples:  python -m experiments compare  |  python -m experiments compare --data taxi --epsilon 1/10  |  "
    "python -m experiments compare --size full"
)
def compare(
    data: Annotated[
        Data, typer.Option(help="Hierarchy; taxi and census2000 need the folder that PGSR_DATA names.")
    ] = Data.CENSUS,
    size: Annotated[Size, typer.Option(help="61 regions x 31 sizes, or 3,195 regions x 1,001 sizes.")] = Size.STATES,
    epsilon: Annotated[str, typer.Option(help="Total privacy budget, as '1', '0.1' or '1/3'.")] = "1",
    seed: Annotated[str, typer.Option(help="Any text; the same text gives the same noise.")] = "compare",
    time_limit: Annotated[float | None, typer.Option(help="Seconds per arm; 30, or 600 at full size.", min=1)] = None,
    out: Annotated[Path, typer.Option(help="Folder for the table (Parquet) and the figure (PNG).")] = Path(
        "results/compare"
    ),
) -> None:
    """Exact, relaxed and specialised post-processing side by side on the same noisy hierarchy."""
    experiment = CompareExperiment(data, size, exact(epsilon), seed, time_limit)
    console = Console(width=None if Console().is_terminal else 150)
    writable(out)
    truth = experiment.truth()
    levels = truth.hierarchy.n_levels
    console.print(f"[bold]{truth!r}[/bold]", highlight=False)
    scales = [view.sensitivity * levels / experiment.epsilon for view in (View.COUNTS, View.CUMULATIVE)]
    console.print(
        f"epsilon {experiment.epsilon}, an equal share per level: noise scale {scales[0]} on counts, {scales[1]} on "
        f"cumulative counts. Research noise (seed {seed!r}): no privacy claim.\n"
        f"Every arm has a process of its own and at most {experiment.limit:g} s.",
        highlight=False,
    )
    table = experiment.run(truth)
    print_comparison(console, table)
    parquet, png = write(table, out, experiment.name)
    console.print(f"\ntable   {parquet}\nfigure  {png}", highlight=False)


@app.command(epilog="Example:  python -m experiments bench --quick")
def bench(
    quick: Annotated[
        bool, typer.Option("--quick", help="Skip the solver that takes minutes and the largest size.")
    ] = False,
    out: Annotated[Path, typer.Option(help="Folder for the rows (JSON).")] = Path("results/bench"),
) -> None:
    """Measure speed and memory at full size, each beside its peer in the same run."""
    writable(out)
    benchmarks.main(Console(width=None if Console().is_terminal else 150), out, quick)


@app.command(
    name="agreement",
    epilog="Examples:  python -m experiments agreement  |  python -m experiments agreement --instances 5 --problem M_c",
)
def agreement_(
    instances: Annotated[int, typer.Option(help="Random instances per problem.", min=1)] = 200,
    problem: Annotated[
        list[str] | None,
        typer.Option(help="Only these problems (repeat it).", autocompletion=lambda: list(agreement.PROBLEMS)),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for the pairs (Parquet).")] = Path("results/agreement"),
) -> None:
    """Every method on every problem it supports, objectives compared: exact for integers, to 1e-6 for reals."""
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


@app.command(epilog="Example:  python -m experiments claims --replicates 10")
def claims(
    replicates: Annotated[int, typer.Option(help="Independent noise draws per figure.", min=2)] = 5,
    out: Annotated[Path, typer.Option(help="Folder for the table (Parquet).")] = Path("results/claims"),
) -> None:
    """Check the claims of Kuo et al. 2018 on the data at hand (taxi needs the folder that PGSR_DATA names)."""
    console = Console(width=None if Console().is_terminal else 150)
    writable(out)
    found = kuo_claims.frame(kuo_claims.findings(replicates))
    print_frame(console, found, f"Earth mover's distance per region, level 0 / 1 / ..., mean of {replicates} runs")
    console.print(
        "holds or fails: at two standard errors of the difference; same noise for both sides.", highlight=False
    )
    found.to_parquet(out / "kuo_claims.parquet", index=False)
    console.print(f"\ntable   {out / 'kuo_claims.parquet'}", highlight=False)


if __name__ == "__main__":
    try:
        app()
    except PgsrError as error:
        Console(stderr=True).print(f"[bold red]error:[/bold red] {error}", highlight=False, soft_wrap=True)
        raise SystemExit(2) from None
