"""One problem in integers by several formulations: columns, seconds and proof of each, which a page quotes."""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pgsr import Problem, View
from pgsr.datasets import census_like
from pgsr.methods import Method
from pgsr.methods.toys import toy_of
from pgsr.models import CpSat, Flow, Gurobi, MathOpt, Scip, Scipy, Squares
from pgsr.models.formulate import formulate
from pgsr.noise import Geometric
from pgsr.privacy import Seeded

FILE = "formulations.json"

LIMIT = 60.0
"""The seconds that a solver may take."""

SQUARES, STEPS, WINDOW, NETWORK = "squares", "all unit steps", "window of steps", "network"

ASKED: tuple[tuple[str, Method], ...] = (
    (SQUARES, Scip(squares=Squares.QUADRATIC)),
    (SQUARES, MathOpt("GSCIP", squares=Squares.QUADRATIC)),
    (SQUARES, Gurobi(squares=Squares.QUADRATIC)),
    *((WINDOW, method) for method in (Scipy(), MathOpt("GLOP"), Gurobi(), MathOpt("GSCIP"), Scip(), CpSat())),
    (NETWORK, Flow()),
)


@dataclass(frozen=True)
class FormulationRow:
    """A row of the record; `method` is "" of a program that is too large to be built, whose columns are counted."""

    form: str
    method: str
    columns: str
    seconds: float
    status: str


def stated() -> Problem:
    """State M_H of 61 regions and 21 sizes, 30,000 households."""
    truth = census_like("divisions", 20, 30_000)
    return Problem.m_h(Geometric(View.COUNTS, epsilon=1).measure(truth, Seeded("swap")))


def main(folder: Path, say: Callable[[str], None], limit: float = LIMIT) -> Path:
    """Ask every solver for every form that it takes; write `folder`/formulations.json."""
    problem = stated()
    toy = toy_of(problem)
    assert isinstance(toy, Problem)
    every_step = int(np.subtract(*formulate(problem).reach[::-1]).sum())
    rows = [FormulationRow(STEPS, "", f"{every_step:,}", 0.0, "")]
    for form, method in ASKED:
        method.solve(toy)  # imports and compilation
        result = method.solve(problem, limit)
        columns = re.search(r"([\d,]+) columns", result.form)
        name = re.sub(r"(, )?squares=Squares\.\w+", "", repr(method))
        rows.append(FormulationRow(form, name, columns[1] if columns else "", result.seconds.total, result.status.name))
        say(f"{form:16} {name:20} {rows[-1].columns:>8} {rows[-1].seconds:8.2f} s  {rows[-1].status}")
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / FILE
    path.write_text("[\n" + ",\n".join(" " + json.dumps(asdict(row)) for row in rows) + "\n]\n", encoding="utf-8")
    return path


def read(folder: Path) -> list[Mapping[str, Any]]:
    """Read the record from a folder of published results; no rows where there is none."""
    path = folder / FILE
    return json.loads(path.read_text("utf-8")) if path.exists() else []


def quoted(rows: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Write the record as the table that a page quotes.

    Example:
        >>> row = {"form": "squares", "method": "X()", "columns": "9", "seconds": 60.2, "status": "FEASIBLE"}
        >>> print(quoted([row])["formulations"].splitlines()[-1])
        | squares | `X()` | 9 | 60 s | FEASIBLE |
    """
    rows = sorted(rows, key=lambda row: (SQUARES, STEPS, WINDOW, NETWORK).index(row["form"]))
    lines = ["| form | method | columns | time | status |", "|---|---|--:|--:|---|"]
    said = ""
    for row in rows:
        method, time = (f"`{row['method']}`", _seconds(row["seconds"])) if row["method"] else ("", "")
        form = row["form"] if row["form"] != said else ""
        cells = form, method, row["columns"], time, row["status"] or "not built"
        lines.append(f"|{'|'.join(f' {cell} ' if cell else ' ' for cell in cells)}|")
        said = row["form"]
    return {"formulations": "\n".join(lines)} if rows else {}


def _seconds(value: float) -> str:
    return f"{value:.0f} s" if value >= 10 else f"{value:.1f} s" if value >= 1 else f"{value:.2f} s"
