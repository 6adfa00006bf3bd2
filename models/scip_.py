"""The solver model of SCIP through PySCIPOpt, for integer programs."""

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from pgsr.data.views import View
from pgsr.methods.method import Result
from pgsr.models.adapter import SolverModel
from pgsr.models.judge import SolverAnswer, SolverClaim
from pgsr.models.optional import load, missing
from pgsr.models.program import ProgramKind, SolverProgram
from pgsr.models.solver_object import Built, NotSolved
from pgsr.models.watch import stoppable
from pgsr.noise.measurement import Totals
from pgsr.problems.problem import Problem

LARGEST = 20_000
"""Most unknowns: the model is built one Python object per unknown and row."""


@dataclass(frozen=True, repr=False)
class Scip(SolverModel):
    """Solves the integer program with SCIP through its own Python interface (a newer SCIP than `MathOpt("GSCIP")`).

    SCIP takes linear objectives only, so the sum of squares becomes one convex condition t >= sum_j weight[j] z[j]^2.

    Status: OPTIMAL or FEASIBLE with SCIP's own bound; UNSUPPORTED for relaxations (no duals of them); TOO_LARGE;
    TIMED_OUT; NOT_INSTALLED.
    """

    @property
    def takes(self) -> frozenset[ProgramKind]:
        return frozenset({ProgramKind.MILP, ProgramKind.MIQP})

    @property
    def starts(self) -> frozenset[ProgramKind]:
        return self.takes

    def finds_whole(self, problem: Problem) -> bool:
        """Say whether rows are a network's. SCIP's presolve leaves halves in M_H with the root's total alone."""
        halved = problem.view is View.COUNTS and problem.totals is not Totals.REGIONS
        several = problem.view is View.CUMULATIVE and problem.hierarchy.n_levels > 2
        bounds_alone = problem.conditions is None or problem.conditions.bounds_alone
        return bounds_alone and not (problem.consistent and (halved or several))

    def unavailable(self) -> Result | None:
        return missing("pyscipopt")

    def too_large(self, program: SolverProgram) -> str | None:
        return f"{program.n:,} unknowns; SCIP models are built up to {LARGEST:,}" if program.n > LARGEST else None

    @property
    def takes_indicators(self) -> bool:
        return True

    def build(self, program: SolverProgram) -> "ScipProgram":
        return ScipProgram(program, self.parameters())

    def parameters(self) -> dict[str, Any]:
        """Collect SCIP's parameters: ours, and the user's in their place."""
        return {"limits/gap": self.tolerance or 0.0, "misc/catchctrlc": False, **self.options}


class ScipProgram(Built):
    """A program as a `pyscipopt.Model`.

    Squares are one convex condition on the unknown `distance`. Rows are made as PySCIPOpt stores them, from terms that
    exist once per unknown, since the operators of its unknowns copy a whole expression at each of them.
    """

    def __init__(self, program: SolverProgram, parameters: Mapping[str, Any]) -> None:
        self.program, self.parameters = program, dict(parameters)
        scip, labels = load("pyscipopt"), program.labels
        model = self.native = scip.Model("model" if labels is None else labels.title)
        model.hideOutput()
        kinds = np.where(program.integer, "I", "C")
        if program.indicators is not None:
            kinds[program.indicators.binary] = "B"
        names = [""] * program.n if labels is None else labels.unknowns
        parts = names, kinds.tolist(), _finite(program.lower), _finite(program.upper), program.linear.tolist()
        v = [
            model.addVar(name, kind, lb=low, ub=high, obj=cost)
            for name, kind, low, high, cost in zip(*parts, strict=True)
        ]
        term = [scip.scip.Term(one) for one in v]

        def condition(columns: list[int], data: list[float], low: float | None, high: float | None) -> Any:
            terms = {term[j]: a for j, a in zip(columns, data, strict=True)}
            return scip.scip.ExprCons(scip.Expr(terms), low, high)

        row_names = [""] * program.m if labels is None else labels.rows
        sides = _finite(program.rows.lower), _finite(program.rows.upper)
        rows = zip(program.rows.terms(), row_names, *sides, strict=True)
        self.unknowns = _array(v)
        self.rows = _array([model.addCons(condition(*of, a, b), name) for of, name, a, b in rows])
        if program.indicators is not None:
            for binary, columns, data, right, name in program.indicators.terms():
                model.addConsIndicator(condition(columns, data, None, right), v[binary], name=name)
        first = [] if program.start is None else list(zip(v, program.start.tolist(), strict=True))
        if program.is_quadratic:
            bound = model.addVar("distance", lb=0.0, obj=1.0)
            squares = {scip.scip.Term(v[j], v[j]): a for j, a in enumerate(program.quadratic.tolist()) if a}
            squares[scip.scip.Term(bound)] = -1.0
            model.addCons(scip.scip.ExprCons(scip.Expr(squares), None, 0.0), "sum")
            if program.start is not None:
                first.append((bound, float(program.quadratic @ program.start**2)))
        if first:
            solution = model.createSol()
            for variable, value in first:
                model.setSolVal(solution, variable, value)
            model.addSol(solution)
        model.setParams(self.parameters)

    def optimize(self, time_limit: float | None) -> None:
        if time_limit is not None:
            self.native.setParam("limits/time", time_limit)
        stoppable(self.native.interruptSolve)
        self.native.optimizeNogil()

    def read(self, solved: Any) -> SolverAnswer:
        model = self.native
        status = model.getStatus()
        if status == "unknown" and not model.getNSols():
            raise NotSolved
        claims = {
            "optimal": SolverClaim.OPTIMAL,
            "timelimit": SolverClaim.STOPPED,
            "gaplimit": SolverClaim.NEAR if model.getGap() > 0 else SolverClaim.OPTIMAL,
            "infeasible": SolverClaim.INFEASIBLE,
            "inforunbd": SolverClaim.INFEASIBLE,
        }
        claim, note = (
            claims.get(status, SolverClaim.FAILED),
            "" if status in ("optimal", "gaplimit") else f"it says {status}",
        )
        if not model.getNSols():
            return SolverAnswer(claim, note)
        best = model.getBestSol()
        values = np.array([best[variable] for variable in self.unknowns.tolist()])
        return SolverAnswer(claim, note, values, bound=model.getDualbound())

    def fingerprint(self, native: Any = None) -> str:
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
        places = [place[variable.name] for variable in self.unknowns.tolist()]
        return {"program": self.program, "parameters": self.parameters, "text": self._text(), "places": places}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.program, self.parameters = state["program"], state["parameters"]
        model = self.native = load("pyscipopt").Model()
        model.hideOutput()
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.cip"
            path.write_bytes(state["text"])
            model.readProblem(str(path))
        model.setParams(self.parameters)
        by_name = {variable.name: variable for variable in model.getVars()}
        self.unknowns = _array([by_name[f"x{place}"] for place in state["places"]])
        self.rows = _array(model.getConss()[: self.program.m])


def _finite(side: np.ndarray) -> list[float | None]:
    """Write limits as PySCIPOpt has them, those that are missing as None."""
    return [None if np.isinf(a) else a for a in side.tolist()]


def _array(some: list[Any]) -> np.ndarray:
    """An array of objects, which NumPy does not look into."""
    out = np.empty(len(some), object)
    out[:] = some
    return out
