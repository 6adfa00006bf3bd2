"""Noisy histograms and independent marginals: what they measure and what it costs."""

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from instances import rng_of, scale
from listed_groups import Group, collapsed, groups_of, population_of, random_population

from pgsr.errors import ArgumentError, BudgetError
from pgsr.privacy.laws import DiscreteGaussian
from pgsr.privacy.random import Secure, Seeded, StreamId
from pgsr.synthesis import Attribute, Domain, Population
from pgsr.synthesis.data.domain import Neighbours, Role, SynthesisError
from pgsr.synthesis.queries.independent_marginals import (
    Histogram,
    IndependentMarginals,
    nearest_shares,
    noisy_shares,
    of_groups,
    of_persons,
    of_sizes,
)
from pgsr.synthesis.queries.transcript import AdaptiveBudget, Privacy, RhoLedger
from pgsr.synthesis.queries.universe import Universe

AREA = Attribute("area", ("urban", "rural"))
SEX, AGE = Attribute("sex", ("f", "m")), Attribute("age", (0, 1, 2))

HOUSEHOLD = Domain.household([AREA], [SEX], max_children=2)
NO_GROUP = Domain.plain([], [AGE], max_size=3)
SMALL_ROLES = Domain((), (SEX,), (Role("a", 0, 1), Role("b", 1, 2)))
TWO_ROLES = Domain((AREA,), (SEX,), (Role("a", 0, 2), Role("b", 1, 2)))

PLENTY = AdaptiveBudget(10**6, "1e-6", rounds=10)
"""So much epsilon that noise is nearly absent."""


def with_one_less(groups: tuple[Group, ...]) -> Iterator[tuple[Group, ...]]:
    for g, (codes, roles) in enumerate(groups):
        for r, members in enumerate(roles):
            for i in range(len(members)):
                left = (*roles[:r], members[:i] + members[i + 1 :], *roles[r + 1 :])
                yield (*groups[:g], (codes, left), *groups[g + 1 :])


def with_one_more(groups: tuple[Group, ...], n_values: int) -> Iterator[tuple[int, tuple[Group, ...]]]:
    for g, (codes, roles) in enumerate(groups):
        for r, value in product(range(len(roles)), range(n_values)):
            more = (*roles[:r], (*roles[r], (value,)), *roles[r + 1 :])
            yield g, (*groups[:g], (codes, more), *groups[g + 1 :])


def valid(domain: Domain, groups: tuple[Group, ...]) -> bool:
    return all(
        role.least <= len(members) <= role.most
        for _, roles in groups
        for role, members in zip(domain.roles, roles, strict=True)
    )


def neighbours_of(domain: Domain, groups: tuple[Group, ...], relation: Neighbours) -> Iterator[tuple[Group, ...]]:
    n_values = len(domain.individual[0])
    for less in with_one_less(groups):
        changed = next(g for g in range(len(groups)) if less[g] != groups[g])
        if relation is Neighbours.ADD_REMOVE:
            yield less
            continue
        for g, other in with_one_more(less, n_values):
            if relation is Neighbours.MOVE or g == changed:
                yield other


@pytest.mark.parametrize("relation", Neighbours)
@pytest.mark.parametrize(
    "domain",
    [NO_GROUP, SMALL_ROLES, *(pytest.param(domain, marks=pytest.mark.full) for domain in (HOUSEHOLD, TWO_ROLES))],
    ids=range(4),
)
def test_squared_sensitivities_by_enumeration(domain: Domain, relation: Neighbours) -> None:
    """Two groups, all their compositions, all neighbours: no histogram changes by more; the worst of each kind does."""
    small = Domain((), (SEX,), domain.roles)
    types = [collapsed(group) for group in groups_of(Universe.of(small).types)]
    worst: Counter[str] = Counter()
    for groups in product(types, repeat=2):
        population = population_of(small, groups)
        here = [*of_persons(population, relation), *of_sizes(population, relation)]
        for other in neighbours_of(small, groups, relation):
            if not valid(small, other):
                continue
            changed = population_of(small, other)
            for a, b in zip(here, [*of_persons(changed, relation), *of_sizes(changed, relation)], strict=True):
                change = int(((a.counts - b.counts) ** 2).sum())
                assert change <= a.squared_sensitivity
                kind = a.name.split()[0]
                worst[kind] = max(worst[kind], change)
    assert worst["persons"] == (1 if relation is Neighbours.ADD_REMOVE else 2)
    free = [role for role in small.roles if role.least < role.most]
    of_size = {
        Neighbours.REPLACE: 2 if len(free) > 1 else 0,  # where a role is left open it may change too
        Neighbours.ADD_REMOVE: 2,
        Neighbours.MOVE: 6 if max(role.most - role.least for role in free) > 1 else 2,
    }
    assert worst["groups"] == of_size[relation]


def test_histograms_count() -> None:
    f, m = (0,), (1,)
    groups = (((0,), ((f,), (), (m, m))), ((1,), ((m,), (m,), ())), ((1,), ((f,), (), (f,))))
    population = population_of(HOUSEHOLD, groups)
    found = [*of_groups(population), *of_persons(population, Neighbours.REPLACE)]
    found += of_sizes(population, Neighbours.REPLACE)
    assert [(h.name, h.counts.tolist()) for h in found] == [
        ("groups by area", [1, 2]),
        ("persons by sex", [3, 4]),
        ("groups by number of spouse", [2, 1]),
        ("groups by number of child", [1, 1, 1]),
    ]


def test_noise_is_that_of_the_stream_and_is_paid_for() -> None:
    """Recomputed cell by cell: variance squared sensitivity / (2 rho / number of histograms); rho is spent exactly."""
    histograms = [Histogram("a", np.array([50, 900, 7]), 2), Histogram("b", np.array([1_000, 0]), 6)]
    rho, source, ledger = Fraction(1, 300), Seeded("noise"), RhoLedger(Fraction(1, 300))
    found = noisy_shares(histograms, rho, source, ledger, "set")
    assert ledger.left == 0
    assert [amount for amount, _ in ledger.spent] == [rho / 2] * 2
    for histogram, shares in zip(histograms, found, strict=True):
        stream = source.stream(StreamId("set", "histogram", 0, (histogram.name,)))
        variance = Fraction(histogram.squared_sensitivity) / rho
        noisy = histogram.counts.copy()
        DiscreteGaussian(variance).add_to(noisy, stream)
        np.testing.assert_array_equal(shares, nearest_shares(noisy.astype(float)))
        assert shares.sum() == pytest.approx(1)
    with pytest.raises(BudgetError, match="2 histograms would spend"):
        noisy_shares(histograms, rho, source, ledger, "set")
    half = RhoLedger(rho * Fraction(2, 3))
    with pytest.raises(BudgetError):
        noisy_shares(histograms, rho, source, half, "set")
    assert half.spent == []
    with pytest.raises(SynthesisError, match="no histogram"):
        noisy_shares([], rho, source, RhoLedger(1), "set")


def test_nearest_shares_are_nearest() -> None:
    """No point of a fine grid over the simplex is nearer."""
    grid = np.array([(i, j, 40 - i - j) for i in range(41) for j in range(41 - i)]) / 40
    rng, clipped = rng_of(8), 0
    for _ in range(scale(300, 3_000)):
        noisy = rng.normal(1, 2, 3)
        if noisy.sum() <= 0.1:
            continue
        found, target = nearest_shares(noisy), noisy / noisy.sum()
        assert found.sum() == pytest.approx(1)
        assert found.min() >= 0
        clipped += found.min() == 0
        assert ((found - target) ** 2).sum() <= ((grid - target) ** 2).sum(axis=1).min() + 1e-12
    assert clipped > 50
    assert nearest_shares(np.array([-3.0, 1.0])).tolist() == [0.5, 0.5]


@pytest.mark.parametrize("relation", Neighbours)
def test_independent_marginals_with_plenty_of_budget(relation: Neighbours) -> None:
    """1-way answers are those of the population; everything is the product of them."""
    population = random_population(rng_of(9), HOUSEHOLD, 300)
    ledger = RhoLedger(PLENTY.rho)
    model = IndependentMarginals().fit(population, PLENTY, source=Seeded("m"), neighbours=relation, ledger=ledger)
    assert ledger.left == 0
    assert model.n_components == 1
    np.testing.assert_allclose(model.group[0][0], np.bincount(population.groups[:, 0]) / 300, atol=1e-3)
    shares = np.bincount(population.persons[:, 0]) / population.n_persons
    np.testing.assert_allclose(model.slots[0][0], np.tile(shares, (HOUSEHOLD.max_size, 1)), atol=1e-3)
    for role, table in enumerate(model.sizes):
        members = np.bincount(population.group_of[population.role_of == role], minlength=300)
        np.testing.assert_allclose(table[0], np.bincount(members, minlength=table.shape[1]) / 300, atol=1e-3)


def couples() -> Population:
    """Half of the homes are urban with two women, the others are rural with one man."""
    n = 600
    rural = np.arange(n) % 2
    group_of = np.repeat(np.arange(n), 2 - rural)
    domain = Domain.plain([AREA], [SEX], max_size=2)
    return Population(domain, rural[:, None], rural[group_of][:, None], group_of, np.zeros(len(group_of), int))


def test_privacy_is_what_the_ledger_was_charged() -> None:
    budget, ledger = AdaptiveBudget(2, "1e-6", rounds=3), RhoLedger(1)
    IndependentMarginals().fit(couples(), budget, source=Seeded("p"), neighbours=Neighbours.MOVE, ledger=ledger)
    privacy = Privacy.of(budget, Neighbours.MOVE, Seeded("p"))
    assert privacy.rho == sum(amount for amount, _ in ledger.spent) == 1 - ledger.left
    assert privacy.claim == "none (seeded)"
    assert Privacy.of(budget, Neighbours.MOVE, Secure()).claim.startswith("(2, 1/1000000)-differential privacy")


def test_refusals() -> None:
    for wrong in ({"source": None}, {"source": Secure}, {"ledger": 1.0}, {"budget": 1.0}, {"population": None}):
        given = {"population": couples(), "budget": PLENTY, "source": Seeded("p"), **wrong}
        with pytest.raises(ArgumentError, match=next(iter(wrong))):
            IndependentMarginals().fit(**given)  # pyright: ignore[reportArgumentType]
    ledger, budget = RhoLedger("1/100"), AdaptiveBudget(1, "1e-6", rounds=4)
    with pytest.raises(BudgetError, match="would spend"):
        IndependentMarginals().fit(couples(), budget, source=Seeded("p"), ledger=ledger)
    assert ledger.spent == []
