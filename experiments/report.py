"""The report of all experiments, as one HTML file and as Markdown. All numbers are the store's or the papers'."""

from collections.abc import Sequence
from pathlib import Path

from experiments.experiment import Experiment, Profile
from experiments.report_content import content
from experiments.report_html import html
from experiments.report_markdown import markdown
from experiments.report_sections import collect
from experiments.store import Store


def write_report(experiments: Sequence[Experiment], profile: Profile, store: Store, folder: Path) -> tuple[Path, Path]:
    """Write report.html, and report.md with its folder figures/, to a folder that exists.

    Returns:
        The two files.
    """
    blocks = content(collect(experiments, profile, store), profile)
    page, document = folder / "report.html", folder / "report.md"
    page.write_text(html(blocks), encoding="utf-8")
    document.write_text(markdown(blocks, folder / "figures"), encoding="utf-8")
    return page, document
