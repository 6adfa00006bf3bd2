"""The solvers behind the labels of methods, and the families that have a colour and a mark each in pictures."""

import re
from functools import cache
from importlib.metadata import PackageNotFoundError
from typing import NamedTuple

from pgsr import own_methods
from pgsr.machine.extras import version_of
from pgsr.methods.catalogue import words_of_class

FAMILIES = {
    "pgsr": ("disc", "#111111", "#ffffff"),
    "Gurobi": ("up", "#a8320a", "#f26b3a"),
    "HiGHS": ("square", "#2b5fb0", "#6aa8ff"),
    "SCIP": ("diamond", "#1a9a6b", "#5fe0b5"),
    "OR-tools": ("down", "#bd8600", "#ffd25e"),
    "Clarabel": ("cross", "#a8497f", "#e57fbd"),
    "others": ("bar", "#6f7780", "#a9b2bc"),
}
"""The mark of each, and its colours on white and on #15181c. Every two of the first six differ by 20 (CIE 1976) or more
with normal sight and with deuteranopia, protanopia and tritanopia (Machado 2009); each has a contrast of 3 : 1."""

_SOLVERS = (
    ("gurobi", "Gurobi", "Gurobi", "gurobipy"),
    ("highs|scipy", "HiGHS", "HiGHS", "highspy"),
    ("scip", "SCIP", "SCIP", "pyscipopt"),
    ("glop", "GLOP", "OR-tools", "ortools"),
    ("pdlp", "PDLP", "OR-tools", "ortools"),
    ("cp-?sat", "CP-SAT", "OR-tools", "ortools"),
    ("^flow", "flow", "OR-tools", "ortools"),
    ("clarabel", "Clarabel", "Clarabel", "clarabel"),
)
_ROUTES = {"cvxpy": ("CVXPY", ""), "mathopt": ("OR-tools", "ortools"), "scipy": ("SciPy", "scipy")}


class Solver(NamedTuple):
    """The solver of a run, its family, the package that it came in, and the interface if that is another's."""

    name: str
    family: str
    package: str = ""
    route: str = ""

    @property
    def version(self) -> str:
        """The package with its version; "" if it is not known."""
        try:
            return f"{self.package} {version_of(self.package)}" if self.package else ""
        except PackageNotFoundError:
            return ""


def solver_of(label: str, problem: str) -> Solver:
    """Find the solver that a label in a comparison means; a problem's own name means our algorithm for it.

    Example:
        >>> solver_of("MathOpt('GSCIP')", "M_H")
        Solver(name='SCIP', family='SCIP', package='ortools', route='OR-tools')
        >>> solver_of("TreeProjection()", "M_H").name, solver_of("Cvxpy('OSQP')", "M_H").name
        ('pgsr', 'OSQP')
    """
    if _squeezed(re.split(r"\W", label)[0]) in _own() or label.lower() == problem.lower():
        return Solver("pgsr", "pgsr", "pgsr")
    route, carrier = _ROUTES.get(re.split(r"\W", label.lower())[0], ("", ""))
    for pattern, name, family, package in _SOLVERS:
        if re.search(pattern, label, re.IGNORECASE):
            return Solver(name, family, carrier or package, "" if route == family else route)
    inner = re.search(r"'(\w+)'", label)
    return Solver(inner[1] if inner else label.partition("(")[0], "others", carrier, route)


@cache
def _own() -> frozenset[str]:
    names = (name for entry in own_methods.METHODS for name in (words_of_class(entry.method), entry.name))
    return frozenset(map(_squeezed, ["pgsr", *filter(None, names)]))


def _squeezed(name: str) -> str:
    return name.replace("_", "").lower()
