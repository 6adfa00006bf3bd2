"""The tools of privacy-preserving group size release: noise, exact post-processing and certificates."""

from typing import TYPE_CHECKING

from pgsr.certificates import Certificate, certify
from pgsr.comparison.comparing import compare
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
    "metrics",
    "overlay",
    "reconcile",
]


def __getattr__(name: str) -> object:
    if name == "reconcile":  # imported when it is used: it brings the algorithms
        from pgsr.reconciling import reconcile

        return reconcile
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
