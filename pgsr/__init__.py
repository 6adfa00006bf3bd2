"""The tools of privacy-preserving group size release: noise, exact post-processing and certificates."""

from pgsr import metrics
from pgsr.accounting.spending import Ledger
from pgsr.budget import Budget
from pgsr.certificates import Certificate, certify
from pgsr.comparison import compare
from pgsr.comparison_view import Comparison
from pgsr.errors import PgsrError, ProblemError
from pgsr.estimate import Estimate
from pgsr.hierarchy import Hierarchy
from pgsr.histogram import CountOfCounts
from pgsr.looking import overlay
from pgsr.measurement import Measurement, Totals
from pgsr.mechanism import Mechanism
from pgsr.method import Method, PostProcess, Result, Status
from pgsr.noise import Geometric
from pgsr.problem import Problem
from pgsr.random import Secure, Seeded
from pgsr.version import installed_version
from pgsr.views import View
from pgsr.views_by_region import ByGroups

__version__ = installed_version()

__all__ = [
    "Budget",
    "ByGroups",
    "Certificate",
    "Comparison",
    "CountOfCounts",
    "Estimate",
    "Geometric",
    "Hierarchy",
    "Ledger",
    "Measurement",
    "Mechanism",
    "Method",
    "PgsrError",
    "PostProcess",
    "Problem",
    "ProblemError",
    "Result",
    "Secure",
    "Seeded",
    "Status",
    "Totals",
    "View",
    "__version__",
    "certify",
    "compare",
    "metrics",
    "overlay",
]
