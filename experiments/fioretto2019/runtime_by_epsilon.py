"""The experiment PG2: runtime against epsilon (Fioretto and Van Hentenryck 2019, figure 9).

Our exact algorithms run on all sizes. Tables as printed and a general solver would take hours there, so they run on a
sample of the sizes, all others counted as one, and their seconds are multiplied by the part of the sizes that was left
out: "extrapolated". For tables that is fair, because every size has tables of its own; for the interior-point solver
it is a lower bound, because its time grows faster than the number of unknowns. Clarabel takes the place of the paper's
solver. So no verdict on such times counts as one on the paper's claim: its cause is `Cause.SOLVER`.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise, product
from typing import TYPE_CHECKING, Any

import numpy as np

from pgsr import CountOfCounts, Problem, Result, Status
from pgsr.algorithms import CostTables
from pgsr.comparison.side_by_side import ANSWERED
from pgsr.estimators import IsotonicTreeProjection
from pgsr.experiments.engine.causes import Cause
from pgsr.experiments.engine.experiment import Arm, DataSet, Experiment, Profile, Scale, Trial, release_memory
from pgsr.experiments.engine.figures import epsilon_axis, error_axis
from pgsr.experiments.engine.looks import arm_looks
from pgsr.experiments.engine.release_record import Record, released
from pgsr.experiments.engine.verdicts import Verdict, compared
from pgsr.experiments.engine.words import with_error
from pgsr.experiments.fioretto2019 import published as fioretto
from pgsr.experiments.fioretto2019.arms import (
    M_C_DP,
    M_C_R,
    M_H_DP,
    M_H_R,
    Rounded,
    by_general_solver,
    counts,
    cumulative,
)
from pgsr.experiments.fioretto2019.data import CENSUS, CENSUS_SMALL, TAXI, TAXI_SMALL
from pgsr.figures.drawing import finish, head, legend_below, new_figure
from pgsr.models import Cvxpy, Gurobi
from pgsr.privacy.laws.per_level import GeometricNoise

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class NarrowTables:
    """The cost tables as the last step of M_c^dp, in narrow windows.

    They have 3 ceil(2 lambda^2) values, where lambda = L / epsilon and not 2 L / epsilon.

    Source: Fioretto and Van Hentenryck 2019, footnote 2 and section 8.
    """

    def supports(self, problem: Problem) -> str | None:
        return CostTables().supports(problem)

    def solve(self, problem: Problem, time_limit: float | None = None) -> Result:
        noise = [] if problem.noise is None else [level for level in problem.noise if level is not None]
        spent = [level.epsilon for level in noise if isinstance(level, GeometricNoise)]
        if not spent or len(spent) < len(noise):
            return Result(Status.UNSUPPORTED, "windows follow from epsilon; measure with double geometric noise")
        return CostTables(window=half_width(min(spent))).solve(problem, time_limit)


def half_width(level_epsilon: Fraction) -> int:
    """Compute the half width of the windows, 3 ceil(2 lambda^2).

    Example:
        >>> half_width(Fraction(1, 3)), half_width(Fraction(1, 30))
        (54, 5400)
    """
    return 3 * math.ceil(2 / level_epsilon**2)


def runtime(trial: Trial) -> Record:
    """Measure the seconds of several solves with independent noise, and the factor to extrapolate to all sizes.

    Returns:
        status: of the last solve.
        run_seconds: to formulate, solve and round, as measured; a list.
        factor: sizes of the data over sizes that ran; 1 where all did.
    """
    n = _sampled(trial)
    whole = trial.truth.max_size + 1
    truth = trial.truth if n is None or n + 1 >= whole else sampled(trial.truth, n)
    seconds: list[float] = []
    result = None
    for repeat in range(ALL_REPEATS if n is None else SAMPLE_REPEATS):
        fresh = replace(trial.cell, replicate=trial.cell.replicate * ALL_REPEATS + repeat)
        result = released(replace(trial, truth=truth, cell=fresh))
        if result.status not in ANSWERED:
            return {"status": result.status.name, "reason": result.reason, "run_seconds": [], "factor": None}
        seconds.append(result.seconds.total)
    status = "" if result is None else result.status.name
    return {"status": status, "reason": "", "run_seconds": seconds, "factor": whole / (truth.max_size + 1)}


def sampled(truth: CountOfCounts, n: int) -> CountOfCounts:
    """Keep n sizes from evenly spread places, and turn all other groups into one more size, so that G does not change.

    Example:
        >>> from pgsr import Hierarchy
        >>> sampled(CountOfCounts(Hierarchy.from_parents(["all"], [-1]), [[0, 7, 5, 1]]), 1).counts
        array([[5, 8]])
    """
    table = truth.counts[truth.hierarchy.leaves]
    places = ((np.arange(n) + 0.5) * table.shape[1] / n).astype(int)
    rest = table.sum(axis=1) - table[:, places].sum(axis=1)
    return CountOfCounts(truth.hierarchy, np.column_stack([table[:, places], rest]), f"{truth.name}, {n} sizes")


def plot(frame: "pd.DataFrame") -> "Figure":
    """Draw a panel per data set: seconds against epsilon, filled as measured, open as extrapolated."""
    times = _times(frame)
    names = list(dict.fromkeys(name for name, _, _ in times))
    style = arm_looks([arm.label for arm in ARMS])  # a colour per mechanism; open is the paper's way, filled ours
    figure = new_figure(max(8, 5.2 * len(names)), 5.6)
    row = figure.subplots(1, max(1, len(names)), squeeze=False, sharey=True)[0]
    for axes, name in zip(row, names, strict=False):
        epsilons = sorted({epsilon for data, epsilon, _ in times if data == name})
        for label, look in style.items():
            known = [epsilon for epsilon in epsilons if times.get((name, epsilon, label))]
            values = [list(times[name, epsilon, label].values()) for epsilon in known]
            axes.errorbar(
                known, [np.mean(v) for v in values], [2 * _error(v) for v in values], **look.marks,
                linestyle="--" if look.open else "-", capsize=2, label=label,
            )  # fmt: skip
        epsilon_axis(axes, epsilons)
        error_axis(axes)
        y_label = "time to formulate, solve and round (s), log" if axes is row[0] else ""
        finish(axes, "total epsilon, log", y_label, name)
    legend_below(figure, row, 2)
    head(figure, "PG2: figure 9, runtime against epsilon\nopen marks are extrapolated from a sample of sizes")
    return figure


def verdicts(frame: "pd.DataFrame") -> list[Verdict]:
    """Judge the claims for the paper's algorithms (tables, a general solver) and for our exact ones."""
    ran = frame[["solver_sizes", "table_sizes"]].to_numpy()
    times, few = _times(frame), bool((ran < [ENOUGH_SIZES, ENOUGH_TABLES]).any())
    return [*_pairs(times, few), *_epsilon(times, few)]


def _sampled(trial: Trial) -> int | None:
    """Look up how many sizes this arm gets; None for all."""
    parameters = trial.parameters
    if by_general_solver(trial.arm.post):
        return int(parameters["solver_sizes"])
    if trial.arm.label in EXTRAPOLATED:
        # Tables shrink with epsilon squared, so more of them fit into the same time.
        few, large = int(parameters["table_sizes"]), (trial.cell.epsilon or 1) >= Fraction(1, 2)
        return 10 * few if large else few
    return None


Times = dict[tuple[str, float, str], dict[tuple[int, int], float]]
"""Seconds for all sizes by data set, epsilon and arm, and then by replicate and repeat."""


def _times(frame: "pd.DataFrame") -> Times:
    """Collect the seconds for all sizes; cells without an answer have none."""
    found: Times = {}
    rows: list[dict[Any, Any]] = frame.sort_values("replicate").to_dict("records")
    for row in rows:
        seconds = {(int(row["replicate"]), at): row["factor"] * each for at, each in enumerate(row["run_seconds"])}
        found.setdefault((row["data"], row["epsilon"], row["arm"]), {}).update(seconds)
    return found


def _pairs(times: Times, few: bool) -> Iterator[Verdict]:
    """Judge the comparisons of figure 9; `few` says that little was sampled to extrapolate."""
    places = dict.fromkeys((data, epsilon) for data, epsilon, _ in times)
    for (data, epsilon), (claim, slow, fast, declared) in product(places, CLAIMS):
        a, b = times.get((data, epsilon, slow)), times.get((data, epsilon, fast))
        if a and b:
            found = compared(a, b)
            words = f"{slow} {with_error(a.values())} s, {fast} {with_error(b.values())} s"
            cause = Cause.PROFILE if few and declared is Cause.SOLVER else declared
            yield Verdict(claim, f"{data}, epsilon {epsilon:g}", found, words, cause)


def _epsilon(times: Times, few: bool) -> Iterator[Verdict]:
    """Judge whether dynamic programs get faster from epsilon to epsilon: tables should, exact projections need not."""
    for data, label in product(dict.fromkeys(data for data, _, _ in times), DYNAMIC):
        known = sorted(
            epsilon for name, epsilon, arm in times if (name, arm) == (data, label) and times[name, epsilon, arm]
        )
        for low, high in pairwise(known):
            less, more = times[data, low, label], times[data, high, label]
            found = compared(less, more)
            words = f"{with_error(less.values())} s to {with_error(more.values())} s"
            place = f"{data}, {label}, epsilon {low:g} to {high:g}"
            # The printed dynamic program has windows that shrink as epsilon grows; ours has none.
            cause = Cause.READING if label not in EXTRAPOLATED else Cause.PROFILE if few else Cause.SOLVER
            yield Verdict(fioretto.CLAIMS["figure 9d"], place, found, words, cause)


def _error(values: list[float]) -> float:
    return float(np.std(values, ddof=1) / len(values) ** 0.5) if len(values) > 1 else 0.0


def solver_memory(data: DataSet, arm: Arm, parameters: Mapping[str, Any]) -> int:
    """Estimate peak bytes: all sizes as releases do, samples by what Clarabel and the tables were seen to take."""
    sizes = parameters["solver_sizes"] if by_general_solver(arm.post) else 0
    tables = 200_000 * data.n_regions if arm.label in EXTRAPOLATED else 0
    if arm.label in (TABLES_H.label, TABLES_C.label):
        # The tables of one size at a time; of all of them, how every inner region splits each of its values.
        tables += 2 * (2 * WIDEST + 1) * sum(data.levels[:-1]) * parameters["table_sizes"]
    return release_memory(data, arm, parameters) + tables + 5_000 * sizes * data.n_regions


WIDEST = 21_600
"""Half the width of the widest printed windows, of counts at the smallest epsilon and three levels."""

ALL_REPEATS, SAMPLE_REPEATS = 3, 2
"""Solves per cell, each with its own noise."""

RELAXED_H = Arm("M_H^r, Clarabel (extrapolated)", counts, Cvxpy("CLARABEL"), Problem.m_h)
TABLES_H = Arm("M_H^dp, tables as printed (extrapolated)", counts, CostTables(window="paper"), Problem.m_h)
RELAXED_C = Arm("M_c^r, Clarabel (extrapolated)", cumulative, Cvxpy("CLARABEL"), Problem.m_c)
TABLES_C = Arm("M_c^dp, tables as printed (extrapolated)", cumulative, IsotonicTreeProjection(NarrowTables()))
_LICENCE = "the paper's solver: runs where a licence is, as the bundled one stops at 2,000 columns"
GUROBI_H, GUROBI_C = (
    Arm(f"{arm.label}, Gurobi (extrapolated)", arm.noise, Rounded(Gurobi()), arm.problem, note=_LICENCE)
    for arm in (M_H_R, M_C_R)
)
OURS = tuple(replace(arm, label=f"{arm.label}, ours, exact") for arm in (M_H_R, M_H_DP, M_C_R, M_C_DP))
ARMS = (RELAXED_H, TABLES_H, RELAXED_C, TABLES_C, *OURS, GUROBI_H, GUROBI_C)
EXTRAPOLATED = tuple(arm.label for arm in (RELAXED_H, TABLES_H, RELAXED_C, TABLES_C, GUROBI_H, GUROBI_C))
DYNAMIC = (TABLES_H.label, TABLES_C.label, OURS[1].label, OURS[3].label)

CLAIMS = (
    (fioretto.CLAIMS["figure 9a"], RELAXED_H.label, TABLES_H.label, Cause.SOLVER),
    (fioretto.CLAIMS["figure 9a"], GUROBI_H.label, TABLES_H.label, Cause.SOLVER),
    (fioretto.CLAIMS["figure 9a"], OURS[0].label, OURS[1].label, Cause.READING),
    (fioretto.CLAIMS["figure 9b"], RELAXED_C.label, TABLES_C.label, Cause.SOLVER),
    (fioretto.CLAIMS["figure 9b"], GUROBI_C.label, TABLES_C.label, Cause.SOLVER),
    (fioretto.CLAIMS["figure 9b"], OURS[2].label, OURS[3].label, Cause.READING),
    (fioretto.CLAIMS["figure 9c"], RELAXED_C.label, RELAXED_H.label, Cause.SOLVER),
    (fioretto.CLAIMS["figure 9c"], GUROBI_C.label, GUROBI_H.label, Cause.SOLVER),
    (fioretto.CLAIMS["figure 9c"], OURS[2].label, OURS[0].label, Cause.READING),
    (fioretto.CLAIMS["figure 9e"], TABLES_H.label, TABLES_C.label, Cause.SOLVER),
    (fioretto.CLAIMS["figure 9e"], OURS[1].label, OURS[3].label, Cause.READING),
    ("our exact M_H is faster than the printed tables", TABLES_H.label, OURS[1].label, Cause.OURS),
    ("our exact relaxed M_c is faster than a general solver", RELAXED_C.label, OURS[2].label, Cause.OURS),
)
"""Each claim with the arm said to be slower, the one said to be faster, and whose claim it is of these two."""

ENOUGH_SIZES, ENOUGH_TABLES = 100, 10
"""Sizes that a general solver, and tables at the smallest epsilon, must get for times of all to be extrapolated."""

_EPSILONS = (Fraction(1, 10), Fraction(1, 2), Fraction(1))


def _grid(solver_sizes: int, table_sizes: int) -> tuple[tuple[tuple[str, int], ...], ...]:
    return ((("solver_sizes", solver_sizes), ("table_sizes", table_sizes)),)


EXPERIMENT = Experiment(
    id="PG2",
    title="Runtime by epsilon",
    paper=fioretto.PAPER,
    part="figure 9",
    question="Are dynamic programs faster than relaxations, and does epsilon matter?",
    arms=ARMS,
    profiles={
        Profile.SMOKE: Scale((TAXI_SMALL, CENSUS_SMALL), (Fraction(1),), 1, 60, _grid(3, 1)),
        Profile.QUICK: Scale((CENSUS, TAXI), _EPSILONS, 1, 120, _grid(15, 1)),
        Profile.PAPER: Scale((CENSUS, TAXI), _EPSILONS, 10, 1_800, _grid(100, 10)),
    },
    plot=plot,
    verdicts=verdicts,
    measure=runtime,
    memory=solver_memory,
    seed="PG2",
    alone=True,
)
