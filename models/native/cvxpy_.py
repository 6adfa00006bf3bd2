"""The problem in CVXPY, as the papers write it."""

import time
import warnings
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any

import numpy as np
from scipy import sparse

from pgsr.methods.gate import Stopped
from pgsr.methods.method import Status
from pgsr.models.judge import Answer, Claim
from pgsr.models.native.levels import Levels
from pgsr.models.native.model import NativeModel, not_solved
from pgsr.models.optional import load
from pgsr.problems.problem import Problem
from pgsr.problems.programs import Program


class CvxpyModel(NativeModel):
    """A `cvxpy.Problem`, z[level] of shape (regions of the level, K + 1); relaxed for solvers without integers.

    The noisy values y[level] and the numbers of groups G[level] are parameters, so CVXPY compiles the model once
    (disciplined parametrised programming).
    """

    def __init__(
        self,
        problem: Problem,
        stated: Problem,
        solver: str,
        name: str,
        options: Callable[[float | None, bool], Mapping[str, Any]],
    ) -> None:
        self.name, self.options = name, options
        super().__init__(problem, stated, solver)

    def build(self, levels: Levels) -> None:
        cp = load("cvxpy")
        w, S, F = levels.w, levels.S, levels.F

        integer = self.stated.integer
        z = self.variables = [cp.Variable(levels.y[l].shape, name=f"z[{l}]", integer=integer) for l in levels]
        self.noisy = [cp.Parameter(levels.y[l].shape, name=f"y[{l}]") for l in levels]
        self.groups = {l: cp.Parameter(G.shape, name=f"G[{l}]") for l, _, G in levels.totals}
        self._set_parameters(levels)
        x = self.x
        for l in levels.inner:
            self.state("consistency", f"consistency[{l}]", (x[l] if F[l] is None else x[l] @ F[l]) == S[l] @ x[l + 1])
        for l, regions, _ in levels.totals:
            total = x[l][regions, -1] if levels.total_is_last else cp.sum(x[l][regions], axis=1)
            self.state("total", f"total[{l}]", total == self.groups[l])
        for l, first in levels.ordered:
            self.state("order", f"order[{l}]", x[l][:, first:-1] <= x[l][:, first + 1 :])
        for row in levels.stated:
            cells = cp.hstack([cp.vec(x[l], order="C") for l in levels])[row.cells]
            left = cells @ row.coefficients
            if row.low == row.high:
                self.state("stated equal", row.name, left == row.high)
            elif np.isfinite(row.high):
                self.state("stated above", row.name, left <= row.high)
            if row.low != row.high and np.isfinite(row.low):
                two = np.isfinite(row.high)
                self.state("stated below", f"{row.name}{' (low)' if two else ''}", left >= row.low)
        for l in levels:
            for kind, away in (("lower", levels.lower[l]), ("upper", levels.upper[l])):
                bound = levels.y[l] + away
                at = np.isfinite(bound)
                if at.any():
                    everywhere = at.all() and not bound.any()
                    side = x[l] if everywhere else x[l][at]
                    value = 0 if everywhere else bound[at]
                    name = f"nonnegative[{l}]" if kind == "lower" and everywhere else f"{kind}[{l}]"
                    self.constraints[name] = side >= value if kind == "lower" else side <= value
        distance = cp.Constant(0.0)
        for l in levels:
            for weight in np.unique(w[l][w[l] > 0]).tolist():  # one sum each: CVXPY compiles parameters beside few sums
                here = z[l] if (w[l] == weight).all() else z[l][w[l] == weight]
                distance += weight * (cp.sum_squares(here) if self.problem.norm == 2 else cp.sum(cp.abs(here)))

        for name, constraint in self.constraints.items():
            constraint.set_label(name)
        self.native = cp.Problem(cp.Minimize(distance), list(self.constraints.values()))

    @property
    def x(self) -> list[Any]:
        return [y + z for y, z in zip(self.noisy, self.variables, strict=True)]

    def restate(self, stated: Problem, program: Program) -> None:
        self._set_parameters(Levels(stated))
        for z in self.variables:  # what was solved before is no answer any more
            z.value = None

    def _set_parameters(self, levels: Levels) -> None:
        for l in levels:
            self.noisy[l].value = levels.y[l].astype(float)
        for l, _, G in levels.totals:
            self.groups[l].value = G.astype(float)

    def optimize(self, time_limit: float | None) -> None:
        start = time.perf_counter()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # that a solution may be inaccurate: it is judged
                self.native.solve(self.name, **self.options(time_limit, self.stated.integer))
        except load("cvxpy").SolverError:  # so CVXPY says, too, where a solver had no point at its limit
            if not out_of_time(time.perf_counter() - start, time_limit):
                raise
            reason = f"{self.solver} had no answer at the time limit of {time_limit:g} s"
            raise Stopped(Status.TIMED_OUT, reason) from None

    def fingerprint(self) -> str:
        """The hash of the stated model: operators as text, unknowns by identity, and all numbers in full."""
        found = sha256()
        for one in (self.native.objective, *self.native.constraints):
            found.update(repr((str(one), [x.id for x in one.variables()])).encode())
            for leaf in (*one.parameters(), *one.constants()):
                number = leaf.value.toarray() if sparse.issparse(leaf.value) else np.asarray(leaf.value, float)
                found.update(repr(number.shape).encode() + number.tobytes())
        return found.hexdigest()

    def __getstate__(self) -> dict[str, Any]:
        """The model without what solvers left in it, with whatever was added if `native` is another problem now."""
        cp, native = load("cvxpy"), self.native
        return vars(self) | {"native": cp.Problem(native.objective, native.constraints)}

    def read(self, solved: Any) -> Answer:
        status = self.native.status
        if status is None or (status == "optimal" and all(z.value is None for z in self.variables)):
            raise not_solved(self.solver)
        claim, note = claim_of(self.name, status), "" if status == "optimal" else f"it says {status}"
        if claim is Claim.INFEASIBLE:
            return Answer(claim)
        found = getattr(self.native.solver_stats, "extra_stats", None)
        pointless = self.stated.integer and not has_point(self.name, found)
        if pointless or any(z.value is None for z in self.variables):
            return Answer(claim, note)
        values = np.concatenate([z.value.ravel() for z in self.variables])
        if self.stated.integer:
            return Answer(claim, note, values, bound=own_bound(self.name, self.native))
        if any(row.dual_value is None for rows in self.rows.values() for row in rows):
            return Answer(claim, note, values)
        return Answer(claim, note, values, *self.duals(lambda row: row.dual_value))


def claim_of(solver: str, status: str) -> Claim:
    """Translate the status that CVXPY reports into a claim.

    Where Gurobi stopped at its time limit before it had a point, CVXPY reports infeasible_inaccurate.
    """
    if status == "user_limit" or (solver == "GUROBI" and status == "infeasible_inaccurate"):
        return Claim.STOPPED
    if "infeasible" in status:
        return Claim.INFEASIBLE
    return Claim.OPTIMAL if status in ("optimal", "optimal_inaccurate") else Claim.FAILED


def has_point(solver: str, found: Any) -> bool:
    """Say whether the solver found a point. Without one HiGHS returns zeros, and only its primal status tells."""
    return solver != "HIGHS" or getattr(found, "primal_solution_status", 2) == 2


def out_of_time(spent: float, time_limit: float | None) -> bool:
    """Say whether a solver stopped because of its time limit, which solvers keep to within some 5 percent."""
    return time_limit is not None and spent >= 0.95 * time_limit


def own_bound(solver: str, solved: Any) -> float | None:
    """Read the solver's own bound on a `cvxpy.Problem` in integers, where CVXPY hands it on.

    It counts only where the solver's objective is ours: a constant that CVXPY kept from it would be an integer.
    """
    told: Any = getattr(solved.solver_stats, "extra_stats", None)
    try:
        if solver == "HIGHS":
            value, bound = told.objective_function_value, told.mip_dual_bound
        elif solver == "SCIP":
            value, bound = told["model"].getObjVal(), told["model"].getDualbound()
        elif solver == "GUROBI":
            value, bound = told.ObjVal, told.ObjBound
        else:
            value, bound = solved.value, told["mip_dual_bound"]
    except (KeyError, AttributeError, TypeError):  # another version of the interface, or a solver that gives none
        return None
    return float(bound) if abs(value - solved.value) < 0.5 else None
