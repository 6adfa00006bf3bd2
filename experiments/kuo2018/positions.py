"""The experiment K4: the sizes at which Hg and Hc err (Kuo et al. 2018, figure 1).

The earth mover's distance is a sum over ranks, |Hg[i] - estimate[i]|, and so can be split by the true size of the group
at every rank. The paper draws it by rank, where the few large groups vanish; here it is drawn by size.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from pgsr.data.views import ranked
from pgsr.estimators import NoConsistency
from pgsr.experiments.engine.experiment import Arm, Experiment, Profile, Scale, Trial
from pgsr.experiments.engine.figures import wrapped
from pgsr.experiments.engine.looks import arm_looks
from pgsr.experiments.engine.release_record import Record
from pgsr.experiments.engine.summary import LevelError, LevelErrors, level_errors
from pgsr.experiments.engine.verdicts import Verdict, compared
from pgsr.experiments.kuo2018 import published as kuo
from pgsr.experiments.kuo2018.arms import EPSILONS, HC, HG, ONE, WithSmallestSize, per_level, ranked_memory
from pgsr.experiments.kuo2018.data import (
    HAWAIIAN_NATION,
    SMALL_ROOT,
    SYNTHETIC_PART_ROOT,
    TAXI_ROOT,
    WHITE_ROOT,
    cause_on,
)
from pgsr.figures.drawing import finish, head, legend_below, new_figure, short_number

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CLASSES = (0, 1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000)
"""The smallest sizes of the classes that errors are added up by; the last one has no end."""


def by_size(trial: Trial) -> Record:
    """Measure the error by size of the group, and its parts at small sizes and at the others.

    Small sizes are the lower half of the sizes that occur.

    Returns:
        levels: "emd", and "small", the part of it at small sizes.
        largest small size, groups of small size: the limit, and the part of the groups below it.
        half of the error up to: the smallest size up to which half of the error lies.
        groups by size, error by size: sums over the groups of every class of `CLASSES`.
    """
    measurement = trial.noise.measure(trial.truth, trial.source)
    result = trial.mechanism.post_process(measurement, trial.time_limit)
    true = ranked(trial.truth.rows(0, 1)[0])
    error = np.abs(ranked(result.estimate.counts().rows(0, 1)[0]) - true)
    occurring = np.unique(true)
    largest_small = int(occurring[(len(occurring) - 1) // 2])
    small, total, so_far = true <= largest_small, int(error.sum()), np.cumsum(error)
    return {
        "status": result.status.name,
        "reason": "",
        "levels": {"emd": [float(total)], "small": [float(error[small].sum() / max(1, total))]},
        "largest small size": largest_small,
        "groups of small size": float(small.mean()),
        "half of the error up to": int(true[np.searchsorted(so_far, total / 2)]),
        "groups by size": in_classes(true, np.ones(len(true))),
        "error by size": in_classes(true, error),
    }


def in_classes(sizes: np.ndarray, values: np.ndarray) -> list[float]:
    """Add up values by class of size.

    Example:
        >>> in_classes(np.array([1, 3, 4, 20_000]), np.array([2.0, 1.0, 4.0, 7.0]))[:5]
        [0.0, 2.0, 0.0, 5.0, 0.0]
    """
    at = np.searchsorted(CLASSES, sizes, side="right") - 1
    return np.bincount(at, values, len(CLASSES)).tolist()


def plot(frame: "pd.DataFrame") -> "Figure":
    """Draw a panel per data set: the sum of errors by class of size, both methods side by side."""
    part: Any = frame[frame["epsilon"] == 1]
    names = sorted(part["data"].unique())
    columns = min(2, max(1, len(names)))
    figure = new_figure(max(6.4, 5.6 * columns), 1.2 + 3.2 * -(-len(names) // columns))
    panels = figure.subplots(max(1, -(-len(names) // columns)), columns, squeeze=False).ravel()
    for axes, name in zip(panels, names, strict=False):
        _panel(axes, part[part["data"] == name])
        kind = "real data" if part[part["data"] == name].iloc[0]["real"] else "not real data"
        finish(axes, "true size of the group (entities)", "sum of errors (entities)", f"{wrapped(name, 40)} ({kind})")
    for axes in panels[len(names) :]:
        axes.set_visible(False)
    legend_below(figure, panels)
    head(
        figure,
        "K4 (figure 1): error by size, epsilon 1\nbars: one standard error; dotted: end of the small sizes, the lower "
        "half of those that occur",
    )
    return figure


def _panel(axes: "Axes", of: "pd.DataFrame") -> None:
    """Draw the classes in which groups lie, and the end of the small sizes."""
    first: Any = of.iloc[0]
    kept = [i for i, groups in enumerate(first["groups by size"]) if groups]
    for shift, (label, look) in zip((-0.2, 0.2), arm_looks([arm.label for arm in ARMS]).items(), strict=True):
        errors = np.array(of[of["arm"] == label]["error by size"].tolist())
        if len(errors):
            n = len(errors)
            spread = errors.std(axis=0, ddof=1) / n**0.5 if n > 1 else np.zeros(len(CLASSES))
            axes.bar(np.arange(len(kept)) + shift, errors.mean(axis=0)[kept], 0.4, yerr=spread[kept], color=look.colour,
                     capsize=2, label=label)  # fmt: skip
    axes.set_xticks(range(len(kept)), [class_name(i) for i in kept], rotation=60, fontsize="small")
    axes.yaxis.set_major_formatter(lambda value, _: short_number(value))
    last = first["largest small size"]
    within = max(place for place, i in enumerate(kept) if CLASSES[i] <= last)
    end = CLASSES[kept[within] + 1] if kept[within] + 1 < len(CLASSES) else last + 1
    part = (last + 1 - CLASSES[kept[within]]) / (end - CLASSES[kept[within]])
    axes.axvline(within - 0.5 + part, color="#555555", linewidth=0.8, linestyle=":")


def class_name(i: int) -> str:
    """Name a class by its sizes.

    Example:
        >>> class_name(0), class_name(3), class_name(14)
        ('0', '3 to 4', '10,000 or more')
    """
    if i + 1 == len(CLASSES):
        return f"{CLASSES[i]:,} or more"
    last = CLASSES[i + 1] - 1
    return f"{CLASSES[i]:,}" if last == CLASSES[i] else f"{CLASSES[i]:,} to {last:,}"


def verdicts(frame: "pd.DataFrame") -> list[Verdict]:
    """Judge how much of the error is at small sizes, and how much more of Hc's is at the others."""
    return list(_claims(level_errors(frame, "small"), frame))


def _claims(small: LevelErrors, frame: "pd.DataFrame") -> Iterator[Verdict]:
    for data, epsilon in small.values_of("data", "epsilon"):
        hg, hc = (small.one(data=data, epsilon=epsilon, arm=arm.label) for arm in ARMS)
        if hg is None or hc is None:
            continue
        of: Any = frame[(frame["data"] == data) & (frame["epsilon"] == epsilon)]
        half = of.groupby("arm")["half of the error up to"].mean()
        parts = (
            f"{row.arm} {100 * row.mean:.1f} ± {100 * row.standard_error:.1f} % (half of it up to size "
            f"{half[row.arm]:,.0f})"
            for row in (hg, hc)
        )
        fact = of.iloc[0]
        words = (
            f"part of the error at the lower half of the sizes that occur, up to {int(fact['largest small size']):,}: "
            f"{', '.join(parts)}; {100 * fact['groups of small size']:.1f} % of the groups are of these sizes"
        )
        place, cause = f"{data}, epsilon {epsilon:g}", cause_on(data)
        yield Verdict(kuo.HG_ERRS_AT_SMALL_SIZES.words, place, compared(hg.values, 0.5), words, cause)
        yield Verdict(kuo.HC_ERRS_ELSEWHERE.words, place, compared(_elsewhere(hc), _elsewhere(hg)), words, cause)


def _elsewhere(row: LevelError) -> dict[int, float]:
    """Compute the part of the error at the other sizes."""
    return {replicate: 1 - part for replicate, part in row.values.items()}


ARMS = (
    Arm("Hg", per_level(HG), WithSmallestSize(NoConsistency)),
    Arm("Hc", per_level(HC), WithSmallestSize(NoConsistency)),
)

ROOTS = (TAXI_ROOT, HAWAIIAN_NATION, WHITE_ROOT, SYNTHETIC_PART_ROOT)

EXPERIMENT = Experiment(
    id="K4",
    title="Error by size",
    paper=kuo.PAPER,
    part="figure 1",
    question="At which sizes of groups do Hg and Hc err?",
    arms=ARMS,
    profiles={
        Profile.SMOKE: Scale((SMALL_ROOT,), (ONE,), replicates=2, time_limit=60),
        Profile.QUICK: Scale(ROOTS, (ONE,), replicates=5, time_limit=120),
        Profile.PAPER: Scale(ROOTS, EPSILONS, replicates=10, time_limit=600),
    },
    plot=plot,
    verdicts=verdicts,
    measure=by_size,
    memory=ranked_memory,
)
