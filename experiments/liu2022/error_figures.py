"""The figures and verdicts that the experiments after Liu and Wu 2022 share: errors against epsilon, pairs of arms."""

from collections.abc import Iterator
from math import ceil
from typing import TYPE_CHECKING

from pgsr.experiments.engine.causes import Cause
from pgsr.experiments.engine.experiment import Arm
from pgsr.experiments.engine.figures import epsilon_axis, error_axis, wrapped
from pgsr.experiments.engine.looks import arm_looks
from pgsr.experiments.engine.summary import LevelError, LevelErrors, level_errors
from pgsr.experiments.engine.verdicts import Verdict, at_most, compared
from pgsr.experiments.liu2022.arms import ENOUGH_ROUNDS, PAPERS_COMPONENTS
from pgsr.figures.drawing import finish, head, legend_below, new_figure

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

LARGEST, MEAN = "largest_error", "mean_error"
Y_LABEL = {LARGEST: "largest error of a query (share), log", MEAN: "mean error of the queries (share), log"}

CLOSE = 0.25
"""Errors are called close if their means differ by at most a quarter of the smaller."""


def errors_of(frame: "pd.DataFrame", metric: str) -> LevelErrors:
    """Collect one number per cell, by data set, epsilon, arm and set of queries."""
    if metric not in frame.columns or "queries" not in frame.columns:
        return LevelErrors([])
    free = ["queries", "most components", "most rounds"]
    return level_errors(frame.rename(columns={metric: f"{metric}_level0"}), metric, free)


def queries_of(row: LevelError) -> str:
    return dict(row.parameters)["queries"]


def error_figure(frame: "pd.DataFrame", metric: str, arms: tuple[Arm, ...], title: str) -> "Figure":
    """Draw a panel per data set and set of queries, three side by side: error against epsilon, both log."""
    found = errors_of(frame, metric)
    panels = list(dict.fromkeys((row.data, row.real, row.parameters) for row in found))
    columns, rows = min(3, max(1, len(panels))), max(1, ceil(len(panels) / 3))
    figure = new_figure(max(6.4, 3.7 * columns), 1.2 + 3.4 * rows)
    grid = figure.subplots(rows, columns, squeeze=False, sharey=True)
    axes_of = grid.ravel()
    for axes in axes_of[len(panels) :]:
        axes.set_axis_off()
    style = arm_looks([arm.label for arm in arms])
    for axes, (data, real, parameters) in zip(axes_of, panels, strict=False):
        part = found.where(data=data, parameters=parameters)
        for place, (label, look) in enumerate(style.items()):
            rows = sorted(part.where(arm=label), key=lambda row: row.epsilon)
            aside = 1.04 ** (place - len(style) / 2)
            axes.errorbar(
                [aside * row.epsilon for row in rows], [row.mean for row in rows],
                [row.standard_error for row in rows], label=label, **look.marks, capsize=3,
            )  # fmt: skip
        epsilon_axis(axes, sorted(part.values_of("epsilon")))
        kind = "real data" if real else "not real data"
        label = Y_LABEL[metric] if axes in list(grid[:, 0]) else ""
        finish(axes, "epsilon, log", label, f"{wrapped(f'{data} ({kind})', 30)}\n{_of(parameters)}")
    error_axis(axes_of[0])  # all panels share the vertical axis
    legend_below(figure, axes_of, 5)
    head(figure, f"{title}\nbars: one standard error")
    return figure


def smaller_than(
    found: LevelErrors,
    claim: str,
    this: Arm,
    other: Arm,
    declared: Cause = Cause.CLAIM,
    **wanted: object,
) -> Iterator[Verdict]:
    """Judge whether `this` arm has the smaller error, replicate by replicate, wherever both have one."""
    for ours, theirs, where in _pairs(found, this, other, **wanted):
        judged = compared(theirs.values, ours.values)
        yield Verdict(claim, where, judged, _words(ours, theirs), cause_of(ours, declared))


def close(found: LevelErrors, claim: str, this: Arm, other: Arm, **wanted: object) -> Iterator[Verdict]:
    """Judge whether the means of both arms differ by at most `CLOSE`."""
    for ours, theirs, where in _pairs(found, this, other, **wanted):
        low, high = sorted((ours, theirs), key=lambda row: row.mean)
        near = at_most(high.values, low.values, 1 + CLOSE)
        yield Verdict(f"{claim} (within {CLOSE:.0%})", where, near, _words(ours, theirs), cause_of(ours, Cause.CLAIM))


def cause_of(row: LevelError, declared: Cause) -> Cause:
    """Find the cause of a verdict on this error.

    No data are the paper's. With fewer components or rounds than methods are run with, a claim waits for the larger
    profile.
    """
    free = dict(row.parameters)
    small = int(free["most components"]) < PAPERS_COMPONENTS or int(free["most rounds"]) < ENOUGH_ROUNDS
    return declared if declared is Cause.OURS else Cause.PROFILE if small else Cause.STAND_IN


def share(value: float) -> str:
    """Write a share with three significant digits.

    Example:
        >>> share(0.0312345), share(0.00012)
        ('0.0312', '0.00012')
    """
    return f"{value:.3g}"


def _pairs(found: LevelErrors, this: Arm, other: Arm, **wanted: object) -> Iterator[tuple[LevelError, LevelError, str]]:
    part = found.where(**wanted)
    for data, epsilon, parameters in part.values_of("data", "epsilon", "parameters"):
        at = part.where(data=data, epsilon=epsilon, parameters=parameters)
        ours, theirs = at.one(arm=this.label), at.one(arm=other.label)
        if ours is not None and theirs is not None:
            yield ours, theirs, f"{data}, epsilon {epsilon:g}, {_of(parameters)}"


def _words(*rows: LevelError) -> str:
    return ", ".join(f"{row.arm} {share(row.mean)} +- {share(row.standard_error)}" for row in rows)


def _of(parameters: tuple) -> str:
    return str(dict(parameters)["queries"])
