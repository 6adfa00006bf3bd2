"""The command `pgsr check`; `pgsr.cli` registers it."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table

from pgsr.commands.options import console_of
from pgsr.help import examples, shown

if TYPE_CHECKING:
    from pgsr.release import Report

EPILOG = examples(
    ("pgsr check release", "everything that can be verified from the folder"),
    ("pgsr check release --key publisher.pub", "and that the publisher signed it"),
    ("pgsr check release --digest 3f5a...", "and that it is the release that the publisher announced"),
    ("pgsr check release --json", "for programs"),
)


def check(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A release.", file_okay=False)],
    digest: Annotated[str | None, typer.Option(help="The digest that the publisher announced.")] = None,
    key: Annotated[Path | None, typer.Option(help="The publisher's public key; then an unsigned folder fails.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
) -> None:
    """Verify a release from its folder alone: arithmetic, conditions, post-processing. Exit 1 if not."""
    if not folder.is_dir():
        from pgsr.release.publishing.errors import ReleaseError

        raise ReleaseError(f"{str(folder)!r} is no folder; name the folder of a release")
    from pgsr.release import check as verify
    from pgsr.release.publishing.progress import Stages

    with Stages(console_of(quiet=as_json)) as stages:
        stages("checking")
        report = verify(folder, digest, key)
    if as_json:
        print(json.dumps([asdict(finding) for finding in report.findings], indent=1))
    else:
        show(report, f"Check of {escape(shown(str(folder)))}")
    if not report.passed:
        raise SystemExit(1)


def show(report: "Report", title: str) -> None:
    """Print what was found as a table, with the number of checks that passed."""
    colours = {"passed": "green", "failed": "bold red", "skipped": "yellow", "open": "yellow"}
    table = Table(title=title)
    for column in ("outcome", "check", "finding"):
        table.add_column(column, overflow="fold")
    for finding in report.findings:
        colour = colours[str(finding.outcome)]
        table.add_row(f"[{colour}]{finding.outcome}[/{colour}]", finding.name, escape(finding.sentence))
    console = console_of()
    console.print(table)
    passed, undecided = (sum(f.outcome == outcome for f in report.findings) for outcome in ("passed", "open"))
    more = f", {undecided} cannot be told from the folder" if undecided else ""
    console.print(f"{passed} of {len(report.findings)} checks passed{more}", highlight=False)
    if any("THIS IS A REHEARSAL" in finding.sentence for finding in report.findings):
        console.print("[bold red]A rehearsal: NOT private. Keep this folder as secret as the data.[/bold red]")
