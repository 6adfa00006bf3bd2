"""A program as a CVXPY problem, for any solver that CVXPY finds."""

import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from functools import cache
from hashlib import sha256
from typing import Any, NoReturn

import numpy as np
from scipy import sparse

from pgsr.errors import MethodError
from pgsr.methods.gate import Stopped
from pgsr.methods.method import Status
from pgsr.models.gurobi_ import REMEDY as GUROBI_REMEDY
from pgsr.models.judge import SolverAnswer, SolverClaim
from pgsr.models.optional import load
from pgsr.models.program import LabelBlock, SolverProgram
from pgsr.models.solver_object import Built, NotSolved

BOUNDED = ("HIGHS", "SCIP", "GUROBI", "SCIPY", "GLOP", "PDLP", "PIQP")
"""The solvers to which CVXPY hands bounds of unknowns as such."""

REMEDIES: Mapping[str, str] = {
    "GUROBI": GUROBI_REMEDY,
    "MOSEK": "put a licence (free for academics, mosek.com) where MOSEKLM_LICENSE_FILE points, or use another method",
}
"""What to do where a commercial solver finds no licence."""


class CvxpyProgram(Built):
    """A program as a `cvxpy.Problem`: a variable for every block of unknowns, a condition for every block of rows.

    CVXPY compiles few large conditions faster, so a program without labels is one block of each kind. With labels,
    right-hand sides and bounds are parameters, so that CVXPY compiles a model once (disciplined parametrised
    programming).
    """

    def __init__(
        self,
        program: SolverProgram,
        solver: str,
        options: Callable[[float | None, bool], Mapping[str, Any]],
    ) -> None:
        self.program, self.solver, self.options = program, solver, options
        cp, self.compiled = load("cvxpy"), None
        self.parts = [
            cp.Variable(b.shape, name=b.name, integer=bool(program.integer[b.part].any()), **self._bounds(b))
            for b in self._unknown_blocks()
        ]
        if program.start is not None:  # where CVXPY hands these on to a solver, as to Gurobi
            for z, block in zip(self.parts, self._unknown_blocks(), strict=True):
                z.save_value(program.start[block.part].reshape(block.shape))
        flat = self.vectors = [z if z.ndim == 1 else cp.vec(z, order="C") for z in self.parts]
        self.unknowns = flat[0] if len(flat) == 1 else cp.hstack(flat)
        self.conditions: list[tuple[str, Any]] = []
        self.parameters: list[Any] = []
        for name, what, sense, right in self._sides():
            self.conditions.append((name, self._condition(cp, what, sense, right).set_label(name)))
        self.rows = [row for _, row in self.conditions[: self._n_row_blocks]]
        objective: Any = 0
        for z, vector, block in zip(self.parts, flat, self._unknown_blocks(), strict=True):
            squares, linear = program.quadratic[block.part], program.linear[block.part]
            if squares.any():
                objective += _sum_of_squares(cp, z, squares.reshape(block.shape))
            if linear.any():
                objective += linear @ vector
        self.native = fixed_problem()(cp.Minimize(objective), [row for _, row in self.conditions])

    def compile(self, time_limit: float | None) -> None:
        options = self.options(time_limit, self.program.is_integer)
        self.compiled = (*self.native.get_problem_data(self.solver, solver_opts=options), options)
        if self.program.start is not None and self.solver == "SCS":
            self.native._solver_cache[self.solver] = _past_of_scs(self.program, self.compiled[0])

    def optimize(self, time_limit: float | None) -> None:
        cvxpy, native = load("cvxpy"), self.native
        if self.compiled is None:
            self.compile(time_limit)
        assert self.compiled is not None
        (data, chain, inverse, options), self.compiled = self.compiled, None
        start = time.perf_counter()
        try:
            with _without_banner() if self.solver == "HIGHS" else nullcontext():
                told, started = {**_quietly(self.solver), **options}, self.program.start is not None
                raw = chain.solve_via_data(native, data, warm_start=started, solver_opts=told)
        except Exception as error:
            if self.solver in REMEDIES and "icense" in str(error):
                refusal = str(error).splitlines()[0]
                raise Stopped(Status.UNLICENSED, f"{self.solver} refuses: {refusal}; {REMEDIES[self.solver]}") from None
            raise
        if was_interrupted(raw):
            raise KeyboardInterrupt
        late = out_of_time(time.perf_counter() - start, time_limit)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # that a solution may be inaccurate: we judge it ourselves
                native.unpack_results(raw, chain, inverse)
        except cvxpy.SolverError:  # so CVXPY says, too, where a solver had no point at its limit
            if not late:
                raise
            for z in self.parts:
                z.value = None
        self.late = (native.solver_stats,) if late else ()

    late: tuple[Any, ...] = ()
    """What CVXPY tells of the last solve here, if that ended at its time limit."""

    def read(self, solved: Any) -> SolverAnswer:
        native = self.native if solved is None else solved
        status = native.status
        values = [z.value for z in self.parts]
        late = solved is None and any(told is native.solver_stats for told in self.late)
        if late and any(value is None for value in values):
            return SolverAnswer(SolverClaim.STOPPED)
        if status is None or (status == "optimal" and any(value is None for value in values)):
            raise NotSolved
        claim, note = claim_of(self.solver, status), "" if status == "optimal" else f"it says {status}"
        if claim is SolverClaim.INFEASIBLE:
            return SolverAnswer(claim)
        if late:
            claim = SolverClaim.STOPPED
        found = getattr(native.solver_stats, "extra_stats", None)
        if any(value is None for value in values) or not has_point(self.solver, found):
            return SolverAnswer(claim, note)
        v = np.concatenate([np.ravel(value) for value in values])
        if self.program.is_integer:
            return SolverAnswer(claim, note, v, bound=own_bound(self.solver, native))
        return SolverAnswer(claim, note, v, *self._duals())

    def block(self, block: LabelBlock) -> Any:
        return self.parts[self._unknown_blocks().index(block)]

    def rows_by_name(self) -> dict[str, Any]:
        return dict(self.conditions)

    def takes_solved(self, solution: Any) -> bool:
        cvxpy = load("cvxpy")
        if not isinstance(solution, cvxpy.Problem):
            return False
        theirs = {z.id for z in solution.variables()}
        if not all(z.id in theirs for z in self.native.variables()):
            raise MethodError(
                "the cvxpy.Problem has other unknowns than this model; make it of model.native.objective, "
                "model.native.constraints and conditions in model.x"
            )
        return True

    def restate(self, program: SolverProgram) -> None:
        self.program, self.compiled = program, None
        for parameter, (*_, right) in zip(self.parameters, self._sides(), strict=True):
            parameter.value = right
        for z in self.parts:  # what was solved before is no answer any more
            z.value = None

    def fingerprint(self, native: Any = None) -> str:
        """The hash of the stated model: operators as text, unknowns by identity, and all numbers in full."""
        found, native = sha256(), self.native if native is None else native
        for one in (native.objective, *native.constraints):
            found.update(repr((str(one), [x.id for x in one.variables()])).encode())
            for leaf in (*one.parameters(), *one.constants()):
                value = leaf.value
                entries = sparse.csc_array(value) if sparse.issparse(value) else None
                arrays = [value] if entries is None else [entries.indptr, entries.indices, entries.data]
                for array in arrays:
                    found.update(repr(np.shape(array)).encode() + np.asarray(array, float).tobytes())
        return found.hexdigest()

    def __getstate__(self) -> dict[str, Any]:
        """The model without what solvers left in it, with whatever was added if `native` is another problem now."""
        cp, native = load("cvxpy"), self.native
        kept = {key: value for key, value in vars(self).items() if key != "late"}
        return kept | {"compiled": None, "native": cp.Problem(native.objective, native.constraints)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        native = state["native"]
        vars(self).update(state | {"native": fixed_problem()(native.objective, native.constraints)})

    def _unknown_blocks(self) -> tuple[LabelBlock, ...]:
        """The blocks of unknowns: those of labels, or one of integers and one of what is real."""
        program, n = self.program, int(self.program.integer.sum())
        if program.labels is not None:
            return program.labels.unknown_blocks
        assert program.integer[:n].all(), "integers come first"
        ends = [(0, n), (n, program.n)]
        return tuple(LabelBlock("v", slice(a, b), (b - a,)) for a, b in ends if b > a)

    @property
    def _bounded(self) -> bool:
        """Whether bounds are said of unknowns and not by rows, as where labels are and bounds may change."""
        return self.solver in BOUNDED and self.program.labels is None

    def _bounds(self, block: LabelBlock) -> dict[str, Any]:
        program = self.program
        return {"bounds": [program.lower[block.part], program.upper[block.part]]} if self._bounded else {}

    @property
    def _n_row_blocks(self) -> int:
        """The number of conditions that are rows, the first ones."""
        program = self.program
        return len(program.labels.row_blocks) if program.labels is not None else len(self.conditions)

    def _sides(self) -> Iterator[tuple[str, Any, str, np.ndarray]]:
        """Yield name, left-hand side, sense and right-hand side of all conditions, rows before bounds.

        Left-hand sides are a matrix over all unknowns, or the number of a block and which of its unknowns.
        """
        program, rows = self.program, self.program.rows
        if program.labels is None:
            yield from _sides_at_once(program, self._bounded)
            return
        senses, right = rows.senses, rows.right
        for block in program.labels.row_blocks:
            yield block.name, rows.matrix[block.part], str(senses[block.part.start]), right[block.part]
        for number, block in enumerate(program.labels.unknown_blocks):
            for name, sense, side in ((block.least, ">", program.lower), (block.most, "<", program.upper)):
                bound = side[block.part].reshape(block.shape)
                at = np.isfinite(bound)
                if at.any():
                    yield name, (number, at), sense, bound if at.all() else bound[at]

    def _condition(self, cp: Any, what: Any, sense: str, right: np.ndarray) -> Any:
        """State one condition; of a model with labels its right-hand side is a parameter."""
        side: Any = right
        if self.program.labels is not None:
            side = cp.Parameter(right.shape, value=right.astype(float))
            self.parameters.append(side)
        if isinstance(what, tuple):
            number, at = what
            left = self.parts[number] if at.all() else self.parts[number][at]
        else:
            columns = what.tocsc()
            parts = [(columns[:, b.part], v) for v, b in zip(self.vectors, self._unknown_blocks(), strict=True)]
            left = sum(matrix @ v for matrix, v in parts if matrix.nnz) if what.nnz else columns @ self.unknowns
        return left == side if sense == "=" else left <= side if sense == "<" else left >= side

    def _duals(self) -> tuple[np.ndarray | None, np.ndarray | None]:
        """Read the duals of rows, whose signs in CVXPY are ours."""
        found = [row.dual_value for row in self.rows]
        if any(dual is None for dual in found):
            return None, None
        duals = np.concatenate([np.zeros(0), *(np.ravel(np.asarray(dual, float)) for dual in found)])
        n_equal = len(self.program.right)
        return duals[:n_equal], duals[n_equal : self.program.m]


@cache
def fixed_problem() -> Any:
    """Make the class of a `cvxpy.Problem` that says so where somebody adds conditions to the list that it hands out."""
    cvxpy = load("cvxpy")

    class FixedProblem(cvxpy.Problem):
        @property
        def constraints(self) -> list[Any]:
            return ReadConditions(self._constraints)

    return FixedProblem


class ReadConditions(list[Any]):
    """The conditions of a problem, to be read, since CVXPY ignores whatever is done to them."""

    def _refused(self, *_: Any, **__: Any) -> NoReturn:
        raise MethodError(
            "CVXPY hands out a copy of a problem's conditions, so a change of it would be lost; make "
            "more = cvxpy.Problem(model.native.objective, [*model.native.constraints, condition]), solve that and give "
            "it to model.judge(more), or state the condition by Problem.where"
        )

    append = extend = insert = remove = pop = clear = _refused  # pyright: ignore
    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refused  # pyright: ignore


def _sides_at_once(program: SolverProgram, bounded: bool) -> Iterator[tuple[str, Any, str, np.ndarray]]:
    """Yield all equalities as one condition, and all inequalities, with bounds if unknowns have none, as another."""
    if len(program.right):
        yield "equal", program.matrix, "=", program.right
    left, right = [program.order], [program.order_right]
    for bound, sign in () if bounded else ((program.lower, -1.0), (program.upper, 1.0)):
        there = np.flatnonzero(np.isfinite(bound))
        one = np.full(len(there), sign)
        left.append(sparse.csr_array((one, (np.arange(len(there)), there)), shape=(len(there), program.n)))
        right.append(sign * bound[there])
    above, limits = sparse.csr_array(sparse.vstack(left)), np.concatenate(right)
    if not len(program.right) and not len(limits):  # SCS takes no program without any; this one holds at some optimum
        above, limits = sparse.eye_array(program.n, format="csr"), program.reach[1].astype(float)
    if len(limits):
        yield "order", above, "<", limits


def _sum_of_squares(cp: Any, z: Any, weights: np.ndarray) -> Any:
    """Write weighted squares; not as squares of scaled unknowns, for each of which CVXPY would add a variable."""
    values = np.unique(weights).tolist()
    if len(values) == 1:
        return values[0] * cp.sum_squares(z)
    if z.ndim == 1:
        return cp.quad_form(z, sparse.diags_array(weights, format="csc"), assume_PSD=True)
    return sum(value * cp.sum_squares(z[weights == value]) for value in values if value)


def claim_of(solver: str, status: str) -> SolverClaim:
    """Translate the status that CVXPY reports into a claim.

    Where Gurobi stopped at its time limit before it had a point, CVXPY reports infeasible_inaccurate.
    """
    if status == "user_limit" or (solver == "GUROBI" and status == "infeasible_inaccurate"):
        return SolverClaim.STOPPED
    if "infeasible" in status:
        return SolverClaim.INFEASIBLE
    return SolverClaim.OPTIMAL if status in ("optimal", "optimal_inaccurate") else SolverClaim.FAILED


def has_point(solver: str, found: Any) -> bool:
    """Say whether the solver found a point. Without one HiGHS returns zeros, and only its primal status tells."""
    return solver != "HIGHS" or getattr(found, "primal_solution_status", 2) == 2


def was_interrupted(raw: Any) -> bool:
    """Say whether a solver caught Ctrl-C itself, as OSQP, SCS, SCIP and Gurobi do, from its raw answer in CVXPY."""
    found = raw if isinstance(raw, Mapping) else vars(raw) if hasattr(raw, "__dict__") else {}
    info, model = found.get("info"), found.get("model")
    status = info.get("status") if isinstance(info, Mapping) else getattr(info, "status", "")
    if model is not None:
        status = model.getStatus() if hasattr(model, "getStatus") else "interrupted" if model.Status == 11 else ""
    return "interrupt" in str(status)


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


def _quietly(solver: str) -> dict[str, Any]:
    """Give Gurobi an environment that does not print the licence; other solvers print nothing that options silence."""
    return {"env": load("gurobipy").Env(params={"OutputFlag": 0})} if solver == "GUROBI" else {}


@contextmanager
def _without_banner() -> Iterator[None]:
    """Have no banner printed by HiGHS, whose constructor prints it before CVXPY can set an option."""
    highs = load("highspy").Highs
    usual = highs.enableCallbacks

    def quietly(one: Any) -> None:
        one.setOptionValue("output_flag", False)
        usual(one)
        one.setOptionValue("output_flag", True)

    highs.enableCallbacks = quietly
    try:
        yield
    finally:
        highs.enableCallbacks = usual


def _past_of_scs(program: SolverProgram, data: Any) -> Any:
    """What CVXPY would keep of a solve with SCS that had ended at the start: values, duals and slacks."""
    y = np.zeros(data["A"].shape[0])
    if program.start_duals is not None:
        low, high = np.isfinite(program.lower), np.isfinite(program.upper)
        of_bounds = program.start_bound_duals
        of_sides = np.maximum(-of_bounds[low], 0.0), np.maximum(of_bounds[high], 0.0)
        known = np.concatenate([*program.start_duals, *of_sides])
        y[: len(known)] = known
    return {"x": program.start, "y": y, "s": data["b"] - data["A"] @ program.start}
