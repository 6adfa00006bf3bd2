"""The experiment PG5: "up to two orders of magnitude" (Fioretto and Van Hentenryck 2019, figure 9 and table 1).

The headline is M_c^dp against M_c^r on Census: in runtime, and in the error of the nation, printed as 24.1 against 0.1
thousand groups. M_c^r is solved twice here, by a general solver up to a stated number of sizes, and exactly by our own
algorithm at all of them, so the two halves of the headline can be told apart: what the solver costs, and what the
relaxation does.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np

from pgsr import CountOfCounts, Problem
from pgsr.comparison.side_by_side import ANSWERED
from pgsr.experiments.engine.causes import Cause
from pgsr.experiments.engine.experiment import Arm, DataSet, Experiment, Profile, Scale, Trial, release_memory
from pgsr.experiments.engine.figures import draw_printed
from pgsr.experiments.engine.looks import arm_looks
from pgsr.experiments.engine.papers import stand_beside
from pgsr.experiments.engine.release_record import Record
from pgsr.experiments.engine.summary import LevelErrors, level_errors
from pgsr.experiments.engine.verdicts import Verdict, at_most, compared
from pgsr.experiments.engine.words import number, relation, with_error
from pgsr.experiments.fioretto2019 import published as fioretto
from pgsr.experiments.fioretto2019.arms import (
    M_C_DP,
    M_C_R,
    Rounded,
    by_general_solver,
    cumulative,
    release_and_violations,
)
from pgsr.experiments.fioretto2019.data import CENSUS, CENSUS_SMALL
from pgsr.figures.drawing import Look, finish, head, legend_below, log_labels, new_figure
from pgsr.models import Cvxpy, Gurobi

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def measure(trial: Trial) -> Record:
    """Measure as `release_and_violations` does; "SKIPPED" where the general solver is not asked."""
    most = int(trial.parameters["solver_up_to"])
    if by_general_solver(trial.arm.post) and trial.truth.max_size > most:
        return {"status": "SKIPPED", "reason": f"a general solver is asked up to N = {most} only"}
    return release_and_violations(trial)


def clipped(truth: CountOfCounts, parameters: Mapping[str, Any]) -> CountOfCounts:
    """Count sizes above N as N.

    Example:
        >>> from pgsr import Hierarchy
        >>> clipped(CountOfCounts(Hierarchy.from_parents(["all"], [-1]), [[0, 7, 5, 1]]), {"N": 2}).counts
        array([[0, 7, 6]])
    """
    n = min(int(parameters["N"]), truth.max_size)
    table = truth.counts[truth.hierarchy.leaves]
    last = table[:, n:].sum(axis=1)
    return CountOfCounts(truth.hierarchy, np.column_stack([table[:, :n], last]), f"{truth.name}, N = {n}")


def plot(frame: "pd.DataFrame") -> "Figure":
    """Draw seconds against N, and the nation's error against N with the printed pair of N = 1,000, dotted."""
    figure = new_figure(10.5, 4.8)
    left, right = figure.subplots(1, 2)
    seconds, errors = _seconds(frame), level_errors(frame, "l1", ["N"]).where(level=0)
    sizes = sorted({n for _, _, n in seconds})
    for label, look in arm_looks([arm.label for arm in ARMS]).items():
        known = [(n, list(seconds[key].values())) for n in sizes for key in seconds if key[1:] == (label, n)]
        _line(left, [n for n, _ in known], [v for _, v in known], label, look)
        rows = sorted(errors.where(arm=label), key=lambda row: row.parameters)
        _line(right, [row.parameters[0][1] for row in rows], [list(row.values.values()) for row in rows], "", look)
    if max(sizes) == CENSUS.max_size:
        for label in (M_C_R.label, M_C_DP.label):
            draw_printed(right, [(CENSUS.max_size, _printed(label))], CENSUS.max_size / 3, own=False)
            right.annotate(label, (CENSUS.max_size, _printed(label)), (-12, 3), textcoords="offset points", ha="right",
                           fontsize="small")  # fmt: skip
    for axes in (left, right):
        axes.set(xscale="log", yscale="log")
        axes.set_xticks(sizes, [f"{n:,}" for n in sizes])
        axes.minorticks_off()
        log_labels(axes.yaxis)
    data = "; ".join(dict.fromkeys(data for data, _, _ in seconds))
    finish(left, "largest size N, log", "time to formulate, solve and round (s), log", "runtime")
    finish(right, "largest size N, log", "L1 error of the root (groups), log", "error of the nation")
    legend_below(figure, (left, right))
    head(figure, f"PG5: abstract, M_c^dp against M_c^r, epsilon 1, {data}\nbars: one standard error")
    return figure


def verdicts(frame: "pd.DataFrame") -> list[Verdict]:
    """Judge both ratios of the headline, at every N, and whether the solver's answer is the exact one."""
    seconds, errors = _seconds(frame), level_errors(frame, "l1", ["N"]).where(level=0)
    violations = level_errors(frame, "cv_levels", ["N"])
    return [
        *_times(seconds),
        *_errors(errors),
        *_same(errors, "error", "groups at the root"),
        *_same(violations, "#CV", "pairs of a size and a level"),
    ]


def _seconds(frame: "pd.DataFrame") -> dict[tuple[str, str, int], dict[int, float]]:
    """Collect seconds by data set, arm and N, and then by replicate."""
    found: dict[tuple[str, str, int], dict[int, float]] = {}
    rows: list[dict[Any, Any]] = frame.to_dict("records")
    for row in sorted(rows, key=lambda row: row["replicate"]):
        if row["status"] not in _ANSWERED:
            continue
        spent = row["formulate_seconds"] + row["solve_seconds"] + row["round_seconds"]
        found.setdefault((row["data"], row["arm"], int(row["N"])), {})[int(row["replicate"])] = spent
    return found


def _line(axes: "Axes", x: list[int], values: list[list[float]], label: str, look: Look) -> None:
    bars = [float(np.std(v, ddof=1)) / len(v) ** 0.5 if len(v) > 1 else 0.0 for v in values]
    axes.errorbar(x, [float(np.mean(v)) for v in values], bars, linestyle="--" if look.open else "-", capsize=3,
                  label=label or None, **look.marks)  # fmt: skip


def _printed(label: str) -> float:
    return next(p.value for p in fioretto.TABLE_1 if (p.data, p.arm, p.epsilon, p.level) == ("Census", label, "1", 0))


def _times(seconds: dict[tuple[str, str, int], dict[int, float]]) -> Iterator[Verdict]:
    """Judge the ratio of times, replicate by replicate, where both have an answer."""
    for (data, label, n), slow in sorted(seconds.items(), key=lambda item: item[0][2]):
        fast = seconds.get((data, M_C_DP.label, n))
        if label != M_C_DP.label and fast:
            ratio = fmean(slow.values()) / fmean(fast.values())
            found = compared(slow, fast, times=10)
            words = f"{with_error(slow.values())} s against {with_error(fast.values())} s: x {number(ratio)}"
            claim = f"M_c^dp is an order of magnitude faster than {label}"
            # The paper ran its general solver, and at all sizes.
            cause = {EXACT.label: Cause.READING, SOLVER.label: Cause.SOLVER}.get(label, _at(n))
            yield Verdict(claim, f"{data}, N = {n:,}", found, words, cause)


def _errors(errors: LevelErrors) -> Iterator[Verdict]:
    printed = _printed(M_C_R.label) / _printed(M_C_DP.label)
    for row in sorted(errors.where(arm=M_C_DP.label), key=lambda row: row.parameters):
        other = errors.one(data=row.data, arm=EXACT.label, parameters=row.parameters)
        if other is not None:
            found = compared(other.values, row.values, times=10)
            words = f"M_c^r {with_error(other.values.values())}, M_c^dp {with_error(row.values.values())} groups: "
            words += f"x {relation(other.mean, row.mean)}, printed x {printed:.0f} at N = 1,000"
            claim = "M_c^dp is an order of magnitude more accurate at the root than M_c^r"
            n = row.parameters[0][1]
            yield Verdict(claim, f"{row.data}, N = {n:,}", found, words, _at(n))


def _at(n: int) -> Cause:
    """Give the paper's claim to its own number of sizes; at fewer, which no profile makes more, it is a reading."""
    return Cause.CLAIM if n == CENSUS.max_size else Cause.READING


def _same(errors: LevelErrors, what: str, unit: str) -> Iterator[Verdict]:
    """Judge whether two methods that round the same relaxation give equal numbers, up to the solver's tolerance."""
    for row in sorted(errors.where(arm=SOLVER.label), key=lambda row: row.parameters):
        exact = errors.one(data=row.data, arm=EXACT.label, parameters=row.parameters)
        if exact is not None:
            both = sorted(row.values.keys() & exact.values.keys())
            found = at_most({r: abs(row.values[r] - exact.values[r]) for r in both}, exact.values, SAME)
            words = f"solver {number(row.mean)}, exact {number(exact.mean)} {unit}"
            claim = f"the general solver's M_c^r has the {what} of the exact one, within {SAME:.0%}"
            yield Verdict(claim, f"{row.data}, N = {row.parameters[0][1]:,}", found, words)


def solver_memory(data: DataSet, arm: Arm, parameters: Mapping[str, Any]) -> int:
    """Estimate peak bytes: the data at full size, and the memory that Clarabel was seen to take."""
    sizes = min(parameters["N"], parameters["solver_up_to"]) if by_general_solver(arm.post) else 0
    return release_memory(data, arm, parameters) + 5_000 * sizes * data.n_regions


SOLVER = Arm("M_c^r, Clarabel", cumulative, Cvxpy("CLARABEL"), Problem.m_c)
EXACT = replace(M_C_R, label="M_c^r, ours, exact")
GUROBI = Arm(
    "M_c^r, Gurobi",
    cumulative,
    Rounded(Gurobi()),
    Problem.m_c,
    note="the paper's solver: runs where a licence is, as the bundled one stops at 2,000 columns",
)
ARMS = (M_C_DP, EXACT, SOLVER, GUROBI)

_ANSWERED = tuple(status.name for status in ANSWERED)

SAME = 0.05
"""Relative difference up to which errors of the same relaxation count as equal."""


def _grid(solver_up_to: int, *sizes: int) -> tuple[tuple[tuple[str, int], ...], ...]:
    return tuple((("N", n), ("solver_up_to", solver_up_to)) for n in sizes)


PRINTED_NUMBERS = stand_beside(
    [p for p in fioretto.TABLE_1 if (p.data, p.epsilon, p.level) == ("Census", "1", 0)],
    [CENSUS],
    {M_C_DP.label: [M_C_DP.label], M_C_R.label: [EXACT.label]},
    {"N": CENSUS.max_size},
)
"""The two errors behind the headline, of table 1 at N = 1,000. Its runtimes are in a figure, without numbers."""

EXPERIMENT = Experiment(
    id="PG5",
    title="Headline ratios",
    paper=fioretto.PAPER,
    part="abstract; figure 9 and table 1, Census",
    question="Is M_c^dp two orders of magnitude faster and more accurate than M_c^r?",
    arms=ARMS,
    profiles={
        Profile.SMOKE: Scale((CENSUS_SMALL,), (Fraction(1),), 2, 60, _grid(10, 10, 50)),
        Profile.QUICK: Scale((CENSUS,), (Fraction(1),), 5, 120, _grid(30, 10, 30, 1_000)),
        Profile.PAPER: Scale((CENSUS,), (Fraction(1),), 10, 1_800, _grid(200, 10, 30, 100, 200, 1_000)),
    },
    plot=plot,
    verdicts=verdicts,
    printed=PRINTED_NUMBERS,
    measure=measure,
    prepare=clipped,
    memory=solver_memory,
    seed="PG5",
    alone=True,
)
