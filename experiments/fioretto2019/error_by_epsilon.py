"""The experiment PG3: L1 error of all regions against epsilon (Fioretto and Van Hentenryck 2019, figure 10)."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

from pgsr.experiments.engine.experiment import Experiment, Profile, Scale
from pgsr.experiments.engine.figures import wrapped
from pgsr.experiments.engine.looks import arm_looks
from pgsr.experiments.engine.papers import Beside, Printed
from pgsr.experiments.engine.summary import LevelErrors, level_errors
from pgsr.experiments.engine.verdicts import Verdict, compared, smaller
from pgsr.experiments.engine.words import with_error
from pgsr.experiments.fioretto2019 import published as fioretto
from pgsr.experiments.fioretto2019.arms import FOUR, M_C_DP, M_C_R, M_H_DP, M_H_R, release_and_violations
from pgsr.experiments.fioretto2019.data import (
    CENSUS,
    CENSUS_SMALL,
    KUO_TAXI,
    OTHER_DATA,
    PAPER_NAMES,
    TAXI,
    TAXI_DENSE,
    TAXI_SMALL,
    cause_on,
)
from pgsr.experiments.fioretto2019.saturation import mark_saturation, orders
from pgsr.figures.drawing import finish, head, legend_below, log_labels, new_figure

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

LABELS = [arm.label for arm in FOUR]
DODGE = 1.05
"""Factor between mechanisms at one epsilon, because some have nearly equal errors."""


def plot(frame: "pd.DataFrame") -> "Figure":
    """Draw the total error against epsilon with the sums of table 1, and below it the share at small sizes."""
    totals, shares, depth = level_errors(frame, "l1_total"), _small(frame), _depths(frame)
    names = totals.values_of("data")
    figure = new_figure(2.75 * max(2, len(names)), 7)
    grid = figure.subplots(2, len(names), squeeze=False, sharex=True)
    for (above, below), name in zip(grid.T, names, strict=True):
        printed = _printed(PAPER_NAMES.get(name, ""))
        for i, (label, look) in enumerate(arm_looks(LABELS).items()):
            aside = DODGE ** (i - 1.5)
            rows = sorted(totals.where(data=name, arm=label), key=lambda row: row.epsilon)
            means, bars = [row.mean for row in rows], [row.standard_error for row in rows]
            above.errorbar([aside * row.epsilon for row in rows], means, bars, **look.marks,
                           capsize=3, label=label)  # fmt: skip
            known = {eps: total for (arm, eps), total in printed.items() if arm == label}
            if known:
                above.plot([aside * epsilon for epsilon in known], list(known.values()), ":", marker=look.marker,
                           color=look.colour, markersize=4, markerfacecolor="white",
                           label=f"{label}, printed (other data)")  # fmt: skip
            parts = sorted(shares.where(data=name, arm=label), key=lambda row: row.epsilon)
            below.plot([aside * row.epsilon for row in parts], [100 * row.mean for row in parts], **look.marks)
        above.set(xscale="log", yscale="log")
        mark_saturation(above, name, totals.where(data=name), depth[name])
        log_labels(above.yaxis)
        epsilons = sorted(totals.values_of("epsilon"))
        below.set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons])
        below.minorticks_off()
        below.set_ylim(0, 105)
        labels = (
            "L1 error of all regions (groups), log",
            "of the leaves' error, at the\nsmallest tenth of sizes (percent)",
        )
        over, under = labels if above is grid[0][0] else ("", "")
        finish(above, "", over, wrapped(name, 24))
        finish(below, "total epsilon, log", under, "")
    legend_below(figure, grid.ravel())
    head(figure, "PG3: figure 10, total L1 error against epsilon\nbars: one standard error")
    return figure


def verdicts(frame: "pd.DataFrame") -> list[Verdict]:
    """Judge the claims that compare total errors, that follow epsilon, and that say at which sizes errors are."""
    totals = level_errors(frame, "l1_total")
    return [*_orders(totals, _depths(frame)), *_falls(totals), *_places(_small(frame))]


def _depths(frame: "pd.DataFrame") -> dict[str, int]:
    """Count the levels of every data set."""
    errors = level_errors(frame, "l1")
    return {name: errors.where(data=name).n_levels for name in errors.values_of("data")}


def _small(frame: "pd.DataFrame") -> LevelErrors:
    """Select the share of the error at small sizes at the last level, where nearly all of the error is."""
    shares = level_errors(frame, "small_share")
    last = {data: shares.where(data=data).n_levels - 1 for data in shares.values_of("data")}
    return LevelErrors([row for row in shares if row.level == last[row.data]])


def _printed(paper: str) -> dict[tuple[str, float], float]:
    """Add up table 1 over levels, by arm and epsilon. Figure 10 shows these sums without printing numbers."""
    found: dict[tuple[str, float], float] = {}
    for p in fioretto.TABLE_1:
        if p.data == paper:
            of = (p.arm, float(Fraction(p.epsilon)))
            found[of] = found.get(of, 0) + p.value
    return found


def _orders(totals: LevelErrors, depth: dict[str, int]) -> Iterator[Verdict]:
    for data, epsilon in totals.values_of("data", "epsilon"):
        of = {label: totals.one(data=data, epsilon=epsilon, arm=label) for label in LABELS}
        printed = _printed(PAPER_NAMES.get(data, ""))
        ratios = {label: f" (printed x {row.mean / printed[label, epsilon]:.2g})" if (label, epsilon) in printed else ""
                  for label, row in of.items() if row}  # fmt: skip
        words = ", ".join(
            f"{label} {with_error(row.values.values())}{ratios[label]}" for label, row in of.items() if row
        )
        yield from orders(of, depth[data], f"{data}, epsilon {epsilon:g}", words, cause_on(data))


def _falls(totals: LevelErrors) -> Iterator[Verdict]:
    """Judge for every pair of neighbouring epsilons whether the error falls from the smaller to the larger.

    Replicate by replicate, because all epsilons of a replicate have the noise of the same random bits.
    """
    for data, label in totals.values_of("data", "arm"):
        rows = sorted(totals.where(data=data, arm=label), key=lambda row: row.epsilon)
        for less, more in pairwise(rows):
            found = compared(less.values, more.values)
            words = f"{with_error(less.values.values())} to {with_error(more.values.values())}"
            where = f"{data}, {label}, epsilon {less.epsilon:g} to {more.epsilon:g}"
            yield Verdict(fioretto.CLAIMS["figure 10d"], where, found, words, cause_on(data))


def _places(shares: LevelErrors) -> Iterator[Verdict]:
    """Judge whether more of the error is at small sizes than in the mechanism on counts."""
    for data, epsilon in shares.values_of("data", "epsilon"):
        for counted, summed in ((M_H_R.label, M_C_R.label), (M_H_DP.label, M_C_DP.label)):
            a, b = (shares.one(data=data, epsilon=epsilon, arm=arm) for arm in (counted, summed))
            if a is not None and b is not None:
                words = (
                    f"of the leaves' error, {100 * b.mean:.0f} percent at the smallest tenth of sizes with {summed}, "
                )
                words += f"{100 * a.mean:.0f} percent with {counted}"
                place = f"{data}, epsilon {epsilon:g}"
                yield Verdict(fioretto.CLAIMS["figure 10e"], place, smaller(a, b), words, cause_on(data))


_SOURCE = "sum over the levels of table 1; figure 10 prints no numbers"

PRINTED_NUMBERS = tuple(
    Beside({"data": name, "arm": arm}, Printed("PG3", paper, arm, str(epsilon), 0, "l1_total", total, _SOURCE, 30),
           OTHER_DATA[paper])
    for name, paper in PAPER_NAMES.items()
    for (arm, epsilon), total in _printed(paper).items()
)  # fmt: skip

EXPERIMENT = Experiment(
    id="PG3",
    title="Error by epsilon",
    paper=fioretto.PAPER,
    part="figure 10",
    question="Which of the four mechanisms is nearest to the truth in total, and where do their errors lie?",
    arms=FOUR,
    profiles={
        Profile.SMOKE: Scale((TAXI_SMALL, CENSUS_SMALL), (Fraction(1, 10), Fraction(1)), replicates=2, time_limit=60),
        Profile.QUICK: Scale(
            (KUO_TAXI, TAXI_DENSE, CENSUS), (Fraction(1, 10), Fraction(1)), replicates=5, time_limit=60
        ),
        Profile.PAPER: Scale(
            (TAXI, TAXI_DENSE, KUO_TAXI, CENSUS),
            (Fraction(1, 10), Fraction(1, 2), Fraction(1)),
            replicates=30,
            time_limit=120,
        ),
    },
    plot=plot,
    verdicts=verdicts,
    printed=PRINTED_NUMBERS,
    measure=release_and_violations,
    seed="PG3",
)
