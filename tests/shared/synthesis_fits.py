"""The small population, budget and method of the tests of fits and of the curator."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from instances import rng_of

from pgsr.privacy import Seeded
from pgsr.privacy.random import ByteStream, StreamId
from pgsr.synthesis import AdaptiveBudget, Attribute, Domain, Population, Workload, fit
from pgsr.synthesis.queries.adaptive import Fitted
from pgsr.synthesis.queries.transcript import MeasuredQuery

DOMAIN = Domain.plain(
    [Attribute("area", ("urban", "rural"))], [Attribute("sex", ("f", "m")), Attribute("age", (0, 1, 2))], 3
)
WORKLOAD = Workload.k_way(DOMAIN, k=2)
BUDGET = AdaptiveBudget(1, "1e-6", rounds=6, alpha="2/3")


def population(seed: int = 0, n_groups: int = 40) -> Population:
    rng = rng_of(seed)
    sizes = rng.integers(1, DOMAIN.max_size + 1, n_groups)
    persons = np.column_stack([rng.integers(0, len(a), sizes.sum()) for a in DOMAIN.individual])
    group_of = np.repeat(np.arange(n_groups), sizes)
    return Population(DOMAIN, rng.integers(0, 2, (n_groups, 1)), persons, group_of, np.zeros(len(group_of), int))


def replaced(truth: Population, person: int, row: Sequence[int]) -> Population:
    persons = truth.persons.copy()
    persons[person] = row
    return Population(DOMAIN, truth.groups, persons, truth.group_of, truth.role_of)


@dataclass(frozen=True)
class Memory:
    """A method that knows what was measured, and guesses the rest from its seed."""

    def start(self, workload: Workload, n_groups: int, n_persons: int, seed: int) -> "Remembering":
        guesses = rng_of(seed, n_groups, n_persons).random(workload.n_queries)
        return Remembering(workload, guesses)


class Remembering:
    def __init__(self, workload: Workload, values: np.ndarray) -> None:
        self.workload, self.values = workload, values

    def answers(self) -> np.ndarray:
        return self.values.copy()

    def update(self, measured: Sequence[MeasuredQuery]) -> None:
        self.values = 0.9 * self.values + 0.1 * measured[-1].value  # so that the order of updates shows
        for m in measured:
            self.values[m.query] = m.value

    def distribution(self) -> "Remembered":
        return Remembered(self.workload, self.values)


@dataclass(frozen=True, eq=False)
class Remembered:
    workload: Workload
    values: np.ndarray

    def answers(self, workload: Workload) -> np.ndarray:
        assert workload is self.workload
        return self.values

    def sample(self, n_groups: int, seed: int) -> Population:
        return population(seed, n_groups)


class Untouchable:
    """A source of bytes that must not be asked for any."""

    secure = False

    def stream(self, identity: StreamId) -> ByteStream:
        raise AssertionError(f"noise was drawn for {identity}")


def fitted(truth: Population | None = None, **options: Any) -> Fitted:
    given = {"source": Seeded("fit"), "budget": BUDGET, "family": Memory(), **options}
    return fit(truth or population(), WORKLOAD, given.pop("family"), given.pop("budget"), **given)
