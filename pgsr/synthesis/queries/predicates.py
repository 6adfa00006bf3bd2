"""The contribution of each group to one query."""

import numpy as np

from pgsr.synthesis.data.population import Population
from pgsr.synthesis.queries.workload import PAIRS, Level, Workload


def matches(population: Population, workload: Workload, query: int) -> np.ndarray:
    """Compute phi, how much every group of the population counts for a query.

    That is 1 or 0 for a query of groups, and the number of members who satisfy it for one of individuals or relations.

    The sum over all groups is the count of the query.

    Returns:
        One number per group, int64. O(N_G + N_I).

    Example:
        >>> from pgsr.synthesis import Attribute, Domain, Level, Marginal
        >>> domain = Domain.plain([], [Attribute("sex", ("f", "m"))], max_size=2)
        >>> homes, members = np.empty((2, 0), int), np.array([[0], [0], [1]])  # two women; a man alone
        >>> population = Population(domain, homes, members, np.array([0, 0, 1]), np.zeros(3, int))
        >>> matches(population, Workload(domain, (Marginal(Level.INDIVIDUAL, (), (0,)),)), 0)
        array([2, 0])

    Source: Liu & Wu 2022, section 3 and tables 1 and 2.
    """
    number, codes = workload.locate(query)
    marginal, n_groups = workload.marginals[number], population.n_groups
    n_group, n_own = len(marginal.group), len(marginal.individual)
    table = np.column_stack([population.groups, population.sizes - population.domain.min_size])
    fits = (table[:, list(marginal.group)] == codes[:n_group]).all(axis=1)
    own = _satisfying(population, marginal.individual, codes[n_group : n_group + n_own])
    if marginal.relation is not None:
        related = np.zeros_like(own)
        theirs = _satisfying(population, marginal.relative, codes[n_group + n_own :])
        names = [role.name for role in population.domain.roles]
        for mine, other in PAIRS[marginal.relation]:
            relatives = theirs & (population.role_of == names.index(other))
            has_one = np.bincount(population.group_of[relatives], minlength=n_groups) > 0
            related |= (population.role_of == names.index(mine)) & has_one[population.group_of]
        own &= related
    members = np.bincount(population.group_of[own], minlength=n_groups)
    if marginal.level is not Level.GROUP:
        return members * fits
    return (fits & (members > 0)).astype(np.int64) if n_own else fits.astype(np.int64)


def _satisfying(population: Population, attributes: tuple[int, ...], codes: tuple[int, ...]) -> np.ndarray:
    return (population.persons[:, list(attributes)] == codes).all(axis=1)
