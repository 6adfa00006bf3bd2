"""The problem in PySCIPOpt."""

import tempfile
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from pgsr.models.judge import Answer, Claim
from pgsr.models.native.levels import Levels
from pgsr.models.native.model import NativeModel, not_solved
from pgsr.models.native.one_by_one import comparisons, unknowns
from pgsr.models.optional import load
from pgsr.problems.problem import Problem


class ScipModel(NativeModel):
    """A `pyscipopt.Model` of an integer problem.

    SCIP's objectives are linear, so the sum of squares is one convex condition on the unknown `distance`.
    """

    def __init__(self, problem: Problem, solver: str, parameters: Mapping[str, Any]) -> None:
        self.parameters = parameters
        super().__init__(problem, problem, solver)

    def build(self, levels: Levels) -> None:
        scip = load("pyscipopt")
        model = self.native = scip.Model(self.problem.label)
        model.hideOutput()
        finite = lambda bound: None if np.isinf(bound) else bound  # noqa: E731
        make = lambda name, low, high: model.addVar(name, "I", lb=finite(low), ub=finite(high))  # noqa: E731
        z = self.variables = unknowns(levels, make)
        for kind, name, row in comparisons(levels, self.x):
            self.state(kind, name, model.addCons(row, name))
        terms = []
        for l in levels:
            for cell, name in np.ndenumerate(levels.names("", l)):
                weight = int(levels.w[l][cell])
                if weight and self.problem.norm == 2:
                    terms.append(weight * z[l][cell] * z[l][cell])
                elif weight:
                    up, down = model.addVar(f"up{name}"), model.addVar(f"down{name}")
                    model.addCons(z[l][cell] - up + down == 0, f"distance{name}")
                    terms.append(weight * (up + down))
        distance = model.addVar("distance", lb=0.0)
        model.addCons(scip.quicksum(terms) <= distance, "sum")
        model.setObjective(distance)
        model.setParams(dict(self.parameters))

    def optimize(self, time_limit: float | None) -> None:
        if time_limit is not None:
            self.native.setParam("limits/time", time_limit)
        self.native.optimize()

    def read(self, solved: Any) -> Answer:
        status = self.native.getStatus()
        if status == "unknown" and not self.native.getNSols():
            raise not_solved(self.solver)
        claims = {"optimal": Claim.OPTIMAL, "timelimit": Claim.STOPPED, "gaplimit": Claim.STOPPED,
                  "infeasible": Claim.INFEASIBLE, "inforunbd": Claim.INFEASIBLE}  # fmt: skip
        claim, note = claims.get(status, Claim.FAILED), "" if status == "optimal" else f"it says {status}"
        if not self.native.getNSols():
            return Answer(claim, note)
        best = self.native.getBestSol()
        values = np.array([best[cell] for z in self.variables for cell in z.ravel().tolist()])
        return Answer(claim, note, values, bound=self.native.getDualbound())

    def fingerprint(self) -> str:
        """The hash of the model as text, without the head, in which the solver counts; some zeros SCIP writes as -0."""
        text = self._text().partition(b"OBJECTIVE")[2].replace(b"[-0,", b"[0,").replace(b",-0]", b",0]")
        return sha256(text).hexdigest()

    def _text(self) -> bytes:
        """The problem as it was before SCIP's presolve, with names by number."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.cip"
            self.native.writeProblem(str(path), genericnames=True, verbose=False)
            return path.read_bytes()

    def __getstate__(self) -> dict[str, Any]:
        """The model as SCIP writes it, with whatever was added; unknowns get the names x0, x1, ... in SCIP's order."""
        place = {variable.name: i for i, variable in enumerate(self.native.getVars())}
        places = [np.vectorize(lambda v: place[v.name], otypes=[np.int64])(z) for z in self.variables]
        own = ("native", "variables", "constraints", "rows")
        kept = {key: value for key, value in vars(self).items() if key not in own}
        return kept | {"text": self._text(), "variables": places}

    def __setstate__(self, state: dict[str, Any]) -> None:
        text = state.pop("text")
        vars(self).update(state)
        model = self.native = load("pyscipopt").Model()
        model.hideOutput()
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.cip"
            path.write_bytes(text)
            model.readProblem(str(path))
        model.setParams(dict(self.parameters))
        by_name = {variable.name: variable for variable in model.getVars()}
        find = np.vectorize(lambda place: by_name[f"x{place}"], otypes=[object])
        self.variables, self.constraints, self.rows = [find(places) for places in state["variables"]], {}, {}
