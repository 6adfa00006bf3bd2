"""The solver model of Gurobi, for integer and continuous programs."""

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from pgsr.errors import MethodError
from pgsr.methods.gate import Stopped
from pgsr.methods.method import Result, Status
from pgsr.models.adapter import Route, SolverModel
from pgsr.models.judge import SolverAnswer, SolverClaim
from pgsr.models.optional import load, missing
from pgsr.models.program import Bends, LabelBlock, ProgramKind, SolverProgram
from pgsr.models.solver_object import Built, ContradictingSubset, NotSolved
from pgsr.models.watch import stoppable
from pgsr.models.window import Pieces
from pgsr.problems.problem import Problem

BUNDLED_QUADRATIC_LIMIT = 200
"""Most variables with a quadratic objective under the licence that comes with the PyPI package."""

BUNDLED_LIMIT = 2_000
"""Most variables, and most rows, under the same licence with a linear objective."""

SIZE_LIMIT_EXCEEDED = 10010

REMEDY = "put a full licence (free for academics, gurobi.com) where GRB_LICENSE_FILE points, or use another method"


@dataclass(frozen=True, repr=False)
class Gurobi(SolverModel):
    """Solves the program, integer or continuous, linear or quadratic, with Gurobi.

    Squares are piecewise linear costs of the unknowns themselves, exact at integers, and on finer and finer grids where
    unknowns are real and more than the licence takes; so the bundled one takes 2,000 unknowns.

    Status: OPTIMAL or FEASIBLE; TOO_LARGE where the bundled licence is too small, known before the solve; UNLICENSED;
    NOT_INSTALLED; TIMED_OUT.
    """

    threads: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.threads is not None and (not isinstance(self.threads, int) or not 0 <= self.threads <= 1024):
            raise MethodError(f"threads={self.threads!r}; give a whole number from 0 to 1024, or None for all cores")

    @property
    def takes(self) -> frozenset[ProgramKind]:
        return frozenset(ProgramKind)

    @property
    def starts(self) -> frozenset[ProgramKind]:
        return frozenset({ProgramKind.MILP, ProgramKind.MIQP})

    def route(self, problem: Problem) -> Route | None:
        """Choose squares as they stand beside choices, where the licence takes them; else linear pieces."""
        stated = problem.conditions
        choices = 0 if stated is None or stated.choices is None else len(stated.choices.choice)
        fits = license_file() is not None or problem.n_unknowns + choices <= BUNDLED_QUADRATIC_LIMIT
        if choices and fits and problem.norm == 2 and self.squares is None:
            return Route.DIRECT
        return super().route(problem)

    @property
    def takes_indicators(self) -> bool:
        return True

    def in_pieces(self, pieces: Pieces, integers: bool, start: np.ndarray | None) -> SolverProgram:
        return pieces.bends(integers, start)

    def unavailable(self) -> Result | None:
        return missing("gurobipy")

    def too_large(self, program: SolverProgram) -> str | None:
        if license_file() is not None:
            return None
        if program.is_quadratic and program.n > BUNDLED_QUADRATIC_LIMIT:
            return _too_large(f"{program.n:,} unknowns with a quadratic objective", f"{BUNDLED_QUADRATIC_LIMIT}")
        if max(program.n, program.m) > BUNDLED_LIMIT:
            return _too_large(f"{program.n:,} unknowns and {program.m:,} rows", f"{BUNDLED_LIMIT:,} of each")
        return None

    def build(self, program: SolverProgram) -> "GurobiProgram":
        return GurobiProgram(program, self.parameters(program.is_integer))

    def parameters(self, integer: bool) -> dict[str, Any]:
        """Collect Gurobi's parameters: ours, and the user's in their place.

        Objectives are integers, so the gap is 0; Gurobi's default of 1e-4 would stop short of the optimum.
        """
        near = self.tolerance
        ours: dict[str, Any] = {"MIPGap": near or 0.0}
        if not integer:  # costs with large values are taken for non-convex ones, and would be branched on without end
            ours["NodeLimit"] = 0
        if not integer and near is None:
            ours |= {"BarConvTol": 1e-10, "OptimalityTol": 1e-9}
        elif not integer and near is not None:
            least = min(max(near, 1e-9), 1e-2)  # of what Gurobi takes
            ours |= {"BarConvTol": near, "OptimalityTol": least, "FeasibilityTol": least}
        if self.threads is not None:
            ours["Threads"] = self.threads
        return {**ours, **self.options}


class GurobiProgram(Built):
    """A program as a `gurobipy.Model`; `unknowns` are an MVar and `rows` an MConstr."""

    def __init__(self, program: SolverProgram, parameters: Mapping[str, Any]) -> None:
        self.program, self.parameters = program, dict(parameters)
        gp, labels = load("gurobipy"), program.labels
        with self._refusals():
            self.environment = gp.Env(params={"OutputFlag": 0})
            model = self.native = gp.Model("" if labels is None else labels.title, env=self.environment)
            kinds = np.where(program.integer, gp.GRB.INTEGER, gp.GRB.CONTINUOUS)
            if program.indicators is not None:
                kinds[program.indicators.binary] = gp.GRB.BINARY
            names, row_names = ("", "") if labels is None else (list(labels.unknowns), list(labels.rows))
            v = model.addMVar(program.n, lb=program.lower, ub=program.upper, vtype=kinds, name=names)
            objective = program.linear @ v
            model.setObjective((program.quadratic * v) @ v + objective if program.is_quadratic else objective)
            if program.bends is not None:
                _bend(model, v.tolist(), program.bends)
            rows = program.rows
            self.unknowns, self.rows = v, model.addMConstr(rows.matrix, v, rows.senses, rows.right, name=row_names)
            if program.indicators is not None:
                some = program.indicators
                implied = model.addGenConstrIndicator(v[some.binary], True, some.matrix @ v, "<", some.right)
                model.update()
                for one, name in zip(implied.tolist(), some.names, strict=False):
                    one.GenConstrName = name
            if program.start is not None:
                v.Start = program.start
            self._set_parameters()

    def optimize(self, time_limit: float | None) -> None:
        if time_limit is not None:
            self.native.Params.TimeLimit = time_limit
        stoppable(self.native.terminate)
        with self._refusals():
            self.native.optimize()
            if self.native.Status == load("gurobipy").GRB.NUMERIC and self.native.Params.NumericFocus == 0:
                self.native.Params.NumericFocus = 3  # once more, slower, with more care for digits
                if time_limit is not None:
                    self.native.Params.TimeLimit = max(0.0, time_limit - self.native.Runtime)
                self.native.optimize()
                self.native.Params.NumericFocus = 0
            if self.native.Status == load("gurobipy").GRB.INTERRUPTED:  # it catches Ctrl-C itself
                raise KeyboardInterrupt

    def read(self, solved: Any) -> SolverAnswer:
        grb, model = load("gurobipy").GRB, self.native
        status = model.Status
        if status == grb.LOADED:
            raise NotSolved
        # The objective is bounded below, so "infeasible or unbounded" is infeasible.
        if status in (grb.INFEASIBLE, grb.INF_OR_UNBD):
            return SolverAnswer(SolverClaim.INFEASIBLE)
        claims = {
            grb.OPTIMAL: SolverClaim.OPTIMAL,
            grb.SUBOPTIMAL: SolverClaim.OPTIMAL,
            grb.TIME_LIMIT: SolverClaim.STOPPED,
            grb.NODE_LIMIT: SolverClaim.STOPPED,
        }
        claim, note = claims.get(status, SolverClaim.FAILED), "" if status == grb.OPTIMAL else f"its status {status}"
        if not model.SolCount:
            return SolverAnswer(claim, note)
        values = self.unknowns.X
        if model.IsMIP:
            return SolverAnswer(claim, note, values, bound=model.ObjBound)
        return SolverAnswer(claim, note, values, *self.program.rows.duals(self.rows.Pi))

    def close(self) -> None:
        self.native.dispose()
        self.environment.dispose()

    def row_block(self, block: LabelBlock) -> Any:
        rows = np.array(self.rows.tolist()[block.part], object).reshape(block.shape)
        return load("gurobipy").MConstr.fromlist(rows.tolist())

    def restate(self, program: SolverProgram) -> None:
        self.program = program
        self.rows.RHS, self.unknowns.LB, self.unknowns.UB = program.rows.right, program.lower, program.upper
        self.native.update()

    def contradicting(self) -> ContradictingSubset:
        gp, model = load("gurobipy"), self.native
        try:
            model.computeIIS()
        except gp.GurobiError as error:
            if error.errno != gp.GRB.Error.IIS_NOT_INFEASIBLE:
                raise
            raise MethodError("the model has a solution, so nothing contradicts") from None
        rows = [row.ConstrName for row in model.getConstrs() if row.IISConstr]
        rows += [row.GenConstrName for row in model.getGenConstrs() if row.IISGenConstr]
        least = [(v.index, v.VarName, ">=", v.LB) for v in model.getVars() if v.IISLB]
        return ContradictingSubset(rows, least + [(v.index, v.VarName, "<=", v.UB) for v in model.getVars() if v.IISUB])

    def fingerprint(self, native: Any = None) -> str:
        """The hash of the model as text, and of whether a callback may add conditions while Gurobi solves.

        Gurobi's own `Fingerprint` takes starts for changes, too.
        """
        stated = [line for line in self._text().splitlines() if not line.startswith(b"*")]
        return sha256(b"\n".join([*stated, b"%d" % self.native.Params.LazyConstraints])).hexdigest()

    def _set_parameters(self) -> None:
        for name, value in self.parameters.items():
            self.native.setParam(name, value)
        self.native.update()

    def _text(self) -> bytes:
        """The model as MPS with names by number: ours may have blanks."""
        self.native.update()
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.rew"
            self.native.write(str(path))
            return path.read_bytes()

    @contextmanager
    def _refusals(self) -> Iterator[None]:
        """Say in words what the licence refuses."""
        gp = load("gurobipy")
        try:
            yield
        except gp.GurobiError as error:
            if error.errno == SIZE_LIMIT_EXCEEDED:
                reason = _too_large(f"{self.program.n:,} unknowns and {self.program.m:,} rows", "less")
                raise Stopped(Status.TOO_LARGE, reason) from None
            if error.errno == gp.GRB.ERROR_NO_LICENSE or not hasattr(self, "environment"):
                raise Stopped(Status.UNLICENSED, f"Gurobi refuses: {error}; {REMEDY}") from None
            raise Stopped(Status.FAILED, f"Gurobi stopped with an error: {error}") from None

    def __getstate__(self) -> dict[str, Any]:
        """The model as Gurobi writes it, with whatever was added; environments do not travel to other processes."""
        model, text = self.native, self._text()
        names = [
            [one.getAttr(kind) for one in ones]
            for kind, ones in zip(_NAMES, (model.getVars(), model.getConstrs(), model.getGenConstrs()), strict=True)
        ]
        return {"program": self.program, "parameters": self.parameters, "text": text, "names": names}

    def __setstate__(self, state: dict[str, Any]) -> None:
        gp = load("gurobipy")
        self.program, self.parameters = state["program"], state["parameters"]
        self.environment = gp.Env(params={"OutputFlag": 0})
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.rew"
            path.write_bytes(state["text"])
            model = self.native = gp.read(str(path), self.environment)
        everything = model.getVars(), model.getConstrs(), model.getGenConstrs()
        for kind, ones, names in zip(_NAMES, everything, state["names"], strict=True):
            model.setAttr(kind, ones, names)
        self.unknowns = gp.MVar.fromlist(everything[0][: self.program.n])
        self.rows = gp.MConstr.fromlist(everything[1][: self.program.m])
        self._set_parameters()


_NAMES = ("VarName", "ConstrName", "GenConstrName")


def _bend(model: Any, unknowns: list[Any], bends: Bends) -> None:
    """Give every unknown its piecewise linear cost."""
    ends = np.flatnonzero(np.diff(bends.unknown, append=-1)) + 1
    first = 0
    for end in ends.tolist():
        at, cost = bends.at[first:end], bends.cost[first:end]
        if len(at) == 1:  # a fixed cell
            at, cost = np.append(at, at + 1), np.append(cost, cost)
        model.setPWLObj(unknowns[bends.unknown[first]], at.tolist(), cost.tolist())
        first = end


def license_file() -> Path | None:
    """The licence Gurobi would read besides the bundled one, or None."""
    named = os.environ.get("GRB_LICENSE_FILE")
    places = [Path(named)] if named else [Path.home() / "gurobi.lic", *Path("/opt").glob("gurobi*/gurobi.lic")]
    return next((place for place in places if place.is_file()), None)


def _too_large(what: str, allowed: str) -> str:
    return f"{what}; the licence bundled with gurobipy allows {allowed}; {REMEDY}"
