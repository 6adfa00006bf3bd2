"""The commands about registered experiments and files that define one: list, new, run, plot, status, reports."""

from collections import Counter
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer
from rich.console import Console

from pgsr.experiments.benchmarks.compare import writable
from pgsr.experiments.commands.app import app, console_for_tables
from pgsr.experiments.commands.options import NamesArgument, ProfileOption, ResultsOption, SomeNamesArgument
from pgsr.experiments.commands.results import HEADS, print_rows
from pgsr.experiments.engine import from_file, runner
from pgsr.experiments.engine.digest import code_digest
from pgsr.experiments.engine.experiment import Experiment, ExperimentError, Profile
from pgsr.experiments.engine.runner import CellCondition
from pgsr.experiments.engine.store import Store, to_frame
from pgsr.experiments.engine.tables import print_frame
from pgsr.experiments.engine.verdicts import verdict_frame
from pgsr.experiments.ours.benchmark.tables import write_errors
from pgsr.experiments.registry import EXPERIMENTS
from pgsr.experiments.registry import find as registered
from pgsr.experiments.report import write_report
from pgsr.experiments.report.publication import publish, published
from pgsr.experiments.report.published_figures import FIGURES, results_figures
from pgsr.experiments.report.screen import shown_rows, write_shown
from pgsr.experiments.report.sections import collect
from pgsr.experiments.report.svg import write_svg


@app.command(name="list", epilog="Example:  python -m pgsr.experiments list")
def list_() -> None:
    """List the experiments that `run` knows, and how many cells each profile has."""
    rows = []
    for experiment in EXPERIMENTS:
        sizes = {str(p): f"{len(experiment.tasks(p)):,}" if p in experiment.profiles else "" for p in Profile}
        rows.append({"name": experiment.id, "title": experiment.title, "reproduces": experiment.reproduces} | sizes)
    print_frame(console_for_tables(), pd.DataFrame(rows), "Experiments, with cells per profile")


@app.command(
    epilog="Example:  python -m pgsr.experiments new mine, then  python -m pgsr.experiments run mine.py --profile smoke"
)
def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A Python name; the file is NAME.py.")],
    folder: Annotated[Path, typer.Option(help="Folder for the file.")] = Path("."),
) -> None:
    """Write a commented experiment of three arms to NAME.py, which runs at smoke profile as it is."""
    path = from_file.write_template(name, folder)
    console_for_tables().print(
        f"wrote  {path}\nrun it with  python -m pgsr.experiments run {path} --profile smoke",
        highlight=False,
        soft_wrap=True,
    )


@app.command(
    name="run",
    epilog="Examples:  python -m pgsr.experiments run K8  |  "
    "python -m pgsr.experiments run mine.py --profile smoke  |  "
    "python -m pgsr.experiments run K8 --profile paper --jobs 8  |  "
    "python -m pgsr.experiments run K8 --scheduler tcp://host:8786",
)
def run_(
    names: NamesArgument,
    profile: ProfileOption = Profile.QUICK,
    jobs: Annotated[int | None, typer.Option(help="Cells at once; all cores if not given.", min=1)] = None,
    scheduler: Annotated[str | None, typer.Option(help="Dask scheduler to run on, as tcp://host:8786.")] = None,
    keep_stale: Annotated[
        bool, typer.Option("--keep-stale", help="Keep results of older sources instead of computing them again.")
    ] = False,
    limit: Annotated[int | None, typer.Option(help="Run at most this many cells of each.", min=1)] = None,
    out: ResultsOption = Path("results"),
) -> None:
    """Run the cells that are missing, failed, torn or stale. Ctrl-C keeps what is finished; run again to go on."""
    console, failed = console_for_tables(), 0
    for experiment in [find(name) for name in names]:
        console.print(f"[bold]{experiment.id}[/bold] {experiment.title}, {profile}", highlight=False)
        there, remarks = experiment.available(profile)
        for remark in remarks:
            console.print(f"  {remark}", highlight=False)
        try:
            summary = runner.run(
                there,
                profile,
                Store(out),
                jobs=jobs,
                scheduler=scheduler,
                keep_stale=keep_stale,
                limit=limit,
                say=lambda line: console.print(f"  {line}", highlight=False),
            )
        except KeyboardInterrupt:
            console.print("  stopped; finished cells are kept, the same command goes on from there")
            raise SystemExit(130) from None
        _print_summary(console, summary)
        section = collect([experiment], profile, Store(out), draw=False)[0]
        if rows := shown_rows(experiment, to_frame(section.done), section.verdicts):
            print_rows(console, HEADS, rows, f"{experiment.id} {experiment.title}: {experiment.reproduces}; {profile}")
        failed += len(summary.failures)
    if failed:
        raise SystemExit(1)


@app.command(epilog="Example:  python -m pgsr.experiments plot K8 --profile quick")
def plot(names: NamesArgument, profile: ProfileOption = Profile.QUICK, out: ResultsOption = Path("results")) -> None:
    """Draw the figure of what is stored (PNG and PDF), and print what it says about the paper's claims."""
    console, store = console_for_tables(), Store(out)
    for experiment in [find(name) for name in names]:
        section = collect([experiment], profile, store, draw=False)[0]
        done = section.done
        if not done:
            raise ExperimentError(
                f"{experiment.id} has no results in {store.folder(experiment.id, profile)}; "
                f"python -m pgsr.experiments run {experiment.called} --profile {profile}"
            )
        frame, stale = to_frame(done), sum(entry.code != code_digest(experiment) for entry in done)
        if stale:
            console.print(f"{stale:,} of {len(done):,} results are of other sources than today's", highlight=False)
        for remark in section.remarks:
            console.print(remark, highlight=False, markup=False)
        folder = writable(store.folder(experiment.id, profile))
        figure = experiment.plot(frame)
        for ending in ("png", "pdf"):
            figure.savefig(folder / f"{experiment.id}.{ending}", dpi=200)
        print_frame(console, verdict_frame(experiment.verdicts(frame)), f"{experiment.id} {experiment.title}: verdicts")
        console.print(f"figure  {folder / experiment.id}.png and .pdf\n", highlight=False)


@app.command(epilog="Examples:  python -m pgsr.experiments status  |  python -m pgsr.experiments status K8")
def status(names: SomeNamesArgument = None, out: ResultsOption = Path("results")) -> None:
    """Tell how much of every experiment is finished, stale, failed, torn or missing, and why cells failed."""
    console, store, rows, reasons = console_for_tables(), Store(out), [], []
    for experiment in [find(name) for name in names] if names else EXPERIMENTS:
        for profile in experiment.profiles:
            there, remarks = experiment.available(profile)
            known = runner.conditions(there.tasks(profile), profile, store)
            found = Counter(condition for _, condition in known)
            rows.append(
                {"name": experiment.id, "profile": str(profile), "cells": len(known)}
                | {str(condition): found[condition] for condition in CellCondition}
            )
            reasons += remarks
            for task, condition in known:
                entry = store.load(task.cell, profile)
                if condition in (CellCondition.ABSENT, CellCondition.FAILED, CellCondition.TORN) and entry is not None:
                    reasons.append(f"{profile}: {task.cell.key}: {entry.reason}")
    print_frame(console, pd.DataFrame(rows), f"Results in {out}")
    for reason in dict.fromkeys(reasons):
        console.print(reason, highlight=False, markup=False)


@app.command(
    epilog="Examples:  python -m pgsr.experiments report  |  python -m pgsr.experiments report --profile paper  |  "
    "python -m pgsr.experiments report K8 --to my-report"
)
def report(
    names: SomeNamesArgument = None,
    profile: ProfileOption = Profile.QUICK,
    out: ResultsOption = Path("results"),
    to: Annotated[Path | None, typer.Option(help="Folder for the report (HTML), if not report in --out.")] = None,
) -> None:
    """Report what is stored: claims with verdicts, figures, and our numbers beside the printed ones. Runs nothing."""
    wanted = [find(name) for name in names] if names else EXPERIMENTS
    page = write_report(wanted, profile, Store(out), writable(out / "report" if to is None else to))
    console_for_tables().print(f"report   {page}", highlight=False, soft_wrap=True)


@app.command(name="publish", epilog="Example:  python -m pgsr.experiments publish K8 PG4 --profile paper")
def publish_(
    names: SomeNamesArgument = None,
    profile: ProfileOption = Profile.PAPER,
    out: ResultsOption = Path("results"),
    docs: Annotated[Path, typer.Option(help="Folder of the documentation.")] = Path("docs"),
) -> None:
    """Write stored results to docs/results; then the figures of all that is there, and the tables that pages quote.

    Without names nothing is stored and all is made again: figures and verdicts are of today's code, on the cells that
    docs/results keeps.
    """
    from pgsr.experiments.quoted import quote

    console, folder = console_for_tables(), writable(docs / "results")
    for experiment in [find(name) for name in names or ()]:
        found = publish(experiment, profile, Store(out), folder)
        console.print(f"{found.experiment}  {found.cells:,} of {found.planned:,} cells", highlight=False)
    for _, _, frame in published([registered("B1")], folder):
        write_errors(frame, folder)
    figures = writable(docs / FIGURES)
    for old in figures.glob("*.svg"):
        old.unlink()
    for name, figure in results_figures(EXPERIMENTS, folder):
        write_svg(figure, figures / name)
    write_shown(published(EXPERIMENTS, folder), folder)
    quote(docs)
    console.print(f"pages and figures in {docs} are of these results", highlight=False)


@app.command(name="quote", epilog="Example:  python -m pgsr.experiments quote")
def quote_(docs: Annotated[Path, typer.Option(help="Folder of the documentation.")] = Path("docs")) -> None:
    """Write anew what pages quote: numbers of docs/results, and the tables of the catalogue of methods."""
    from pgsr.experiments.quoted import quote

    changed = quote(docs)
    said = ", ".join(str(page) for page in changed) if changed else "nothing"
    console_for_tables().print(f"written anew: {said}", highlight=False, soft_wrap=True)


def rows_anew(name: str, profile: str, out: Path) -> list[tuple[str, ...]]:
    """Compute what a store lacks of an experiment, and make the rows of its table."""
    if profile not in list(Profile):
        raise ExperimentError(f"there is no profile {profile!r}; use one of {', '.join(Profile)}")
    run_([name], Profile(profile), out=out)
    section = collect([find(name)], Profile(profile), Store(out), draw=False)[0]
    return shown_rows(section.experiment, to_frame(section.done), section.verdicts)


def find(name: str) -> Experiment:
    """Find a registered experiment by its id, or read one from a file."""
    return from_file.load(Path(name)) if name.endswith(".py") else registered(name)


def _print_summary(console: Console, summary: runner.RunSummary) -> None:
    before = {str(condition): n for condition, n in summary.before.items()}
    had = ", ".join(f"{n:,} {condition}" for condition, n in before.items())
    if not summary.ran:
        console.print(f"  nothing to do: {summary.planned:,} cells, {had}", highlight=False)
        return
    done = ", ".join(f"{n:,} {state}" for state, n in summary.ran.items())
    left = f"; {summary.left:,} left" if summary.left else ""
    again = f"; {summary.restarted:,} needed several starts, the machine was busy" if summary.restarted else ""
    console.print(f"  {summary.planned:,} cells: {had}; ran: {done}{left}{again}", highlight=False)
    for reason in summary.absent:
        console.print(f"  not installed: {reason}", highlight=False, markup=False)
    for key, reason in summary.failures[:10]:
        console.print(f"  failed: {key}: {reason}", highlight=False, markup=False)
    if len(summary.failures) > 10:
        console.print(
            f"  ... and {len(summary.failures) - 10:,} more; python -m pgsr.experiments status", highlight=False
        )
