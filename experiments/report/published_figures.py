"""The figures of published results, docs/figures/results: drawn from docs/results alone, shown on the papers' pages."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pgsr.experiments.engine.experiment import Experiment
from pgsr.experiments.report.publication import published

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

FIGURES = "figures/results"
"""Where figures are, from docs/."""

BY_DATA = ("PG4", "X1")
"""Experiments with a figure per data set, because one of all has more panels than can be read on a page."""

IN_WORDS = ("K1", "K10")
"""Experiments of which pages have a table or a sentence that says more than a figure."""


def results_figures(experiments: Sequence[Experiment], folder: Path) -> "Iterator[tuple[str, Figure]]":
    """Draw the figures of what a folder has of these experiments, each with the name of its file."""
    for experiment, _, frame in published(experiments, folder):
        for name, part in _figures(experiment, frame):
            yield name, experiment.plot(part)


def figure_files(experiment: Experiment, frame: "pd.DataFrame") -> list[str]:
    """List the names of the files of an experiment's figures."""
    return [name for name, _ in _figures(experiment, frame)]


def _figures(experiment: Experiment, frame: "pd.DataFrame") -> "Iterator[tuple[str, pd.DataFrame]]":
    """List the figures of an experiment: the name of the file, and its part of the cells."""
    if experiment.id in IN_WORDS:
        return
    if experiment.id not in BY_DATA:
        yield f"{experiment.id}.svg", frame
        return
    for name in frame["data"].unique():
        slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
        yield f"{experiment.id}-{slug}.svg", frame.loc[frame["data"] == name]
