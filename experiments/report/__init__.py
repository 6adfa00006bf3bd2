"""The report of all experiments, as one HTML file. All numbers come from the store or the papers."""

from collections.abc import Sequence
from pathlib import Path

from pgsr.experiments.engine.experiment import Experiment, Profile
from pgsr.experiments.engine.store import Store
from pgsr.experiments.report import html
from pgsr.experiments.report.content import report_blocks
from pgsr.experiments.report.sections import collect


def write_report(experiments: Sequence[Experiment], profile: Profile, store: Store, folder: Path) -> Path:
    """Write report.html to a folder that exists; returns the file."""
    page = folder / "report.html"
    page.write_text(html.render(report_blocks(collect(experiments, profile, store), profile)), encoding="utf-8")
    return page
