"""The distribution of groups that are put together from persons, independent given the group's attributes."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np

from pgsr.synthesis.data.domain import Attribute, Domain, Population, SynthesisError, require_whole
from pgsr.synthesis.queries.workload import PAIRS, Level, Marginal, Workload


@dataclass(frozen=True, eq=False)
class RandomHouseholds:
    """A distribution of groups whose members are independent, given the group's attributes.

    Attributes g have probability P(g), sizes of roles do not depend on g, and every member has probability P(i | g).

    Persons are spread over groups at random among those with their own group attributes, so shares of individuals
    without COUNT are those of the table of persons. Nothing else of the group's structure is known.

    Attributes:
        domain: public.
        persons: P(g, i), the table of persons; shape (|X_G|, |X_I|), both in C order of attributes.
        sizes: per role, P(n members); shape (most + 1,), zero below least.

    Example:
        >>> from pgsr.synthesis import Attribute, Domain, Level, Marginal, Workload
        >>> domain = Domain.plain([], [Attribute("sex", ("f", "m"))], max_size=2)
        >>> households = RandomHouseholds(domain, np.array([[0.5, 0.5]]), (np.array([0, 0, 1.0]),))
        >>> households.answers(Workload(domain, (Marginal(Level.GROUP, (), (0,)),)))  # of two members
        array([0.75, 0.75])
    """

    domain: Domain
    persons: np.ndarray
    sizes: tuple[np.ndarray, ...]

    def __post_init__(self) -> None:
        domain = self.domain
        shape = (prod(len(a) for a in domain.group), prod(len(a) for a in domain.individual))
        for name, table, expected in (
            ("persons", self.persons, shape),
            *((role.name, sizes, (role.most + 1,)) for role, sizes in zip(domain.roles, self.sizes, strict=True)),
        ):
            if table.shape != expected or not (table >= 0).all() or abs(table.sum() - 1) > 1e-9:
                raise SynthesisError(f"the table of {name} needs shape {expected}, no negative number and the sum 1")
        for role, sizes in zip(domain.roles, self.sizes, strict=True):
            if sizes[: role.least].any():
                raise SynthesisError(f"role {role.name} has at least {role.least} members; the sizes below get 0")

    def __repr__(self) -> str:
        return f"RandomHouseholds({self.persons.shape[0]:,} kinds of groups, {self.persons.shape[1]:,} of persons)"

    def answers(self, workload: Workload) -> np.ndarray:
        """Compute expected shares exactly; those of individuals are a ratio of two expectations.

        O(|X_G| |X_I|) per marginal, and O(|X_G|) per cell and composition of roles.
        """
        if workload.domain != self.domain:
            raise SynthesisError("the households and the workload have different domains; make both from one Domain")
        compositions = list(self._compositions())
        expected_size = sum(share * sum(numbers) for share, numbers in compositions)
        found = []
        for marginal in workload.marginals:
            cells = self._cells(marginal, compositions)
            found.append((cells if marginal.level is Level.GROUP else cells / expected_size).ravel())
        return np.concatenate(found)

    def sample(self, n_groups: int, seed: int) -> Population:
        """Draw `n_groups` independent groups."""
        require_whole(n_groups=n_groups)
        require_whole(least=0, seed=seed)
        domain, rng = self.domain, np.random.default_rng(seed)
        of_group, given = self._conditional()
        group = _draw(of_group, n_groups, rng)
        numbers = np.stack([_draw(table, n_groups, rng) for table in self.sizes], axis=1)
        group_of = np.repeat(np.arange(n_groups), numbers.sum(axis=1))
        lives_in, person = group[group_of], np.empty(len(group_of), np.int64)
        order = np.argsort(lives_in, kind="stable")
        bounds = np.searchsorted(lives_in[order], np.arange(len(given) + 1))
        for g in np.flatnonzero(np.diff(bounds)):
            person[order[bounds[g] : bounds[g + 1]]] = _draw(given[g], int(bounds[g + 1] - bounds[g]), rng)
        return Population(
            domain,
            _codes(group, domain.group),
            _codes(person, domain.individual),
            group_of,
            np.repeat(np.tile(np.arange(len(domain.roles)), n_groups), numbers.ravel()),
        )

    def _conditional(self) -> tuple[np.ndarray, np.ndarray]:
        """Compute P(g), and P(i | g), which is uniform where P(g) = 0 and never drawn from there."""
        of_group = self.persons.sum(axis=1)
        uniform = np.full_like(self.persons, 1 / self.persons.shape[1])
        return of_group, np.divide(self.persons, of_group[:, None], out=uniform, where=of_group[:, None] > 0)

    def _compositions(self) -> Iterator[tuple[float, tuple[int, ...]]]:
        """List the numbers of members per role, with their probability."""
        for numbers in product(*(range(len(table)) for table in self.sizes)):
            share = prod(float(table[n]) for table, n in zip(self.sizes, numbers, strict=True))
            if share > 0:
                yield share, numbers

    def _cells(self, marginal: Marginal, compositions: list[tuple[float, tuple[int, ...]]]) -> np.ndarray:
        """Compute the expected number of matches per group of every cell, in the marginal's shape."""
        domain = self.domain
        asked = [g for g in marginal.group if g != domain.count]
        of_group, given = self._conditional()
        own, theirs = (_marginal(given, domain, numbers) for numbers in (marginal.individual, marginal.relative))
        by_size = np.zeros((len(domain.sizes), len(given), own.shape[1], theirs.shape[1]))
        for share, numbers in compositions:
            factor = _matches(domain, marginal, numbers, own[:, :, None], theirs[:, None, :])
            by_size[sum(numbers) - domain.min_size] += share * factor
        if domain.count not in marginal.group:
            by_size = by_size.sum(axis=0, keepdims=True)
        weighted = np.moveaxis(by_size, 0, 1) * of_group[:, None, None, None]  # g, size, own, theirs
        table = weighted.reshape(*(len(a) for a in domain.group), *weighted.shape[1:])
        unasked = tuple(g for g in range(len(domain.group)) if g not in asked)
        table = table.sum(axis=unasked)  # asked in rising order, size, own, theirs
        place = {g: position for position, g in enumerate(sorted(asked))} | {domain.count: len(asked)}
        front = [place[g] for g in marginal.group]
        rest = [axis for axis in range(table.ndim) if axis not in front]
        return table.transpose(front + rest).reshape(marginal.shape(domain))


def _matches(
    domain: Domain, marginal: Marginal, numbers: tuple[int, ...], own: np.ndarray, theirs: np.ndarray
) -> np.ndarray:
    """Compute the expected matches of a group whose independent members match with given probabilities."""
    if marginal.level is Level.GROUP:
        return 1 - (1 - own) ** sum(numbers) if marginal.individual else np.ones_like(own)
    if marginal.relation is None:
        return sum(numbers) * own
    names, total = [role.name for role in domain.roles], np.zeros_like(own * theirs)
    for role, number in enumerate(numbers):
        pairs = [(names[role], name) in PAIRS[marginal.relation] for name in names]
        relatives = sum(n for n, related in zip(numbers, pairs, strict=True) if related)
        total += number * own * (1 - (1 - theirs) ** relatives)
    return total


def _marginal(given: np.ndarray, domain: Domain, attributes: tuple[int, ...]) -> np.ndarray:
    """Compute P(values | g) of some individual attributes in their order, shape (|X_G|, cells)."""
    table = given.reshape(len(given), *(len(a) for a in domain.individual))
    others = tuple(1 + i for i in range(len(domain.individual)) if i not in attributes)
    kept = sorted(attributes)
    order = [0, *(1 + kept.index(i) for i in attributes)]
    return table.sum(axis=others).transpose(order).reshape(len(given), -1)


def _draw(probabilities: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    """Draw n values by inversion. None has probability 0, because the last bound is 1 and u < 1."""
    upto = probabilities.cumsum()
    return np.searchsorted(upto / upto[-1], rng.random(n), side="right")


def _codes(numbers: np.ndarray, attributes: tuple[Attribute, ...]) -> np.ndarray:
    if not attributes:
        return np.zeros((len(numbers), 0), np.int64)
    return np.stack(np.unravel_index(numbers, [len(a) for a in attributes]), axis=1)
