"""The page of published results, docs/study/results.md: what is absent; per experiment figure and verdicts."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pgsr.experiments.engine.experiment import Experiment, Profile
from pgsr.experiments.report.blocks import Block, Cell, Code, Heading, Link, Shown, table, text
from pgsr.experiments.report.claims import COUNTED, EFFECTS, by_claim
from pgsr.experiments.report.content import arm_notes
from pgsr.experiments.report.items import Item, ItemKind, ItemState, all_items
from pgsr.experiments.report.publication import PublishedResults, published

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

FIGURES = "figures/results"
"""Where figures are, from docs/."""

BY_DATA = ("PG4", "X1", "X2")
"""Experiments with a figure per data set, because one of all has more panels than can be read on a page."""


def results_blocks(experiments: Sequence[Experiment], folder: Path) -> list[Block]:
    """Compose the page from what a folder has of these experiments."""
    found = published(experiments, folder)
    blocks: list[Block] = [
        Heading(1, "Results at the papers' sizes"),
        text(
            "Every experiment below was run at the papers' sizes, or in the profile that is named with it, all its "
            "cells; where some have no result, it says why. Figures and verdicts are made from the file that is linked "
            "beside them, one row per cell, by the code that also reports on results of your own. What a verdict, its "
            "ratio and its cause mean: ",
            Link("read the results", "read_results.md#verdicts"),
            "; what the runs take: ",
            Link("make the tables again", "reproduce.md"),
            ". The page is made by ",
            Code("python -m pgsr.experiments publish"),
            ".",
        ),
    ]
    rows = [
        (Link(e.id, f"#{_anchor(_title(e))}"), e.title, e.reproduces, f"{a.cells:,} of {a.planned:,}"
         + f", {a.profile}" * (a.profile != Profile.PAPER), f"{a.replicates}", _duration(a.seconds))
        for e, a, _ in found
    ]  # fmt: skip
    heads = ("experiment", "title", "of", "cells", "replicates", "processor")
    blocks.append(table("What is published", heads, rows, numbers=(3, 4, 5)))
    blocks += _absent(experiments, {experiment.id: about for experiment, about, _ in found})
    for experiment, about, frame in found:
        blocks += _experiment(experiment, about, frame)
    return blocks


def _absent(experiments: Sequence[Experiment], found: Mapping[str, PublishedResults]) -> Iterator[Block]:
    """List per paper the tables and figures without results here, what no experiment makes, and data of others."""
    yield Heading(2, "What of the papers is not here")
    yield text(
        "A table or figure is missing here if nobody has run it at the paper's size yet, or if it cannot be made; a "
        "number, if nothing can be set beside it; data, if they were not published, so that others stand in for them. "
        "Everything else of the papers, and where it lives: ",
        Link("the items of the papers", "items.md"),
        ".",
    )
    items = all_items(experiments)
    for paper in dict.fromkeys(each.paper for each in experiments if each.paper is not None):
        unpublished = [_without_results(e, found.get(e.id)) for e in experiments if e.paper == paper]
        own = [_reason(item) for item in items if item.paper == paper.name]
        rows = [row for row in [*unpublished, *own] if row]
        yield table(f"{paper.name}: what is not here", ("what", "in the paper", "why"), rows)


def _without_results(experiment: Experiment, about: PublishedResults | None) -> tuple[Cell, ...]:
    """Say that an experiment has no results here, or not those of the paper's size; empty if it has."""
    again = "python -m pgsr.experiments run"
    if about is None:
        why: Cell = ("its results are not kept here; ", Code(f"{again} {experiment.id} --profile paper"), " makes them")
    elif about.profile != Profile.PAPER:
        why = (
            f"here in the smaller profile {about.profile}, {about.planned:,} cells; the paper's sizes are "
            f"{len(experiment.tasks(Profile.PAPER)):,}: ",
            Code(f"{again} {experiment.id} --profile paper"),
        )
    else:
        return ()
    return f"{experiment.title} ({experiment.id})", experiment.part, why


def _reason(item: Item) -> tuple[Cell, ...]:
    """Say why an item of a paper is absent, or which data stand in for its data; empty if it is here."""
    if item.state is ItemState.NO:
        return item.what, item.source, item.why
    if item.kind is ItemKind.DATA and item.state is ItemState.OTHER_DATA:
        return f"the data {item.what}", item.source, f"{item.why}; in their place: {item.where}"
    return ()


def results_figures(experiments: Sequence[Experiment], folder: Path) -> "Iterator[tuple[str, Figure]]":
    """Draw the figures of the page, each with the name of its file."""
    for experiment, _, frame in published(experiments, folder):
        for name, _, part in _figures(experiment, frame):
            yield name, experiment.plot(part)


def _figures(experiment: Experiment, frame: "pd.DataFrame") -> "Iterator[tuple[str, str, pd.DataFrame]]":
    """List the figures of an experiment: the name of the file, what is shown, and its part of the cells."""
    if experiment.id not in BY_DATA:
        yield f"{experiment.id}.svg", experiment.title, frame
        return
    for name in frame["data"].unique():
        file = f"{experiment.id}-{re.sub(r'[^a-z0-9]+', '-', name.lower()).strip('-')}.svg"
        yield file, f"{experiment.title}, {name}", frame.loc[frame["data"] == name]


def _experiment(experiment: Experiment, about: PublishedResults, frame: "pd.DataFrame") -> Iterator[Block]:
    yield Heading(2, _title(experiment))
    yield text(f"{experiment.reproduces[0].upper()}{experiment.reproduces[1:]}. {experiment.question}")
    yield from arm_notes(experiment)
    for file, shown, _ in _figures(experiment, frame):
        yield Shown(f"../{FIGURES}/{file}", f"The figure of {experiment.id}, {shown}")
    rows = [
        (claim, str(cause), *found.counts, *found.ratios)
        for (claim, cause), found in by_claim(experiment.verdicts(frame)).items()
    ]
    heads = ("claim", "about", *COUNTED, *EFFECTS)
    yield table(f"{experiment.id}: verdicts", heads, rows, numbers=range(2, len(heads) - 1))
    first, last = about.computed
    without = "".join(f" {n:,} cells have no result: {reason}." for reason, n in about.without.items())
    yield text(
        f"{about.cells:,} of {about.planned:,} cells of profile {about.profile}, at least {about.replicates} "
        f"replicates, {_duration(about.seconds)} of one core, {first if first == last else f'{first} to {last}'}, "
        f"{about.sources}, {about.machine}; {about.versions}.{without} The cells: ",
        Link(f"{about.experiment}.parquet", f"../results/{about.experiment}.parquet"),
        "; again: ",
        Code(f"python -m pgsr.experiments run {about.experiment} --profile {about.profile}"),
        ".",
    )


def _title(experiment: Experiment) -> str:
    return f"{experiment.id}: {experiment.title}"


def _anchor(heading: str) -> str:
    """Make the anchor that the site and the places that show Markdown give to a heading.

    Example:
        >>> _anchor("K7: Three levels, without and with consistency")
        'k7-three-levels-without-and-with-consistency'
    """
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def _duration(seconds: float) -> str:
    """Write a duration.

    Example:
        >>> _duration(12.3), _duration(754), _duration(9_000)
        ('12 s', '13 min', '2.5 h')
    """
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7_200 else f"{seconds / 3_600:.1f} h"
