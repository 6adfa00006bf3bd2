"""The experiment X1: the benefit of exact optima that Fioretto and Van Hentenryck 2019 could not compute.

Section 8 of the paper replaces M_c by M_c^dp because M_c was out of reach. Here M_c is solved, in integers and with a
proven gap, so the price of the replacement can be read off: in the objective, in L1 and in the earth mover's distance.
Beside them stand every other release of this toolkit at the same total epsilon. Seed and census are used nowhere else.
"""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import product
from math import ceil, inf, isnan
from statistics import fmean
from typing import TYPE_CHECKING, Any

from pgsr import Problem, View
from pgsr.algorithms import CumulativeIntegers, RegionTotalsProjection
from pgsr.estimators import BottomUp, IsotonicTreeProjection
from pgsr.estimators.two_stage import TwoStage
from pgsr.experiments.engine.experiment import Arm, Experiment, Scale
from pgsr.experiments.engine.figures import wrapped
from pgsr.experiments.engine.summary import LevelErrors, level_errors
from pgsr.experiments.engine.verdicts import Verdict, compared, in_every_replicate
from pgsr.experiments.engine.words import number, relation, with_error
from pgsr.experiments.fioretto2019.arms import M_C_DP, M_H_DP, cumulative
from pgsr.experiments.fioretto2019.data import (
    CENSUS_2000,
    FLIGHTS,
    FRESH_CENSUS,
    FRESH_CENSUS_REDUCED,
    KUO_TAXI,
    TAXI,
)
from pgsr.experiments.ours.arms import (
    CUMULATIVE_EQUAL,
    CUMULATIVE_LEAVES_ONLY,
    KUO,
    LEAF_HEAVY,
    M_C_REGIONS,
    TWO_STAGE,
    equal_shares,
)
from pgsr.experiments.ours.by_arm import draw_by_arm
from pgsr.experiments.ours.profiles import profiles
from pgsr.figures.drawing import finish, head, legend_below, level_name, log_labels, new_figure
from pgsr.models import Flow
from pgsr.noise import Totals

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


M_H_REGIONS = Arm(
    "M_H, regions' totals",
    partial(equal_shares, View.COUNTS),
    Flow(around=RegionTotalsProjection()),
    partial(Problem.m_h, totals="regions"),
)
M_C_DP_REGIONS = Arm(
    "M_c^dp, regions' totals",
    CUMULATIVE_EQUAL,
    IsotonicTreeProjection(Flow(around=RegionTotalsProjection()), Totals.REGIONS),
)
M_C = Arm("M_c", cumulative, CumulativeIntegers(), Problem.m_c)
BOTTOM_UP = Arm("bottom-up", CUMULATIVE_LEAVES_ONLY, BottomUp())
MIDPOINT = Arm("bottom-up, midpoints", CUMULATIVE_LEAVES_ONLY, TwoStage())
ARMS = (M_H_DP, M_H_REGIONS, M_C_DP, M_C, M_C_DP_REGIONS, M_C_REGIONS, TWO_STAGE, LEAF_HEAVY, KUO, BOTTOM_UP, MIDPOINT)

PAIRS = {M_C.label: M_C_DP.label, M_C_REGIONS.label: M_C_DP_REGIONS.label}
"""What stands for an exact optimum in the paper, by the optimum's label."""

EPSILON_LOOKS = (("#AA4499", "P"), ("#117733", "X"), ("#882255", "*"))
"""Colours and markers of budgets, which neither levels nor arms have."""

Objectives = dict[tuple[str, float, str], list[float]]
"""What stands for an optimum over that optimum, by data set, epsilon and the optimum's label; one per replicate."""

METRICS = {"l1": "L1 of a level (groups), log", "cumulative_l1": "EMD or cum. L1 (entities), log"}


def plot(frame: "pd.DataFrame") -> "Figure":
    """Draw a column per data set: errors by arm at every epsilon, a mark per level, then M_c^dp over M_c.

    Of a single data set two panels stand side by side.
    """
    errors = {metric: level_errors(frame, metric) for metric in METRICS}
    names, epsilons = (errors["l1"].values_of(name) for name in ("data", "epsilon"))
    rows = [(metric, epsilon) for epsilon in sorted(epsilons, reverse=True) for metric in METRICS]
    columns, side_by_side = (len(names), 1) if len(names) > 1 else (2, 2)
    heights = [3.3] * ceil(len(rows) / side_by_side) + [2.2] * ceil(len(PAIRS) / side_by_side)
    figure = new_figure(max(7.5, 2.6 + 2.9 * columns), sum(heights) * 1.1 + 0.8)
    grid = figure.subplots(len(heights), columns, squeeze=False, height_ratios=heights)
    objectives = _objective_ratios(frame)
    for place, ((metric, epsilon), name) in enumerate(product(rows, names)):
        axes, part = grid.flat[place], errors[metric].where(data=name, epsilon=epsilon)
        draw_by_arm(axes, part, [arm.label for arm in ARMS], labelled=place % columns == 0)
        title = f"{wrapped(name, 24)}\n" if place < len(names) else ""
        finish(axes, METRICS[metric], "", f"{title}epsilon {epsilon:g}")
        axes.grid(axis="x", color="#e5e5e5")
    for axes, (exact, name) in zip(grid.flat[len(rows) * len(names) :], product(PAIRS, names), strict=True):
        _ratios(axes, errors, objectives, name, exact)
    legend_below(figure, [*grid[0], *grid[-1]], 7)
    head(
        figure,
        "X1: releases at equal total epsilon, by arm and level; bars: two standard errors\n"
        "EMD where an arm keeps every region's total, else cumulative L1",
    )
    return figure


def verdicts(frame: "pd.DataFrame") -> list[Verdict]:
    """Judge how far M_c^dp is from M_c, whether M_c is near its bound, and the best arm by level."""
    found = {metric: level_errors(frame, metric) for metric in METRICS}
    return [*_objectives(frame), *_proofs(frame), *_price(found), *_best(found), *_totals(found)]


def _ratios(axes: "Axes", errors: dict[str, LevelErrors], objectives: Objectives, name: str, exact: str) -> None:
    """Draw errors of an approximation over those of the exact optimum: filled marks for L1, objectives at the end."""
    epsilons = errors["l1"].values_of("epsilon")
    n_levels = errors["l1"].where(data=name).n_levels
    for epsilon, (colour, marker) in zip(sorted(epsilons), EPSILON_LOOKS, strict=False):
        for metric, fill in (("l1", colour), ("cumulative_l1", "white")):
            part = errors[metric].where(data=name, epsilon=epsilon)
            pairs = [(part.one(arm=PAIRS[exact], level=i), part.one(arm=exact, level=i)) for i in range(n_levels)]
            values = [a.mean / b.mean if a and b and b.mean else float("nan") for a, b in pairs]
            axes.plot(
                range(n_levels), values, marker + ("-" if fill != "white" else "--"), color=colour,
                markerfacecolor=fill, label=f"epsilon {epsilon:g}, {'L1' if metric == 'l1' else 'EMD or cum. L1'}",
            )  # fmt: skip
        ratios = objectives.get((name, epsilon, exact))
        if ratios:
            axes.plot([n_levels], [fmean(ratios)], marker, color=colour)
    axes.axhline(1, color="#555555", linewidth=0.8, linestyle=":")
    axes.set_yscale("log")
    log_labels(axes.yaxis)
    axes.set_xticks(range(n_levels + 1), [*(level_name(i, n_levels) for i in range(n_levels)), "objective"])
    axes.set_xlim(-0.3, n_levels + 0.3)
    finish(axes, "level", "ratio, log", f"{PAIRS[exact]}\nover the exact optimum")


def _objectives(frame: "pd.DataFrame") -> Iterator[Verdict]:
    """Judge whether M_c^dp has a larger objective than M_c, replicate by replicate with common noise."""
    for (data, epsilon, exact), ratios in _objective_ratios(frame).items():
        words = f"objective of {PAIRS[exact]} / {exact}: x {with_error(ratios)}"
        found = compared(dict(enumerate(ratios)), 1.0)
        yield Verdict(
            f"{PAIRS[exact]} has a larger objective than {exact}", f"{data}, epsilon {epsilon:g}", found, words
        )


def _objective_ratios(frame: "pd.DataFrame") -> Objectives:
    known, ratios = _certificates(frame), {}
    for data, epsilon, arm in known:
        if arm in PAIRS and (data, epsilon, PAIRS[arm]) in known:
            exact, dp = known[data, epsilon, arm], known[data, epsilon, PAIRS[arm]]
            shared = sorted(exact.keys() & dp.keys())
            ratios[data, epsilon, arm] = [dp[r][0] / exact[r][0] for r in shared if exact[r][0]]
    return ratios


def _proofs(frame: "pd.DataFrame") -> Iterator[Verdict]:
    """Judge the proven gaps of M_c with either kind of totals, and of M_H with every region's total."""
    for (data, epsilon, arm), certificates in _certificates(frame).items():
        if arm in (M_C.label, M_C_REGIONS.label, M_H_REGIONS.label):
            both = certificates.values()
            gaps = [inf if isnan(bound) else (objective - bound) / max(1, objective) for objective, bound in both]
            found = in_every_replicate(max(gaps) <= 1e-2, len(gaps), "proven gap at most 1 % in every replicate")
            words = f"largest proven gap {max(gaps):.1e} in {len(gaps)} replicates"
            yield Verdict(f"{arm} is solved to within one percent", f"{data}, epsilon {epsilon:g}", found, words)


def _certificates(frame: "pd.DataFrame") -> dict[tuple[str, float, str], dict[int, tuple[float, float]]]:
    """Collect objective and bound by data set, epsilon and arm, then by replicate; NaN stands for no bound."""
    found: dict[tuple[str, float, str], dict[int, tuple[float, float]]] = {}
    rows: list[dict[Any, Any]] = frame.to_dict("records")
    for row in rows:
        if row["objective"] is not None and row["objective"] == row["objective"]:
            bound = float("nan") if row["bound"] is None else float(row["bound"])
            of = found.setdefault((row["data"], row["epsilon"], row["arm"]), {})
            of[int(row["replicate"])] = (float(row["objective"]), bound)
    return found


def _price(found: dict[str, LevelErrors]) -> Iterator[Verdict]:
    """Judge whether M_c is nearer to the truth than M_c^dp, by level."""
    for metric, title in {"l1": "L1", "cumulative_l1": "cumulative L1"}.items():
        for data, epsilon in found[metric].values_of("data", "epsilon"):
            part = found[metric].where(data=data, epsilon=epsilon)
            for level, (label, instead) in product(range(part.n_levels), PAIRS.items()):
                dp, exact = (part.one(arm=arm, level=level) for arm in (instead, label))
                if dp is not None and exact is not None:
                    where = f"{data}, epsilon {epsilon:g}, {level_name(level, part.n_levels)}"
                    words = f"{instead} {with_error(dp.values.values())}, {label} {with_error(exact.values.values())}"
                    words += f": x {relation(dp.mean, exact.mean)}"
                    claim = f"{label} is nearer to the truth than {instead} ({title})"
                    yield Verdict(claim, where, compared(dp.values, exact.values), words)


def _best(found: dict[str, LevelErrors]) -> Iterator[Verdict]:
    """Judge whether a two-stage release has the smallest earth mover's distance, and name the best arm by level."""
    errors = found["cumulative_l1"]
    for data, epsilon in errors.values_of("data", "epsilon"):
        part = errors.where(data=data, epsilon=epsilon)
        for level in range(part.n_levels):
            rows = sorted(part.where(level=level), key=lambda row: row.mean)
            ours = [row for row in rows if row.arm in (TWO_STAGE.label, LEAF_HEAVY.label)]
            others = [row for row in rows if row.arm not in (TWO_STAGE.label, LEAF_HEAVY.label)]
            if ours and others:
                words = ", ".join(f"{row.arm} {number(row.mean)}" for row in rows[:3])
                where = f"{data}, epsilon {epsilon:g}, {level_name(level, part.n_levels)}"
                claim = "a two-stage release has the smallest EMD"
                yield Verdict(claim, where, compared(others[0].values, ours[0].values), f"best three: {words}")


def _totals(found: dict[str, LevelErrors]) -> Iterator[Verdict]:
    """Judge how much M_c gains at the leaves from knowing every region's total."""
    errors = found["cumulative_l1"]
    for data, epsilon in errors.values_of("data", "epsilon"):
        part = errors.where(data=data, epsilon=epsilon)
        pair = [part.one(arm=arm.label, level=part.n_levels - 1) for arm in (M_C, M_C_REGIONS)]
        if pair[0] is not None and pair[1] is not None:
            words = f"root's total {number(pair[0].mean)}, every region's {number(pair[1].mean)}"
            claim = "public totals of all regions make M_c more accurate at the leaves"
            yield Verdict(claim, f"{data}, epsilon {epsilon:g}", compared(pair[0].values, pair[1].values), words)


_ALL = Scale(
    (FRESH_CENSUS, TAXI, CENSUS_2000, FLIGHTS, KUO_TAXI), (Fraction(1, 10), Fraction(1)), replicates=30, time_limit=300
)

EXPERIMENT = Experiment(
    id="X1",
    title="Exact optima",
    part="beyond Fioretto and Van Hentenryck 2019, section 8",
    question="How far is M_c^dp from the optimum it stands for, and which release is nearest to the truth?",
    arms=ARMS,
    profiles=profiles(_ALL, quick=replace(_ALL, data=(FRESH_CENSUS_REDUCED, CENSUS_2000, FLIGHTS, KUO_TAXI))),
    plot=plot,
    verdicts=verdicts,
    seed="X1: exact optima, first used in this experiment",
)
