"""The result of an HPD fit, a mixture of products, which answers, samples and is stored with NumPy alone."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from pgsr.synthesis.data.checks import require_whole
from pgsr.synthesis.data.domain import Domain, SynthesisError
from pgsr.synthesis.data.population import Population
from pgsr.synthesis.queries.mixture_answers import all_answers, as_numpy
from pgsr.synthesis.queries.tables import ComponentTables, starts
from pgsr.synthesis.queries.workload import Workload


@dataclass(frozen=True, eq=False)
class Mixture:
    """A uniform mixture of K components, in each of which all attributes and the size of every role are independent.

    Attributes:
        domain: public.
        group: per group attribute, P(value) in component k; shape (K, |G_i|).
        slots: per individual attribute, P(value) of the member in slot m of component k; shape (K, M, |I_j|).
        sizes: per role, P(n members); shape (K, most + 1), zero below least.

    Raises:
        SynthesisError: a table has another shape, is negative, or does not sum to 1.

    Example:
        >>> from pgsr.synthesis import Attribute, Domain, Level, Marginal, Workload
        >>> domain = Domain.plain([Attribute("area", ("urban", "rural"))], [Attribute("sex", ("f", "m"))], max_size=2)
        >>> mixture = Mixture(
        ...     domain,
        ...     group=(np.array([[0.8, 0.2]]),),
        ...     slots=(np.array([[[0.5, 0.5], [0.4, 0.6]]]),),
        ...     sizes=(np.array([[0, 0.25, 0.75]]),),
        ... )
        >>> workload = Workload(domain, (Marginal(Level.GROUP, (0,), (0,)), Marginal(Level.INDIVIDUAL, (0,), (0,))))
        >>> mixture.answers(workload)[[0, 4]].round(6)  # urban with a woman; women in urban groups
        array([0.52    , 0.365714])

    Source: Liu & Wu 2022, hierarchical product distributions; how many people a component expects divides answers on
    persons, which is our reading.
    """

    domain: Domain
    group: tuple[np.ndarray, ...]
    slots: tuple[np.ndarray, ...]
    sizes: tuple[np.ndarray, ...]

    def __post_init__(self) -> None:
        for name in ("group", "slots", "sizes"):
            object.__setattr__(self, name, tuple(np.asarray(table, np.float64) for table in getattr(self, name)))
        domain, n_components = self.domain, len(self.sizes[0]) if self.sizes else 0
        expected = {
            "group": [(attribute.name, (n_components, len(attribute))) for attribute in domain.group],
            "slots": [(a.name, (n_components, domain.max_size, len(a))) for a in domain.individual],
            "sizes": [(role.name, (n_components, role.most + 1)) for role in domain.roles],
        }
        for name, shapes in expected.items():
            tables = getattr(self, name)
            if n_components < 1 or len(tables) != len(shapes):
                raise SynthesisError(
                    f"{name} holds {len(tables)} tables; the domain needs {len(shapes)}, K >= 1 rows each"
                )
            for table, (what, shape) in zip(tables, shapes, strict=True):
                if table.shape != shape:
                    raise SynthesisError(f"the table of {what} has shape {table.shape}; it should have {shape}")
                if not (table >= 0).all() or not np.allclose(table.sum(-1), 1, rtol=0, atol=1e-5):
                    raise SynthesisError(f"the table of {what} holds no probabilities; give rows >= 0 that sum to 1")
            exact = tuple(table / table.sum(-1, keepdims=True) for table in tables)
            object.__setattr__(self, name, exact)
        for table, role in zip(self.sizes, domain.roles, strict=True):
            if table[:, : role.least].any():
                raise SynthesisError(f"role {role.name} has at least {role.least} members; the sizes below get 0")

    @classmethod
    def of(cls, tables: ComponentTables) -> "Mixture":
        """Make the mixture from tables of NumPy or torch."""
        domain = tables.domain
        first = {"group": starts(map(len, domain.group)), "slots": starts(map(len, domain.individual))}
        whole = {"group": as_numpy(tables.group), "slots": as_numpy(tables.slots)}
        parts = {name: [whole[name][a:b] for a, b in pairwise(rows)] for name, rows in first.items()}
        return cls(
            domain,
            group=tuple(table.T for table in parts["group"]),
            slots=tuple(table.transpose(2, 1, 0) for table in parts["slots"]),
            sizes=tuple(as_numpy(table).T for table in tables.sizes),
        )

    @property
    def n_components(self) -> int:
        """The number of components, K."""
        return len(self.sizes[0])

    @property
    def tables(self) -> ComponentTables:
        """The tables with the same numbers, in which components are the last axis."""
        k = self.n_components
        return ComponentTables(
            self.domain,
            np.concatenate([*(table.T for table in self.group), np.ones((1, k))]),
            np.concatenate(
                [*(table.transpose(2, 1, 0) for table in self.slots), np.ones((1, self.domain.max_size, k))]
            ),
            tuple(np.ascontiguousarray(table.T) for table in self.sizes),
        )

    def answers(self, workload: Workload, *, pairs: bool = False) -> np.ndarray:
        """Compute expected shares, one per query, float64; those of individuals are a ratio of two expectations.

        Args:
            workload: of the same domain.
            pairs: count relations once per role of a relative that fits (see `pgsr.synthesis.queries.answers`).

        Raises:
            SynthesisError: the workload has another domain.
        """
        if workload.domain != self.domain:
            raise SynthesisError("the mixture and the workload have different domains; make both from one Domain")
        return all_answers(self.tables, workload, pairs=pairs)

    def sample(self, n_groups: int, seed: int) -> Population:
        """Draw independent groups: first a component, then from it the sizes of roles, the attributes and the members.

        All parts of a group come from one component, without which samples would not have the answers of `answers`.

        Source: Liu & Wu 2022, algorithm 2; the shared component is our reading.
        """
        require_whole(n_groups=n_groups)
        require_whole(least=0, seed=seed)
        rng = np.random.default_rng(seed)
        component = rng.integers(self.n_components, size=n_groups)
        numbers = np.stack([draw(table, component, rng) for table in self.sizes], axis=1)
        return self.fill(component, numbers, rng)

    def fill(self, component: np.ndarray, numbers: np.ndarray, rng: np.random.Generator) -> Population:
        """Draw groups with given components, shape (N,), and numbers of members per role, (N, roles)."""
        domain = self.domain
        slot_of = np.concatenate([domain.slots(role) for role in range(len(domain.roles))])
        role_of = np.repeat(np.arange(len(domain.roles)), [role.most for role in domain.roles])
        within = np.concatenate([np.arange(role.most) for role in domain.roles])
        group_of, slot = np.nonzero(within < numbers[:, role_of])
        groups = [draw(table, component, rng) for table in self.group]
        where = component[group_of] * domain.max_size + slot_of[slot]
        persons = [draw(table.reshape(-1, table.shape[-1]), where, rng) for table in self.slots]
        return Population(
            domain,
            np.stack(groups, axis=1) if groups else np.zeros((len(component), 0), np.int64),
            np.stack(persons, axis=1),
            group_of,
            role_of[slot],
        )

    def __repr__(self) -> str:
        return f"Mixture({self.n_components:,} components, groups of {self.domain.min_size}..{self.domain.max_size})"


def draw(table: np.ndarray, rows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw one value per entry of `rows`, in proportion to the weights in that row of `table`.

    Rows without weight may exist, and must not be drawn from.
    """
    return by_inversion(table, rows, rng.random(len(rows)))


def by_inversion(table: np.ndarray, rows: np.ndarray, u: np.ndarray) -> np.ndarray:
    """Find the values at which the shares of the rows of `table`, added up, pass the numbers u, 0 <= u < 1."""
    upto = table.cumsum(axis=1)
    total = upto[:, -1:]
    upto /= np.where(
        total > 0, total, 1
    )  # the last bound is exactly 1 and u < 1, so that no value of probability 0 is drawn
    code = np.zeros(len(rows), np.int64)
    for column in upto.T[:-1]:
        code += u >= column[rows]
    return code
