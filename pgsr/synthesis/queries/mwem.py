"""The method MWEM: one probability per type of group of an explicit universe, changed by multiplicative weights.

Exact as far as the domain is small; the universe grows exponentially with the largest size of a group.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from pgsr.checks import member_of
from pgsr.synthesis.data.domain import Population, SynthesisError, require_whole
from pgsr.synthesis.queries.answers import answers
from pgsr.synthesis.queries.transcript import MeasuredQuery
from pgsr.synthesis.queries.universe import MOST_TYPES, TypeDistribution, Universe
from pgsr.synthesis.queries.workload import Level, Workload, relatives


class Update(StrEnum):
    """The rule by which a share of individuals q(A) = <phi, A> / <size, A> is moved towards its measurement a.

    LITERAL: weight phi / M and error a - q(A), as the paper prints it. The ratio is not linear in A, so that a step can
        move q(A) away from a, and many of them can end at a wrong answer.
    LINEARISED: weight (phi - a size) / M, a linear query with answer 0 exactly where q(A) = a.
    """

    LITERAL = "literal"
    LINEARISED = "linearised"


class Output(StrEnum):
    """The distribution that is returned: the average of the distributions after each round, or the last one."""

    AVERAGE = "average"
    LAST = "last"


@dataclass(frozen=True)
class MWEM:
    """The method of multiplicative weights over all types of groups; rounds reuse measurements that are still off.

    A starts as the share of the ordered universe that each type stands for (`Universe`). A round with measurements
    (q_i, a_i) applies, for the `iterations` largest errors among those above half of the largest,

        A(x) <- A(x) exp(w_i(x) (a_i - q_i(A)) / 2) / Z,

    with q_i(A) recomputed before each factor. At group level w_i is 1 on types that satisfy the query; below, `Update`
    says what it is.

    Args:
        iterations: gamma, most factors per pass; steps are small, and with few of them A lags behind.
        passes: passes per round; the paper has one. About 30 bring A near the measurements, at 30 times the cost.
        update: rule for shares of individuals, relations included; the paper's is `Update.LITERAL`.
        output: which distribution is handed out. The average, the paper's, keeps a part of the uniform start.
        max_types: largest universe to build; every type takes part in every query of every round.

    Example:
        >>> from pgsr.synthesis import Attribute, Domain, Workload
        >>> workload = Workload.k_way(Domain.plain([], [Attribute("sex", ("f", "m"))], max_size=2), k=1)
        >>> estimator = MWEM(iterations=5).start(workload, n_groups=100, n_persons=150, seed=0)
        >>> workload.describe(0), round(float(estimator.answers()[0]), 6)  # 2 ordered groups of one, and 4 of two
        ('groups with COUNT=1', 0.333333)
        >>> for _ in range(300):
        ...     estimator.update([MeasuredQuery(0, 0.5)])
        >>> round(float(estimator.answers()[0]), 6)
        0.5

    Source: Liu & Wu 2022, algorithms 4 and 5; the linearised rule and the multisets are ours.
    """

    iterations: int = 100
    update: Update = Update.LINEARISED
    output: Output = Output.LAST
    passes: int = 1
    max_types: int = MOST_TYPES

    def __post_init__(self) -> None:
        object.__setattr__(self, "update", member_of(Update, self.update, "update", SynthesisError))
        object.__setattr__(self, "output", member_of(Output, self.output, "output", SynthesisError))
        require_whole(iterations=self.iterations, passes=self.passes, max_types=self.max_types)

    def start(self, workload: Workload, n_groups: int, n_persons: int, seed: int) -> "MWEMEstimator":
        """Start from the uniform distribution. MWEM is deterministic: only the workload is used.

        Raises:
            MemoryNeededError: the universe is too large.
        """
        del n_groups, n_persons, seed
        return MWEMEstimator(self, workload, Universe.of(workload.domain, self.max_types))


class MWEMEstimator:
    """The state of one run: the distribution A, the sum of A over rounds, and O(types) numbers per measured query."""

    def __init__(self, settings: MWEM, workload: Workload, universe: Universe) -> None:
        self._settings = settings
        self._workload = workload
        self._types = universe.types
        self._sizes = universe.types.sizes
        self._current = universe.prior
        self._sum, self._rounds = np.zeros(len(self._current)), 0
        self._answers: np.ndarray | None = None
        self._matches: dict[int, np.ndarray] = {}

    def answers(self) -> np.ndarray:
        """Compute the shares of all queries under A, shape (queries,)."""
        if self._answers is None:
            self._answers = answers(self._types, self._workload, self._current)
        return self._answers

    def update(self, measured: Sequence[MeasuredQuery]) -> None:
        """Do one round of updates with all measurements so far."""
        found = self.answers()[[m.query for m in measured]] if measured else np.zeros(0)
        values = np.array([m.value for m in measured])
        for further in range(self._settings.passes):
            if further:
                found = np.array([self._share(m.query) for m in measured])
            errors = np.abs(found - values)
            largest_first = np.argsort(-errors, kind="stable")[: self._settings.iterations]
            for i in largest_first[errors[largest_first] > errors.max(initial=0) / 2]:
                self._current = self._factor(measured[i])
        self._answers = None
        self._sum, self._rounds = self._sum + self._current, self._rounds + 1

    def distribution(self) -> TypeDistribution:
        """Make the distribution that `Output` names; before the first round, the uniform distribution."""
        if self._rounds == 0 or self._settings.output is Output.LAST:
            return TypeDistribution(self._types, self._current)
        return TypeDistribution(self._types, self._sum / self._rounds)

    def _phi(self, query: int) -> np.ndarray:
        """How much every type counts for a query."""
        if query not in self._matches:
            phi = matches(self._types, self._workload, query)
            self._matches[query] = phi.astype(np.min_scalar_type(self._types.domain.max_size))
        return self._matches[query].astype(float)

    def _of_groups(self, query: int) -> bool:
        return self._workload.marginals[self._workload.locate(query)[0]].level is Level.GROUP

    def _share(self, query: int) -> float:
        """Compute the share of one query under A."""
        weight = float(self._current @ self._phi(query))
        return weight if self._of_groups(query) else weight / float(self._current @ self._sizes)

    def _factor(self, measured: MeasuredQuery) -> np.ndarray:
        phi = self._phi(measured.query)
        if self._of_groups(measured.query):
            return group_step(self._current, phi, measured.value)
        sizes, max_size = self._sizes, self._types.domain.max_size
        return individual_step(self._current, phi, sizes, max_size, measured.value, self._settings.update)


def group_step(current: np.ndarray, phi: np.ndarray, value: float) -> np.ndarray:
    """Compute the factor exp(phi(x) (a - <phi, A>) / 2) by which a share of groups changes A(x).

    Args:
        current: A, shape (types,).
        phi: 1 where a type satisfies the query, else 0.
        value: a.

    Example:
        >>> group_step(np.array([0.5, 0.5]), np.array([1.0, 0.0]), 0.9).round(4)
        array([0.5498, 0.4502])
    """
    return _tilted(current, phi * ((value - current @ phi) / 2))


def individual_step(
    current: np.ndarray, phi: np.ndarray, sizes: np.ndarray, max_size: int, value: float, update: Update
) -> np.ndarray:
    """Compute the factor by which a share of individuals changes A, by either rule of `Update`.

    Args:
        current: A, shape (types,).
        phi: how many members of each type satisfy the query.
        sizes: how many members each type has.
        max_size: M.
        value: a.

    Example:
        >>> phi, sizes = np.array([1, 2]), np.array([1, 3])  # q(A) = 1.5 / 2, and a = 0.85
        >>> for rule in Update:
        ...     after = individual_step(np.array([0.5, 0.5]), phi, sizes, 3, 0.85, rule)
        ...     print(rule, round(float(after @ phi / (after @ sizes)), 6))
        literal 0.748963
        linearised 0.750487
    """
    if update is Update.LITERAL:
        return _tilted(current, phi * ((value - (current @ phi) / (current @ sizes)) / (2 * max_size)))
    weight = (phi - value * sizes) / max_size
    return _tilted(current, weight * (-(current @ weight) / 2))


def _tilted(current: np.ndarray, exponent: np.ndarray) -> np.ndarray:
    changed = current * np.exp(exponent)
    return changed / changed.sum()


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
        for mine, other in np.argwhere(relatives(population.domain, marginal.relation)):
            fitting = theirs & (population.role_of == other)
            has_one = np.bincount(population.group_of[fitting], minlength=n_groups) > 0
            related |= (population.role_of == mine) & has_one[population.group_of]
        own &= related
    members = np.bincount(population.group_of[own], minlength=n_groups)
    if marginal.level is not Level.GROUP:
        return members * fits
    return (fits & (members > 0)).astype(np.int64) if n_own else fits.astype(np.int64)


def _satisfying(population: Population, attributes: tuple[int, ...], codes: tuple[int, ...]) -> np.ndarray:
    return (population.persons[:, list(attributes)] == codes).all(axis=1)
