"""The experiment PG4: L1 error by level and violated conditions (Fioretto and Van Hentenryck 2019, table 1).

Relaxations are solved exactly here, by our own algorithms, and rounded as the paper says: every count (M_H^r), or every
cumulative count before differences are taken (M_c^r).

On the census by the paper's recipe, the dynamic programs err more than printed with the noise that the paper states,
and about as printed with half of it, so both are run; docs/study/fioretto2019.md has the finding.
"""

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING

from pgsr.experiments.engine.causes import Cause
from pgsr.experiments.engine.experiment import Experiment, Profile, Scale
from pgsr.experiments.engine.figures import draw_printed, wrapped
from pgsr.experiments.engine.looks import arm_looks
from pgsr.experiments.engine.papers import stand_beside
from pgsr.experiments.engine.summary import LevelErrors, level_errors
from pgsr.experiments.engine.verdicts import Verdict, at_most, exactly, in_every_replicate, separated
from pgsr.experiments.engine.words import number, relation, with_error
from pgsr.experiments.fioretto2019 import published as fioretto
from pgsr.experiments.fioretto2019.arms import FOUR, HALF, M_C_DP, M_C_R, M_H_DP, M_H_R, release_and_violations
from pgsr.experiments.fioretto2019.data import (
    CENSUS,
    CENSUS_CALIBRATED,
    CENSUS_SMALL,
    KUO_TAXI,
    PAPER_NAMES,
    TAXI,
    TAXI_DENSE,
    TAXI_SMALL,
    cause_on,
)
from pgsr.experiments.fioretto2019.saturation import mark_saturation, orders, smaller_unless_saturated
from pgsr.figures.drawing import finish, head, legend_below, level_name, log_labels, new_figure, plain_number

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LABELS = [arm.label for arm in FOUR]

DRAWN = [label for arm in FOUR for label in (arm.label, *(half.label for half in [HALF.get(arm.label)] if half))]
WIDTH = 0.14
"""What an arm takes of the place of a level or an epsilon."""

ASIDE = {label: (i - (len(DRAWN) - 1) / 2) * WIDTH for i, label in enumerate(DRAWN)}
"""Where each arm is drawn beside a level or an epsilon."""


def plot(frame: "pd.DataFrame") -> "Figure":
    """Draw a row per data set: errors by level at every epsilon, then violations; dotted lines are printed numbers."""
    errors, violations = level_errors(frame, "l1"), level_errors(frame, "cv_levels")
    names, epsilons = errors.values_of("data"), sorted(errors.values_of("epsilon"))
    figure = new_figure(2.75 * (len(epsilons) + 1), 3.3 * len(names) + 0.9)
    grid = figure.subplots(len(names), len(epsilons) + 1, squeeze=False)
    for row, name in zip(grid, names, strict=True):
        for axes, epsilon in zip(row[:-1], epsilons, strict=True):
            _levels(axes, errors.where(data=name, epsilon=epsilon), PAPER_NAMES.get(name, ""), epsilon)
            mark_saturation(axes, name, errors.where(data=name, epsilon=epsilon))
            label = "L1 error (groups), log" if axes is row[0] else ""
            finish(axes, "level", label, f"{wrapped(name, 24)}\nepsilon {epsilon:g}")
        _violations(row[-1], violations.where(data=name), PAPER_NAMES.get(name, ""))
    legend_below(figure, grid.ravel(), 5)
    head(figure, "PG4: table 1, L1 error by level, and violated (size, parent level) pairs\nbars: one standard error")
    return figure


def verdicts(frame: "pd.DataFrame") -> list[Verdict]:
    """Judge the claims about accuracy and consistency, and whether the printed errors are possible."""
    errors, totals = level_errors(frame, "l1"), level_errors(frame, "l1_total")
    depth = {name: errors.where(data=name).n_levels for name in errors.values_of("data")}
    return [
        *_totals(totals, depth),
        *_by_level(errors),
        *_consistency(frame),
        *_faithful(frame),
        *_taxi_is_worse(totals),
        *_flat(errors),
        *_exact_relaxation(errors),
        *_possible(),
    ]


def _levels(axes: "Axes", part: LevelErrors, paper: str, epsilon: float) -> None:
    for label, look in arm_looks(DRAWN).items():
        rows, shift = part.where(arm=label).rows, ASIDE[label]
        axes.errorbar(
            [row.level + shift for row in rows], [row.mean for row in rows], [row.standard_error for row in rows],
            label=label, linestyle="", **look.marks, markersize=6, capsize=2,
        )  # fmt: skip
    shown = [p for p in fioretto.TABLE_1 if p.data == paper and float(Fraction(p.epsilon)) == epsilon]
    draw_printed(axes, [((p.level or 0) + ASIDE[p.arm], p.value) for p in shown], WIDTH, own=False)
    axes.set_yscale("log")
    log_labels(axes.yaxis)
    axes.set_xticks(range(part.n_levels), [level_name(level, part.n_levels) for level in range(part.n_levels)])


def _violations(axes: "Axes", part: LevelErrors, paper: str) -> None:
    epsilons = sorted(part.values_of("epsilon"))
    for label, look in arm_looks(DRAWN).items():
        rows, shift = sorted(part.where(arm=label), key=lambda row: row.epsilon), ASIDE[label]
        axes.plot([epsilons.index(row.epsilon) + shift for row in rows], [row.mean for row in rows], linestyle="",
                  **look.marks, markersize=6)  # fmt: skip
    shown = [p for p in fioretto.VIOLATIONS if p.data == paper and float(Fraction(p.epsilon)) in epsilons]
    printed = [(epsilons.index(float(Fraction(p.epsilon))) + ASIDE[p.arm], p.value) for p in shown]
    draw_printed(axes, printed, WIDTH, own=False)
    axes.set_yscale("symlog", linthresh=10)
    axes.yaxis.set_major_formatter(lambda value, _: plain_number(value))
    axes.set_ylim(-2, None)
    axes.set_xticks(range(len(epsilons)), [f"{epsilon:g}" for epsilon in epsilons])
    axes.set_xlim(-0.5, len(epsilons) - 0.5)
    finish(axes, "epsilon", "violations (pairs), log above 10", "violations")


def _totals(totals: LevelErrors, depth: dict[str, int]) -> Iterator[Verdict]:
    """Judge the claims of figure 10 on the sum over all levels."""
    for data, epsilon in totals.values_of("data", "epsilon"):
        part = totals.where(data=data, epsilon=epsilon)
        of = {label: part.one(arm=label) for label in LABELS}
        words = ", ".join(f"{label} {with_error(row.values.values())}" for label, row in of.items() if row)
        where = f"{data}, epsilon {epsilon:g}, all levels"
        yield from orders(of, depth[data], where, words, cause_on(data))


def _by_level(errors: LevelErrors) -> Iterator[Verdict]:
    """Judge whether M_c^dp is the most accurate at every single level; in the paper's own table it is not."""
    for data, epsilon in errors.values_of("data", "epsilon"):
        part = errors.where(data=data, epsilon=epsilon)
        for level in range(part.n_levels):
            found = {label: part.one(arm=label, level=level) for label in LABELS}
            rows = {label: row for label, row in found.items() if row is not None}
            others = [row for arm, row in found.items() if arm != M_C_DP.label]
            words = ", ".join(f"{arm} {with_error(row.values.values())}" for arm, row in rows.items())
            where = f"{data}, epsilon {epsilon:g}, {level_name(level, part.n_levels)}"
            found = smaller_unless_saturated(rows.get(M_C_DP.label), *others)
            yield Verdict(fioretto.CLAIMS["figure 10c"], where, found, words, Cause.READING)


def _consistency(frame: "pd.DataFrame") -> Iterator[Verdict]:
    """Judge both counts of violations; they are exact, so no standard errors decide."""
    pairs, regions = level_errors(frame, "cv_levels"), level_errors(frame, "cv_regions")
    for data, epsilon in pairs.values_of("data", "epsilon"):
        words, right, replicates = [], True, []
        for label in LABELS:
            row = pairs.one(data=data, epsilon=epsilon, arm=label)
            more = regions.one(data=data, epsilon=epsilon, arm=label)
            if row is None or more is None:
                replicates.append(0)
                continue
            replicates.append(len(row.values))
            if any((n > 0) != (label in (M_H_R.label, M_C_R.label)) for n in row.values.values()):
                right = False
            of = (PAPER_NAMES.get(data), label, epsilon)
            printed = [p.value for p in fioretto.VIOLATIONS if (p.data, p.arm, float(Fraction(p.epsilon))) == of]
            there = f" (printed {number(printed[0])}: x {relation(row.mean, printed[0])})" if any(printed) else ""
            words.append(f"{label} {number(row.mean)} levels{there}, {number(more.mean)} regions")
        found = in_every_replicate(
            right, min(replicates), "violations of relaxations, none of dynamic programs, in every replicate"
        )
        yield Verdict(fioretto.CLAIMS["table 1a"], f"{data}, epsilon {epsilon:g}", found, "; ".join(words), Cause.CLAIM)


def _faithful(frame: "pd.DataFrame") -> Iterator[Verdict]:
    """Judge whether rounded M_H^r keeps totals: a single cell that does not shows that it need not."""
    broken = level_errors(frame.rename(columns={"violations_totals": "totals_level0"}), "totals")
    for row in broken.where(arm=M_H_R.label):
        n = sum(value > 0 for value in row.values.values())
        found = in_every_replicate(not n, len(row.values), "totals kept in every replicate")
        words = f"totals broken in {n} of {len(row.values)} replicates"
        yield Verdict(fioretto.CLAIMS["table 1b"], f"{row.data}, epsilon {row.epsilon:g}", found, words, Cause.CLAIM)


def _taxi_is_worse(totals: LevelErrors) -> Iterator[Verdict]:
    """Compare total errors on what stands for the paper's two data sets, whose noise is independent."""
    for epsilon, label in product(totals.values_of("epsilon"), LABELS):
        taxi, census = (totals.one(data=each.name, epsilon=epsilon, arm=label) for each in (TAXI, CENSUS))
        if taxi is not None and census is not None:
            found = separated(taxi.values.values(), census.values.values())
            words = f"{with_error(taxi.values.values())} against {with_error(census.values.values())}"
            where = f"{TAXI.name}, {label}, epsilon {epsilon:g}"
            yield Verdict(fioretto.CLAIMS["table 1c"], where, found, words, cause_on(TAXI.name))


def _flat(errors: LevelErrors) -> Iterator[Verdict]:
    """Judge whether the root error of M_c^r depends on epsilon as little as printed, which noise cannot explain."""
    for name, paper in PAPER_NAMES.items():
        rows = [errors.one(data=name, epsilon=epsilon, arm=M_C_R.label, level=0) for epsilon in (0.1, 1.0)]
        if rows[0] is not None and rows[1] is not None:
            of = (paper, M_C_R.label, 0)
            printed = {p.epsilon: p.value for p in fioretto.TABLE_1 if (p.data, p.arm, p.level) == of}
            words = f"from epsilon 1 to 0.1 it grows x {relation(rows[0].mean, rows[1].mean)} "
            words += f"({with_error(rows[1].values.values())} to {with_error(rows[0].values.values())}), "
            words += f"printed x {relation(printed['1/10'], printed['1'])}"
            found = at_most(rows[0].values, rows[1].values, 2)
            claim = "the root's error of M_c^r hardly depends on epsilon (grows less than x 2), as table 1 prints it"
            cause = cause_on(name) if cause_on(name) is Cause.STAND_IN else Cause.NUMBER
            yield Verdict(claim, name, found, words, cause)


def _exact_relaxation(errors: LevelErrors) -> Iterator[Verdict]:
    """Judge whether the printed root error of M_c^r can be that of the relaxation's optimum, which is solved here."""
    of = ("Census", M_C_R.label, 0)
    for p in (p for p in fioretto.TABLE_1 if (p.data, p.arm, p.level) == of):
        ours = errors.one(data=CENSUS.name, epsilon=float(Fraction(p.epsilon)), arm=M_C_R.label, level=0)
        if ours is not None:
            found = at_most(p.value, ours.values, 2)
            words = f"ours {with_error(ours.values.values())}, printed {number(p.value)}: "
            words += f"x {relation(ours.mean, p.value)}"
            claim = "the printed root error of M_c^r is that of the exact relaxation"
            yield Verdict(claim, f"{CENSUS.name}, epsilon {p.epsilon}", found, words, Cause.NUMBER)


def _possible() -> Iterator[Verdict]:
    """Judge whether the printed errors are possible: counts that add up to G at a level are off by at most 2 G."""
    for data, largest in fioretto.LARGEST_ERROR.items():
        off = [p for p in fioretto.TABLE_1 if p.data == data and p.arm in (M_H_DP.label, M_C_DP.label)]
        beyond = [p for p in off if p.value > largest]
        words = (
            f"at most 2 x {fioretto.GROUPS[data]:,} = {largest:,} groups; "
            f"{len(beyond)} of {len(off)} numbers are larger"
        )
        if beyond:
            worst = max(p.value for p in beyond)
            words += f", up to {number(worst)}, so the printed data have at least {number(worst / 2)} groups"
            words += ", or the printed unit slipped"
        found = exactly(not beyond, "printed numbers against an upper bound")
        claim = "printed errors are possible for the printed number of groups"
        yield Verdict(claim, f"{data}, as printed", found, words, Cause.NUMBER)


_DATA = (TAXI, CENSUS)
_ARMS = {label: [label] for label in LABELS}
_HALVES = {label: [half.label] for label, half in HALF.items()}
_UNIT = "the paper does not say in which unit it counts violations; "

PRINTED_NUMBERS = (
    *stand_beside(fioretto.TABLE_1, _DATA, _ARMS),
    *stand_beside(fioretto.TABLE_1, _DATA, _HALVES, reading="half the noise"),
    *(
        each
        for metric in ("cv_levels", "cv_regions")
        for each in stand_beside(fioretto.VIOLATIONS, _DATA, _ARMS, {"metric": metric, "level": 0}, _UNIT)
    ),
)
"""Table 1 beside what stands for its data, with all and with half the noise; its violations beside both our counts."""

EXPERIMENT = Experiment(
    id="PG4",
    title="Error by level",
    paper=fioretto.PAPER,
    part="table 1",
    question="How far are the four mechanisms from the truth at every level, and how often do regions not add up?",
    arms=(*FOUR, *HALF.values()),
    profiles={
        Profile.SMOKE: Scale((TAXI_SMALL, CENSUS_SMALL), (Fraction(1),), replicates=2, time_limit=60),
        Profile.QUICK: Scale((KUO_TAXI, CENSUS), (Fraction(1, 10), Fraction(1)), replicates=5, time_limit=60),
        Profile.PAPER: Scale(
            (TAXI, TAXI_DENSE, KUO_TAXI, CENSUS, CENSUS_CALIBRATED),
            (Fraction(1, 10), Fraction(1, 2), Fraction(1)),
            replicates=30,
            time_limit=120,
        ),
    },
    plot=plot,
    verdicts=verdicts,
    printed=PRINTED_NUMBERS,
    measure=release_and_violations,
    seed="PG4",
)
