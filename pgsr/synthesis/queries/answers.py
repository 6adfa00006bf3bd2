"""The exact answers of a population to all queries of a workload."""

from concurrent.futures import ThreadPoolExecutor
from itertools import accumulate

import numpy as np

from pgsr.synthesis.data.domain import Population, SynthesisError
from pgsr.synthesis.queries.workload import Level, Workload, relatives


def counts(population: Population, workload: Workload, weights: np.ndarray | None = None) -> np.ndarray:
    """Count, for every query, the groups, the members, or the members with such a relative that satisfy it.

    A group counts once however many members fit, and all individual conditions are on one and the same member. A person
    counts once per relation however many relatives fit.

    Args:
        population: of the workload's domain.
        workload: Q queries.
        weights: one non-negative number per group, when a row of the population stands for that many groups; its
            members weigh as much.

    Returns:
        Q numbers: int64, or float64 with weights.

    Raises:
        SynthesisError: the population has another domain, or weights of another length or sign.

    Cost: O(marginals * (N_I + N_G)) for groups of bounded size (a group of m members takes up to m^2 steps, and m^3
    for relations); memory for one copy of the codes and Q counts, nothing of the size of marginals x persons.

    Example:
        >>> from pgsr.synthesis import Attribute, Domain, Level, Marginal, Population
        >>> domain = Domain.plain([], [Attribute("sex", ("f", "m"))], max_size=2)
        >>> homes, members = np.empty((2, 0), int), np.array([[0], [0], [1]])  # two women; a man alone
        >>> population = Population(domain, homes, members, np.array([0, 0, 1]), np.zeros(3, int))
        >>> workload = Workload(domain, (Marginal(Level.GROUP, (), (0,)), Marginal(Level.INDIVIDUAL, (), (0,))))
        >>> counts(population, workload), answers(population, workload).round(2)
        (array([1, 1, 2, 1]), array([0.5 , 0.5 , 0.67, 0.33]))

    Source: Liu & Wu 2022, section 3 and tables 1 and 2.
    """
    from pgsr.machine.parallel import SMALL, number_of_threads
    from pgsr.synthesis.queries.answers_kernel import count

    domain = population.domain
    if domain != workload.domain:
        raise SynthesisError("the population and the workload have different domains; make both from one Domain")
    weight = _checked(weights, population.n_groups)
    out = np.zeros(workload.n_queries, weight.dtype)
    tables = (
        _columns(np.column_stack([population.groups, population.sizes - domain.min_size])),
        _columns(population.persons),
        population.role_of.astype(np.int64),
        population.first.astype(np.int64),
        weight,
        np.array([list(Level).index(m.level) for m in workload.marginals]),
        np.array([relatives(domain, m.relation) for m in workload.marginals]),
        *_terms(workload),
        workload.starts,
    )
    numbers = np.arange(len(workload.marginals))
    n_cells = len(numbers) * (population.n_groups + population.n_persons)
    n_threads = 1 if n_cells < SMALL else number_of_threads()
    with ThreadPoolExecutor(n_threads) as pool:  # dealt out in turn, because neighbouring marginals cost about the same
        # Copies, because compiled loops tell strided arrays from others and would be compiled twice.
        parts = [numbers[thread::n_threads].copy() for thread in range(n_threads)]
        for done in [pool.submit(count, *tables, part, out) for part in parts]:
            done.result()
    return out


def answers(population: Population, workload: Workload, weights: np.ndarray | None = None) -> np.ndarray:
    """Compute shares: `counts` divided by the number of groups at group level, by the number of persons otherwise.

    With weights, both numbers are weighted: N_G = sum_g w_g and N_I = sum_g w_g size_g.

    Returns:
        Q numbers in [0, 1], float64.

    Raises:
        SynthesisError: as `counts`; or the population has no groups, no persons or no weight.
    """
    weight = _checked(weights, population.n_groups)
    n_groups, n_persons = weight.sum(), weight @ population.sizes
    if not n_groups > 0 or not n_persons > 0:
        raise SynthesisError("shares need at least one group and one person of positive weight")
    per_marginal = [n_groups if m.level is Level.GROUP else n_persons for m in workload.marginals]
    return counts(population, workload, weights) / np.repeat(per_marginal, np.diff(workload.starts))


def _checked(weights: np.ndarray | None, n_groups: int) -> np.ndarray:
    if weights is None:
        return np.ones(n_groups, np.int64)
    weight = np.ascontiguousarray(weights, np.float64)
    if weight.shape != (n_groups,) or not np.isfinite(weight).all() or (weight < 0).any():
        raise SynthesisError(f"weights of {n_groups:,} groups are as many finite numbers >= 0, one per group")
    return weight


def _columns(table: np.ndarray) -> np.ndarray:
    """Turn a table so that its shape is (attributes, rows), each attribute contiguous in memory."""
    return np.ascontiguousarray(table.T, np.int32)


def _terms(workload: Workload) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """List attribute and stride of every condition of every marginal, and the range of conditions of each marginal."""
    bounds, attribute, stride = [], [], []
    for marginal in workload.marginals:
        parts = (marginal.group, marginal.individual, marginal.relative)
        bounds.append(list(accumulate((len(part) for part in parts), initial=len(attribute))))
        attribute += [number for part in parts for number in part]
        shape = marginal.shape(workload.domain)
        stride += list(accumulate(shape[:0:-1], int.__mul__, initial=1))[::-1][: len(shape)]
    return np.array(bounds), np.array(attribute, np.int64), np.array(stride, np.int64)
