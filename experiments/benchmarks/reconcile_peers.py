"""The time of making a noisy table add up, beside the quadratic programs and reconcilers that others use for it."""

import datetime
import importlib
import json
import math
import resource
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from rich.console import Console
from scipy import sparse
from scipy.optimize import lsq_linear

from pgsr import reconcile
from pgsr.experiments.engine.tables import print_frame
from pgsr.machine.isolation import run_isolated

ATTEMPTS = 10
"""How often the program of the World Federation of Advertisers asks HiGHS before it asks OSQP."""

TOLERANCE = 0.1
"""By how much that program lets an answer miss its rows, or be negative."""

LEVELS = ("nation", "state", "county", "tract")


@dataclass(frozen=True)
class ReconcilePeer:
    """A row of the table: one method on one table.

    Attributes:
        cells: of the table.
        method: what made it add up.
        seconds: from the table to the answer, without imports and compilation; NaN without an answer.
        off: the largest difference between a cell and the sum of those below it.
        least: the smallest number.
        objective: the distance, relative to the least one of real numbers that add up and are not negative.
        note: what else there is to say.
        times: seconds as a multiple of ours in real numbers.
    """

    cells: int
    method: str
    seconds: float = math.nan
    off: float = math.nan
    least: float = math.nan
    objective: float = math.nan
    note: str = ""
    times: float = math.nan


@dataclass(frozen=True, eq=False)
class Made:
    """A noisy table of four levels: values y, root first, the region above every one, and weights.

    Regions starts[l] .. starts[l + 1] - 1 are those of level l.
    """

    y: np.ndarray
    parent: np.ndarray
    starts: tuple[int, ...]
    w: np.ndarray

    @property
    def table(self) -> pa.Table:
        """The table with a column per level, as anybody may have it."""
        columns: dict[str, Any] = {}
        at = np.arange(len(self.y))
        level = np.searchsorted(self.starts, at, side="right") - 1
        for depth in range(len(LEVELS) - 1, -1, -1):
            there = level >= depth
            columns[LEVELS[depth]] = pa.array(at, mask=~there)
            at = np.where(level == depth, self.parent[at], at)
            level = np.where(level == depth, level - 1, level)
        ordered = {name: columns[name] for name in LEVELS}
        return pa.table({**ordered, "n": self.y, "w": self.w})

    @property
    def sums(self) -> sparse.csr_array:
        """The rows x[parent] - sum of x[children] = 0, one per inner region."""
        n, inner = len(self.y), self.starts[-2]
        rows = np.concatenate([np.arange(inner), self.parent[1:]])
        columns = np.concatenate([np.arange(inner), np.arange(1, n)])
        data = np.concatenate([np.ones(inner), -np.ones(n - 1)])
        return sparse.csr_array((data, (rows, columns)), shape=(inner, n))

    @property
    def leaves(self) -> sparse.csr_array:
        """The matrix that adds leaves up to all regions."""
        n, first = len(self.y), self.starts[-2]
        at, leaf = np.arange(first, n), np.arange(n - first)
        rows, columns = [at], [leaf]
        while at[0] > 0:
            at = self.parent[at]
            rows.append(at)
            columns.append(leaf)
        where = np.concatenate(rows), np.concatenate(columns)
        return sparse.csr_array((np.ones(len(where[0])), where), shape=(n, n - first))

    def judged(self, x: np.ndarray) -> tuple[float, float, float]:
        """Compute the largest difference from sums, the least number, and the distance."""
        return float(np.abs(self.sums @ x).max()), float(x.min()), float((self.w * np.square(x - self.y)).sum())


def made(cells: int) -> Made:
    """Make a table of about so many cells: small counts, whole noise of standard deviation 5, and less above."""
    width = max(2, round(cells ** (1 / 3)))
    fans = width, width, max(1, cells // width**2)
    rng, parents, starts = np.random.default_rng(cells), [np.full(1, -1)], [0, 1]
    for fan in fans:
        parents.append(np.repeat(np.arange(starts[-2], starts[-1]), fan))
        starts.append(starts[-1] + len(parents[-1]))
    parent = np.concatenate(parents)
    x = np.zeros(len(parent))
    x[starts[-2] :] = rng.poisson(rng.exponential(6, starts[-1] - starts[-2]))
    for first, last in zip(starts[-2:0:-1], starts[-1:1:-1], strict=True):
        x += np.bincount(parent[first:last], x[first:last], len(parent))
    level = np.searchsorted(starts, np.arange(len(parent)), side="right") - 1
    w = np.array([4.0, 2.0, 1.0, 1.0])[level]
    return Made(x + np.rint(rng.normal(0, 5 / np.sqrt(w))), parent, tuple(starts), w)


def ours(data: Made, integer: bool) -> tuple[np.ndarray, float, str]:
    """Measure `pgsr.reconcile`, from the table to the table."""
    reconcile(made(200).table, LEVELS, "n", weights="w", integer=integer)
    table = data.table
    start = time.perf_counter()
    done = reconcile(table, LEVELS, "n", weights="w", integer=integer)
    x = done.table["reconciled"].to_numpy()
    return x, time.perf_counter() - start, f"{done.status.value}, solved in {done.result.seconds.total:.3f} s"


def dense_program(data: Made) -> tuple[np.ndarray, float, str]:
    """Measure the dense quadratic program as the advertisers' federation states it: HiGHS ten times, then OSQP.

    All rows are dense, a row of non-negativity per cell among them. An answer is taken whose rows are met to 0.1 and
    that is not below -0.1.
    """
    from qpsolvers import Problem, solve_problem

    start = time.perf_counter()
    n = len(data.y)
    program = Problem(
        np.diag(data.w), -data.w * data.y, -np.eye(n), np.zeros(n), data.sums.toarray(), np.zeros(data.starts[-2])
    )
    for solver, attempts in (("highs", ATTEMPTS), ("osqp", ATTEMPTS)):
        for attempt in range(attempts):
            answer = solve_problem(program, solver=solver, initvals=data.y)
            if answer.found and answer.x is not None and answer.x.min() >= -TOLERANCE:
                return answer.x, time.perf_counter() - start, f"by {solver}, attempt {attempt + 1}"
    return np.full(n, np.nan), time.perf_counter() - start, "no answer that it takes"


def sparse_program(data: Made, solver: str) -> tuple[np.ndarray, float, str]:
    """Measure the same program with sparse matrices, by one solver with its defaults."""
    from qpsolvers import solve_qp

    start = time.perf_counter()
    n, rows = len(data.y), sparse.csc_matrix(data.sums)
    x = solve_qp(
        sparse.csc_matrix(sparse.diags(data.w)),
        -data.w * data.y,
        A=rows,
        b=np.zeros(data.starts[-2]),
        lb=np.zeros(n),
        solver=solver,
    )
    seconds = time.perf_counter() - start
    return (np.full(n, np.nan), seconds, "no answer") if x is None else (x, seconds, "")


def least_squares(data: Made) -> tuple[np.ndarray, float, str]:
    """Measure SciPy's bounded least squares over the leaves."""
    start = time.perf_counter()
    root = np.sqrt(data.w)
    leaves = data.leaves
    found = lsq_linear(sparse.csr_array(sparse.diags_array(root) @ leaves), root * data.y, (0, np.inf))
    return leaves @ found.x, time.perf_counter() - start, found.message


def min_trace(data: Made) -> tuple[np.ndarray, float, str]:
    """Measure hierarchicalforecast's MinTraceSparse, non-negative, with equal weights: it has no others of ours.

    It puts 0 for negative values first.
    """
    try:
        methods = importlib.import_module("hierarchicalforecast.methods")
    except ImportError:
        return np.full(len(data.y), np.nan), math.nan, "hierarchicalforecast is not installed"
    start = time.perf_counter()
    leaves = sparse.csr_matrix(data.leaves)
    found = methods.MinTraceSparse("ols", nonnegative=True).fit_predict(S=leaves, y_hat=data.y[:, None].copy())
    return found["mean"].ravel(), time.perf_counter() - start, "equal weights, so another distance"


METHODS: dict[str, Callable[[Made], tuple[np.ndarray, float, str]]] = {
    "pgsr.reconcile, real numbers": partial(ours, integer=False),
    "pgsr.reconcile, whole numbers": partial(ours, integer=True),
    "dense program, HiGHS then OSQP": dense_program,
    "sparse program, HiGHS": partial(sparse_program, solver="highs"),
    "sparse program, OSQP": partial(sparse_program, solver="osqp"),
    "SciPy lsq_linear": least_squares,
    "MinTraceSparse, non-negative": min_trace,
}
"""The methods, ours first: the others are compared with the first."""


def main(console: Console, out: Path, cells: list[int], limit: float, memory: float) -> None:
    """Run all methods on tables of these sizes, print what they took and write the rows to `out`/<time>.json."""
    rows = []
    for size in cells:
        rows += _rows(size, limit, memory)
        print_frame(console, pd.DataFrame([_shown(row) for row in rows]), "Tables made consistent so far")
    out.mkdir(parents=True, exist_ok=True)
    path = out / f"reconcile-{datetime.datetime.now():%Y-%m-%dT%H-%M-%S}.json"
    path.write_text(json.dumps([asdict(row) for row in rows], indent=1))
    console.print(f"\nrows  {path}", highlight=False)


def _shown(row: ReconcilePeer) -> dict[str, str]:
    """Write a row's numbers as tables have them."""
    forms = {"cells": ",", "seconds": ",.3f", "off": ".0e", "least": ".1g", "objective": ".5f", "times": ",.1f"}
    return {
        name: value if isinstance(value, str) else "" if math.isnan(value) else f"{value:{forms[name]}}"
        for name, value in asdict(row).items()
    }


def _rows(cells: int, limit: float, memory: float) -> Iterator[ReconcilePeer]:
    best = own = math.nan
    for name, method in METHODS.items():
        is_ours = name.startswith("pgsr")
        task = partial(_measured, method, cells, 0 if is_ours else round(memory * 2**30))
        outcome = run_isolated(task, time_limit=10 * limit if is_ours else limit)
        if outcome.error or outcome.timed_out:
            note = f"no answer in {limit:g} s" if outcome.timed_out else outcome.error.splitlines()[-1]
            yield ReconcilePeer(cells, name, note=note)
            continue
        seconds, off, least, distance, note = outcome.value
        if math.isnan(best):
            best, own = distance, seconds
        row = ReconcilePeer(cells, name, seconds, off, least, distance / best, note)
        yield replace(row, times=seconds / own)


def _measured(
    method: Callable[[Made], tuple[np.ndarray, float, str]], cells: int, memory: int
) -> tuple[float, float, float, float, str]:
    """Run a method in this process, with at most so many bytes if that is not 0."""
    data = made(cells)
    if memory:
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    x, seconds, note = method(data)
    return seconds, *data.judged(np.asarray(x, float)), note
