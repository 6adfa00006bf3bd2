"""The problem in OR-tools' CP-SAT, all integers."""

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

import numpy as np

from pgsr.errors import MethodError
from pgsr.methods.gate import Stopped
from pgsr.models.formulate import formulate
from pgsr.models.judge import Answer, Claim
from pgsr.models.native.levels import Levels
from pgsr.models.native.model import NativeModel, not_solved
from pgsr.models.native.one_by_one import comparisons, unknowns
from pgsr.models.optional import load
from pgsr.problems.problem import Problem

_MODULE = "ortools.sat.python.cp_model"


class CpSatModel(NativeModel):
    """A `cp_model.CpModel`; `judge` takes the `CpSolver` that solved it.

    Unknowns have bounds that some optimum satisfies, as CP-SAT wants of all. Squares are products of a variable with
    itself: easy to read, hard to prove; `CpSat()` itself takes unit steps instead.
    """

    def __init__(self, problem: Problem, solver: str, parameters: Mapping[str, Any]) -> None:
        self.parameters = parameters
        super().__init__(problem, problem, solver)

    def build(self, levels: Levels) -> None:
        cp_model = load(_MODULE)
        model = self.native = cp_model.CpModel()
        try:
            program = formulate(self.problem)
        except Stopped as stopped:
            raise MethodError(stopped.reason) from None
        least, most = (levels.split(np.rint(side).astype(np.int64)) for side in program.reach)
        bounds = iter([(int(a), int(b)) for l in levels for a, b in zip(least[l].flat, most[l].flat, strict=True)])

        def make(name: str, lower: float, upper: float) -> Any:
            low, high = next(bounds)
            low, high = int(max(low, lower)), int(min(high, upper))
            return model.new_int_var(low, max(low, high), name)

        z = self.variables = unknowns(levels, make)
        for kind, name, row in comparisons(levels, self.x):
            self.state(kind, name, model.add(row).with_name(name))
        distance: Any = 0
        for l in levels:
            for cell, name in np.ndenumerate(levels.names("distance", l)):
                weight, away = int(levels.w[l][cell]), z[l][cell]
                if weight:
                    far = max(abs(int(side[l][cell])) for side in (least, most))
                    size = model.new_int_var(0, far**2 if self.problem.norm == 2 else far, name)
                    if self.problem.norm == 2:
                        model.add_multiplication_equality(size, [away, away])
                    else:
                        model.add_abs_equality(size, away)
                    distance += weight * size
        model.minimize(distance)

    def optimize(self, time_limit: float | None) -> Any:
        solver = load(_MODULE).CpSolver()
        for name, value in self.parameters.items():
            setattr(solver.parameters, name, value)
        if time_limit is not None:
            solver.parameters.max_time_in_seconds = time_limit
        solver.solve(self.native)
        return solver

    def read(self, solved: Any) -> Answer:
        if solved is None:
            raise not_solved(self.solver)
        status = solved.status_name(solved.response_proto.status)
        if status == "INFEASIBLE":
            return Answer(Claim.INFEASIBLE)
        if status not in ("OPTIMAL", "FEASIBLE"):
            return Answer(Claim.STOPPED if status == "UNKNOWN" else Claim.FAILED, f"it says {status.lower()}")
        values = [solved.value(cell) for z in self.variables for cell in z.ravel().tolist()]
        claim = Claim.OPTIMAL if status == "OPTIMAL" else Claim.STOPPED
        return Answer(claim, "", np.array(values, float), bound=solved.best_objective_bound)

    def fingerprint(self) -> str:
        """The hash of the model as text, without hints."""
        model = self.native.clone()
        model.clear_hints()
        return sha256(str(model.proto).encode()).hexdigest()

    def __getstate__(self) -> dict[str, Any]:
        """The model as its text, with whatever was added; rows are named in it."""
        kept = {key: value for key, value in vars(self).items() if key not in ("native", "constraints", "rows")}
        places = [np.vectorize(lambda v: v.index, otypes=[np.int64])(z) for z in self.variables]
        return kept | {"text": str(self.native.proto), "variables": places}

    def __setstate__(self, state: dict[str, Any]) -> None:
        model = self.native = load(_MODULE).CpModel()
        model.proto.parse_text_format(state.pop("text"))
        vars(self).update(state)
        find = np.vectorize(model.get_int_var_from_proto_index, otypes=[object])
        self.variables, self.constraints, self.rows = [find(places) for places in state["variables"]], {}, {}
