"""The result of MWEM: a probability for every type of group of a domain."""

from dataclasses import dataclass

import numpy as np

from pgsr.synthesis.data.checks import require_whole
from pgsr.synthesis.data.domain import Domain, SynthesisError
from pgsr.synthesis.data.population import Population
from pgsr.synthesis.queries.answers import answers
from pgsr.synthesis.queries.workload import Workload


@dataclass(frozen=True, eq=False)
class TypeDistribution:
    """A distribution A over the types of a universe; the members of a role are in random order within a type.

    Attributes:
        types: one group per type, as in `Universe`.
        probabilities: A, one per type.

    Example:
        >>> from pgsr.synthesis import Attribute, Domain
        >>> from pgsr.synthesis.queries.universe import Universe
        >>> universe = Universe.of(Domain.plain([], [Attribute("sex", ("f", "m"))], max_size=2))
        >>> TypeDistribution(universe.types, universe.prior).sample(1_000, seed=0).n_groups
        1000
    """

    types: Population
    probabilities: np.ndarray

    def __post_init__(self) -> None:
        a = np.asarray(self.probabilities, np.float64)
        if a.shape != (self.types.n_groups,) or not (a >= 0).all() or abs(a.sum() - 1) > 1e-9:
            raise SynthesisError(f"a distribution over {self.types.n_groups:,} types is as many shares that sum to 1")
        object.__setattr__(self, "probabilities", a)

    @property
    def domain(self) -> Domain:
        return self.types.domain

    def __repr__(self) -> str:
        return f"TypeDistribution({self.types.n_groups:,} types)"

    def answers(self, workload: Workload) -> np.ndarray:
        """Compute the shares of all queries: <phi, A> of groups, <phi, A> / <size, A> of individuals."""
        return answers(self.types, workload, self.probabilities)

    def sample(self, n_groups: int, seed: int) -> Population:
        """Draw independent groups, the members of each role in random order, in O(types + persons log persons) time."""
        require_whole(n_groups=n_groups)
        require_whole(least=0, seed=seed)
        rng = np.random.default_rng(seed)
        drawn = rng.choice(self.types.n_groups, size=n_groups, p=self.probabilities / self.probabilities.sum())
        sizes = self.types.sizes[drawn]
        group_of = np.repeat(np.arange(n_groups), sizes)
        place = np.arange(len(group_of)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        rows = self.types.first[drawn][group_of] + place
        role_of = self.types.role_of[rows]
        shuffled = rows[np.lexsort((rng.random(len(rows)), role_of, group_of))]
        return Population(self.types.domain, self.types.groups[drawn], self.types.persons[shuffled], group_of, role_of)
