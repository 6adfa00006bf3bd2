"""The experiment K4: the positions at which Hg and Hc err (Kuo et al. 2018, figure 1).

The earth mover's distance is a sum over ranks, |Hg[i] - estimate[i]|, and so can be shown group by group, from the
smallest to the largest, for either method: against the rank, as the paper draws it, and, since the few largest groups
are hidden there, against the rank from the largest on a logarithmic axis.
"""

from collections.abc import Iterator
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from pgsr.algorithms import NoConsistency
from pgsr.drawing import Look, finish, head, new_figure, plain_number, short_number
from pgsr.experiments.engine.experiment import Arm, Experiment, Profile, Scale, Trial
from pgsr.experiments.engine.figures import wrapped
from pgsr.experiments.engine.looks import arm_looks
from pgsr.experiments.engine.release_record import Record
from pgsr.experiments.engine.summary import LevelErrors, level_errors
from pgsr.experiments.engine.verdicts import Verdict, compared
from pgsr.experiments.kuo2018 import published as kuo
from pgsr.experiments.kuo2018.arms import EPSILONS, HC, HG, ONE, Fitted, per_level, ranked_memory
from pgsr.experiments.kuo2018.data import (
    HAWAIIAN_ROOT,
    SMALL_ROOT,
    SYNTHETIC_PART_ROOT,
    TAXI_ROOT,
    WHITE_ROOT,
    cause_on,
)
from pgsr.views import ranked

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BINS = 60
"""Positions on either axis of the figure, as evenly as whole ranks allow."""

MARKED = (10, 100, 1_000)
"""The sizes that are marked in the figure."""


def by_position(trial: Trial) -> Record:
    """Measure the mean error per group by position, and its parts at small sizes and at the others.

    Small sizes are the lower half of the sizes that occur; they hold most groups, in long runs of equal sizes. Ranks of
    bins are those of their middle.
    """
    measurement = trial.noise.measure(trial.truth, trial.source)
    result = trial.mechanism.post_process(measurement, trial.time_limit)
    true = ranked(trial.truth.rows(0, 1)[0])
    error = np.abs(ranked(result.estimate.counts().rows(0, 1)[0]) - true)
    ranks, from_largest = _binned(error, np.linspace(0, len(true), BINS, endpoint=False)), error[::-1]
    of_largest = _binned(from_largest, np.append(0, np.geomspace(1, len(true), BINS, endpoint=False)))
    occurring = np.unique(true)
    largest_small = int(occurring[(len(occurring) - 1) // 2])
    small = true <= largest_small
    total = int(error.sum())
    return {
        "status": result.status.name,
        "reason": "",
        "levels": {"emd": [float(total)], "small": [float(error[small].sum() / max(1, total))]},
        "largest small size": largest_small,
        "groups of small size": float(small.mean()),
        "rank": ranks[0],
        "error": ranks[1],
        "rank from largest": of_largest[0],
        "error from largest": of_largest[1],
        "groups": len(true),
        "groups from size": [int((true >= size).sum()) for size in MARKED],
    }


def _binned(error: np.ndarray, edges: np.ndarray) -> tuple[list[float], list[float]]:
    """Average errors between edges, rounded down to whole ranks: the ranks in the middle, and the means.

    Example:
        >>> _binned(np.array([4.0, 2.0, 0.0, 6.0]), np.array([0.0, 0.5, 1.0, 2.0]))
        ([1.0, 2.0, 3.5], [4.0, 2.0, 3.0])
    """
    starts = np.unique(edges.astype(int))
    starts = starts[starts < len(error)]
    stops = np.append(starts[1:], len(error))
    return ((starts + stops + 1) / 2).tolist(), (np.add.reduceat(error, starts) / (stops - starts)).tolist()


def plot(frame: "pd.DataFrame") -> "Figure":
    """Draw Hg above Hc, a column per data set: mean error per group by rank, then by rank from the largest."""
    part: Any = frame[frame["epsilon"] == 1]
    names = sorted(part["data"].unique())
    style = arm_looks([arm.label for arm in ARMS])
    figure = new_figure(max(6.4, 3.4 * len(names)), 11.0)
    panels = figure.subplots(2 * len(style), max(1, len(names)), squeeze=False, sharex="row", sharey="col")
    rows = list(product(("", " from largest"), style))
    for (row, (end, label)), (column, name) in product(enumerate(rows), enumerate(names)):
        axes, of = panels[row][column], part[(part["data"] == name) & (part["arm"] == label)]
        if not of.empty:
            _panel(axes, of, end, style[label])
            kind = "real data" if of.iloc[0]["real"] else "not real data"
            below = "rank from the largest group, log" if end else "rank, as a part of all groups"
            left = f"{label}: mean error per group\n(entities), log" if column == 0 else ""
            finish(axes, below if label == rows[-1][1] else "", left, "" if row else f"{wrapped(name, 30)}\n({kind})")
    for axes in panels.flat:
        axes.set_ylim(bottom=0)
    head(
        figure,
        "K4 (figure 1): error by position, epsilon 1\nbands: one standard error of the mean; dotted: true sizes",
    )
    return figure


def _panel(axes: "Axes", of: "pd.DataFrame", end: str, look: "Look") -> None:
    """Draw the errors of one arm on one data set, by rank or by rank from the largest."""
    first: Any = of.iloc[0]
    errors = np.array(of[f"error{end}"].tolist())
    mean, n = errors.mean(axis=0), len(errors)
    spread = errors.std(axis=0, ddof=1) / n**0.5 if n > 1 else np.zeros_like(mean)
    x = np.array(first[f"rank{end}"]) / (1 if end else first["groups"])
    axes.plot(x, mean, linewidth=1.2, markersize=2.5, **look.marks)
    axes.fill_between(x, mean - spread, mean + spread, color=look.colour, alpha=0.3, linewidth=0)
    axes.set_yscale("symlog", linthresh=1e-3)
    axes.yaxis.set_major_formatter(lambda value, _: plain_number(value))
    if end:
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(lambda value, _: short_number(value))
        axes.set_xlim(x[-1] * 1.5, 0.7)
        _mark_sizes(axes, first)
    else:
        axes.set_xlim(0, 1)


def verdicts(frame: "pd.DataFrame") -> list[Verdict]:
    """Judge how much of the error is at small sizes."""
    small = level_errors(frame, "small")
    facts = {str(row["data"]): row for row in frame.to_dict("records")}
    return list(_claims(small, facts))


def _claims(small: LevelErrors, facts: "dict[str, dict[Any, Any]]") -> Iterator[Verdict]:
    for data, epsilon in small.values_of("data", "epsilon"):
        hg, hc = (small.one(data=data, epsilon=epsilon, arm=arm.label) for arm in ARMS)
        if hg is None or hc is None:
            continue
        place, fact = f"{data}, epsilon {epsilon:g}", facts[data]
        parts = ", ".join(
            f"{name} {100 * row.mean:.1f} ± {100 * row.standard_error:.1f} %" for name, row in (("Hg", hg), ("Hc", hc))
        )
        words = (
            f"part of the error at the lower half of the sizes that occur, up to {int(fact['largest small size']):,}: "
            f"{parts}; {100 * fact['groups of small size']:.1f} % of the groups are of these sizes"
        )
        most, cause = compared([x - 0.5 for x in hg.values.values()]), cause_on(data)
        yield Verdict(kuo.HG_ERRS_AT_SMALL_SIZES.words, place, most, words, cause)
        yield Verdict(kuo.HC_ERRS_ELSEWHERE.words, place, compared(hg.less(hc)), words, cause)


def _mark_sizes(axes: "Axes", row: "pd.Series") -> None:
    """Draw dotted lines where the true sizes reach powers of ten."""
    last = row["rank from largest"][-1]
    for size, n in zip(MARKED, row["groups from size"], strict=True):
        # Labels of lines that nearly meet would cover each other.
        if 0 < n < last / 1.6:
            last = n
            axes.axvline(n, color="#888888", linestyle=":", linewidth=0.8)
            axes.annotate(
                f"{size:,}", (n, 1), (2, -2), xycoords=("data", "axes fraction"), textcoords="offset points",
                ha="left", va="top", fontsize="x-small", rotation=90,
            )  # fmt: skip


ARMS = (Arm("Hg", per_level(HG), Fitted(NoConsistency)), Arm("Hc", per_level(HC), Fitted(NoConsistency)))

ROOTS = (TAXI_ROOT, HAWAIIAN_ROOT, WHITE_ROOT, SYNTHETIC_PART_ROOT)

EXPERIMENT = Experiment(
    id="K4",
    title="Error by position",
    paper=kuo.PAPER,
    part="figure 1",
    question="At which groups, from the smallest to the largest, do Hg and Hc err?",
    arms=ARMS,
    profiles={
        Profile.SMOKE: Scale((SMALL_ROOT,), (ONE,), replicates=2, time_limit=60),
        Profile.QUICK: Scale(ROOTS, (ONE,), replicates=5, time_limit=120),
        Profile.PAPER: Scale(ROOTS, EPSILONS, replicates=10, time_limit=600),
    },
    plot=plot,
    verdicts=verdicts,
    measure=by_position,
    memory=ranked_memory,
)
