"""The problem in OR-tools' MathOpt."""

from collections.abc import Callable
from hashlib import sha256
from typing import Any

import numpy as np

from pgsr.models.judge import Answer, Claim
from pgsr.models.native.levels import Levels
from pgsr.models.native.model import EQUALITIES, NativeModel, not_solved
from pgsr.models.native.one_by_one import comparisons, unknowns
from pgsr.models.optional import load
from pgsr.problems.problem import Problem
from pgsr.problems.programs import Program

_MODULE = "ortools.math_opt.python.mathopt"


class MathOptModel(NativeModel):
    """A `mathopt.Model`; `judge` takes the result of `mathopt.solve(model.native, ...)`."""

    def __init__(
        self, problem: Problem, stated: Problem, solver: str, name: str, parameters: Callable[[float | None], Any]
    ) -> None:
        self.name, self.parameters = name, parameters
        super().__init__(problem, stated, solver)

    def build(self, levels: Levels) -> None:
        model = self.native = load(_MODULE).Model(name=self.problem.label)

        def make(name: str, lower: float, upper: float) -> Any:
            return model.add_variable(lb=lower, ub=upper, is_integer=self.stated.integer, name=name)

        z = self.variables = unknowns(levels, make)
        for kind, name, row in comparisons(levels, self.x):
            self.state(kind, name, model.add_linear_constraint(row, name=name))
        if self.problem.norm == 2:
            model.minimize_quadratic_objective(sum(w * a * a for a, w in _cells(levels, z)))
        else:
            distance: Any = 0
            names = np.concatenate([levels.names("", l).ravel() for l in levels])
            for name, (a, w) in zip(names, _cells(levels, z), strict=True):
                up, down = (model.add_variable(lb=0.0, name=f"{side}{name}") for side in ("up", "down"))
                model.add_linear_constraint(a - up + down == 0, name=f"distance{name}")
                distance += w * (up + down)
            model.minimize_linear_objective(distance)

    def restate(self, stated: Problem, program: Program) -> None:
        for kind, row, (right,) in self.right_sides(program):
            if kind == "stated below":
                row.lower_bound = -float(right)
            else:
                row.upper_bound = float(right)
            if kind in EQUALITIES:
                row.lower_bound = float(right)
        cells = np.concatenate([z.ravel() for z in self.variables])
        for z, low, high in zip(cells, program.lower.tolist(), program.upper.tolist(), strict=True):
            z.lower_bound, z.upper_bound = low, high

    def optimize(self, time_limit: float | None) -> Any:
        mathopt = load(_MODULE)
        return mathopt.solve(self.native, mathopt.SolverType[self.name], params=self.parameters(time_limit))

    def read(self, solved: Any) -> Answer:
        if solved is None:
            raise not_solved(self.solver)
        ended, reasons = solved.termination.reason, load(_MODULE).TerminationReason
        if ended in (reasons.INFEASIBLE, reasons.INFEASIBLE_OR_UNBOUNDED):  # distances are bounded below
            return Answer(Claim.INFEASIBLE)
        stopped = ended in (reasons.FEASIBLE, reasons.NO_SOLUTION_FOUND)
        claim = Claim.OPTIMAL if ended is reasons.OPTIMAL else Claim.STOPPED if stopped else Claim.FAILED
        note = "" if ended is reasons.OPTIMAL else f"it says {ended.name.lower()}"
        if not solved.has_primal_feasible_solution():
            return Answer(claim, note)
        cells = [cell for z in self.variables for cell in z.ravel().tolist()]
        values = np.array(solved.variable_values(cells))
        if self.stated.integer:
            return Answer(claim, note, values, bound=solved.dual_bound())
        if not solved.has_dual_feasible_solution():
            return Answer(claim, note, values)
        slopes = solved.dual_values()
        return Answer(claim, note, values, *self.prices(lambda row: slopes[row]))

    def fingerprint(self) -> str:
        return sha256(self.native.export_model().SerializeToString(deterministic=True)).hexdigest()

    def __getstate__(self) -> dict[str, Any]:
        """The model as its proto, with whatever was added."""
        own = ("native", "variables", "constraints", "rows")
        kept = {key: value for key, value in vars(self).items() if key not in own}
        return kept | {
            "proto": self.native.export_model(),
            "variables": [np.vectorize(lambda v: v.id, otypes=[np.int64])(z) for z in self.variables],
            "constraints": {name: row.id for name, row in self.constraints.items()},
            "rows": {kind: [row.id for row in rows] for kind, rows in self.rows.items()},
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        model = self.native = load(_MODULE).Model.from_model_proto(state.pop("proto"))
        vars(self).update(state)
        self.variables = [np.vectorize(model.get_variable, otypes=[object])(ids) for ids in state["variables"]]
        row = model.get_linear_constraint
        self.constraints = {name: row(i) for name, i in state["constraints"].items()}
        self.rows = {kind: [row(i) for i in ids] for kind, ids in state["rows"].items()}


def _cells(levels: Levels, z: list[np.ndarray]) -> Any:
    """Unknown and weight of every cell."""
    for l in levels:
        weights = np.broadcast_to(levels.w[l], z[l].shape)
        yield from zip(z[l].ravel().tolist(), weights.ravel().tolist(), strict=True)
