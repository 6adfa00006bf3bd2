"""The commands `python -m pgsr.experiments lib list | build | verify | run | traps | publish`."""

from pathlib import Path
from typing import Annotated

import pandas as pd
import typer
from rich.console import Console

from pgsr.errors import ArgumentError, DataError
from pgsr.experiments.engine.tables import print_frame
from pgsr.experiments.lib import verify as verifier
from pgsr.experiments.lib.folder import build as built_folder
from pgsr.experiments.lib.folder import is_built, read
from pgsr.experiments.lib.instances import INSTANCES, LARGEST_BY_DEFAULT, Instance
from pgsr.experiments.lib.instances import find as find_instance
from pgsr.experiments.lib.optimum import NotSolvedError

app = typer.Typer(
    help="PGSR-LIB: instances with proved optima, for any solver.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)

OutOption = Annotated[Path, typer.Option("--out", help="Folder of all instances.")]
NamesArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[NAME...]",
        help="Instances, or parts of their names, as mh-census or 1e4; all if none is named.",
        autocompletion=lambda: [instance.name for instance in INSTANCES],
    ),
]
LargestOption = Annotated[float, typer.Option("--largest", help="Instances of at most about so many unknowns.", min=1)]


@app.command(name="list", epilog="Example:  python -m pgsr.experiments lib list")
def list_(names: NamesArgument = None, out: OutOption = Path("results/pgsr-lib")) -> None:
    """List the instances, and what is proved of those that are built."""
    rows = []
    for instance in chosen(names, 1e99):
        known = read(out / instance.name) if is_built(out / instance.name) else None
        rows.append(
            {
                "name": instance.name,
                "kind": "" if known is None else known.facts["kind"],
                "unknowns": "" if known is None else f"{known.unknowns:,}",
                "rows": "" if known is None else f"{known.rows:,}",
                "optimum": "not built" if known is None else f"{float(known.objective):.10g}",
                "gap": "" if known is None else "proved" if known.gap == 0 else f"{known.gap:.0e}",
            }
        )
    print_frame(_console(), pd.DataFrame(rows), f"PGSR-LIB in {out}")


@app.command(
    epilog="Examples:  python -m pgsr.experiments lib build  |  "
    "python -m pgsr.experiments lib build mh-census --largest 1e7"
)
def build(
    names: NamesArgument = None,
    largest: LargestOption = LARGEST_BY_DEFAULT,
    mps_up_to: Annotated[float, typer.Option(help="Write .mps of instances of at most so many unknowns.")] = 1e5,
    again: Annotated[bool, typer.Option("--again", help="Build what is there, too.")] = False,
    out: OutOption = Path("results/pgsr-lib"),
) -> None:
    """Make the instances' files: problem, solution, proof, verifier. What is there is kept; missing data are named."""
    console, left, kept = _console(), [], 0
    for instance in chosen(names, largest):
        if is_built(out / instance.name) and not again:
            kept += 1
            continue
        try:
            made = built_folder(instance, out, with_mps=instance.unknowns <= mps_up_to)
        except (DataError, NotSolvedError, verifier.Refused) as reason:
            left.append(instance.name)
            console.print(f"{instance.name:42} [red]not built[/red]: {reason}", highlight=False)
            continue
        proved = "proved" if made.gap == 0 else f"gap {made.gap:.0e}"
        facts = made.facts
        line = f"{instance.name:42} {facts['kind']:5}{made.unknowns:>11,}  {proved:10} {facts['seconds']:8.1f} s"
        console.print(line, highlight=False)
    if kept:
        console.print(f"{kept:,} built before in {out}; --again builds them anew", highlight=False)
    if left:
        raise SystemExit(1)


@app.command(epilog="Example:  python -m pgsr.experiments lib verify")
def verify(
    names: NamesArgument = None, largest: LargestOption = 1e99, out: OutOption = Path("results/pgsr-lib")
) -> None:
    """Check built instances from their files alone; the same as running the verify.py that lies in each folder."""
    folders = [str(out / instance.name) for instance in chosen(names, largest) if is_built(out / instance.name)]
    if not folders:
        raise ArgumentError(f"no such instance is built in {out}; python -m pgsr.experiments lib build makes them")
    raise SystemExit(verifier.main(folders))


@app.command(
    epilog="Examples:  python -m pgsr.experiments lib run --solvers clarabel --solvers proxqp --largest 1e4  |  "
    "python -m pgsr.experiments lib run mh-census --limit 60"
)
def run(
    names: NamesArgument = None,
    solvers: Annotated[
        list[str] | None,
        typer.Option(help="Such as clarabel, or Cvxpy('CLARABEL') (repeat it); all installed ones if none is given."),
    ] = None,
    limit: Annotated[float, typer.Option(help="Seconds per solver and instance.", min=0.1)] = 60.0,
    largest: LargestOption = 1e5,
    out: OutOption = Path("results/pgsr-lib"),
    results: Annotated[Path, typer.Option(help="Folder for rows, tables and profiles.")] = Path("results/pgsr-lib-run"),
) -> None:
    """Run solvers on built instances, and tell who says solved and is not. After Ctrl-C the same command goes on."""
    from pgsr.experiments.lib import run as running

    console = _console()
    methods = running.chosen(solvers) if solvers else running.all_methods()
    folders = [out / instance.name for instance in chosen(names, largest)]
    rows = running.run(
        folders, methods, limit, results / "rows.jsonl", lambda line: console.print(line, highlight=False, markup=False)
    )
    _write(console, rows, results)


@app.command(epilog="Example:  python -m pgsr.experiments lib traps")
def traps(
    solvers: Annotated[
        list[str] | None,
        typer.Option(help="Such as scipy, or Cvxpy('HIGHS') (repeat it); all installed ones if none is given."),
    ] = None,
    limit: Annotated[float, typer.Option(help="Seconds per solver and trap.", min=0.1)] = 10.0,
    out: Annotated[Path, typer.Option("--out", help="Folder of the traps and the table.")] = Path(
        "results/pgsr-lib-traps"
    ),
) -> None:
    """Make the traps, tiny programs with proved optima that solvers get wrong, and tell who falls into them."""
    from pgsr.experiments.lib import run as running
    from pgsr.experiments.lib.score import markdown
    from pgsr.experiments.lib.traps.problems import TRAPS
    from pgsr.experiments.lib.traps.proof import build as built_trap
    from pgsr.experiments.lib.traps.runs import ask

    console = _console()
    stated = [(trap, built_trap(trap, out)) for trap in TRAPS]
    for trap, facts in stated:
        console.print(f"{trap.name:28} {facts['optimum']:>24}  {trap.about}", highlight=False)
    methods = running.chosen(solvers) if solvers else running.all_methods()
    table = ask(stated, methods, limit, lambda line: console.print(line, highlight=False, markup=False))
    (out / "traps.md").write_text(markdown(table) + "\n")
    table.to_json(out / "traps.json", orient="records")
    console.print(f"\ntraps, proofs, table   {out}", highlight=False)


@app.command(epilog="Example:  python -m pgsr.experiments lib publish")
def publish(
    results: Annotated[Path, typer.Option(help="Folder of the run.")] = Path("results/pgsr-lib-run"),
    traps: Annotated[Path, typer.Option(help="Folder of the traps.")] = Path("results/pgsr-lib-traps"),
    docs: Annotated[Path, typer.Option(help="Folder of the pages.")] = Path("docs"),
) -> None:
    """Put the rows of a run, and who falls into the traps, where the pages quote them."""
    from pgsr.experiments.lib.published import publish as published

    if not (results / "rows.parquet").exists():
        raise ArgumentError(f"there is no run in {results}; python -m pgsr.experiments lib run makes one")
    asked = traps / "traps.json"
    table = pd.read_json(asked) if asked.exists() else None
    published(pd.read_parquet(results / "rows.parquet"), table, docs / "results")
    print(f"published in {docs / 'results'}; python -m pgsr.experiments quote writes the pages anew")


def chosen(names: list[str] | None, largest: float) -> list[Instance]:
    """Choose declared instances of at most about `largest` unknowns by their names or parts of them.

    Raises:
        ArgumentError: a name is in none, or only in larger ones.
    """
    found = []
    for name in names or [""]:
        those = [instance for instance in INSTANCES if name in instance.name]
        if not those:
            find_instance(name)
        small = [instance for instance in those if instance.unknowns <= largest * 1.5]
        if not small:
            size = min(instance.size for instance in those)
            which = f"every instance with {name!r} in its name" if name else "every instance"
            raise ArgumentError(
                f"{which} has about 1e{size} unknowns or more, and --largest {largest:g} leaves it out; give --largest "
                f"1e{size}"
            )
        found += [instance for instance in small if instance not in found]
    return found


def _write(console: Console, rows: pd.DataFrame, results: Path) -> None:
    from pgsr.experiments.lib.score import duration, markdown, profile, scores

    rows.to_parquet(results / "rows.parquet", index=False)
    rows.to_csv(results / "rows.csv", index=False)
    for kind in ("QP", "LP", "MIQP", "MILP"):
        table = scores(rows, kind)
        if not len(table):
            continue
        table["time"] = [duration(seconds) for seconds in table["time"]]
        print_frame(console, table, f"{kind}: who solves what; wrong = said solved, and is not")
        (results / f"{kind}.md").write_text(markdown(table) + "\n")
        profile(rows, kind).savefig(results / f"profile-{kind}.png", dpi=150, bbox_inches="tight")
    columns = ["method", "instance", "status", "reason", "said_solved"]
    for method, instance, status, reason, said in rows.reindex(columns=columns).itertuples(index=False):
        if said is True and status == "FAILED":
            console.print(f"{method} on {instance}: {reason}", highlight=False, markup=False)
    console.print(f"\nrows, tables, profiles   {results}", highlight=False)


def _console() -> Console:
    return Console(width=None if Console().is_terminal else 150)
