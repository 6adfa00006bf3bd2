"""The file of a trap: its program by names, its optimum, and a proof by cases and prices, checked as it is made."""

import itertools
import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import linprog

from pgsr import Problem
from pgsr.algorithms import TreeProjection
from pgsr.errors import PgsrError
from pgsr.experiments.lib.traps import verify_trap
from pgsr.experiments.lib.traps.problems import Trap
from pgsr.models import MathOpt
from pgsr.models.program import SolverProgram
from pgsr.problems.conditions.expressions import Condition
from pgsr.problems.programs.formulation import NamedProgram, named

UNIT = 2
"""Prices are looked for among multiples of 1 / UNIT; where all is whole, whole ones prove it."""


class NotProvedError(PgsrError):
    """No prices were found that prove a case."""


@dataclass(frozen=True, eq=False)
class _Case:
    """A case of a proof: the values of unknowns that it fixes, and a best point in it."""

    point: dict[str, Fraction]
    box: dict[str, tuple[Fraction | None, Fraction | None]]


def build(trap: Trap, folder: Path) -> dict[str, Any]:
    """Write NAME.json and, for solvers that read it, NAME.mps of a problem; give what the file says.

    Raises:
        Refused: the proof does not hold, which would be a mistake of ours.
        NotProvedError: a case has no prices.
    """
    stated = of_program(trap) if trap.program is not None else _of_problem(trap)
    verify_trap.verify(stated)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{trap.name}.json").write_text(json.dumps(stated, indent=1) + "\n")
    if trap.base is not None:
        trap.problem().write(folder / f"{trap.name}.mps", shifted=True)
    shutil.copyfile(verify_trap.__file__, folder / "verify_trap.py")
    return stated


def of_program(trap: Trap) -> dict[str, Any]:
    """State a bare program of two unknowns z, x, whose relaxation is tight: its own linear program proves it."""
    program = trap.program
    assert program is not None
    names = ("z", "x")
    stated = {
        "name": trap.name,
        "about": trap.about,
        "constant": "0",
        "unknowns": {
            name: _unknown(0, program.linear[j], program.lower[j], program.upper[j], bool(program.integer[j]))
            for j, name in enumerate(names)
        },
        "rows": _rows_of(program, names),
    }
    x = {"z": Fraction(0), "x": Fraction(9, 2)}
    return _with_proof(stated, [_Case(x, _box(stated))], lambda cases: _priced(stated, cases[0]))


def _of_problem(trap: Trap) -> dict[str, Any]:
    """State a problem with its choices, and go through all ways to choose."""
    problem = trap.problem()
    program = named(problem)
    stated = {"name": trap.name, "about": trap.about, **_program(program)}
    chosen = [name for name in stated["unknowns"] if name.startswith("choice[")]
    groups = [chosen[start : start + 2] for start in range(0, len(chosen), 2)]
    assert len(groups) == len(trap.choices)
    assert all(len(choice) == 2 for choice in trap.choices)
    whole = _box(stated)
    cases: dict[tuple[int, ...], _Case] = {}
    for picks in product((0, 1), repeat=len(groups)):
        conditions: list[Condition] = [c for choice, k in zip(trap.choices, picks, strict=True) for c in choice[k]]
        assert trap.base is not None
        point = _best_point(trap.base.where(*conditions), program)
        for group, k in zip(groups, picks, strict=True):
            point |= {name: Fraction(int(place == k)) for place, name in enumerate(group)}
        fixed = {name: (point[name], point[name]) for name in chosen}
        cases[picks] = _Case(point, whole | fixed)

    def tree(picks: tuple[int, ...] = ()) -> dict[str, Any]:
        """Take the first alternative, else the second alone; with neither the row that asks for one is broken."""
        if len(picks) == len(groups):
            return _priced(stated, cases[picks])
        first, second = groups[len(picks)]
        row = next(name for name, row in stated["rows"].items() if set(row["terms"]) == {first, second})
        best = min(verify_trap.objective(stated, case.point) for case in cases.values())
        neither = {"prices": {row: str(-4 * int(best) - 4)}}
        without = {"split": second, "at": "0", "below": neither, "above": tree((*picks, 1))}
        return {"split": first, "at": "0", "below": without, "above": tree((*picks, 0))}

    return _with_proof(stated, list(cases.values()), lambda _: tree())


def _with_proof(stated: dict[str, Any], cases: list[_Case], proof: Any) -> dict[str, Any]:
    best = min(cases, key=lambda case: verify_trap.objective(stated, case.point)).point
    value = verify_trap.objective(stated, best)
    return {
        **stated,
        "optimum": str(value),
        "solution": {name: str(x) for name, x in best.items()},
        "proof": proof(cases),
    }


def _best_point(problem: Problem, program: NamedProgram) -> dict[str, Fraction]:
    """A best point of a case, by a solver; that it is best is what its prices prove."""
    method = TreeProjection() if problem.norm == 2 else MathOpt("HIGHS")
    result = method.solve(problem, 60.0)
    x = [Fraction(int(value)) for value in result.estimate.values.ravel()]
    names = program.variables.texts()
    point = dict(zip(names, x, strict=False))
    off = [a - Fraction(int(b)) for a, b in zip(x, problem.cells, strict=True)]
    for name in names[len(x) :]:
        if name.startswith(("up[", "down[")):
            d = off[names.index(f"x[{name.partition('[')[2]}")]
            point[name] = max(d if name.startswith("up[") else -d, Fraction(0))
    return point


def _priced(stated: dict[str, Any], case: _Case) -> dict[str, Any]:
    """Find prices that make the point the minimum of every unknown by itself; only rows that it meets have any.

    Raises:
        NotProvedError: there are none.
    """
    rows, unknowns = stated["rows"], stated["unknowns"]
    tight: list[tuple[str, float, float]] = []
    for name, row in rows.items():
        value = sum(Fraction(factor) * case.point[which] for which, factor in row["terms"].items())
        at_least, at_most = value == verify_trap.number(row["least"]), value == verify_trap.number(row["most"])
        if at_least or at_most:
            tight.append((name, -np.inf if at_most else 0.0, np.inf if at_least else 0.0))
    pulls = np.zeros((len(unknowns), len(tight)))
    place = {name: j for j, name in enumerate(unknowns)}
    for i, (name, _, _) in enumerate(tight):
        for which, factor in rows[name]["terms"].items():
            pulls[place[which], i] = float(factor)
    above, below = [], []
    for name, one in unknowns.items():
        x, (low, high) = case.point[name], case.box[name]
        square, linear = Fraction(one["squares"]), Fraction(one["linear"])
        step = Fraction(int(one["integer"]))
        above.append(float(2 * square * x + linear + square * step) if high is None or x < high else np.inf)
        below.append(float(2 * square * x + linear - square * step) if low is None or x > low else -np.inf)
    prices = _between(pulls, below, above, [(low, high) for _, low, high in tight])
    if prices is None:
        raise NotProvedError(f"a case of {stated['name']} has no prices")
    proof = {"prices": {name: str(price) for (name, _, _), price in zip(tight, prices, strict=True) if price}}
    if verify_trap.bound(stated, proof, case.box) != verify_trap.objective(stated, case.point):
        raise NotProvedError(f"rounded prices do not prove a case of {stated['name']}")
    return proof


def _between(
    pulls: np.ndarray, below: list[float], above: list[float], signs: list[tuple[float, float]]
) -> list[Fraction] | None:
    """Find prices whose pulls lie between; a second program corrects, in small numbers, what the first rounded."""
    a = np.concatenate([pulls, -pulls])
    b = np.concatenate([above, -np.array(below)])
    kept = np.isfinite(b)
    a, b = a[kept], b[kept]
    prices, lower, upper = np.zeros(pulls.shape[1]), *(np.array(side) for side in zip(*signs, strict=True))
    for scale in (max(1.0, float(np.abs(b).max(initial=1.0))), 1.0):
        rest = b - a @ prices
        bounds = list(zip((lower - prices) / scale, (upper - prices) / scale, strict=True))
        found = linprog(np.zeros(len(prices)), a, rest / scale, bounds=bounds)
        if found.x is None:
            return None
        prices = np.round((prices + found.x * scale) * UNIT) / UNIT
    return [Fraction(price) for price in prices.tolist()]


def _program(program: NamedProgram) -> dict[str, Any]:
    names, matrix = program.variables.texts(), program.matrix.tocsr()
    unknowns = {
        name: _unknown(
            program.quadratic[j], program.linear[j], program.lower[j], program.upper[j], bool(program.integer[j])
        )
        for j, name in enumerate(names)
    }
    rows = {}
    for i, name in enumerate(program.rows.texts()):
        part = slice(matrix.indptr[i], matrix.indptr[i + 1])
        terms = {names[j]: _text(v) for j, v in zip(matrix.indices[part], matrix.data[part], strict=True) if v}
        rows[name] = {"terms": terms, "least": _text(program.row_lower[i]), "most": _text(program.row_upper[i])}
    return {"constant": str(program.constant), "unknowns": unknowns, "rows": rows}


def _rows_of(program: SolverProgram, names: tuple[str, ...]) -> dict[str, Any]:
    """The rows `terms <= right` of a bare program, from below: minus the terms are at least minus the right."""
    matrix, rights = program.rows.matrix, program.rows.upper
    parts = [slice(int(start), int(stop)) for start, stop in itertools.pairwise(matrix.indptr)]
    return {
        f"row {i + 1}": {
            "terms": {names[j]: _text(-v) for j, v in zip(matrix.indices[part], matrix.data[part], strict=True)},
            "least": _text(-right),
            "most": None,
        }
        for i, (part, right) in enumerate(zip(parts, rights, strict=True))
    }


def _unknown(square: Any, linear: Any, low: Any, high: Any, whole: bool) -> dict[str, Any]:
    return {
        "squares": _text(square),
        "linear": _text(linear),
        "lower": _text(low),
        "upper": _text(high),
        "integer": whole,
    }


def _text(value: Any) -> str | None:
    return str(Fraction(float(value)) if float(value) == value else value) if np.isfinite(float(value)) else None


def _box(stated: Mapping[str, Any]) -> dict[str, tuple[Fraction | None, Fraction | None]]:
    number = verify_trap.number
    return {name: (number(one["lower"]), number(one["upper"])) for name, one in stated["unknowns"].items()}
