"""The rows of a comparison, read as problems with their runs, and as releases."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import fsum, inf, isnan, log, nan
from typing import TYPE_CHECKING, Any

from pgsr.comparison.solvers import solver_of
from pgsr.figures.drawing import level_name
from pgsr.methods.method import ANSWERED, KINDS

if TYPE_CHECKING:
    import pandas as pd


class MethodRow:
    """One method on one problem, or one release, from its row."""

    def __init__(self, row: Mapping[str, Any]) -> None:
        self.row = row
        self.method, self.status, self.reason = self.text("method"), self.text("status"), self.text("reason")
        self.solver = solver_of(self.method, self.text("problem"))
        self.ours, self.proved = self.solver.family == "pgsr", self.status == "OPTIMAL"
        self.answered = self.status in {status.name for status in ANSWERED}
        self.seconds = sum(self.number(f"{step}_s") for step in ("formulate", "solve", "round"))
        self.objective = self.number("objective")
        broken = ((kind, self.number(f"violations_{kind}")) for kind in KINDS)
        self.broken = ", ".join(f"{n:,.0f} {kind}" for kind, n in broken if n > 0)
        n_levels = sum(column.startswith("cumulative_l1_level") for column in row)
        given = self.text("levels").split(" / ")
        named = [level_name(level, n_levels) for level in range(n_levels)]
        self.levels = given if len(given) == n_levels else named
        self.scored = self.answered and n_levels > 0 and not isnan(self.error(0)[0])

    def number(self, column: str) -> float:
        value = self.row.get(column)
        return nan if value is None else float(value)

    def text(self, column: str) -> str:
        value = self.row.get(column)
        return value if isinstance(value, str) else ""

    def error(self, level: int) -> tuple[float, bool]:
        """Give the members to move at a level, and whether totals are right; if not, the same sum is no distance."""
        distance = self.number(f"emd_level{level}")
        return (self.number(f"cumulative_l1_level{level}"), False) if isnan(distance) else (distance, True)


@dataclass(frozen=True)
class ProblemRows:
    """One problem on one hierarchy, the `part`, with all runs; `real` if it is one in real numbers."""

    part: str
    name: str
    sentence: str
    real: bool
    runs: list[MethodRow]

    @property
    def proved(self) -> list[MethodRow]:
        return sorted((run for run in self.runs if run.proved), key=lambda run: run.seconds)

    def first(self, ours: bool) -> MethodRow | None:
        """Find the fastest proof, ours or a solver's."""
        return next((run for run in self.proved if run.ours is ours), None)

    @property
    def duel(self) -> float | None:
        """The solver's time over ours; None if one of them has no proof."""
        mine, other = self.first(True), self.first(False)
        return other.seconds / max(mine.seconds, 1e-9) if mine and other else None

    @property
    def spread(self) -> float:
        """The largest relative difference of proved optima; whole numbers have none, or an infinite one."""
        values = [run.objective for run in self.proved]
        if self.real and values:
            return (max(values) - min(values)) / max(1.0, abs(min(values)))
        return inf if len({run.text("objective_exact") for run in self.proved}) > 1 else 0.0

    def label(self, run: MethodRow) -> str:
        """Name a run in few letters: its solver, and the interface where the solver is there twice."""
        if run.ours:
            mine = self.first(True)
            short = run is mine or (run.answered and not mine)
            rounded = run.answered and not run.proved
            return "pgsr" if short else "pgsr, rounded" if rounded else run.method.partition("(")[0]
        again = sum(other.solver.name == run.solver.name for other in self.runs) > 1
        return f"{run.solver.name} ({run.solver.route})" if again and run.solver.route else run.solver.name


def read(rows: "pd.DataFrame") -> tuple[list[ProblemRows], dict[str, list[MethodRow]]]:
    """Read the frame of a comparison, or of several whose rows say `part`, `key` and `variant`.

    Returns:
        the stated problems, and the releases of every hierarchy, which answer none.
    """
    problems: dict[tuple[str, str, str], ProblemRows] = {}
    releases: dict[str, list[MethodRow]] = {}
    for row in rows.to_dict("records"):
        run = MethodRow(row)  # pyright: ignore[reportArgumentType]
        stated, part, key = run.text("problem"), run.text("part"), run.text("key")
        if key == "releases" or stated == "release" or stated.endswith(" view"):
            releases.setdefault(part, []).append(run)
            continue
        name, _, sentence = (run.text("variant") or stated).partition(": ")
        real = stated.endswith("^r") or "mean consistency" in stated
        problems.setdefault((part, key, stated), ProblemRows(part, name, sentence, real, [])).runs.append(run)
    return list(problems.values()), releases


def scored(problems: list[ProblemRows], releases: dict[str, list[MethodRow]]) -> dict[str, list[MethodRow]]:
    """Choose the runs whose errors are set side by side: releases, or all answers if the rows have no `key`.

    They are sorted by the geometric mean of their errors over the levels.
    """
    for problem in problems:
        others = [run for run in problem.runs if not run.text("key")]
        releases = releases | {problem.part: [*releases.get(problem.part, []), *others]}

    def mean(run: MethodRow) -> float:
        return fsum(log(max(run.error(level)[0], 0.1)) for level in range(len(run.levels)))

    known = {part: sorted((r for r in runs if r.scored), key=mean) for part, runs in releases.items()}
    return {part: runs for part, runs in known.items() if runs}


def by_kind(problems: list[ProblemRows]) -> dict[bool, list[dict[str, ProblemRows]]]:
    """Collect the problems by whether they are in real numbers: of each, those on the hierarchies by their parts."""
    found: dict[bool, dict[tuple[str, str], dict[str, ProblemRows]]] = {}
    for problem in sorted(problems, key=lambda problem: problem.real):
        found.setdefault(problem.real, {}).setdefault((problem.name, problem.sentence), {})[problem.part] = problem
    return {real: list(group.values()) for real, group in found.items()}
