"""The experiment K1: the statistics of the data sets (Kuo et al. 2018, section 6)."""

from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from pgsr.experiments.engine.causes import Cause
from pgsr.experiments.engine.experiment import Arm, Experiment, Profile, Scale, Trial
from pgsr.experiments.engine.figures import wrapped
from pgsr.experiments.engine.looks import GENERATED, PRINTED, REAL
from pgsr.experiments.engine.papers import Beside, stand_beside
from pgsr.experiments.engine.release_record import Record
from pgsr.experiments.engine.verdicts import Verdict, exactly, not_judged
from pgsr.experiments.kuo2018 import published as kuo
from pgsr.experiments.kuo2018.data import (
    HAWAIIAN_NATION,
    HOUSEHOLDS,
    SMALL_STATES,
    SYNTHETIC_STATES,
    TAXI,
    WHITE_STATES,
    paper_name,
)
from pgsr.figures.drawing import finish, head, legend_below, log_labels, new_figure

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STATISTICS = ("groups", "entities", "distinct sizes", "largest size", "groups of size 0")


def statistics(trial: Trial) -> Record:
    """Count groups and entities at the top level and by region of the second, and list sizes of the top level."""
    truth = trial.truth
    row = truth.rows(0, 1)[0]
    sizes = np.flatnonzero(row)
    record: Record = {
        "groups": int(row.sum()),
        "entities": _entities(row),
        "distinct sizes": len(sizes),
        "smallest size": int(sizes[0]),
        "largest size": int(sizes[-1]),
        "groups of size 0": int(row[0]),
    }
    tree = truth.hierarchy
    second = range(tree.n_regions)[tree.level(1)] if tree.n_levels > 1 else range(0)
    rows = [truth.rows(region, region + 1)[0] for region in second]
    return record | {
        "names of level 1": [tree.paths[region][-1] for region in second],
        "groups at level 1": [int(r.sum()) for r in rows],
        "entities at level 1": [_entities(r) for r in rows],
    }


def plot(frame: "pd.DataFrame") -> "Figure":
    """Draw a panel per statistic: ours by data set, printed numbers as dashes."""
    rows = frame.sort_values("data").to_dict("records")
    figure = new_figure(max(7.2, 2.2 * len(STATISTICS)), 3.6)
    panels = figure.subplots(1, len(STATISTICS), sharey=True, squeeze=False)[0]
    style = {"real data": REAL, "not real data": GENERATED}
    for axes, name in zip(panels, STATISTICS, strict=True):
        for kind, look in style.items():
            ours = [(row[name], i) for i, row in enumerate(rows) if row["real"] == (kind == "real data") and row[name]]
            axes.plot([x for x, _ in ours], [i for _, i in ours], linestyle="", **look.marks, markersize=7, label=kind)
        printed = [
            (p.value, i) for (i, row), p in product(enumerate(rows), kuo.K1)
            if p.metric == name and p.data == paper_name(str(row["data"]))
        ]  # fmt: skip
        axes.plot(
            [x for x, _ in printed], [i for _, i in printed], "|", color=PRINTED.colour, markersize=18,
            markeredgewidth=1.5, label="printed",
        )  # fmt: skip
        # A statistic that is 0 everywhere has no place on a logarithmic axis.
        values = [float(row[name]) for row in rows if row[name]] + [x for x, _ in printed]
        axes.set_xscale("log")
        axes.set_xlim(min(values, default=1) / 5, max(values, default=1) * 5)
        _few_labels(axes, bool(values))
        axes.set_yticks(range(len(rows)), [wrapped(str(row["data"]), 24) for row in rows], fontsize="small")
        axes.set_ylim(len(rows) - 0.5, -0.5)
        finish(axes, f"{_unit(name)}, log", "", name)
        axes.grid(axis="x", color="#e5e5e5")
    legend_below(figure, panels, 3)
    head(figure, "K1: section 6, statistics of the data sets, top level (nothing drawn: 0 or not printed)")
    return figure


def verdicts(frame: "pd.DataFrame") -> list[Verdict]:
    """Judge the text's other number of taxi trips."""
    rows = {str(row["data"]): row for row in frame.to_dict("records")}
    taxi, other = rows.get(TAXI.name), kuo.TAXI_TRIPS_IN_THE_TEXT
    if taxi is None:
        words = "needs the real data: set PGSR_DATA (see docs/study/data.md) and run K1 again"
        return [Verdict(TRIPS, "Taxi", not_judged("no results on Taxi"), words, Cause.PROFILE)]
    words = f"ours {int(taxi['entities']):,}, the text {other.value:,.0f}; the table agrees with the data"
    same = exactly(taxi["entities"] == other.value, "equality of two counts")
    return [Verdict(TRIPS, TAXI.name, same, words, Cause.NUMBER)]


TRIPS = "number of trips in the text"


def _few_labels(axes: "Axes", drawn: bool) -> None:
    """Label an axis at two or three places that do not overlap; nowhere if nothing is drawn."""
    if drawn:
        log_labels(axes.xaxis, most=3)
        return
    axes.minorticks_off()
    axes.set_xticks([])
    axes.annotate("0 for all", (0.5, 0.5), xycoords="axes fraction", ha="center", va="bottom", fontsize="small")


def _entities(row: np.ndarray) -> int:
    return int(row @ np.arange(len(row)))


def _unit(name: str) -> str:
    return {"groups": "groups", "groups of size 0": "groups", "entities": "entities", "distinct sizes": "sizes"}.get(
        name, "entities per group"
    )


STATISTICS_ARM = Arm("statistics")

PRINTED_NUMBERS = (
    *stand_beside(
        kuo.K1,
        (TAXI, HAWAIIAN_NATION, WHITE_STATES, SYNTHETIC_STATES),
        {"": [STATISTICS_ARM.label]},
        {"level": None},
    ),
    Beside(
        None,
        kuo.TAXI_TRIPS_IN_THE_TEXT,
        "the text contradicts the paper's own table, whose number stands beside ours; a verdict compares both",
    ),
)

EXPERIMENT = Experiment(
    id="K1",
    title="Statistics of the data sets",
    paper=kuo.PAPER,
    part="section 6: table of the data sets",
    question="Which of the paper's data sets are here, and how alike are the others?",
    arms=(STATISTICS_ARM,),
    profiles={
        Profile.SMOKE: Scale((SMALL_STATES,), (None,), replicates=1, time_limit=60),
        Profile.QUICK: Scale(
            (TAXI, HAWAIIAN_NATION, WHITE_STATES, SYNTHETIC_STATES, HOUSEHOLDS), (None,), 1, time_limit=60
        ),
        Profile.PAPER: Scale(
            (TAXI, HAWAIIAN_NATION, WHITE_STATES, SYNTHETIC_STATES, HOUSEHOLDS), (None,), 1, time_limit=60
        ),
    },
    plot=plot,
    verdicts=verdicts,
    printed=PRINTED_NUMBERS,
    measure=statistics,
)
