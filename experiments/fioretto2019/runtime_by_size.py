"""The experiment PG1: runtime against the number of sizes N (Fioretto and Van Hentenryck 2019, figure 8).

Taxi data without groups larger than N, as the paper's Synthetic: dropping is how this benchmark is built, before any
privacy is claimed, and no part of a mechanism. The paper does not say which epsilon it took; here it is 1, and 0.1
besides in profile `paper`. The paper gives every solve 30 minutes, and Gurobi gets its programs as they are printed;
here Gurobi gets squares as steps of cells, as its bundled licence allows. Profile `reduced` gives one minute: what is
answered in that is answered in 30 minutes, too, so those verdicts are no matter of time; what is late may come with
more.

One cell climbs through all N of a mechanism, because what timed out at some N is not run at a larger one: it is
recorded as skipped. So a timeout is a result, drawn at the limit with a cross.
"""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise, product
from statistics import fmean
from typing import TYPE_CHECKING, Any

from pgsr import CountOfCounts, Problem, Result, Status
from pgsr.algorithms import CostTables
from pgsr.comparison.side_by_side import ANSWERED, SOLVER_SHARE
from pgsr.experiments.engine.causes import Cause
from pgsr.experiments.engine.experiment import Arm, DataSet, Experiment, Profile, Scale, Trial, release_memory
from pgsr.experiments.engine.looks import arm_looks
from pgsr.experiments.engine.release_record import Record, released
from pgsr.experiments.engine.verdicts import Verdict, compared, in_every_replicate, not_judged
from pgsr.experiments.engine.words import number
from pgsr.experiments.fioretto2019 import published as fioretto
from pgsr.experiments.fioretto2019.arms import M_C_DP, M_H_DP, Rounded, by_general_solver, counts, cumulative
from pgsr.experiments.fioretto2019.data import KUO_TAXI, TAXI, TAXI_SMALL
from pgsr.figures.drawing import Look, finish, head, legend_below, log_labels, new_figure
from pgsr.models import Cvxpy, Gurobi, Scipy, TableConstraints

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ANSWER, LATE, SKIPPED, REFUSED = "answered", "timed out", "skipped", "refused"
"""What a step of a climb can be: solved as asked; no proof in time; larger than one that was late; no licence."""


def climb(trial: Trial) -> Record:
    """Solve for every N in turn, until one exceeds the time limit.

    Returns:
        status: "MEASURED".
        sizes, outcomes, reasons: one entry per N.
        step_seconds: to formulate, solve and round; the limit where it was late, None where nothing ran.
    """
    limit = float(trial.parameters["limit"])
    sizes = [int(n) for n in str(trial.parameters["N"]).split()]
    outcomes: list[str] = []
    seconds: list[float | None] = []
    reasons: list[str] = []
    for n in sizes:
        late = next((at for at, outcome in zip(sizes, outcomes, strict=False) if outcome == LATE), None)
        if late is not None:
            outcome, spent, reason = SKIPPED, None, f"timed out at N = {late} already"
        else:
            result = released(replace(trial, truth=up_to(trial.truth, n), time_limit=limit / SOLVER_SHARE))
            outcome, reason = outcome_of(result, limit, by_general_solver(trial.arm.post)), result.reason
            spent = {ANSWER: result.seconds.total, LATE: limit}.get(outcome)
        outcomes.append(outcome)
        seconds.append(spent)
        reasons.append(reason)
    return {"status": "MEASURED", "sizes": sizes, "outcomes": outcomes, "reasons": reasons, "step_seconds": seconds}


def outcome_of(result: Result, limit: float, by_solver: bool) -> str:
    """Tell whether a step of a climb is an answer, late or refused.

    Branch and bound hands over its best point when its time is up. That is late, even where our exact test proves that
    point optimal: the solver did not. It stops a little before the limit, which includes our formulation and rounding.
    """
    if result.status is Status.TIMED_OUT:
        return LATE
    if result.status not in ANSWERED:
        return REFUSED
    stopped = result.status is Status.FEASIBLE or result.seconds.total >= 0.99 * limit
    return LATE if by_solver and stopped else ANSWER


def up_to(truth: CountOfCounts, largest: int) -> CountOfCounts:
    """Drop groups larger than `largest`.

    Example:
        >>> from pgsr import Hierarchy
        >>> up_to(CountOfCounts(Hierarchy.from_parents(["all"], [-1]), [[0, 7, 5, 1]]), 1).counts
        array([[0, 7]])
    """
    tree = truth.hierarchy
    return CountOfCounts(tree, truth.counts[tree.leaves, : largest + 1], f"{truth.name}, sizes up to {largest}")


def plot(frame: "pd.DataFrame") -> "Figure":
    """Draw a row per data set and epsilon, M_H on the left and M_c on the right: seconds against N."""
    steps = _steps(frame)
    rows = list(dict.fromkeys((s["data"], s["epsilon"]) for s in steps))
    ran = {s["arm"] for s in steps if s["outcome"] in (ANSWER, LATE)}
    figure = new_figure(10.8, 1.6 + 4.2 * max(1, len(rows)))
    grid = figure.subplots(max(1, len(rows)), 2, squeeze=False, sharey=True)
    for pair, (data, epsilon) in zip(grid, rows, strict=False):
        part = [s for s in steps if (s["data"], s["epsilon"]) == (data, epsilon)]
        for axes, problem in zip(pair, ("M_H", "M_c"), strict=True):
            for label, look in arm_looks([arm.label for arm in ARMS]).items():
                if label in ran and label.startswith("M_c") == (problem == "M_c"):
                    _line(axes, [s for s in part if s["arm"] == label], label, look)
            limit = part[0]["limit"]
            axes.axhline(limit, color="#555555", linewidth=0.8, linestyle=":")
            axes.annotate(f"limit {limit:g} s; crossed: timed out, larger N skipped", (0.98, limit), (0, 7), ha="right",
                          fontsize="small", xycoords=("axes fraction", "data"), textcoords="offset points",
                          color="#555555")  # fmt: skip
            axes.set_yscale("log")
            axes.set_ylim(None, 3 * limit)
            log_labels(axes.yaxis)
            axes.set_xticks(sorted({s["N"] for s in part}))
            y_label = "time to formulate, solve and round (s), log" if problem == "M_H" else ""
            finish(axes, "largest size N", y_label, f"{problem}: {data}, epsilon {epsilon:g}")
    legend_below(figure, grid.flat, 4)
    without = [arm.label for arm in ARMS if arm.label not in ran and any(s["arm"] == arm.label for s in steps)]
    told = f"\nrefused at the smallest N, so not drawn: {'; '.join(without)}" if without else ""
    head(figure, f"PG1: figure 8, runtime against the number of sizes{told}")
    return figure


def verdicts(frame: "pd.DataFrame") -> list[Verdict]:
    """Judge which mechanisms finish at all N, and compare the printed dynamic program with ours and with the others."""
    steps = _steps(frame)
    return [*_survival(steps), *_against(steps), *_licence(steps)]


def _steps(frame: "pd.DataFrame") -> list[dict[str, Any]]:
    """Make one entry per cell and N."""
    rows: list[dict[Any, Any]] = frame.to_dict("records")
    return [
        {name: row[name] for name in ("data", "epsilon", "arm", "replicate")}
        | {"limit": float(row["limit"]), "N": n, "outcome": outcome, "seconds": seconds, "reason": reason}
        for row in rows
        for n, outcome, seconds, reason in zip(
            row["sizes"], row["outcomes"], row["step_seconds"], row["reasons"], strict=True
        )
    ]


def _line(axes: "Axes", steps: list[dict[str, Any]], label: str, look: Look) -> None:
    """Draw means of the replicates that answered, and a cross at the limit where one of them was late."""
    sizes, at = sorted({s["N"] for s in steps}), {}
    for s in steps:
        if s["outcome"] == ANSWER:
            at.setdefault(s["N"], []).append(s["seconds"])
    late = sorted({(s["N"], s["seconds"]) for s in steps if s["outcome"] == LATE})
    # Those that are late at the same N lie side by side.
    gap = min((b - a for a, b in pairwise(sizes)), default=1)
    shift = 0.05 * gap * ([arm.label for arm in ARMS].index(label) - len(ARMS) / 2)
    axes.plot([*at], [fmean(times) for times in at.values()], linestyle="--" if look.open else "-", linewidth=1,
              label=label, **look.marks)  # fmt: skip
    axes.plot([n + shift for n, _ in late], [t for _, t in late], linestyle="", marker="x", color=look.colour,
              markersize=9, label=None if at else label)  # fmt: skip


def _survival(steps: list[dict[str, Any]]) -> Iterator[Verdict]:
    """Judge for every mechanism whether it reaches the largest N within the time limit, in every replicate.

    One that gave no answer for another reason than time, such as a licence, neither survived nor timed out.
    """
    for data, epsilon in dict.fromkeys((s["data"], s["epsilon"]) for s in steps):
        for label in [arm.label for arm in ARMS]:
            of = [s for s in steps if (s["data"], s["epsilon"], s["arm"]) == (data, epsilon, label)]
            done = [s for s in of if s["outcome"] == ANSWER]
            if not of or all(s["outcome"] == REFUSED for s in of):
                continue
            late = min((s["N"] for s in of if s["outcome"] == LATE), default=None)
            last = max((s["N"] for s in done), default=None)
            words = "no N answered" if last is None else f"N = {last} in {_mean(done, last):.3g} s"
            words += "" if late is None else f", timed out at N = {late} (limit {of[0]['limit']:g} s)"
            claim = "does not scale" if label in _HARD else "survives to the largest N"
            replicates, largest = {s["replicate"] for s in of}, max(s["N"] for s in of)
            timed_out = {s["replicate"] for s in of if s["outcome"] == LATE}
            ends = timed_out if label in _HARD else {s["replicate"] for s in done if s["N"] == largest}
            found = in_every_replicate(ends == replicates, len(replicates), f"limit of {of[0]['limit']:g} s per N")
            without = next((s for s in of if s["outcome"] == REFUSED), None)
            if late is None and without is not None:
                found = not_judged(f"no answer at N = {without['N']}: {without['reason']}")
            if timed_out and label in _OTHER_SOLVER and label not in _HARD:
                found = not_judged(
                    "late in another form of the program than the paper's, so its gap decides, or the licence"
                )
            settled = timed_out != replicates if label in _HARD else not timed_out
            cause = _cause((label,), float(of[0]["limit"]), settled and not _small(data))
            yield Verdict(f"{label} {claim}", f"{data}, epsilon {epsilon:g}", found, words, cause)


def _against(steps: list[dict[str, Any]]) -> Iterator[Verdict]:
    """Compare the printed dynamic program with ours, the relaxation and branch and bound, at the largest common N."""
    for data, epsilon in dict.fromkeys((s["data"], s["epsilon"]) for s in steps):
        whole = [s for s in steps if (s["data"], s["epsilon"]) == (data, epsilon)]
        part, largest = [s for s in whole if s["outcome"] == ANSWER], max(s["N"] for s in whole)
        for slow, fast in (*pairwise((OP.label, TABLES.label, M_H_DP.label)), (EXACT_H.label, TABLES.label),
                           *product((RELAXED_H.label, CLARABEL_H.label), (TABLES.label,)),
                           *product((RELAXED_C.label, CLARABEL_C.label), (M_C_DP.label,))):  # fmt: skip
            common = {s["N"] for s in part if s["arm"] == slow} & {s["N"] for s in part if s["arm"] == fast}
            if common:
                n = max(common)
                runs = [{s["replicate"]: s["seconds"] for s in part if (s["arm"], s["N"]) == (arm, n)}
                        for arm in (slow, fast)]  # fmt: skip
                found = compared(runs[0], runs[1])
                times = [fmean(run.values()) for run in runs]
                words = f"at N = {n}: {times[0]:.3g} s against {times[1]:.3g} s, x {number(times[0] / times[1])}"
                cause = _cause((slow, fast), float(part[0]["limit"]), n == largest and not _small(data))
                yield Verdict(f"{fast} is faster than {slow}", f"{data}, epsilon {epsilon:g}", found, words, cause)


def _small(data: str) -> bool:
    """Tell whether a data set has fewer regions than the paper's tree has zones at least."""
    return {each.name: each.n_regions for each in (TAXI, KUO_TAXI)}.get(data, ZONES) < ZONES


ZONES = 263
"""Taxi zones of the paper's tree."""


def _cause(labels: tuple[str, ...], limit: float, settled: bool) -> Cause:
    """Find whose word a verdict on these arms tests.

    A limit shorter than the paper's, or a smaller tree, is too small a profile, unless the verdict is `settled`: more
    time would change nothing. The paper's programs were solved by Gurobi, so times of other solvers are none of its
    own.
    """
    if M_H_DP.label in labels:
        return Cause.OURS
    if not settled and limit < PAPERS_LIMIT:
        return Cause.PROFILE
    return Cause.SOLVER if set(labels) & set(_OTHER_SOLVER) else Cause.CLAIM


def _licence(steps: list[dict[str, Any]]) -> Iterator[Verdict]:
    refused = {(s["arm"], s["reason"]) for s in steps if s["outcome"] == REFUSED}
    for label in sorted({arm for arm, _ in refused}):
        reason = next(reason for arm, reason in sorted(refused) if arm == label)
        yield Verdict("the paper's solver runs here", label, not_judged("it did not run"), reason)


def _mean(steps: list[dict[str, Any]], n: int) -> float:
    known = [s["seconds"] for s in steps if s["N"] == n]
    return sum(known) / len(known)


def solver_memory(data: DataSet, arm: Arm, parameters: Any) -> int:
    """Estimate peak bytes: programs of at most 300 regions x 51 sizes; tables of a few hundred values each."""
    return 700_000_000 + release_memory(data, arm, parameters)


_STEPS = "squares as steps, so that Gurobi's bundled licence takes up to 2,000 columns; the paper hands squares over"
EXACT_H = Arm("M_H, Gurobi", counts, Gurobi(), Problem.m_h, note=_STEPS)
RELAXED_H = Arm("M_H^r, Gurobi", counts, Rounded(Gurobi()), Problem.m_h, note=_STEPS)
TABLES = Arm("M_H^dp, tables as printed", counts, CostTables(window="paper"), Problem.m_h)
OP = Arm("M_dp^OP, CP-SAT in tables", counts, CostTables(step=TableConstraints()), Problem.m_h)
EXACT_C = Arm("M_c, Gurobi", cumulative, Gurobi(), Problem.m_c, note=_STEPS)
RELAXED_C = Arm("M_c^r, Gurobi", cumulative, Rounded(Gurobi()), Problem.m_c, note=_STEPS)
HIGHS_H = Arm("M_H, HiGHS", counts, Scipy(), Problem.m_h)
HIGHS_C = Arm("M_c, HiGHS", cumulative, Scipy(), Problem.m_c)
CLARABEL_H = Arm("M_H^r, Clarabel", counts, Cvxpy("CLARABEL"), Problem.m_h)
CLARABEL_C = Arm("M_c^r, Clarabel", cumulative, Cvxpy("CLARABEL"), Problem.m_c)
ARMS = (
    EXACT_H, RELAXED_H, TABLES, OP, EXACT_C, RELAXED_C, M_C_DP, HIGHS_H, CLARABEL_H, HIGHS_C, CLARABEL_C, M_H_DP,
)  # fmt: skip
"""Figure 8's seven first; then solvers without a licence, and our exact M_H."""

_HARD = (EXACT_H.label, HIGHS_H.label, OP.label, EXACT_C.label, HIGHS_C.label)
"""What the paper calls not competitive; the others are said to survive."""

_OTHER_SOLVER = tuple(arm.label for arm in ARMS if arm is OP or by_general_solver(arm.post))
"""The arms whose programs go to another solver than the paper's, or to it in another form."""


PAPERS_LIMIT = 1_800
"""Seconds that the paper gives every solve."""


def _grid(limit: int, sizes: range | tuple[int, ...]) -> dict[str, Any]:
    """Make a scale's grid, and the time for all steps of a climb: steps before the late one took less than it each."""
    text = " ".join(map(str, sizes))
    return {"grid": ((("N", text), ("limit", limit)),), "time_limit": 1.2 * limit * len(sizes) + 60.0}


EXPERIMENT = Experiment(
    id="PG1",
    title="Runtime by size",
    paper=fioretto.PAPER,
    part="figure 8",
    question="Which of the seven mechanisms can be computed at all as the number of sizes grows?",
    arms=ARMS,
    profiles={
        Profile.SMOKE: Scale((TAXI_SMALL,), (Fraction(1),), replicates=1, **_grid(2, (2, 3))),
        Profile.QUICK: Scale((TAXI, KUO_TAXI), (Fraction(1),), replicates=1, **_grid(6, (5, 10, 20, 30, 40, 50))),
        Profile.REDUCED: Scale((KUO_TAXI, TAXI), (Fraction(1),), replicates=5, **_grid(60, range(5, 51, 5))),
        Profile.PAPER: Scale(
            (TAXI, KUO_TAXI), (Fraction(1, 10), Fraction(1)), replicates=5, **_grid(PAPERS_LIMIT, range(5, 51, 5))
        ),
    },
    plot=plot,
    verdicts=verdicts,
    measure=climb,
    memory=solver_memory,
    seed="PG1",
    alone=True,
)
