"""The command line `python -m pgsr.experiments`. Text becomes values here and nowhere else."""

from collections import Counter
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer
from rich.console import Console
from rich.progress import Progress

from pgsr import PgsrError, View
from pgsr.budget import exact
from pgsr.datasets.parameters import Regions
from pgsr.errors import ArgumentError
from pgsr.experiments.benchmarks import agreement, household_views, nation, prefix_sums, release_run, speed
from pgsr.experiments.benchmarks.compare import CompareExperiment, Data, Size, writable, write
from pgsr.experiments.benchmarks.interval_coverage import Coverage
from pgsr.experiments.benchmarks.national_coverage import DATA, LEAST, NationalCoverage, in_words, judged
from pgsr.experiments.benchmarks.variants import KEYS, chosen
from pgsr.experiments.engine import from_file, runner
from pgsr.experiments.engine.causes import Cause
from pgsr.experiments.engine.digest import code_digest
from pgsr.experiments.engine.experiment import Experiment, ExperimentError, Profile
from pgsr.experiments.engine.runner import Condition
from pgsr.experiments.engine.store import Entry, State, Store, to_frame
from pgsr.experiments.engine.tables import print_frame
from pgsr.experiments.engine.verdicts import Finding, verdict_frame
from pgsr.experiments.lib import command as lib_command
from pgsr.experiments.registry import EXPERIMENTS
from pgsr.experiments.registry import find as registered
from pgsr.experiments.report import markdown, write_report
from pgsr.experiments.report.items import all_items, counted, item_blocks
from pgsr.experiments.report.publication import publish
from pgsr.experiments.report.results_page import results_blocks
from pgsr.experiments.report.sections import collect
from pgsr.release import Kind

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


app.add_typer(lib_command.app, name="lib")

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
    typer.Option(help="smoke: seconds; quick: minutes; paper: the papers' sizes; reduced: PG1, X2 in two hours."),
]
ResultsOption = Annotated[Path, typer.Option("--out", help="Folder of all results.")]


@app.callback()
def experiments() -> None:
    """Run the experiments of pgsr. Results go to the folder results/."""


@app.command(
    epilog="Examples:  python -m pgsr.experiments compare  |  "
    "python -m pgsr.experiments compare --problem m_h --problem m_c  |  "
    "python -m pgsr.experiments compare --size full --time-limit 120"
)
def compare(
    data: Annotated[
        Data, typer.Option(help="Hierarchy; taxi and census2000 need the folder that PGSR_DATA names.")
    ] = Data.CENSUS,
    size: Annotated[Size, typer.Option(help="61 regions x 21 sizes, or 3,195 regions x 1,001 sizes.")] = Size.STATES,
    epsilon: Annotated[str, typer.Option(help="Total privacy budget, as '1', '0.1' or '1/3'.")] = "1",
    seed: Annotated[str, typer.Option(help="Any text; the same text gives the same noise.")] = "compare",
    problem: Annotated[
        list[str] | None, typer.Option(help=f"Only this problem (repeat it): {', '.join(KEYS)}.")
    ] = None,
    time_limit: Annotated[float | None, typer.Option(help="Seconds per arm; 3, or 600 at full size.", min=1)] = None,
    out: Annotated[Path, typer.Option(help="Folder for table (Parquet), page (HTML) and figure (PNG).")] = Path(
        "results/compare"
    ),
) -> None:
    """Put every variant of post-processing side by side, exact, relaxed and specialised, on one noisy hierarchy."""
    experiment = CompareExperiment(data, size, exact(epsilon), seed, time_limit, tuple(problem or ()))
    console = Console(width=None if Console().is_terminal else 150)
    writable(out)
    chosen(experiment.problems)
    truth = experiment.truth()
    levels = truth.hierarchy.n_levels
    console.print(f"[bold]{truth!r}[/bold]", highlight=False)
    scales = [view.sensitivity * levels / experiment.epsilon for view in (View.COUNTS, View.CUMULATIVE)]
    console.print(
        f"epsilon {experiment.epsilon}, an equal share per level: noise scale {scales[0]} on counts, {scales[1]} on "
        f"cumulative counts and ranked sizes. Research noise (seed {seed!r}): no privacy claim.\n"
        f"Every arm has a process of its own and at most {experiment.limit:g} s.\n",
        highlight=False,
    )
    table = experiment.run(truth)
    table.print(console)
    parquet, png, page = write(table, out, experiment.name)
    console.print(f"\ntable   {parquet}\npage    {page}\nfigure  {png}", highlight=False)


@app.command(epilog="Example:  python -m pgsr.experiments bench --quick")
def bench(
    quick: Annotated[
        bool, typer.Option("--quick", help="Skip the solver that takes minutes and the largest size.")
    ] = False,
    out: Annotated[Path, typer.Option(help="Folder for the rows (JSON).")] = Path("results/bench"),
) -> None:
    """Measure speed and memory at full size, each beside its peer in the same run."""
    writable(out)
    speed.main(Console(width=None if Console().is_terminal else 150), out, quick)


@app.command(
    epilog="Examples:  python -m pgsr.experiments bench-release  |  "
    "python -m pgsr.experiments bench-release --rows 10000000 --regions tracts  |  "
    "python -m pgsr.experiments bench-release --keep made"
)
def bench_release(
    rows: Annotated[int, typer.Option(help="Persons in the entity table.", min=1)] = 100_000_000,
    regions: Annotated[Regions, typer.Option(help="Finest regions: states, counties or tracts.")] = Regions.COUNTIES,
    max_size: Annotated[int, typer.Option(help="The public largest size of the releases.", min=1)] = 20,
    keep: Annotated[Path | None, typer.Option(help="Keep tables and releases here; deleted if not given.")] = None,
    out: Annotated[Path, typer.Option(help="Folder for the steps (JSON).")] = Path("results/bench"),
) -> None:
    """Release and check made entity tables, end to end: seconds and memory of every step."""
    writable(out)
    release_run.main(_console(), out, rows, regions, max_size, keep)


@app.command(
    epilog="Examples:  python -m pgsr.experiments bench-nation  |  "
    "python -m pgsr.experiments bench-nation --blocks 60000 --blocks 200000 --place threads"
)
def bench_nation(
    blocks: Annotated[list[int] | None, typer.Option(help="Of a generated nation (repeat it).", min=3143)] = None,
    epsilon: Annotated[str, typer.Option(help="Of all levels together.")] = "1",
    place: Annotated[str, typer.Option(help="Where states run: here, threads, dask, or an address.")] = "here",
    keep: Annotated[Path | None, typer.Option(help="Keep tables here; deleted if not given.")] = None,
    out: Annotated[Path, typer.Option(help="Folder for the steps (JSON).")] = Path("results/bench"),
) -> None:
    """Measure and release generated nations down to blocks, state by state: seconds and memory of every step."""
    writable(out)
    nation.main(_console(), out, blocks or list(nation.BLOCKS), epsilon, place, keep)


@app.command(
    epilog="Examples:  python -m pgsr.experiments items  |  python -m pgsr.experiments items --out docs/items.md"
)
def items(
    out: Annotated[Path, typer.Option(help="File for the page (Markdown).")] = Path("results/items.md"),
) -> None:
    """List the papers' methods, tables, claims, numbers and data sets, where each lives, and whether it works."""
    found = all_items(EXPERIMENTS)
    writable(out.parent)
    out.write_text(markdown.render(item_blocks(found), out.parent / "figures"), encoding="utf-8")
    print_frame(_console(), pd.DataFrame(counted(found)), f"{len(found):,} items of the papers")
    _console().print(f"page   {out}", highlight=False)


@app.command(
    epilog="Examples:  python -m pgsr.experiments units  |  python -m pgsr.experiments units --max-size 100 --seeds 1"
)
def units(
    max_size: Annotated[
        list[int] | None, typer.Option(help="K of the variances (repeat it); 10, 100, 1000 and 10000.", min=1)
    ] = None,
    seeds: Annotated[int, typer.Option(help="Releases of every population by every way.", min=1)] = 5,
    out: Annotated[Path, typer.Option(help="Folder for the two tables (CSV).")] = Path("results/units"),
) -> None:
    """Compare what to measure when whole groups are hidden: variances by K, and errors of releases."""
    writable(out)
    console, sizes = _console(), max_size or [10, 100, 1_000, 10_000]
    variances = [row for k in sizes for r in prefix_sums.RELATIONS for row in prefix_sums.variance_rows(k, r)]
    found = pd.DataFrame(variances)
    found.to_csv(out / "variances.csv", index=False)
    print_frame(console, found.round(2), "Variances of cumulative counts, by what is measured")
    for k in sizes:
        computed = f"{prefix_sums.least_mean_variance(k):.2f}" if k <= prefix_sums.LARGEST_BOUND else "not computed"
        console.print(
            f"K {k:,}: no strategy has a smaller mean at rho 1/2 and add_remove than {computed} (certified here); "
            f"{prefix_sums.published_bound(k):.2f} (published, large K)",
            highlight=False,
        )
    names, budgets = list(household_views.populations()), household_views.BUDGETS
    with Progress(console=console, transient=True) as bar:
        task = bar.add_task("releasing", total=len(names) * len(budgets) * seeds)
        found = household_views.frame(names, budgets, seeds, lambda: bar.advance(task))
    found.to_csv(out / "releases.csv", index=False)
    print_frame(console, found.round(1), "Earth mover's distance by level, by what is measured")
    console.print(f"tables  {out}/variances.csv and releases.csv", highlight=False)


@app.command(epilog="Example:  python -m pgsr.experiments coverage --seed 11 --seed 12 --seed 13")
def coverage(
    seed: Annotated[list[int] | None, typer.Option(help="Of a population (repeat it).")] = None,
    releases: Annotated[int, typer.Option(help="Of every population by every mechanism.", min=1)] = 60,
    replicates: Annotated[int, typer.Option(help="Of the bootstrap of every release.", min=20)] = 200,
    out: Annotated[Path, typer.Option(help="Folder for the table (CSV).")] = Path("results/coverage"),
) -> None:
    """Measure how often intervals of 90 % hold the truth, by mechanism, form, statistic and level."""
    writable(out)
    asked = Coverage(tuple(seed or [11]), releases, replicates)
    with Progress(console=_console(), transient=True) as bar:
        task = bar.add_task("releasing")
        found = asked.measure(lambda done, total: bar.update(task, completed=done, total=total))
    found.to_csv(out / "coverage.csv", index=False)
    _console().print(f"table  {out / 'coverage.csv'}", highlight=False)


@app.command(
    epilog="Examples:  python -m pgsr.experiments national-coverage --mechanism m_h --releases 100  |  "
    "python -m pgsr.experiments national-coverage --mechanism posterior --shares 1/12,0,11/12"
)
def national_coverage(
    mechanism: Annotated[Kind, typer.Option(help="Of the releases.")] = Kind.POSTERIOR,
    data: Annotated[str, typer.Option(help=f"The population: {', '.join(DATA)}.")] = "census",
    epsilon: Annotated[str, typer.Option(help="Of every release, 1 or 1/10.")] = "1",
    shares: Annotated[str | None, typer.Option(help="Of epsilon, root first: 1/12,0,11/12.")] = None,
    releases: Annotated[int, typer.Option(help="Of the population.", min=1)] = 20,
    replicates: Annotated[int, typer.Option(help="Of the bootstrap of every release.", min=20)] = 200,
    out: Annotated[Path, typer.Option(help="Folder for the tables (CSV).")] = Path("results/national_coverage"),
) -> None:
    """Measure how often the intervals of a national release hold the truth, stratum by stratum; a rerun continues."""
    writable(out)
    if data not in DATA:
        raise ExperimentError(f"the population {data!r} is unknown; write one of {', '.join(DATA)}")
    split = None if shares is None else tuple(shares.split(","))
    asked = NationalCoverage(data, mechanism, epsilon, releases, replicates, split)
    with Progress(console=_console(), transient=True) as bar:
        task = bar.add_task("releasing")
        found = asked.measure(out, lambda done, total: bar.update(task, completed=done, total=total))
    found.to_csv(out / f"{asked.name}.csv", index=False)
    worst = judged(found).head(20)
    if len(worst):
        table, words = in_words(worst)
        print_frame(_console(), table, f"Strata of at least {LEAST:,} cells, those with the lowest coverage first")
        _console().print(words, highlight=False)
    else:
        _console().print(f"no stratum has {LEAST:,} cells; give more --releases", highlight=False)
    _console().print(f"table  {out / f'{asked.name}.csv'}", highlight=False)


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


@app.command(name="list", epilog="Example:  python -m pgsr.experiments list")
def list_() -> None:
    """List the experiments that `run` knows, and how many cells each profile has."""
    rows = []
    for experiment in EXPERIMENTS:
        sizes = {str(p): f"{len(experiment.tasks(p)):,}" if p in experiment.profiles else "" for p in Profile}
        rows.append({"name": experiment.id, "title": experiment.title, "reproduces": experiment.reproduces} | sizes)
    print_frame(_console(), pd.DataFrame(rows), "Experiments, with cells per profile")


@app.command(
    epilog="Example:  python -m pgsr.experiments new mine, then  python -m pgsr.experiments run mine.py --profile smoke"
)
def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A Python name; the file is NAME.py.")],
    folder: Annotated[Path, typer.Option(help="Folder for the file.")] = Path("."),
) -> None:
    """Write a commented experiment of two arms to NAME.py, which runs at smoke profile as it is."""
    path = from_file.write_template(name, folder)
    _console().print(
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
    console, failed = _console(), 0
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
        failed += len(summary.failures)
    if failed:
        raise SystemExit(1)


@app.command(epilog="Example:  python -m pgsr.experiments plot K8 --profile quick")
def plot(names: NamesArgument, profile: ProfileOption = Profile.QUICK, out: ResultsOption = Path("results")) -> None:
    """Draw the figure of what is stored (PNG and PDF), and print what it says about the paper's claims."""
    console, store = _console(), Store(out)
    for experiment in [find(name) for name in names]:
        entries = [entry for entry in store.entries(experiment.owner.id, profile) if isinstance(entry, Entry)]
        done = [entry for entry in entries if entry.state is State.DONE]
        if not done:
            raise ExperimentError(
                f"{experiment.id} has no results in {store.folder(experiment.id, profile)}; "
                f"python -m pgsr.experiments run {experiment.called} --profile {profile}"
            )
        frame, stale = to_frame(done), sum(entry.code != code_digest(experiment) for entry in done)
        if stale:
            console.print(f"{stale:,} of {len(done):,} results are of other sources than today's", highlight=False)
        folder = writable(store.folder(experiment.id, profile))
        figure = experiment.plot(frame)
        for ending in ("png", "pdf"):
            figure.savefig(folder / f"{experiment.id}.{ending}", dpi=200)
        print_frame(console, verdict_frame(experiment.verdicts(frame)), f"{experiment.id} {experiment.title}: verdicts")
        console.print(f"figure  {folder / experiment.id}.png and .pdf\n", highlight=False)


@app.command(epilog="Examples:  python -m pgsr.experiments status  |  python -m pgsr.experiments status K8")
def status(names: SomeNamesArgument = None, out: ResultsOption = Path("results")) -> None:
    """Tell how much of every experiment is finished, stale, failed, torn or missing, and why cells failed."""
    console, store, rows, reasons = _console(), Store(out), [], []
    for experiment in [find(name) for name in names] if names else EXPERIMENTS:
        for profile in experiment.profiles:
            there, remarks = experiment.available(profile)
            known = runner.conditions(there.tasks(profile), profile, store)
            found = Counter(condition for _, condition in known)
            rows.append(
                {"name": experiment.id, "profile": str(profile), "cells": len(known)}
                | {str(condition): found[condition] for condition in Condition}
            )
            reasons += remarks
            for task, condition in known:
                entry = store.load(task.cell, profile)
                if condition in (Condition.FAILED, Condition.TORN) and entry is not None:
                    reasons.append(f"{profile}: {task.cell.key}: {entry.reason}")
    print_frame(console, pd.DataFrame(rows), f"Results in {out}")
    for reason in dict.fromkeys(reasons):
        console.print(reason, highlight=False, markup=False)


@app.command(
    epilog="Examples:  python -m pgsr.experiments report  |  python -m pgsr.experiments report --profile paper  |  "
    "python -m pgsr.experiments report K8 --out my-report"
)
def report(
    names: SomeNamesArgument = None,
    profile: ProfileOption = Profile.QUICK,
    results: Annotated[Path, typer.Option(help="Folder of all results.")] = Path("results"),
    out: Annotated[Path, typer.Option("--out", help="Folder for the report (HTML, Markdown, figures).")] = Path(
        "results/report"
    ),
) -> None:
    """Report what is stored: claims with verdicts, figures, and our numbers beside the printed ones. Runs nothing."""
    wanted = [find(name) for name in names] if names else EXPERIMENTS
    page, document = write_report(wanted, profile, Store(results), writable(out))
    _console().print(f"report   {page}\nthe same {document}", highlight=False, soft_wrap=True)


@app.command(name="publish", epilog="Example:  python -m pgsr.experiments publish K8 PG4 --profile paper")
def publish_(
    names: SomeNamesArgument = None,
    profile: ProfileOption = Profile.PAPER,
    results: Annotated[Path, typer.Option(help="Folder of all results.")] = Path("results"),
    docs: Annotated[Path, typer.Option(help="Folder of the documentation.")] = Path("docs"),
) -> None:
    """Write stored results to docs/results, and the page docs/results.md; without names, the page alone."""
    console, folder = _console(), writable(docs / "results")
    for experiment in [find(name) for name in names or ()]:
        found = publish(experiment, profile, Store(results), folder)
        console.print(f"{found.experiment}  {found.cells:,} of {found.planned:,} cells", highlight=False)
    page = docs / "results.md"
    page.write_text(markdown.render(results_blocks(EXPERIMENTS, folder), docs / "figures"), encoding="utf-8")
    console.print(f"page   {page}", highlight=False)


@app.command(
    epilog="Examples:  python -m pgsr.experiments verdicts  |  "
    "python -m pgsr.experiments verdicts K5 K8 --profile paper"
)
def verdicts(
    names: SomeNamesArgument = None, profile: ProfileOption = Profile.QUICK, out: ResultsOption = Path("results")
) -> None:
    """Tell what stored results say about the papers' claims and printed numbers. Runs and draws nothing."""
    console, wanted = _console(), [find(name) for name in names] if names else EXPERIMENTS
    sections = collect(wanted, profile, Store(out), draw=False)
    if not any(section.done for section in sections):
        which = f"{', '.join(names)}, profile {profile}" if names else f"profile {profile}"
        raise ExperimentError(f"nothing is stored in {out} for {which}; {sections[0].command}")
    counts: Counter[tuple[Cause, Finding]] = Counter()
    for section in sections:
        title = f"{section.experiment.id} {section.experiment.title}"
        if section.verdicts:
            print_frame(console, verdict_frame(section.verdicts), title)
        elif section.done or names:
            said = "no verdicts" if section.done else "nothing is stored"
            console.print(f"[bold]{title}[/bold]\n{said}", highlight=False)
        trouble = {condition: sum(map(len, keys.values())) for condition, keys in section.trouble.items()}
        for remark in (*section.remarks, *(f"{n:,} cells are {condition}" for condition, n in trouble.items())):
            console.print(remark, highlight=False, markup=False)
        counts.update((verdict.cause, verdict.finding) for verdict in section.verdicts)
    by_cause = [{"cause": str(c)} | {str(f): counts[c, f] for f in Finding} | {"meaning": c.meaning} for c in Cause]
    print_frame(console, pd.DataFrame(by_cause), "Findings by cause: what each is about")
    n_done = sum(bool(section.done) for section in sections)
    found = ", ".join(f"{finding} {counts[Cause.CLAIM, finding]:,}" for finding in Finding)
    console.print(
        f"\n{n_done:,} of {len(sections):,} experiments have results in profile {profile}: {found}, of the papers' "
        "claims as the papers state them",
        highlight=False,
    )


def find(name: str) -> Experiment:
    """Find a registered experiment by its id, or read one from a file."""
    return from_file.load(Path(name)) if name.endswith(".py") else registered(name)


def _console() -> Console:
    return Console(width=None if Console().is_terminal else 150)


def _print_summary(console: Console, summary: runner.Summary) -> None:
    before = {str(condition): n for condition, n in summary.before.items()}
    had = ", ".join(f"{n:,} {condition}" for condition, n in before.items())
    if not summary.ran:
        console.print(f"  nothing to do: {summary.planned:,} cells, {had}", highlight=False)
        return
    done = ", ".join(f"{n:,} {state}" for state, n in summary.ran.items())
    left = f"; {summary.left:,} left" if summary.left else ""
    again = f"; {summary.restarted:,} needed several starts, the machine was busy" if summary.restarted else ""
    console.print(f"  {summary.planned:,} cells: {had}; ran: {done}{left}{again}", highlight=False)
    for key, reason in summary.failures[:10]:
        console.print(f"  failed: {key}: {reason}", highlight=False, markup=False)
    if len(summary.failures) > 10:
        console.print(
            f"  ... and {len(summary.failures) - 10:,} more; python -m pgsr.experiments status", highlight=False
        )


if __name__ == "__main__":
    try:
        app()
    except PgsrError as error:
        Console(stderr=True).print(f"[bold red]error:[/bold red] {error}", highlight=False, soft_wrap=True)
        raise SystemExit(2) from None
