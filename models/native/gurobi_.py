"""The problem in gurobipy, with matrices of variables, as the papers write it."""

import tempfile
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from pgsr.errors import MethodError
from pgsr.methods.gate import Stopped
from pgsr.methods.method import Status
from pgsr.models.judge import Answer, Claim
from pgsr.models.native.levels import Levels
from pgsr.models.native.model import NativeModel, not_solved
from pgsr.models.optional import load
from pgsr.problems.problem import Problem
from pgsr.problems.programs import Program

SIZE_LIMIT_EXCEEDED = 10010


class GurobiModel(NativeModel):
    """A `gurobipy.Model` of the problem, integers included; z[level] is an MVar of shape (regions, K + 1)."""

    def __init__(self, problem: Problem, solver: str, parameters: Mapping[str, Any]) -> None:
        self.parameters = parameters
        super().__init__(problem, problem, solver)

    def build(self, levels: Levels) -> None:
        gp = load("gurobipy")
        y, w, S, F = levels.y, levels.w, levels.S, levels.F
        kind = gp.GRB.INTEGER if self.problem.integer else gp.GRB.CONTINUOUS
        model = self.native = gp.Model(self.problem.label, env=gp.Env(params={"OutputFlag": 0}))

        def state(kind: str, name: str, names: Any, row: Any) -> None:
            self.state(kind, name, model.addConstr(row))
            model.update()
            for one, its_name in zip(np.ravel(self.constraints[name].tolist()), np.ravel(names), strict=True):
                one.ConstrName = its_name

        bounds = [{"lb": levels.lower[l], "ub": levels.upper[l]} for l in levels]
        z = self.variables = [model.addMVar(y[l].shape, vtype=kind, **bounds[l]) for l in levels]
        x = self.x
        for l in levels.inner:
            names = levels.names("consistency", l, slice(levels.n_sums(l)))
            folded, at_origin = (z[l], y[l]) if F[l] is None else (z[l] @ F[l], y[l] @ F[l])
            row = folded == S[l] @ z[l + 1] + (S[l] @ y[l + 1] - at_origin)
            state("consistency", f"consistency[{l}]", names, row)
        for l, regions, G in levels.totals:
            total = x[l][regions, -1] if levels.total_is_last else x[l][regions].sum(axis=1)
            state("total", f"total[{l}]", levels.region_names("total", l, regions), total == G)
        for l, first in levels.ordered:
            names = levels.names("order", l, slice(first, -1))
            state("order", f"order[{l}]", names, x[l][:, first:-1] <= x[l][:, first + 1 :])
        cells = gp.concatenate([z[l].reshape(-1) for l in levels])
        for row in levels.stated:
            left = row.coefficients[None, :] @ cells[row.cells] + row.at_origin
            if row.low == row.high:
                state("stated equal", row.name, [row.name], left == row.high)
            elif np.isfinite(row.high):
                state("stated above", row.name, [row.name], left <= row.high)
            if row.low != row.high and np.isfinite(row.low):
                name = f"{row.name} (low)" if np.isfinite(row.high) else row.name
                state("stated below", name, [name], left >= row.low)
        if self.problem.norm == 2:
            distance = sum((w[l] * z[l] * z[l]).sum() for l in levels)
        else:
            up = [model.addMVar(z[l].shape) for l in levels]
            down = [model.addMVar(z[l].shape) for l in levels]
            for l in levels:
                row = model.addConstr(z[l] - up[l] + down[l] == 0)
                model.update()
                row.setAttr("ConstrName", levels.names("distance", l))
                up[l].setAttr("VarName", levels.names("up", l))
                down[l].setAttr("VarName", levels.names("down", l))
            distance = sum((w[l] * (up[l] + down[l])).sum() for l in levels)
        model.setObjective(distance)

        model.update()
        for l in levels:
            z[l].setAttr("VarName", levels.names("z", l))
        self._set_parameters()

    def _set_parameters(self) -> None:
        for name, value in self.parameters.items():
            self.native.setParam(name, value)
        self.native.update()

    def restate(self, stated: Problem, program: Program) -> None:
        for kind, row, right in self.right_sides(program):
            row.setAttr("RHS", (-right if kind == "stated below" else right).astype(float).reshape(row.shape))
        sizes = stated.sizes
        for z, low, high in zip(self.variables, sizes.tables(program.lower), sizes.tables(program.upper), strict=True):
            z.setAttr("LB", low)
            z.setAttr("UB", high)
        self.native.update()

    def optimize(self, time_limit: float | None) -> None:
        if time_limit is not None:
            self.native.Params.TimeLimit = time_limit
        try:
            self.native.optimize()
        except load("gurobipy").GurobiError as error:
            if error.errno != SIZE_LIMIT_EXCEEDED:
                raise
            reason = f"the model exceeds the licence that comes with gurobipy, {error}; take a full licence or another"
            raise Stopped(Status.TOO_LARGE, f"{reason} method") from None

    def read(self, solved: Any) -> Answer:
        grb, model = load("gurobipy").GRB, self.native
        status = model.Status
        if status == grb.LOADED:
            raise not_solved(self.solver)
        if status in (grb.INFEASIBLE, grb.INF_OR_UNBD):  # distances are bounded below
            return Answer(Claim.INFEASIBLE)
        claims = {grb.OPTIMAL: Claim.OPTIMAL, grb.SUBOPTIMAL: Claim.OPTIMAL, grb.TIME_LIMIT: Claim.STOPPED}
        claim, note = claims.get(status, Claim.FAILED), "" if status == grb.OPTIMAL else f"its status {status}"
        if not model.SolCount:
            return Answer(claim, note)
        values = np.concatenate([z.X.ravel() for z in self.variables])
        if model.IsMIP:
            return Answer(claim, note, values, bound=model.ObjBound)
        return Answer(claim, note, values, *self.prices(lambda row: row.Pi))

    def infeasible_subset(self) -> list[str]:
        """Name conditions that contradict each other, rows and bounds x[US/GA,3] >= 0; Gurobi's IIS.

        Raises:
            MethodError: the model has a solution.
        """
        gp, model = load("gurobipy"), self.native
        try:
            model.computeIIS()
        except gp.GurobiError as error:
            if error.errno != gp.GRB.Error.IIS_NOT_INFEASIBLE:
                raise
            raise MethodError("the model has a solution, so nothing contradicts") from None
        rows = [row.ConstrName for row in model.getConstrs() if row.IISConstr]
        bounds, origin = model.getVars(), np.zeros(model.NumVars)
        names = [v.VarName for v in bounds]
        for z, y in zip(self.variables, self.origin, strict=True):
            for at, noisy in zip(_places(z).flat, y.flat, strict=True):
                names[at], origin[at] = f"x{names[at][1:]}", noisy
        least = [f"{names[v.index]} >= {origin[v.index] + v.LB + 0.0:g}" for v in bounds if v.IISLB]
        return rows + least + [f"{names[v.index]} <= {origin[v.index] + v.UB:g}" for v in bounds if v.IISUB]

    def fingerprint(self) -> str:
        """The hash of the model as text, and of whether a callback may add conditions while Gurobi solves.

        Gurobi's own `Fingerprint` takes starts for changes, too.
        """
        stated = [line for line in self._text().splitlines() if not line.startswith(b"*")]
        return sha256(b"\n".join([*stated, b"%d" % self.native.Params.LazyConstraints])).hexdigest()

    def _text(self) -> bytes:
        """The model as MPS with names by number: ours may have blanks."""
        self.native.update()
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.rew"
            self.native.write(str(path))
            return path.read_bytes()

    def __getstate__(self) -> dict[str, Any]:
        """The model as Gurobi writes it, with whatever was added; environments do not travel to other processes."""
        model, own = self.native, ("native", "variables", "constraints", "rows")
        text = self._text()
        return {key: value for key, value in vars(self).items() if key not in own} | {
            "text": text,
            "names": ([v.VarName for v in model.getVars()], [row.ConstrName for row in model.getConstrs()]),
            "variables": [_places(z) for z in self.variables],
            "constraints": {name: _places(row) for name, row in self.constraints.items()},
            "rows": {kind: [_places(row) for row in rows] for kind, rows in self.rows.items()},
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        gp = load("gurobipy")
        text, (names, row_names) = state.pop("text"), state.pop("names")
        vars(self).update(state)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.rew"
            path.write_bytes(text)
            model = self.native = gp.read(str(path), gp.Env(params={"OutputFlag": 0}))
        model.setAttr("VarName", model.getVars(), names)
        model.setAttr("ConstrName", model.getConstrs(), row_names)
        variables, rows = np.array(model.getVars(), object), np.array(model.getConstrs(), object)
        self.variables = [gp.MVar.fromlist(variables[at].tolist()) for at in state["variables"]]
        self.constraints = {name: gp.MConstr.fromlist(rows[at].tolist()) for name, at in state["constraints"].items()}
        self.rows = {k: [gp.MConstr.fromlist(rows[at].tolist()) for at in parts] for k, parts in state["rows"].items()}
        self._set_parameters()


def _places(matrix: Any) -> np.ndarray:
    """The positions of variables or constraints in their model; shape as the matrix."""
    return np.vectorize(lambda one: one.index, otypes=[np.int64])(np.array(matrix.tolist(), object))
