"""The solver models of HiGHS, Clarabel, OSQP and PIQP by their own packages: arrays in, arrays out."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from pgsr.errors import MethodError
from pgsr.methods.method import Result
from pgsr.models.adapter import Run, SolverModel
from pgsr.models.cvxpy_ import Cvxpy
from pgsr.models.judge import SolverAnswer, SolverClaim
from pgsr.models.optional import load, not_installed
from pgsr.models.program import ProgramKind, SolverProgram
from pgsr.models.relaxation import by_clarabel


@dataclass(frozen=True, repr=False)
class Direct(Cvxpy):
    """Solves a problem by `solver` as `Cvxpy` does, in a tenth to all of its time: its own package gets the arrays.

    Args:
        solver: HIGHS, CLARABEL, OSQP or PIQP.
        options, tolerance: as in `Cvxpy`.

    Status: as of `Cvxpy`.

    Example:
        >>> Direct("PIQP")
        Direct('PIQP')
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.solver not in SOLVERS:
            raise MethodError(f"Direct({self.solver!r}) is unknown; use one of {', '.join(SOLVERS)}, or Cvxpy")

    @property
    def starts(self) -> frozenset[ProgramKind]:
        return {"HIGHS": frozenset({ProgramKind.MILP}), "OSQP": self.takes}.get(self.solver, frozenset())

    def unavailable(self) -> Result | None:
        module = SOLVERS[self.solver][0]
        return not_installed(REQUIREMENTS.get(module, module), self.solver) if load(module) is None else None

    def build(self, program: SolverProgram) -> Any:
        return SolverModel.build(self, program)

    def run(self, program: SolverProgram, time_limit: float | None) -> Run:
        start = time.perf_counter()
        answer = SOLVERS[self.solver][1](program, self.solver_options(time_limit, program.is_integer))
        return Run(answer, 0.0, time.perf_counter() - start)


def by_highs(program: SolverProgram, options: Mapping[str, Any]) -> SolverAnswer:
    """Solve by highspy."""
    highspy = load("highspy")
    highs, lp, rows = highspy.Highs.__base__(), highspy.HighsLp(), program.rows  # the class itself prints a banner
    for name, value in {"output_flag": False, **options}.items():
        if highs.setOptionValue(name, value) != highspy.HighsStatus.kOk:
            raise MethodError(f"HiGHS takes no option {name}={value!r}")
    lp.num_col_, lp.num_row_ = program.n, program.m
    lp.col_cost_, lp.col_lower_, lp.col_upper_ = program.linear, program.lower, program.upper
    lp.row_lower_, lp.row_upper_ = rows.lower, rows.upper
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    matrix = rows.matrix
    lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_ = matrix.indptr, matrix.indices, matrix.data
    if program.is_integer:
        kind = highspy.HighsVarType
        lp.integrality_ = [kind.kInteger if one else kind.kContinuous for one in program.integer.tolist()]
    highs.passModel(lp)
    if program.is_quadratic:
        at = np.flatnonzero(program.quadratic)
        begins = np.searchsorted(at, np.arange(program.n + 1)).astype(np.int32)
        highs.passHessian(program.n, len(at), 1, begins, at.astype(np.int32), 2.0 * program.quadratic[at])
    if program.start is not None and program.is_integer:
        highs.setSolution(program.n, np.arange(program.n, dtype=np.int32), program.start)
    highs.run()
    status, found, info = highs.getModelStatus(), highs.getSolution(), highs.getInfo()
    name = status.name.removeprefix("k")
    claim = _CLAIMS.get(name, SolverClaim.FAILED)
    note = "" if claim is SolverClaim.OPTIMAL else f"it says {highs.modelStatusToString(status)}"
    if claim is SolverClaim.INFEASIBLE or info.primal_solution_status != highspy.SolutionStatus.kSolutionStatusFeasible:
        return SolverAnswer(claim, note)
    values = np.array(found.col_value)
    if program.is_integer:
        return SolverAnswer(claim, note, values, bound=info.mip_dual_bound)
    return SolverAnswer(claim, note, values, *rows.duals(np.array(found.row_dual)))


def by_piqp(program: SolverProgram, options: Mapping[str, Any]) -> SolverAnswer:
    """Solve by PIQP, which looks at no clock."""
    piqp = load("piqp")
    solver = piqp.SparseSolver()
    for name, value in options.items():
        setattr(solver.settings, name, value)
    squares, order = _squares(program), sparse.csc_matrix(program.order, dtype=float)
    equal = sparse.csc_matrix(program.matrix, dtype=float)
    right, above = program.right.astype(float), program.order_right.astype(float)
    below, bounds = np.full(len(above), -np.inf), (program.lower.astype(float), program.upper.astype(float))
    solver.setup(squares, program.linear.astype(float), equal, right, order, below, above, *bounds)
    name, found = solver.solve().name.removeprefix("PIQP_"), solver.result
    claim = _CLAIMS.get(name, SolverClaim.FAILED)
    note = "" if claim is SolverClaim.OPTIMAL else f"it says {name}"
    return SolverAnswer(claim, note, np.array(found.x), np.array(found.y), np.array(found.z_u))


def by_osqp(program: SolverProgram, options: Mapping[str, Any]) -> SolverAnswer:
    """Solve by OSQP, to which bounds are rows."""
    m, n, solver = program.m, len(program.right), load("osqp").OSQP()
    bounded = np.flatnonzero(np.isfinite(program.lower) | np.isfinite(program.upper))
    one = sparse.csr_array(sparse.eye_array(program.n))[bounded]
    matrix = sparse.vstack([program.matrix, program.order, one], format="csc", dtype=float)
    low = np.concatenate([program.right, np.full(m - n, -np.inf), program.lower[bounded]])
    high = np.concatenate([program.right, program.order_right, program.upper[bounded]])
    solver.setup(
        _squares(program), program.linear.astype(float), sparse.csc_matrix(matrix), low, high, verbose=False, **options
    )
    if program.start is not None:
        duals = program.start_duals
        y = None if duals is None else np.concatenate([*duals, program.start_bound_duals[bounded]])
        solver.warm_start(x=program.start.astype(float), y=y)
    found = solver.solve(raise_error=False)
    claim = _CLAIMS.get(found.info.status, SolverClaim.FAILED)
    note = "" if found.info.status == "solved" else f"it says {found.info.status}"
    if found.x is None or claim is SolverClaim.INFEASIBLE:
        return SolverAnswer(claim, note)
    y = np.asarray(found.y)
    return SolverAnswer(claim, note, np.asarray(found.x), y[:n], y[n:m])


def _squares(program: SolverProgram) -> Any:
    return sparse.csc_matrix(sparse.diags_array(2.0 * program.quadratic))


_CLAIMS: Mapping[str, SolverClaim] = {
    **dict.fromkeys(("Optimal", "SOLVED", "solved", "solved inaccurate"), SolverClaim.OPTIMAL),
    **dict.fromkeys(("TimeLimit", "run time limit reached"), SolverClaim.STOPPED),
    **dict.fromkeys(("Infeasible", "UnboundedOrInfeasible", "PRIMAL_INFEASIBLE"), SolverClaim.INFEASIBLE),
    **dict.fromkeys(("primal infeasible", "primal infeasible inaccurate"), SolverClaim.INFEASIBLE),
}
"""The words of the solvers for how they ended; others are failures."""


REQUIREMENTS = {"highspy": "'highspy>=1.16'"}
"""What pip needs to be told where a package's name is not enough."""

SOLVERS: Mapping[str, tuple[str, Callable[[SolverProgram, Mapping[str, Any]], SolverAnswer]]] = {
    "CLARABEL": ("clarabel", by_clarabel),
    "HIGHS": ("highspy", by_highs),
    "OSQP": ("osqp", by_osqp),
    "PIQP": ("piqp", by_piqp),
}
"""The solvers whose packages are called here; `pgsr.models.cvxpy_.SOLVERS` has their options."""
