"""Household-and-person synthetic data: HPD-Fixed, HPD-Gen and MWEM (Liu & Wu 2022)."""

from pgsr.synthesis.domain import COUNT, Attribute, Domain, Role, SynthesisError
from pgsr.synthesis.population import Population
from pgsr.synthesis.queries import Level, Marginal, Relation, Workload

__all__ = [
    "COUNT",
    "Attribute",
    "Domain",
    "Level",
    "Marginal",
    "Population",
    "Relation",
    "Role",
    "SynthesisError",
    "Workload",
]
