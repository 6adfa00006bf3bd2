"""Privacy-preserving group size release: from a table to noise, exact post-processing and answers side by side.

The front door is here, sixteen names; everything else lives in its room:

| room            | some of its names                                                          |
|-----------------|----------------------------------------------------------------------------|
| `pgsr.noise`      | `Geometric`, `Noise`, `SplitByRoot`, `Measurement`, `Totals`                 |
| `pgsr.privacy`    | `Secure`, `Seeded`, `Rho`, `Approximate`, `Unit`, `Ledger`                   |
| `pgsr.data`       | `Estimate`, `Split`, `stand_in`                                            |
| `pgsr.problems`   | `pgsr.problems.conditions` has `cells`, `total`, `either`                    |
| `pgsr.methods`    | `Mechanism`, `Method`, `PostProcess`, and distances in `metrics`             |
| `pgsr.algorithms` | our exact algorithms; `pgsr.estimators` those that solve no stated problem   |
| `pgsr.models`     | `Gurobi`, `Cvxpy`, `MathOpt` and the other general solvers, with options      |
| `pgsr.comparison` | `overlay`, `Comparison`                                                    |
| `pgsr.intervals`  | `intervals`, `band`: of statistics, as texts                                  |
| `pgsr.release`    | releases as folders, which anybody can check                               |
"""

from importlib import import_module
from typing import TYPE_CHECKING

from pgsr.data import CountOfCounts, Hierarchy, View
from pgsr.errors import PgsrError
from pgsr.machine.extras import installed_version
from pgsr.methods import Result, Status
from pgsr.problems import Problem

if TYPE_CHECKING:
    from pgsr.front import certify, compare, estimate, measure, plan, read, solve, solvers
    from pgsr.reconciling import reconcile

__version__ = installed_version()

__all__ = [
    "CountOfCounts",
    "Hierarchy",
    "PgsrError",
    "Problem",
    "Result",
    "Status",
    "View",
    "certify",
    "compare",
    "estimate",
    "measure",
    "plan",
    "read",
    "reconcile",
    "solve",
    "solvers",
]

_ROOMS = (
    "algorithms", "bounds", "certificates", "comparison", "data", "datasets", "engines", "errors", "estimators",
    "figures", "intervals", "machine", "methods", "models", "nation", "noise", "privacy", "problems", "reconciling",
    "release", "synthesis", "tables",
)  # fmt: skip
"""The rooms, which are imported when they are used."""

_CALLED: dict[str, str] = {
    **dict.fromkeys(("certify", "compare", "estimate", "measure", "plan", "read", "solve", "solvers"), "pgsr.front"),
    "reconcile": "pgsr.reconciling",
}
"""The rooms of functions that are imported when they are used, since they bring the algorithms."""


def __getattr__(name: str) -> object:
    if name in _CALLED:
        return getattr(import_module(_CALLED[name]), name)
    if name in _ROOMS:
        return import_module(f"pgsr.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *_ROOMS})
