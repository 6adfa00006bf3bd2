"""The report of all experiments, as one HTML file and as Markdown. All numbers come from the store or the papers."""

from collections.abc import Sequence
from pathlib import Path

from pgsr.experiments.engine.experiment import Experiment, Profile
from pgsr.experiments.engine.store import Store
from pgsr.experiments.report import html, markdown
from pgsr.experiments.report.content import report_blocks
from pgsr.experiments.report.sections import collect


def write_report(experiments: Sequence[Experiment], profile: Profile, store: Store, folder: Path) -> tuple[Path, Path]:
    """Write report.html, and report.md with its folder figures/, to a folder that exists.

    Returns:
        The two files.
    """
    blocks = report_blocks(collect(experiments, profile, store), profile)
    page, document = folder / "report.html", folder / "report.md"
    page.write_text(html.render(blocks), encoding="utf-8")
    document.write_text(markdown.render(blocks, folder / "figures"), encoding="utf-8")
    return page, document
