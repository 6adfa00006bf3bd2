"""Certificates."""

from pgsr.certificates.certificate import (
    CHAIN,
    EXCHANGE_TEST,
    MULTIPLIERS,
    POTENTIALS,
    Certificate,
    certify,
    is_decided,
    objective,
    violations,
)
from pgsr.certificates.conditions import broken_conditions
from pgsr.certificates.exchange import is_exchange_optimal
from pgsr.certificates.lagrangian import lagrangian_bound
from pgsr.certificates.multipliers import Multipliers
from pgsr.certificates.regions_alone import (
    is_region_exchange_optimal,
    is_simplex_problem,
    isotonic_bound,
    isotonic_is_optimal,
    simplex_bound,
)

__all__ = [
    "CHAIN",
    "EXCHANGE_TEST",
    "MULTIPLIERS",
    "POTENTIALS",
    "Certificate",
    "Multipliers",
    "broken_conditions",
    "certify",
    "is_decided",
    "is_exchange_optimal",
    "is_region_exchange_optimal",
    "is_simplex_problem",
    "isotonic_bound",
    "isotonic_is_optimal",
    "lagrangian_bound",
    "objective",
    "simplex_bound",
    "violations",
]
