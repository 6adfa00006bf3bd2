"""The command `pgsr`. Text becomes values here and nowhere else; errors are one sentence and exit code 2."""

import json
import sys
from collections.abc import Mapping
from dataclasses import asdict
from fractions import Fraction
from math import isfinite, isnan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from pgsr import __version__
from pgsr.commands import keys, ledger
from pgsr.commands.synthesize import EPILOG, synthesize
from pgsr.errors import PgsrError
from pgsr.help import examples
from pgsr.intervals import SPELLINGS
from pgsr.privacy.budget import exact

if TYPE_CHECKING:
    import pandas as pd

    from pgsr.intervals import Statistic
    from pgsr.release import Published, PublishedByLevel, Release, Report

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)

MECHANISMS = ("m_h", "m_c_dp", "kuo", "bottom_up", "posterior", "two_stage")
"""Names to complete; `pgsr.release.Kind` is what decides (held equal by `tests/test_core_cli.py`)."""

KINDS_OF_INTERVALS = ("posterior", "bootstrap", "band")

ConfigArgument = Annotated[
    Path, typer.Argument(metavar="CONFIG", help="TOML file; `pgsr release --example` prints one.")
]
SomeConfigArgument = Annotated[
    Path | None, typer.Argument(metavar="CONFIG", help="TOML file; `pgsr release --example` prints one.")
]


def _tell_version(wanted: bool) -> None:
    if wanted:
        print(f"pgsr {__version__}")
        raise typer.Exit


@app.callback(
    epilog=examples(
        ("pgsr release --example > release.toml", "a configuration to start from; name your tables in it"),
        ("pgsr validate release.toml", "what would be released; opens no private table"),
        ("pgsr plan release.toml", "what errors to expect; opens no private table"),
        ("pgsr selftest release.toml", "whether the noise is right on this machine"),
        ("pgsr release release.toml", "charges the ledger and writes the folder"),
        ("pgsr check release", "verifies the folder, as anybody can"),
        ("pgsr intervals release", "how far its counts may be from the truth"),
        after="Exit codes: 0 done, 1 a check failed, 2 refused (one sentence on stderr), 130 interrupted.",
    )
)
def pgsr(
    debug: Annotated[bool, typer.Option("--debug", help="Show where an error comes from; it may quote data.")] = False,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", is_eager=True, callback=_tell_version)
    ] = False,
) -> None:
    """Release numbers of groups by region and size with differential privacy, and check such releases."""
    del debug, version  # `main` looks for the first anywhere among the arguments


@app.command(
    epilog=examples(
        ("pgsr release --example > release.toml", "a configuration to start from"),
        ("pgsr release release.toml --rehearse", "all of it on noise that protects nothing, at no charge"),
        ("pgsr release release.toml", "the release"),
        ("pgsr release release.toml --epsilon 1/2 --mechanism m_h --output other", "other terms than the file's"),
        ("pgsr release release.toml --sign publisher.key", "signed with the publisher's private key"),
    )
)
def release(
    config: SomeConfigArgument = None,
    rehearse: Annotated[
        bool, typer.Option("--rehearse", help="Do all of it on seeded noise, without a charge. NOT private.")
    ] = False,
    example: Annotated[bool, typer.Option("--example", help="Print a configuration to start from.")] = False,
    epsilon: Annotated[str | None, typer.Option(help="Instead of the file's, as '1', '0.1' or '1/3'.")] = None,
    mechanism: Annotated[
        str | None,
        typer.Option(help=f"Instead of the file's: {', '.join(MECHANISMS)}.", autocompletion=lambda: list(MECHANISMS)),
    ] = None,
    max_size: Annotated[int | None, typer.Option(help="Instead of the file's: the public largest size.")] = None,
    output: Annotated[str | None, typer.Option(help="Instead of the file's: a folder that does not exist yet.")] = None,
    ledger: Annotated[str | None, typer.Option(help="Instead of the file's: the ledger to charge.")] = None,
    sign: Annotated[
        str | None, typer.Option(metavar="KEY", help="Instead of the file's: file of the private key that signs.")
    ] = None,
    finish: Annotated[
        Path | None,
        typer.Option(
            metavar="HIDDEN",
            help="Finish a release that failed after its charge, from the hidden folder it left; no new charge.",
        ),
    ] = None,
) -> None:
    """Charge the ledger, draw secure noise, and write a folder that anybody can check."""
    from pgsr.publishing.progress import Stages
    from pgsr.release import EXAMPLE, ConfigError, ReleaseConfig, publish
    from pgsr.release import finish as complete

    if example:
        print(EXAMPLE, end="")
        return
    flags = {
        "epsilon": epsilon,
        "mechanism": mechanism,
        "max_size": max_size,
        "output": output,
        "ledger": ledger,
        "sign": sign,
    }
    if finish is not None:
        if config is not None or rehearse:
            raise ConfigError("--finish takes no configuration: the terms lie in the folder that was kept")
        _require_left_out({**flags, "sign": None}, "with --finish, whose terms and place are those that were paid for")
        _show_release(complete(finish, sign, lambda line: _console().print(line, style="dim")))
        return
    if config is None:
        raise ConfigError("name a configuration; `pgsr release --example` prints one to start from")
    console = _console()
    asked = ReleaseConfig.read(config, flags)
    with Stages(console) as stages:
        made = publish(asked, rehearse, stages)
    if rehearse:
        console.print("[bold red]A rehearsal: NOT private. Keep this folder as secret as the data.[/bold red]")
    _show_release(made)


@app.command(
    epilog=examples(
        ("pgsr validate release.toml", "the configuration, and what it would release"),
        ("pgsr validate synthesis.toml --sizes release", "of a synthesis, what it would make"),
        ("pgsr validate --schema > release.schema.json", "the keys as JSON schema, for editors"),
    )
)
def validate(
    config: SomeConfigArgument = None,
    schema: Annotated[
        bool, typer.Option("--schema", help="Print the JSON schema of a release's configuration.")
    ] = False,
    sizes: Annotated[
        Path | None, typer.Option(help="Of a synthesis: release folder or table of counts that fixes its sizes.")
    ] = None,
) -> None:
    """Say what would be released or synthesised: reads the configuration and public tables, opens no private one.

    A configuration with a table [households] or [persons] is one of `pgsr synthesize`. Nothing is charged.
    """
    from pgsr.publishing.configuration.toml import read_toml
    from pgsr.publishing.saying import told_if_stopped
    from pgsr.release import ConfigError, outline
    from pgsr.release.configuration.schema import schema_text
    from pgsr.synthesis.config import SynthesisConfig, is_synthesis
    from pgsr.synthesis.outline import outline as outline_of_synthesis

    if schema:
        print(schema_text(), end="")
        return
    if config is None:
        raise ConfigError("name a configuration, or print the schema of all with --schema")
    console = _console()
    with told_if_stopped(console.print):
        if is_synthesis(read_toml(config, "`pgsr release --example` and `pgsr synthesize --example` print one")):
            verb, facts = "synthesise", outline_of_synthesis(SynthesisConfig.read(config), sizes)
        else:
            _require_left_out({"sizes": sizes}, "with the configuration of a release")
            verb, facts = "release", outline(config).facts
    table = Table(title=f"What {config.name} would {verb}", show_header=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for name, said in facts:
        table.add_row(_plain(name), _plain(said))
    console.print(table)


@app.command(
    epilog=examples(
        ("pgsr check release", "everything that can be verified from the folder"),
        ("pgsr check release --key publisher.pub", "and that the publisher signed it"),
        ("pgsr check release --digest 3f5a...", "and that it is the release that the publisher announced"),
        ("pgsr check release --json", "for programs"),
    )
)
def check(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A release, or a synthesis.", file_okay=False)],
    digest: Annotated[str | None, typer.Option(help="The digest that the publisher announced.")] = None,
    key: Annotated[Path | None, typer.Option(help="The publisher's public key; then an unsigned folder fails.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
) -> None:
    """Verify a release or synthesis from its folder alone: arithmetic, conditions, post-processing. Exit 1 if not."""
    if not folder.is_dir():
        from pgsr.release import ReleaseError

        raise ReleaseError(f"{str(folder)!r} is no folder; name the folder of a release or synthesis")
    if (folder / "transcript.json").exists() and not (folder / "manifest.json").exists():
        from pgsr.synthesis.check import check_synthesis as verify
    else:
        from pgsr.release import check as verify
    from pgsr.publishing.progress import Stages

    with Stages(_console(quiet=as_json)) as stages:
        stages("checking")
        report = verify(folder, digest, key, progress=stages.advance)
    if as_json:
        print(json.dumps([asdict(finding) for finding in report.findings], indent=1))
    else:
        _show(report, f"Check of {folder}")
    if not report.passed:
        raise SystemExit(1)


@app.command(
    epilog=examples(
        ("pgsr intervals release --statistic tail:100", "how many groups are larger than 100"),
        ("pgsr intervals release --kind bootstrap", "by releasing the release again, whatever its mechanism"),
        ("pgsr intervals release --kind band --statistic cumulative --output band.csv", "bounds of everything at once"),
        ("pgsr intervals release --statistic mean --statistic gini --region US/GA", "two statistics of one region"),
        ("pgsr intervals levels --statistic count", "of a release with sizes per level: count or cumulative"),
    )
)
def intervals(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A release, as it was published.")],
    statistic: Annotated[list[str] | None, typer.Option(help=f"One or several of {SPELLINGS}.")] = None,
    kind: Annotated[
        str | None,
        typer.Option(
            help="posterior: each interval by itself, from the noisy values; of releases by mechanism posterior. "
            "bootstrap: each by itself, approximate. band: all at once, guaranteed; not with sizes per level. "
            "If left out: posterior where the release knows it, else bootstrap.",
            autocompletion=lambda: list(KINDS_OF_INTERVALS),
        ),
    ] = None,
    level: Annotated[str, typer.Option(help="The probability aimed at, as '0.9'.")] = "0.9",
    replicates: Annotated[
        int | None, typer.Option(help="Releases of the bootstrap, or draws from the posterior; 200 if left out.")
    ] = None,
    seed: Annotated[
        str | None,
        typer.Option(help="Seed of these releases or draws: any text; the same text gives the same intervals."),
    ] = None,
    region: Annotated[str | None, typer.Option(help="Id of one region, such as US/GA; else all.")] = None,
    output: Annotated[Path | None, typer.Option(help="A CSV file that does not exist yet; else a table here.")] = None,
) -> None:
    """Say how far released counts may be from the truth, from the folder alone. Costs no privacy."""
    from pgsr.data.region_ids import path_of_id, region_id
    from pgsr.intervals import statistic_of
    from pgsr.intervals.value import exact_level
    from pgsr.release import ConfigError, Published, read_any_release

    if kind is not None and kind not in KINDS_OF_INTERVALS:
        raise ConfigError(f"--kind is {kind!r}; write {', '.join(KINDS_OF_INTERVALS[:-1])} or {KINDS_OF_INTERVALS[-1]}")
    if output is not None and output.exists():
        raise ConfigError(f"{output} exists; name a file that does not")
    if output is not None and output.resolve().parent == folder.resolve():
        raise ConfigError(f"{output} would lie in the release, which has no such file; name another place")
    draws = {"replicates": replicates, "seed": seed}
    if kind == "band":
        _require_left_out(draws, "with --kind band, which draws nothing")
    asked, wanted = [statistic_of(text) for text in statistic or []], exact_level(level)
    published, console = read_any_release(folder), _console()
    tree = published.counts.hierarchy
    place = None if region is None else tree.find(path_of_id(region))
    kind = _kind_of_intervals(published, kind)
    n, key = 200 if replicates is None else replicates, "intervals" if seed is None else seed
    if isinstance(published, Published):
        frame = _intervals(published, asked, wanted, kind, n, key, place)
    else:
        if kind == "posterior":
            _require_left_out(draws, "with the intervals of a posterior, which draw nothing, but with --kind bootstrap")
        frame = _intervals_by_level(published, asked, wanted, kind, n, key)
        if place is not None:
            frame = frame.loc[frame["region_id"] == region_id(tree.paths[place])]
    if not published.secure:
        console.print("[bold red]Of a rehearsal: NOT private. Keep these as secret as the data.[/bold red]")
    if output is not None:
        frame.to_csv(output, index=False)
        console.print(f"intervals  {output}", highlight=False, soft_wrap=True)
        return
    names = published.terms.names(tree.n_levels)  # they stand in the ids of the regions, too
    _show_intervals(frame.drop(columns=list(names)), f"{float(100 * wanted):.4g} % intervals, {kind}")


@app.command(
    epilog=examples(
        ("pgsr selftest release.toml", "at the scales of a configuration"),
        ("pgsr selftest --epsilon 1/2 --sensitivity 2 --levels 3", "at the scale 12"),
    )
)
def selftest(
    config: SomeConfigArgument = None,
    epsilon: Annotated[
        str | None, typer.Option(help="Total epsilon of all levels, where no configuration is named; 1 if left out.")
    ] = None,
    sensitivity: Annotated[
        int | None, typer.Option(help="Sensitivity: 2 for counts (if left out), 1 for cumulative counts.", min=1)
    ] = None,
    levels: Annotated[
        int | None, typer.Option(help="Number of levels, instead of the configuration's; 3 without one.", min=1)
    ] = None,
) -> None:
    """Test the sampler as installed here, at the scales in use. Exit 1 if it is not to be trusted."""
    from pgsr.privacy.laws import DoubleGeometric
    from pgsr.release import ReleaseConfig
    from pgsr.release import selftest as run

    if config is not None:
        _require_left_out({"epsilon": epsilon, "sensitivity": sensitivity}, "with a configuration, which states them")
        asked = ReleaseConfig.read(config)
        n_levels = levels or asked.tree().n_levels
        laws = [law for law in (*asked.terms.noise_laws(n_levels), asked.terms.totals_law(n_levels)) if law]
    else:
        change = 2 if sensitivity is None else sensitivity
        laws = [DoubleGeometric(Fraction(change * (levels or 3)) / exact("1" if epsilon is None else epsilon))]
    report = run(laws)
    _show(report, "Self-test of the noise")
    if not report.passed:
        raise SystemExit(1)


@app.command(
    epilog=examples(
        ("pgsr plan release.toml", "all mechanisms and some splits of epsilon, and which to take"),
        ("pgsr plan release.toml --weight county=2 --weight nation=0", "counties count most, the nation not at all"),
        ("pgsr plan release.toml --mechanism kuo --mechanism posterior", "these and the configured one alone"),
        ("pgsr plan release.toml --mean-size 2.6 --replicates 10", "a better guess of sizes, smaller chance errors"),
        ("pgsr plan release.toml --cell county:4", "how wide the published interval of this cell would be"),
        ("pgsr plan release.toml --groups 20000", "where the table of groups is private: a public guess"),
        ("pgsr plan release.toml --target-error county=50", "the epsilon at which the configured one gets there"),
    )
)
def plan(
    config: ConfigArgument,
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
    target_error: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LEVEL=ERROR",
            help="Find the smallest epsilon with at most this expected error at the level, instead of comparing.",
        ),
    ] = None,
) -> None:
    """Recommend mechanism and split, or epsilon, before any is spent. On made-up sizes; opens no private table."""
    from pgsr.publishing.progress import Stages
    from pgsr.publishing.saying import told_if_stopped
    from pgsr.release import ConfigError, ReleaseConfig, epsilon_for, forecast
    from pgsr.release.planning import WORST

    console, asked = _console(), ReleaseConfig.read(config)
    weights, targets = _by_level(weight, "--weight", 0), _by_level(target_error, "--target-error")
    if targets and (weights or mechanism or cell):
        raise ConfigError(
            "--target-error is about the configured mechanism; leave out --weight, --mechanism and --cell"
        )
    with Stages(console) as stages, told_if_stopped(stages):
        if targets:
            found = epsilon_for(asked, targets, mean_size, replicates, stages.advance, stages, groups)
            frame, text, lines = found.to_frame(), found.sentence, ""
        else:
            compared = forecast(
                asked, None, mean_size, replicates, stages.advance, stages, groups, mechanism, weights, cell
            )
            frame = compared.to_frame().sort_values(WORST, kind="stable")
            text = f"{compared.recommendation(weights)} {compared.effort}"
            lines = f"\nTo take it, write into {config}:\n\n{compared.recommended(weights).toml}"
    _show_plan(frame, "Expected earth mover's distance per region, on a made-up stand-in")
    console.print(_plain(text), highlight=False)
    if lines:
        console.print(_plain(lines), highlight=False, soft_wrap=True)


@app.command(
    epilog=examples(
        ("pgsr warmup", "a quarter of a minute, once per machine and version; later calls take seconds"),
        ("NUMBA_CACHE_DIR=/shared/pgsr pgsr warmup", "into a folder that several machines of one kind share"),
    )
)
def warmup() -> None:
    """Compile everything beforehand, so that no first call does: every method, noise and readers, on toys."""
    from pgsr.warming import warm_up

    for name, seconds in warm_up():
        print(f"{seconds:6.2f} s  {name}", flush=True)


app.command(epilog=EPILOG)(synthesize)
app.add_typer(keys.app, name="key")
app.add_typer(ledger.app, name="ledger")


def main() -> None:
    """Run the command line; every error is one sentence on stderr and exit code 2, with --debug a traceback."""
    try:
        app([argument for argument in sys.argv[1:] if argument != "--debug"])
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    except Exception as error:
        if "--debug" in sys.argv:
            raise
        _refuse(str(error) if isinstance(error, PgsrError | OSError) else _unexpected(error))
        raise SystemExit(2) from None


def _require_left_out(options: Mapping[str, object], where: str) -> None:
    """Raise `ConfigError` if an option is given that would change nothing."""
    from pgsr.release import ConfigError

    given = [name for name, value in options.items() if value is not None]
    if given:
        raise ConfigError(f"--{given[0].replace('_', '-')} has no meaning {where}; leave it out")


def _show_release(made: "Release") -> None:
    _console().print(f"release  {made.folder}\ndigest   {made.digest}", highlight=False, soft_wrap=True)


def _show(report: "Report", title: str) -> None:
    colours = {"passed": "green", "failed": "bold red", "skipped": "yellow", "open": "yellow"}
    table = Table(title=title)
    for column in ("outcome", "check", "finding"):
        table.add_column(column, overflow="fold")
    for finding in report.findings:
        colour = colours[str(finding.outcome)]
        table.add_row(f"[{colour}]{finding.outcome}[/{colour}]", finding.name, _plain(finding.sentence))
    console = _console()
    console.print(table)
    passed, undecided = (sum(f.outcome == outcome for f in report.findings) for outcome in ("passed", "open"))
    more = f", {undecided} cannot be told from the folder" if undecided else ""
    console.print(f"{passed} of {len(report.findings)} checks passed{more}", highlight=False)


def _kind_of_intervals(published: "Published | PublishedByLevel", kind: str | None) -> str:
    """Choose the kind of intervals of a release, or check the one that was asked for."""
    from pgsr.release import ConfigError, Published
    from pgsr.release.kinds import Construction, Measured

    terms = published.terms
    own = terms.possible_construction is Construction.POSTERIOR and terms.view is not Measured.COUNTS
    if kind == "posterior" and not own:
        raise ConfigError(
            "the release knows no intervals of its own: only mechanism posterior does, of noisy values that determine "
            "sums over sizes and with public numbers of groups; write --kind bootstrap"
        )
    if kind == "band" and not isinstance(published, Published):
        raise ConfigError(
            "the release has sizes per level, and the band wants one max_size for all levels; leave --kind out"
        )
    return kind or ("posterior" if own else "bootstrap")


def _intervals(
    published: "Published", asked: "list[Statistic]", level: Fraction, kind: str, n: int, seed: str, place: int | None
) -> "pd.DataFrame":
    """Compute the rows of intervals of a release, all statistics by the same draws or replicates.

    Of a posterior the release knows those of counts, cumulative counts and tails itself.
    """
    import pandas as pd

    from pgsr.intervals import Intervals, MeanSize, band, posterior_draws, replicate
    from pgsr.publishing.progress import DRAWING, Stages
    from pgsr.release.forecast import SIMULATING
    from pgsr.release.own_intervals import own_intervals, own_result
    from pgsr.release.sizes_of_excess import OfSizes

    asked, least = asked or [MeanSize()], published.terms.min_size
    own: list[Intervals | None] = [None] * len(asked)
    if kind == "posterior":
        result = own_result(published)
        own = [own_intervals(published, result, each, level) for each in asked]
    others = [OfSizes(each, least) for each, known in zip(asked, own, strict=True) if known is None]
    about = published.mechanism, published.by_excess, others, n, seed
    if kind == "band":
        bounds = band(published.measurement, level)
        rest = [bounds.intervals(each, published.by_excess) for each in others]
    elif others:
        with Stages(_console()) as stages:
            stages(DRAWING if kind == "posterior" else SIMULATING)
            if kind == "posterior":
                drawn = posterior_draws(*about, progress=stages.advance, measurement=published.measurement)
            else:
                drawn = replicate(*about, progress=stages.advance)
        rest = [each.intervals(level) for each in drawn]
    else:
        rest = []
    following = iter(rest)
    found = [next(following) if known is None else known for known in own]
    names = published.terms.names(published.counts.hierarchy.n_levels)
    return pd.concat([each.to_frame(place, level_names=names) for each in found], ignore_index=True)


def _intervals_by_level(
    published: "PublishedByLevel", asked: "list[Statistic]", level: Fraction, kind: str, n: int, seed: str
) -> "pd.DataFrame":
    """Compute the rows of intervals of a release with sizes per level, all statistics by the same replicates."""
    import pandas as pd

    from pgsr.intervals import Counts
    from pgsr.publishing.progress import Stages
    from pgsr.release.forecast import SIMULATING
    from pgsr.release.intervals_by_level import bootstrapped, own_intervals, statistic_frame, view_of_statistic

    views = [view_of_statistic(each) for each in asked or [Counts()]]
    if kind == "posterior":
        found = own_intervals(published, level, views)
    else:
        with Stages(_console()) as stages:
            stages(SIMULATING)
            found = bootstrapped(published, level, views, n, seed, stages.advance)
    names = published.terms.names(published.counts.hierarchy.n_levels)
    return pd.concat([statistic_frame(each, names) for each in found], ignore_index=True)


MOST_ROWS = 40
"""Rows of intervals that are printed; `--output` writes all."""


def _show_intervals(frame: "pd.DataFrame", title: str) -> None:
    table = Table(title=title)
    for name in frame.columns:
        table.add_column(name, justify="left" if name in ("region_id", "statistic") else "right", overflow="fold")
    for row in frame.head(MOST_ROWS).itertuples(index=False):
        table.add_row(*(_plain(value) if isinstance(value, str) else f"{value:,.6g}" for value in row))
    _console().print(table)
    if len(frame) > MOST_ROWS:
        text = f"and {len(frame) - MOST_ROWS:,} rows more; write all with --output"
        _console().print(text, highlight=False)


def _by_level(texts: list[str] | None, option: str, least: float | None = None) -> dict[str, float]:
    """Read the values of an option that are written LEVEL=NUMBER, with numbers from `least` up."""
    from pgsr.release import ConfigError

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
        left = column in ("mechanism", "split", "public totals", "epsilon", "interval by")
        with_error = f"{column}{STANDARD_ERROR}" in errors
        name = f"{column} ± s.e." if with_error else str(column)
        table.add_column(name, justify="left" if left else "right", overflow="fold", no_wrap=column == "split")
    for _, row in frame.iterrows():
        cells = []
        for column in shown:
            error = _shown(row[f"{column}{STANDARD_ERROR}"]) if f"{column}{STANDARD_ERROR}" in errors else ""
            cells.append(f"{_shown(row[column])} ± {error}" if error else _shown(row[column]))
        table.add_row(*cells)
    _console().print(table)


STANDARD_ERROR = " s.e."
"""The end of the name of a column of standard errors."""


def _shown(value: object) -> str:
    """Write a cell of a table; one that holds no number stays empty."""
    if isinstance(value, float) and isnan(value):
        return ""
    if isinstance(value, int | float):
        return f"{value:,.0f}" if abs(value) >= 100 else f"{value:,.3g}"
    return _plain(str(value))


def _unexpected(error: Exception) -> str:
    """Describe an unexpected error by its kind alone, because its text may quote data."""
    return f"{type(error).__name__}, which no command should raise; add --debug to see where it comes from"


def _refuse(text: str) -> None:
    Console(stderr=True).print(f"[bold red]error:[/bold red] {_plain(text)}", highlight=False, soft_wrap=True)


def _plain(text: str) -> str:
    from rich.markup import escape

    return escape(text)


def _console(quiet: bool = False) -> Console:
    return Console(width=None if sys.stdout.isatty() else 150, quiet=quiet)
