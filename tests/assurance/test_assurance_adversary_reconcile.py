"""`pgsr.reconcile` on tables that were changed so that the nearest numbers are known, in exact fractions."""

from fractions import Fraction

import numpy as np
import pytest
from instances import scale
from known_errors import OF_RECONCILE, OF_RECONCILE_BY_SOLVERS
from plain_tables import Table, named, tables

from pgsr import PgsrError, Status, reconcile
from pgsr.errors import NoEstimateError
from pgsr.models import Cvxpy, Gurobi
from pgsr.problems.conditions import total

CHANGES = named()
NEAR = Fraction(1, 10**6)
"""How far a distance that is called least may be above it: relative to it, or to what the lightest row adds."""

ALWAYS = ("rows_permuted", "regions_renamed", "measured_twice", "parent_of_one_child", "equal_parts")
"""Changes after which no refusal is allowed."""


def by_name(expected: dict[str, str]) -> list:
    return [
        pytest.param(name, marks=pytest.mark.xfail(strict=True, reason=expected[name]) if name in expected else ())
        for name in CHANGES
    ]


def mistake(table: Table, unit: Fraction, may_refuse: bool, **options) -> str | None:
    """What is wrong in the answer to a table, or None."""
    try:
        done = reconcile(
            table.columns(),
            table.hierarchy(),
            "n",
            weights="w",
            integer=table.integer,
            nonnegative=table.nonnegative,
            **options,
        )
    except PgsrError as refused:
        silent = may_refuse and not isinstance(refused, NoEstimateError)
        return None if silent else f"refused: {refused}"
    numbers = np.asarray(done.table["reconciled"]).tolist()
    answer = {path: Fraction(x) for (path, _, _), x in zip(table.rows, numbers, strict=True)}
    size = max(1 * unit, *(abs(x) for x in answer.values()))
    for path, x in answer.items():
        below = sum(answer[leaf] for leaf in table.leaves if leaf[: len(path)] == path)
        if abs(x - below) > (0 if table.integer else size / 10**9):
            return f"{path} has {float(x)}, its parts {float(below)}"
        if table.nonnegative and x < -unit / 10**6:
            return f"{path} has {float(x)}"
    have, best = table.distance(lambda leaf: answer[leaf]), table.optimum()
    lightest = min(w for _, _, w in table.rows) * unit**2
    room = 0 if table.integer else NEAR * max(best, lightest)
    if have < best - NEAR * max(best, lightest):
        return f"{float(have)} is below the least distance {float(best)}"
    if done.status is Status.OPTIMAL and have > best + room:
        return f"OPTIMAL at {float(have):.12g}, the least distance is {float(best):.12g}"
    return None


def mistakes(name: str, **options) -> tuple[list[str], int]:
    change, k = CHANGES[name]
    out, checked = [], 0
    for seed in range(scale(2, 6)):
        for kind, table in tables(seed).items():
            changed = change(table, k)
            if changed is None:
                continue
            wrong = mistake(changed.table, changed.unit, name not in ALWAYS, **options)
            out += [] if wrong is None else [f"{kind}, seed {seed}: {wrong}"]
            checked += 1
    return out, checked


@pytest.mark.parametrize("name", by_name(OF_RECONCILE))
def test_answers_are_nearest_after_every_change(name, counted):
    found, checked = mistakes(name)
    assert not found, "\n".join(found)
    counted(checked, "changed tables")


@pytest.mark.few(3)
@pytest.mark.parametrize("name", by_name(OF_RECONCILE))
def test_a_row_that_holds_changes_nothing(name, counted):
    """A total of any size from 0 on says nothing new; with any signs from -10^12 on."""
    change, k = CHANGES[name]
    found, checked = [], 0
    for kind, table in tables(0).items():
        changed = change(table, k)
        if changed is None or not table.nonnegative:
            continue
        root = next(path for path, _, _ in changed.table.rows if len(path) == 1)
        wrong = mistake(changed.table, changed.unit, True, where=total(root) >= 0)
        found += [] if wrong is None else [f"{kind}: {wrong}"]
        checked += 1
    assert not found, "\n".join(found)
    if checked:
        counted(checked, "changed tables")


@pytest.mark.slow
@pytest.mark.few(2)
@pytest.mark.parametrize("name", by_name(OF_RECONCILE_BY_SOLVERS))
@pytest.mark.parametrize("method", [Cvxpy("CLARABEL"), Gurobi()], ids=repr)
def test_solvers_are_never_wrong(name, method):
    change, k = CHANGES[name]
    for kind, table in tables(1).items():
        changed = None if table.integer else change(table, k)
        if changed is None:
            continue
        try:
            wrong = mistake(changed.table, changed.unit, True, method=method)
        except NoEstimateError:
            continue
        assert wrong is None or wrong.startswith("refused"), f"{kind}: {wrong}"


@pytest.mark.few(2)
@pytest.mark.parametrize("name", CHANGES)
def test_changes_move_the_least_distance_as_they_say(name):
    change, k = CHANGES[name]
    for seed in range(2):
        for table in tables(seed).values():
            changed = change(table, k)
            if changed is not None and changed.times:
                assert changed.table.optimum() == table.optimum() * changed.times
