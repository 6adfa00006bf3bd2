"""Problems as a modeller writes them without pgsr, in the best form that we know: the measure of its solver models.

Whoever writes a model by hand has noisy values, parents and totals, finds the relaxed optimum by Clarabel, and gives a
solver unit steps of two on either side, or squares as they are. Nothing is proved, and a solution outside its window is
an error.
"""

import json
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from pgsr import CountOfCounts, Problem, View, solve
from pgsr.datasets import census_like
from pgsr.methods.method import ANSWERED
from pgsr.models.optional import load
from pgsr.noise import Geometric, Totals
from pgsr.privacy import Seeded

FILE = "by_hand.json"

RADIUS = 2
"""The steps on either side of the relaxed optimum."""


@dataclass(frozen=True, eq=False)
class HandSquares:
    """Minimise the squares of z subject to equal z = right, above z <= most, z >= low."""

    equal: Any
    right: np.ndarray
    above: Any
    most: np.ndarray
    low: np.ndarray
    network: bool


@dataclass(frozen=True, eq=False)
class HandSteps:
    """A linear program of unit steps; the last columns lead beyond the windows, and nothing may be in them."""

    cost: np.ndarray
    rows: Any
    lower: np.ndarray
    upper: np.ndarray
    most: np.ndarray
    beyond: int
    whole: bool
    constant: float

    def objective(self, v: Any) -> float:
        v = np.asarray(v)
        if v[-self.beyond :].any() or not np.allclose(v, np.rint(v)):
            raise ArithmeticError("the solution is not whole, or beyond its window")
        return float(self.cost @ np.rint(v)) + self.constant


def squares(problem: Problem) -> HandSquares:
    """State a problem of squares from its arrays: regions that add up or stand alone, counts or cumulative counts."""
    tree, y = problem.hierarchy, problem.target
    n_regions, n_sizes = y.shape
    one, cumulative = sparse.eye_array(n_sizes, format="csr"), problem.view is View.CUMULATIVE
    blocks, right = [], []
    if problem.consistent:
        child = np.arange(1, n_regions)
        sums = sparse.eye_array(tree.n_inner, n_regions, format="csr") - sparse.csr_array(
            (np.ones(n_regions - 1), (tree.parent[1:], child)), (tree.n_inner, n_regions)
        )
        blocks.append(sparse.kron(sums, one, format="csr"))
        right.append(-(sums @ y).ravel())
    totals = problem.region_totals
    assert totals is not None, "a problem of these has public totals"
    known = np.arange(n_regions) if problem.totals is Totals.REGIONS else np.arange(1)
    own = sparse.csr_array((np.ones(len(known)), (np.arange(len(known)), known)), (len(known), n_regions))
    total = np.eye(1, n_sizes, n_sizes - 1) if cumulative else np.ones((1, n_sizes))
    blocks.append(sparse.kron(own, total, format="csr"))
    right.append(totals[known] - (y[known, -1] if cumulative else y[known].sum(axis=1)))
    above, most = sparse.csr_array((0, y.size)), np.zeros(0)
    if cumulative:
        rises = sparse.csr_array(-np.diff(np.eye(n_sizes), axis=0))
        above = sparse.kron(sparse.eye_array(n_regions), rises, format="csr")
        most = np.diff(y, axis=1).ravel().astype(float)
    network = not (cumulative and problem.consistent and tree.n_levels > 2)
    equal, low = sparse.vstack(blocks, format="csr"), -y.ravel().astype(float)
    return HandSquares(equal, np.concatenate(right), above, most, low, network)


def steps(stated: HandSquares) -> HandSteps:
    """Lay unit steps around the relaxed optimum, and one long one beyond them on either side."""
    z = clarabel(stated, 1e-6)
    low = np.maximum(np.floor(z) - RADIUS, stated.low)
    high = np.ceil(z) + RADIUS
    width = (high - low).astype(int)
    cell = np.repeat(np.arange(len(z)), width)
    at = np.repeat(low, width) + np.arange(len(cell)) - np.repeat(np.cumsum(width) - width, width)
    n, k = len(z), len(cell)
    down = np.flatnonzero(low > stated.low)
    columns = np.concatenate([cell, np.arange(n), down])
    signs = np.concatenate([np.ones(k + n), -np.ones(len(down))])
    choose = sparse.csr_array((signs, (columns, np.arange(len(columns)))), (n, len(columns)))
    rows = sparse.vstack([stated.equal, stated.above], format="csr")
    pieces = sparse.csr_array(rows @ choose)
    pieces.sort_indices()
    used, right = rows @ low, np.concatenate([stated.right, stated.most])
    lower = np.concatenate([stated.right, np.full(len(stated.most), -np.inf)])
    return HandSteps(
        np.concatenate([2 * at + 1, 2 * high + 1, 1 - 2 * low[down]]),
        pieces,
        lower - used,
        right - used,
        np.concatenate([np.ones(k), np.full(n, np.inf), low[down] - stated.low[down]]),
        n + len(down),
        stated.network,
        float(low @ low),
    )


def clarabel(stated: HandSquares, near: float = 1e-9) -> np.ndarray:
    solver = load("clarabel")
    settings = solver.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = near
    n, m = len(stated.low), len(stated.right)
    rows = sparse.vstack([stated.equal, stated.above, -sparse.eye_array(n)], format="csc", dtype=float)
    right = np.concatenate([stated.right, stated.most, -stated.low])
    cones = [solver.ZeroConeT(m), solver.NonnegativeConeT(len(right) - m)]
    two = sparse.csc_matrix(2.0 * sparse.eye_array(n, format="csc"))
    found = solver.DefaultSolver(two, np.zeros(n), sparse.csc_matrix(rows), right, cones, settings).solve()
    return np.asarray(found.x)


def piqp(stated: HandSquares) -> np.ndarray:
    solver, n = load("piqp").SparseSolver(), len(stated.low)
    solver.settings.eps_duality_gap_abs = solver.settings.eps_duality_gap_rel = 1e-10
    two, rows = sparse.csc_matrix(2.0 * sparse.eye_array(n, format="csc")), (stated.equal, stated.above)
    equal, above = (sparse.csc_matrix(each, dtype=float) for each in rows)
    right, none = stated.right.astype(float), np.full(len(stated.most), -np.inf)
    solver.setup(two, np.zeros(n), equal, right, above, none, stated.most, stated.low, np.full(n, np.inf))
    solver.solve()
    return solver.result.x


def osqp(stated: HandSquares) -> np.ndarray:
    solver, n = load("osqp").OSQP(), len(stated.low)
    two = sparse.csc_matrix(2.0 * sparse.eye_array(n, format="csc"))
    rows = sparse.csc_matrix(
        sparse.vstack([stated.equal, stated.above, sparse.eye_array(n)], format="csc", dtype=float)
    )
    low = np.concatenate([stated.right, np.full(len(stated.most), -np.inf), stated.low])
    high = np.concatenate([stated.right, stated.most, np.full(n, np.inf)])
    solver.setup(
        two,
        np.zeros(n),
        sparse.csc_matrix(rows),
        low,
        high,
        verbose=False,
        eps_abs=1e-9,
        eps_rel=1e-9,
        max_iter=100_000,
    )
    return solver.solve(raise_error=False).x


def highs(stated: HandSquares) -> float:
    asked, highspy = steps(stated), load("highspy")
    solver, lp = highspy.Highs(), highspy.HighsLp()
    solver.silent()
    lp.num_row_, lp.num_col_ = asked.rows.shape
    lp.col_cost_, lp.col_lower_, lp.col_upper_ = asked.cost, np.zeros(len(asked.cost)), asked.most
    lp.row_lower_, lp.row_upper_ = asked.lower, asked.upper
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    matrix = lp.a_matrix_
    matrix.start_, matrix.index_, matrix.value_ = asked.rows.indptr, asked.rows.indices, asked.rows.data
    solver.passModel(lp)
    solver.run()
    return asked.objective(solver.getSolution().col_value)


def scipy(stated: HandSquares) -> float:
    asked = steps(stated)
    n, bounds = len(stated.right), np.stack([np.zeros(len(asked.cost)), asked.most], axis=1)
    rows: Any = asked.rows
    above = (rows[n:], asked.upper[n:]) if len(stated.most) else (None, None)
    return asked.objective(linprog(asked.cost, *above, rows[:n], asked.upper[:n], bounds, method="highs").x)


def glop(stated: HandSquares) -> float:
    asked = steps(stated)
    mathopt, proto = load("ortools.math_opt.python.mathopt"), load("ortools.math_opt.model_pb2").ModelProto()
    rows, n = sparse.coo_array(asked.rows), len(asked.cost)
    proto.variables.ids.extend(range(n))
    proto.variables.lower_bounds.extend([0.0] * n)
    proto.variables.upper_bounds.extend(asked.most.tolist())
    proto.variables.integers.extend([False] * n)
    proto.objective.linear_coefficients.ids.extend(range(n))
    proto.objective.linear_coefficients.values.extend(asked.cost.tolist())
    proto.linear_constraints.ids.extend(range(len(asked.lower)))
    proto.linear_constraints.lower_bounds.extend(asked.lower.tolist())
    proto.linear_constraints.upper_bounds.extend(asked.upper.tolist())
    proto.linear_constraint_matrix.row_ids.extend(rows.row.tolist())
    proto.linear_constraint_matrix.column_ids.extend(rows.col.tolist())
    proto.linear_constraint_matrix.coefficients.extend(rows.data.tolist())
    model = mathopt.Model.from_model_proto(proto)
    found = mathopt.solve(model, mathopt.SolverType.GLOP)
    return asked.objective(found.variable_values(list(model.variables())))


def scip(stated: HandSquares) -> float:
    asked = steps(stated)
    found = scip_of(asked, "C" if asked.whole else "I")
    return asked.objective(found if np.allclose(found, np.rint(found)) else scip_of(asked, "I"))


def scip_of(asked: HandSteps, kind: str) -> np.ndarray:
    pyscipopt = load("pyscipopt")
    model = pyscipopt.Model()
    model.hideOutput()
    ends = [None if np.isinf(most) else most for most in asked.most.tolist()]
    v = [model.addVar("", kind, 0.0, most, cost) for most, cost in zip(ends, asked.cost.tolist(), strict=True)]
    begins, columns, data = (each.tolist() for each in (asked.rows.indptr, asked.rows.indices, asked.rows.data))
    sides = zip(asked.lower.tolist(), asked.upper.tolist(), strict=True)
    term = [pyscipopt.scip.Term(each) for each in v]
    for i, (low, high) in enumerate(sides):
        part = slice(begins[i], begins[i + 1])
        terms = pyscipopt.scip.Expr({term[j]: a for j, a in zip(columns[part], data[part], strict=True)})
        model.addCons(pyscipopt.scip.ExprCons(terms, None if np.isinf(low) else low, high))
    model.optimize()
    best = model.getBestSol()
    return np.array([best[each] for each in v])


def cp_sat(stated: HandSquares) -> float:
    asked, cp_model = steps(stated), load("ortools.sat.python.cp_model")
    model, solver, most = cp_model.CpModel(), cp_model.CpSolver(), int(np.abs(stated.low).max())
    for end in np.where(np.isinf(asked.most), most, asked.most).astype(int).tolist():
        model.proto.variables.add().domain.extend([0, end])
    begins, columns = asked.rows.indptr.tolist(), asked.rows.indices.tolist()
    data = asked.rows.data.astype(int).tolist()
    lower = np.where(np.isinf(asked.lower), -(2.0**62), asked.lower).astype(int).tolist()
    for i, (low, high) in enumerate(zip(lower, asked.upper.astype(int).tolist(), strict=True)):
        row, part = model.proto.constraints.add().linear, slice(begins[i], begins[i + 1])
        row.vars.extend(columns[part])
        row.coeffs.extend(data[part])
        row.domain.extend([low, high])
    model.proto.objective.vars.extend(range(len(asked.cost)))
    model.proto.objective.coeffs.extend(asked.cost.astype(int).tolist())
    solver.parameters.num_workers = 1
    solver.solve(model)
    return asked.objective(list(solver.response_proto.solution))


INTEGERS: Mapping[str, Callable[[HandSquares], float]] = {
    "highs": highs, "scipy": scipy, "glop": glop, "scip": scip, "cp-sat": cp_sat,
}  # fmt: skip
"""Solvers of steps, by the names that `pgsr.solve` knows."""

REAL: Mapping[str, Callable[[HandSquares], np.ndarray]] = {"clarabel": clarabel, "piqp": piqp, "osqp": osqp}

FEW = ("highs", "scipy", "glop", "clarabel", "piqp")
"""The solvers that are asked about more than a thousand unknowns, which take the others minutes."""


@dataclass(frozen=True)
class HandRow:
    """A row of the record: processor seconds of `pgsr.solve`, with all its proofs, and of the model by hand."""

    problem: str
    solver: str
    unknowns: int
    ours: float
    by_hand: float


def stated(truth: CountOfCounts) -> dict[str, Problem]:
    counts, sums = (Geometric(v, epsilon=1).measure(truth, Seeded("swap")) for v in (View.COUNTS, View.CUMULATIVE))
    return {
        "naive": Problem.naive(counts),
        "M_H": Problem.m_h(counts),
        "M_H, every total": Problem.m_h(counts, totals="regions"),
        "M_c": Problem.m_c(sums),
        "H_c": Problem.isotonic(sums),
    }


def main(folder: Path, say: Callable[[str], None]) -> Path:
    """Measure all solvers at 1,092 unknowns, and the fast ones at 22,365; write `folder`/by_hand.json.

    Raises:
        ArithmeticError: both ways find different objectives.
    """
    rows = []
    for truth, names in ((census_like("states", 20, 30_000), [*INTEGERS, *REAL]), (census_like("counties", 6), FEW)):
        for label, problem in stated(truth).items():
            for name in names:
                asked = problem if name in INTEGERS else problem.relaxed()
                rows.append(row(label, name, asked))
                ratio = rows[-1].ours / rows[-1].by_hand
                say(f"{label:18}{name:10}{asked.n_unknowns:>7,}{rows[-1].by_hand:8.3f} s by hand, {ratio:.2f} times")
    path = folder / FILE
    path.write_text("[\n" + ",\n".join(" " + json.dumps(asdict(one)) for one in rows) + "\n]\n", encoding="utf-8")
    return path


def row(label: str, name: str, asked: Problem) -> HandRow:
    """Measure one solver on one problem, both ways in turn."""
    result = solve(asked, name)
    if name in INTEGERS:
        found = INTEGERS[name](squares(asked))
    else:
        z = REAL[name](squares(asked))
        found = float(z @ z)
    known = result.certificate
    if result.status not in ANSWERED or known is None or not np.isclose(known.objective or 0, found, 1e-5):
        raise ArithmeticError(f"{label} by {name}: {result!r}, by hand {found}")
    by_hand = (INTEGERS | REAL)[name]  # pyright: ignore[reportOperatorIssue]
    ours = seconds(lambda: solve(asked, name))
    return HandRow(label, name, asked.n_unknowns, ours, seconds(lambda: by_hand(squares(asked))))


def read(folder: Path) -> list[Mapping[str, Any]]:
    """Read the record from a folder of published results; no rows where there is none."""
    path = folder / FILE
    return json.loads(path.read_text("utf-8")) if path.exists() else []


def quoted(rows: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Write the record as the table that a page quotes.

    Example:
        >>> one = {"problem": "M_H", "solver": "highs", "unknowns": 1092, "ours": 0.03, "by_hand": 0.025}
        >>> print(quoted([one])["by_hand"])
        | problem | unknowns | highs |
        |---|--:|--:|
        | M_H | 1,092 | 0.025 s, 1.2 |
    """
    rows = list(rows)
    solvers = list(dict.fromkeys(one["solver"] for one in rows))
    cells = {}
    for one in rows:
        times = one["ours"] / one["by_hand"]
        cells[one["unknowns"], one["problem"], one["solver"]] = f"{one['by_hand']:.3f} s, {times:.1f}"
    lines = [f"| problem | unknowns | {' | '.join(solvers)} |", f"|---|--:|{'--:|' * len(solvers)}"]
    for unknowns, problem in dict.fromkeys((one["unknowns"], one["problem"]) for one in rows):
        known = (cells.get((unknowns, problem, solver), "") for solver in solvers)
        lines.append(f"| {problem} | {unknowns:,} |{'|'.join(f' {cell} ' if cell else ' ' for cell in known)}|")
    return {"by_hand": "\n".join(lines)} if rows else {}


def seconds(solve: Callable[[], Any], times: int = 3) -> float:
    """Take the least processor seconds of several calls; one where it takes longer than a second."""
    least = np.inf
    for _ in range(times):
        start = time.process_time()
        solve()
        least = min(least, time.process_time() - start)
        if least > 1:
            break
    return least
