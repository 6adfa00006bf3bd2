"""The dynamic program on cost tables with a constraint program for every value, M_dp^OP."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from pgsr.algorithms.cost_tables.steps import UNFINISHED, Combined, CostTableList
from pgsr.methods.gate import Deadline, Stopped
from pgsr.methods.method import Result, Status
from pgsr.models.optional import load, missing
from pgsr.models.watch import within

LARGEST = 50_000
"""Most table entries in one constraint program. CP-SAT reads a table without a look at the clock: two tables of 200,000
entries take it minutes, whatever its time limit is."""

_LARGEST_COST = 2**60
_MODULE = "ortools.sat.python.cp_model"


@dataclass(frozen=True)
class TableConstraints:
    """Computes phi(v) of the tables by OR-tools' CP-SAT, value by value; a step of `pgsr.algorithms.CostTables`.

        minimise    sum_c cost[c]
        subject to  sum_c x[c] = v,  (x[c], cost[c]) a row of table c.

    It knows nothing of convexity, so it is the general optimiser against which the slopes are measured: one constraint
    program for every region, size and value. `CostTables(step=TableConstraints())` is the paper's M_dp^OP.

    Status of a solve: as `CostTables`; NOT_INSTALLED; TIMED_OUT also inside a constraint program, which is told the
    time that is left.

    Example:
        >>> from pgsr.algorithms import CostTables
        >>> CostTables(step=TableConstraints())
        CostTables(step=TableConstraints())

    Source: Fioretto and Van Hentenryck 2019, section 6, (d1) to (d4), with (d1) as a table constraint.
    """

    def unavailable(self) -> Result | None:
        return missing(_MODULE)

    def combine(self, tables: CostTableList, low: int, high: int, deadline: Deadline) -> Combined:
        cp_model = load(_MODULE)
        if len(tables.costs) > LARGEST:
            reason = f"one constraint program has {len(tables.costs):,} table entries; they are built up to {LARGEST:,}"
            raise Stopped(Status.TOO_LARGE, f"{reason}; give smaller windows")
        if sum(int(np.ptp(table)) for table in tables) > _LARGEST_COST:
            raise Stopped(Status.TOO_LARGE, "costs exceed 2^60, too large for CP-SAT; scale the weights down")
        model, x = _model(cp_model, tables)
        splits = np.empty((high - low + 1, len(tables)), np.int64)
        for row, value in enumerate(range(low, high + 1)):
            splits[row] = _solve(cp_model, model, x, value, deadline)
        costs = tables.costs[tables.start[:-1] + (splits - tables.low)].sum(axis=1)
        return Combined(low, costs, lambda value: splits[value - low])


def _model(cp_model: Any, tables: CostTableList) -> tuple[Any, list[int]]:
    """The constraint program but for the sum, and the positions of the x[c] in it."""
    model = cp_model.CpModel()
    x, paid = [], []
    for c, table in enumerate(tables):
        first = int(tables.low[c])
        costs = (table - table.min()).tolist()
        x.append(model.new_int_var(first, first + len(costs) - 1, f"x{c}"))
        paid.append(model.new_int_var(0, max(costs), f"cost{c}"))
        model.add_allowed_assignments([x[c], paid[c]], list(enumerate(costs, first)))
    model.minimize(cp_model.LinearExpr.sum(paid))
    return model, [variable.index for variable in x]


def _solve(cp_model: Any, model: Any, x: list[int], value: int, deadline: Deadline) -> list[int]:
    program = model.clone()
    unknowns = [program.get_int_var_from_proto_index(index) for index in x]
    program.add(cp_model.LinearExpr.sum(unknowns) == value)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    deadline.check(UNFINISHED)
    left = deadline.left
    if left is not None:
        solver.parameters.max_time_in_seconds = left
    solver.parameters.catch_sigint_signal = False
    status = within(None, lambda: solver.solve(program))
    if status != cp_model.OPTIMAL:
        deadline.check(UNFINISHED)  # it ran out: the usual reason
        if left is not None and status in (cp_model.FEASIBLE, cp_model.UNKNOWN):
            raise Stopped(Status.TIMED_OUT, f"{UNFINISHED} after {deadline.limit:g} s")
        raise Stopped(Status.FAILED, f"CP-SAT ended a feasible constraint program as {solver.status_name(status)}")
    return [solver.value(unknown) for unknown in unknowns]
