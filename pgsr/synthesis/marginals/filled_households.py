"""The result of a fit of whole marginals: the public groups themselves, and a mixture that fills them with members."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from os import PathLike

import numpy as np

from pgsr.synthesis.data import archive
from pgsr.synthesis.data.domain import Domain, Population, SynthesisError, require_whole
from pgsr.synthesis.data.impossible import Impossible, blocks_of
from pgsr.synthesis.marginals.balanced_draws import fill, spread
from pgsr.synthesis.marginals.filling import Filling, Given
from pgsr.synthesis.marginals.public_households import PublicHouseholds, cells_matrix, values_matrix
from pgsr.synthesis.queries.workload import Level, Workload

AT_ONCE = 8
"""Sets of individual attributes that are answered together, so that their tables stay small."""


@dataclass(frozen=True, eq=False)
class FilledHouseholds:
    """The public groups with their attributes (and sizes, where they are public), filled by a mixture of K components.

    What is public is exact: answers on group attributes alone are those of the groups, and a sample of as many groups
    has exactly their attributes, with public sizes exactly their sizes and number of persons.

    Attributes:
        households: public.
        impossible: combinations that no member has, in answers and in samples.
        of_groups: logits of the component of a group, per value of its attributes (and sizes); shape (values, K).
        of_members: logits of the values of individual attributes; shape (values, M, K).
        of_ways: logits of the numbers of members per role; shape (ways, K), in the order of `Filling.ways`.

    Raises:
        SynthesisError: logits of another shape, or that are no finite numbers.

    Source: latent classes for persons in households after Hu, Reiter and Wang 2018 (not private there); here classes
    of groups alone, with logits that are linear in the values of their attributes.
    """

    households: PublicHouseholds
    impossible: tuple[Impossible, ...]
    of_groups: np.ndarray
    of_members: np.ndarray
    of_ways: np.ndarray

    def __post_init__(self) -> None:
        object.__setattr__(self, "impossible", tuple(self.impossible))
        shapes = logit_shapes(self.filling, np.asarray(self.of_ways).shape[-1] if np.ndim(self.of_ways) else 0)
        for name, shape in shapes.items():
            table = np.asarray(getattr(self, name), np.float64)
            if table.shape != shape or not table.shape[-1] or not np.isfinite(table).all():
                raise SynthesisError(f"{name} has shape {table.shape}; give finite numbers of shape {shape}")
            object.__setattr__(self, name, table)

    @property
    def domain(self) -> Domain:
        return self.households.domain

    @property
    def n_components(self) -> int:
        """The number of components, K."""
        return self.of_ways.shape[-1]

    @cached_property
    def filling(self) -> Filling:
        return Filling(self.domain, blocks_of(self.domain, self.impossible), self.households.with_sizes)

    @cached_property
    def components(self) -> np.ndarray:
        """P(component k of a group of this kind), shape (kinds, K)."""
        logits = np.asarray(values_matrix(self.households) @ self.of_groups)
        weights = np.exp(logits - logits.max(1, keepdims=True))
        return weights / weights.sum(1, keepdims=True)

    @cached_property
    def slot_tables(self) -> list[np.ndarray]:
        """P(values of a block of a member), per block of shape (cells, M, K)."""
        return self.filling.slot_tables(self.of_members)

    @cached_property
    def way_table(self) -> np.ndarray:
        """P(numbers of members per role), shape (ways, K); given the size where sizes are public."""
        return self.filling.way_table(self.of_ways)

    def answers(self, workload: Workload) -> np.ndarray:
        """Compute expected shares, one per query, float64; those of individuals are a ratio of two expectations.

        Raises:
            SynthesisError: the workload has another domain.
        """
        if workload.domain != self.domain:
            raise SynthesisError("the model and the workload have different domains; make both from one Domain")
        shares = self.households.numbers / self.households.n_groups
        found, persons = self._per_group(workload, shares), self._persons(shares)
        shares = [x if m.level is Level.GROUP else x / persons for x, m in zip(found, workload.marginals, strict=True)]
        return np.concatenate(shares).clip(0, 1)  # sums of floats may lie a rounding error outside

    def expected(self, workload: Workload, kind_of: np.ndarray) -> np.ndarray:
        """Compute the expected counts of all queries among groups of these kinds, which are rows of their table."""
        numbers = np.bincount(kind_of, minlength=len(self.households.numbers))
        return np.concatenate(self._per_group(workload, numbers))

    def _per_group(self, workload: Workload, numbers: np.ndarray) -> list[np.ndarray]:
        """Compute expected counts per marginal, where so many groups are of every kind."""
        sets = sorted({tuple(g for g in m.group if g != self.domain.count) for m in workload.marginals} | {()})
        weights = self._weights(sets, numbers)
        return self.filling.answers(workload.marginals, self.slot_tables, self.way_table, weights, AT_ONCE)

    def _persons(self, numbers: np.ndarray) -> float:
        """Compute the expected number of persons, where so many groups are of every kind."""
        by_way = self.filling._by_ways(self._weights([()], numbers)[()], self.way_table)[0].sum(-1)
        return float(by_way @ self.filling.ways.sum(1))

    def _weights(self, sets: Sequence[Given], numbers: np.ndarray) -> dict[Given, np.ndarray]:
        """Compute the expected number of groups by cell of each set of group attributes, size and component."""
        matrix, starts = cells_matrix(self.households, sets)
        share = self.components * numbers[:, None]
        table = np.asarray(matrix.T.astype(np.float64) @ share)
        sizes = len(self.domain.sizes) if self.households.with_sizes else 1
        return {
            given: table[start:stop].reshape(-1, sizes, self.n_components)
            for given, (start, stop) in zip(sets, pairwise(starts), strict=True)
        }

    def sample(self, n_groups: int, seed: int) -> Population:
        """Draw groups whose tables are as near to the model's answers as balanced draws make them.

        As many groups as there are are the public ones, in the order of kinds; another number keeps their proportions.

        Source: see `pgsr.synthesis.marginals.balanced_draws`.
        """
        require_whole(n_groups=n_groups)
        require_whole(least=0, seed=seed)
        return fill(self, spread(self.households.numbers, n_groups, seed), seed)

    def save(self, path: str | PathLike[str]) -> None:
        """Write one file (see `pgsr.synthesis.data.archive`)."""
        arrays = {name: getattr(self, name) for name in ("of_groups", "of_members", "of_ways")}
        arrays |= {"kinds": self.households.kinds, "numbers": self.households.numbers}
        more = {"with_sizes": self.households.with_sizes, "impossible": [dict(zero.values) for zero in self.impossible]}
        archive.write(path, FORMAT, self.domain, arrays, more)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> "FilledHouseholds":
        """Read a model that `save` wrote.

        Raises:
            SynthesisError: the file holds something else.
        """
        domain, arrays, more = archive.read(path, FORMAT)
        with archive.refusing(path, FORMAT):
            if not isinstance(more["with_sizes"], bool):
                raise ValueError("with_sizes is neither true nor false")
            households = PublicHouseholds(domain, more["with_sizes"], arrays["kinds"], arrays["numbers"])
            impossible = tuple(Impossible(values) for values in more["impossible"])
            return cls(households, impossible, *(arrays[name] for name in ("of_groups", "of_members", "of_ways")))

    def __repr__(self) -> str:
        return f"FilledHouseholds({self.households!r}, {self.n_components:,} components)"


def logit_shapes(filling: Filling, n_components: int) -> dict[str, tuple[int, ...]]:
    """List the shapes of the logits of K components."""
    domain = filling.domain
    n_values = sum(map(len, domain.group)) + (len(domain.sizes) if filling.with_sizes else 0)
    return {
        "of_groups": (n_values, n_components),
        "of_members": (sum(map(len, domain.individual)), domain.max_size, n_components),
        "of_ways": (len(filling.ways), n_components),
    }


FORMAT = "pgsr filled households 1"
