"""The tools of privacy-preserving group size release: noise, exact post-processing and certificates."""

from importlib import import_module
from typing import TYPE_CHECKING

from pgsr.certificates import Certificate, certify
from pgsr.comparison.overlay import overlay
from pgsr.comparison.table import Comparison
from pgsr.data.counts import CountOfCounts
from pgsr.data.estimate import Estimate
from pgsr.data.hierarchy import Hierarchy
from pgsr.data.split_view import Split
from pgsr.data.views import View
from pgsr.engines.losses import Huber
from pgsr.errors import PgsrError, ProblemError
from pgsr.machine.version import installed_version
from pgsr.methods import metrics
from pgsr.methods.mechanism import Mechanism
from pgsr.methods.method import Method, PostProcess, Result, Status
from pgsr.noise import Geometric, Noise, SplitByRoot
from pgsr.noise.measurement import Measurement, Totals
from pgsr.privacy.accounting import Approximate, PureEpsilon, Rho
from pgsr.privacy.accounting.spending import Ledger
from pgsr.privacy.budget import Budget
from pgsr.privacy.neighbours import Relation, Unit
from pgsr.privacy.random import Secure, Seeded
from pgsr.problems.problem import Problem

if TYPE_CHECKING:
    from pgsr.front import compare, estimate, measure, read, solve, solvers
    from pgsr.reconciling import reconcile

__version__ = installed_version()

__all__ = [
    "Approximate",
    "Budget",
    "Certificate",
    "Comparison",
    "CountOfCounts",
    "Estimate",
    "Geometric",
    "Hierarchy",
    "Huber",
    "Ledger",
    "Measurement",
    "Mechanism",
    "Method",
    "Noise",
    "PgsrError",
    "PostProcess",
    "Problem",
    "ProblemError",
    "PureEpsilon",
    "Relation",
    "Result",
    "Rho",
    "Secure",
    "Seeded",
    "Split",
    "SplitByRoot",
    "Status",
    "Totals",
    "Unit",
    "View",
    "__version__",
    "certify",
    "compare",
    "estimate",
    "measure",
    "metrics",
    "overlay",
    "read",
    "reconcile",
    "solve",
    "solvers",
]


_CALLED = dict.fromkeys(("compare", "estimate", "measure", "read", "solve", "solvers"), "pgsr.front")
_CALLED["reconcile"] = "pgsr.reconciling"
"""The rooms of functions that are imported when they are used, since they bring the algorithms."""


def __getattr__(name: str) -> object:
    if name in _CALLED:
        return getattr(import_module(_CALLED[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
