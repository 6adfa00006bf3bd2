"""The baselines: what they measure and what it costs, and households of independent persons against enumeration."""

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from instances import scale

from pgsr.errors import ArgumentError, BudgetError, MemoryNeededError
from pgsr.experiments.others.persons_alone import PersonsAlone, table_of_persons
from pgsr.experiments.others.random_households import RandomHouseholds
from pgsr.privacy.laws import DiscreteGaussian
from pgsr.privacy.random import Secure, Seeded, StreamId
from pgsr.synthesis import Attribute, Domain, Level, Marginal, Population, Workload
from pgsr.synthesis.data.domain import Neighbours, Role, SynthesisError
from pgsr.synthesis.queries.adaptive import fit
from pgsr.synthesis.queries.answers import answers
from pgsr.synthesis.queries.independent_marginals import IndependentMarginals
from pgsr.synthesis.queries.mixture import Mixture
from pgsr.synthesis.queries.mwem import MWEM
from pgsr.synthesis.queries.noisy_histograms import (
    Histogram,
    nearest_shares,
    noisy_shares,
    of_groups,
    of_persons,
    of_sizes,
)
from pgsr.synthesis.queries.transcript import AdaptiveBudget, Privacy, RhoLedger
from pgsr.synthesis.queries.universe import Universe

AREA, RENT = Attribute("area", ("urban", "rural")), Attribute("rent", (0, 1, 2))
SEX, AGE = Attribute("sex", ("f", "m")), Attribute("age", (0, 1, 2))

PLAIN = Domain.plain([AREA, RENT], [SEX, AGE], max_size=2)
HOUSEHOLD = Domain.household([AREA], [SEX], max_children=2)
NO_GROUP = Domain.plain([], [AGE], max_size=3)
DOMAINS = (PLAIN, HOUSEHOLD, NO_GROUP, Domain((AREA,), (SEX,), (Role("a", 0, 2), Role("b", 1, 2))))

PLENTY = AdaptiveBudget(10**6, "1e-6", rounds=10)
"""So much epsilon that noise is nearly absent."""


def workload_of(domain: Domain) -> Workload:
    """Marginals of up to three attributes, of all levels that the domain has."""
    levels = [Level.GROUP, Level.INDIVIDUAL, *([Level.RELATION] if domain is HOUSEHOLD else [])]
    n = len(domain.group) + 1 + len(domain.individual)
    parts = [Workload.k_way(domain, k, levels).marginals for k in range(1, min(3, n) + 1)]
    return Workload(domain, tuple(m for part in parts for m in part))


def random_population(rng: np.random.Generator, domain: Domain, n_groups: int) -> Population:
    numbers = np.stack([rng.integers(role.least, role.most + 1, n_groups) for role in domain.roles], axis=1)
    group_of = np.repeat(np.arange(n_groups), numbers.sum(axis=1))
    return Population(
        domain,
        np.stack([rng.integers(0, len(a), n_groups) for a in domain.group], axis=1)
        if domain.group
        else np.zeros((n_groups, 0), int),
        np.stack([rng.integers(0, len(a), len(group_of)) for a in domain.individual], axis=1),
        group_of,
        np.repeat(np.tile(np.arange(len(domain.roles)), n_groups), numbers.ravel()),
    )


def random_households(rng: np.random.Generator, domain: Domain) -> RandomHouseholds:
    d_group = int(np.prod([len(a) for a in domain.group]))
    d_person = int(np.prod([len(a) for a in domain.individual]))
    persons = rng.dirichlet(np.full(d_group * d_person, 0.6)).reshape(d_group, d_person)
    sizes = tuple(
        np.concatenate([np.zeros(r.least), rng.dirichlet(np.ones(r.most - r.least + 1))]) for r in domain.roles
    )
    return RandomHouseholds(domain, persons, sizes)


def type_probabilities(model: RandomHouseholds) -> tuple[Population, np.ndarray]:
    """P(type) by its definition, one type of group and one member at a time."""
    domain, universe = model.domain, Universe.of(model.domain)
    orderings = np.rint(universe.prior * domain.universe)
    of_group, types = model.persons.sum(axis=1), universe.types
    shapes = ([len(a) for a in domain.group], [len(a) for a in domain.individual])
    probabilities = []
    for t in range(types.n_groups):
        members = range(types.first[t], types.first[t + 1])
        g = int(np.ravel_multi_index(types.groups[t], shapes[0])) if domain.group else 0
        p = of_group[g] * orderings[t]
        for i in members:
            p *= model.persons[g, np.ravel_multi_index(types.persons[i], shapes[1])] / of_group[g]
        for role, sizes in enumerate(model.sizes):
            p *= sizes[sum(types.role_of[i] == role for i in members)]
        probabilities.append(p)
    return types, np.array(probabilities)


# --- households of independent persons ------------------------------------------------------------------------------


@pytest.mark.parametrize("domain", DOMAINS, ids=range(len(DOMAINS)))
def test_answers_equal_enumeration(domain: Domain) -> None:
    rng, workload = np.random.default_rng(1), workload_of(domain)
    for _ in range(3):
        model = random_households(rng, domain)
        types, probabilities = type_probabilities(model)
        assert probabilities.sum() == pytest.approx(1, abs=1e-12)
        np.testing.assert_allclose(model.answers(workload), answers(types, workload, probabilities), rtol=0, atol=1e-12)


@pytest.mark.parametrize("domain", DOMAINS, ids=range(len(DOMAINS)))
def test_answers_of_independent_attributes_are_those_of_one_component(domain: Domain) -> None:
    rng, workload = np.random.default_rng(2), workload_of(domain)
    group, own = ([rng.dirichlet(np.ones(len(a))) for a in part] for part in (domain.group, domain.individual))
    joint = np.ones(1)
    for table in (*group, *own):
        joint = np.multiply.outer(joint, table).ravel()
    model = random_households(rng, domain)
    model = RandomHouseholds(domain, joint.reshape(model.persons.shape), model.sizes)
    one = Mixture(
        domain,
        tuple(table[None] for table in group),
        tuple(np.tile(table, (1, domain.max_size, 1)) for table in own),
        tuple(table[None] for table in model.sizes),
    )
    np.testing.assert_allclose(model.answers(workload), one.answers(workload), rtol=0, atol=1e-12)


def test_marginals_name_attributes_in_any_order() -> None:
    """Cells follow the marginal's own order of attributes, COUNT anywhere."""
    model = random_households(np.random.default_rng(3), PLAIN)
    types, probabilities = type_probabilities(model)
    marginals = [
        (Level.GROUP, (2, 1, 0), ()),
        (Level.INDIVIDUAL, (1, 2), (1, 0)),
        (Level.GROUP, (1, 0), (1, 0)),
        (Level.GROUP, (), (1,)),
    ]
    workload = Workload(PLAIN, tuple(Marginal(*m) for m in marginals))
    np.testing.assert_allclose(model.answers(workload), answers(types, workload, probabilities), rtol=0, atol=1e-12)


@pytest.mark.parametrize("domain", [HOUSEHOLD, NO_GROUP])
def test_samples_follow_the_model(domain: Domain) -> None:
    """Types are as frequent as their probabilities; 5 standard errors."""
    model, n = random_households(np.random.default_rng(4), domain), scale(40_000, 400_000)
    types, probabilities = type_probabilities(model)
    seen = Counter(keys(model.sample(n, seed=5)))
    for key, p in zip(keys(types), probabilities, strict=True):
        assert abs(seen[key] / n - p) <= 5 * np.sqrt(p * (1 - p) / n) + 1e-12
    assert sum(seen.values()) == n


def test_a_value_of_probability_zero_is_never_drawn() -> None:
    persons = np.array([[0.0, 0.5], [0.0, 0.0], [0.5, 0.0]])
    domain = Domain.plain([Attribute("zone", (0, 1, 2))], [SEX], max_size=2)
    sample = RandomHouseholds(domain, persons, (np.array([0, 0.5, 0.5]),)).sample(5_000, seed=6)
    assert set(sample.groups[:, 0]) == {0, 2}
    assert (sample.persons[:, 0] == (sample.groups[sample.group_of, 0] == 0)).all()


def test_households_refused() -> None:
    model = random_households(np.random.default_rng(7), HOUSEHOLD)
    with pytest.raises(SynthesisError, match="different domains"):
        model.answers(workload_of(PLAIN))
    with pytest.raises(SynthesisError, match="table of persons"):
        RandomHouseholds(HOUSEHOLD, model.persons[:1], model.sizes)
    with pytest.raises(SynthesisError, match="head has at least 1"):
        RandomHouseholds(HOUSEHOLD, model.persons, (np.array([0.5, 0.5]), *model.sizes[1:]))
    with pytest.raises(SynthesisError, match="whole number from 1 up"):
        model.sample(0, seed=0)


# --- noisy histograms -------------------------------------------------------------------------------------------------

Naive = tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]
"""A group: codes, and per role the one attribute of its members, sorted."""


def keys(population: Population) -> list[Naive]:
    first, n_roles = population.first, len(population.domain.roles)
    return [
        (
            tuple(map(int, codes)),
            tuple(
                tuple(
                    sorted(
                        int(population.persons[i, 0])
                        for i in range(first[g], first[g + 1])
                        if population.role_of[i] == role
                    )
                )
                for role in range(n_roles)
            ),
        )
        for g, codes in enumerate(population.groups)
    ]


def population_of(domain: Domain, groups: tuple[Naive, ...]) -> Population:
    rows = [(g, r, p) for g, (_, roles) in enumerate(groups) for r, members in enumerate(roles) for p in members]
    table = np.array(rows, int).reshape(-1, 3)
    codes = np.array([codes for codes, _ in groups], int).reshape(len(groups), len(domain.group))
    return Population(domain, codes, table[:, 2:], table[:, 0], table[:, 1])


def with_one_less(groups: tuple[Naive, ...]) -> Iterator[tuple[Naive, ...]]:
    for g, (codes, roles) in enumerate(groups):
        for r, members in enumerate(roles):
            for i in range(len(members)):
                left = (*roles[:r], members[:i] + members[i + 1 :], *roles[r + 1 :])
                yield (*groups[:g], (codes, left), *groups[g + 1 :])


def with_one_more(groups: tuple[Naive, ...], n_values: int) -> Iterator[tuple[int, tuple[Naive, ...]]]:
    for g, (codes, roles) in enumerate(groups):
        for r, value in product(range(len(roles)), range(n_values)):
            more = (*roles[:r], (*roles[r], value), *roles[r + 1 :])
            yield g, (*groups[:g], (codes, more), *groups[g + 1 :])


def valid(domain: Domain, groups: tuple[Naive, ...]) -> bool:
    return all(
        role.least <= len(members) <= role.most
        for _, roles in groups
        for role, members in zip(domain.roles, roles, strict=True)
    )


def neighbours_of(domain: Domain, groups: tuple[Naive, ...], relation: Neighbours) -> Iterator[tuple[Naive, ...]]:
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
@pytest.mark.parametrize("domain", [NO_GROUP, HOUSEHOLD, DOMAINS[3]], ids=range(3))
@pytest.mark.drawn(1)
def test_squared_sensitivities_by_enumeration(domain: Domain, relation: Neighbours) -> None:
    """Two groups, all their compositions, all neighbours: no histogram changes by more; the worst of each kind does."""
    small = Domain((), (SEX,), domain.roles)
    types = keys(Universe.of(small).types)
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
    groups = (((0,), ((0,), (), (1, 1))), ((1,), ((1,), (1,), ())), ((1,), ((0,), (), (0,))))
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
    rng, clipped = np.random.default_rng(8), 0
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


# --- the baselines ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("relation", Neighbours)
def test_independent_marginals_with_plenty_of_budget(relation: Neighbours) -> None:
    """1-way answers are those of the population; everything is the product of them."""
    population = random_population(np.random.default_rng(9), HOUSEHOLD, 300)
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


def test_persons_alone_know_persons_and_sizes_but_not_groups() -> None:
    """2/3 of all persons are urban women, right; yet groups have their areas from persons, and sizes by chance."""
    population = couples()
    method = PersonsAlone(MWEM(iterations=50), k=2)
    budget = AdaptiveBudget(10**6, "1e-6", rounds=4)
    ledger = RhoLedger(budget.rho)
    model = method.fit(population, budget, source=Seeded("p"), ledger=ledger)
    assert ledger.left == 0
    np.testing.assert_allclose(model.sizes[0], [0, 0.5, 0.5], atol=1e-3)
    persons = Workload(population.domain, (Marginal(Level.INDIVIDUAL, (0,), (0,)),))
    exact = np.array([[2 / 3, 0], [0, 1 / 3]])
    np.testing.assert_allclose(answers(population, persons), exact.ravel())
    before = np.abs(0.25 - exact).max()
    found = model.answers(persons).reshape(2, 2)
    assert np.abs(found - exact).max() < 0.8 * before  # four rounds of small steps go a part of the way
    limit = RandomHouseholds(population.domain, exact, (np.array([0, 0.5, 0.5]),))
    np.testing.assert_allclose(limit.answers(persons), exact.ravel(), atol=1e-12)
    groups = Workload(population.domain, (Marginal(Level.GROUP, (0, 1), ()),))
    np.testing.assert_allclose(answers(population, groups), [0, 0.5, 0.5, 0])
    np.testing.assert_allclose(limit.answers(groups), [1 / 3, 1 / 3, 1 / 6, 1 / 6])


def test_persons_alone_is_the_fit_to_the_table_of_persons() -> None:
    """The same queries on persons as the inner fit, which is made again here with its part of the budget."""
    population = random_population(np.random.default_rng(10), PLAIN, 200)
    budget = AdaptiveBudget(2, "1e-6", rounds=6)
    model = PersonsAlone(MWEM(), k=2, share="0.9").fit(population, budget, source=Seeded("p"), name="set")
    table = table_of_persons(population)
    assert [a.name for a in table.domain.individual] == ["area", "rent", "sex", "age"]
    assert table.n_groups == population.n_persons
    inner = fit(
        table,
        Workload.k_way(table.domain, 2, [Level.INDIVIDUAL], count=False),
        MWEM(),
        AdaptiveBudget("1.8", "1e-6", rounds=6),
        source=Seeded("p"),
        name="set, persons",
    )
    own = Workload.k_way(PLAIN, 2, [Level.INDIVIDUAL], count=False)
    theirs = Workload.k_way(table.domain, 2, [Level.INDIVIDUAL], count=False)
    np.testing.assert_allclose(model.answers(own), inner.distribution.answers(theirs), rtol=0, atol=1e-12)


def test_no_sizes_to_measure_leaves_all_to_persons() -> None:
    """Groups of exactly two: all of rho goes to the table of persons, in as many rounds as it has queries, 4 of 30."""
    domain = Domain((AREA,), (SEX,), (Role("twin", 2, 2),))
    population, budget = random_population(np.random.default_rng(11), domain, 50), AdaptiveBudget(1, "1e-6", rounds=30)
    ledger = RhoLedger(budget.rho)
    model = PersonsAlone(MWEM(), k=9).fit(population, budget, source=Seeded("p"), ledger=ledger)
    assert ledger.left == 0
    assert len(ledger.spent) == 2 * 4  # a selection and a measurement per round
    assert model.sizes[0].tolist() == [0, 0, 1]


def test_privacy_of_a_baseline_is_what_its_ledger_was_charged() -> None:
    population, budget = couples(), AdaptiveBudget(2, "1e-6", rounds=3)
    for method in (IndependentMarginals(), PersonsAlone(MWEM(), k=2)):
        ledger = RhoLedger(1)
        method.fit(population, budget, source=Seeded("p"), neighbours=Neighbours.MOVE, ledger=ledger)
        privacy = Privacy.of(budget, Neighbours.MOVE, Seeded("p"))
        assert privacy.rho == sum(amount for amount, _ in ledger.spent) == 1 - ledger.left
        assert privacy.claim == "none (seeded)"
        assert Privacy.of(budget, Neighbours.MOVE, Secure()).claim.startswith("(2, 1/1000000)-differential privacy")


def test_refusals() -> None:
    population = couples()
    for method in (IndependentMarginals(), PersonsAlone(MWEM(), k=2)):
        for wrong in ({"source": None}, {"source": Secure}, {"ledger": 1.0}, {"budget": 1.0}, {"population": None}):
            given = {"population": population, "budget": PLENTY, "source": Seeded("p"), **wrong}
            with pytest.raises(ArgumentError, match=next(iter(wrong))):
                method.fit(**given)  # pyright: ignore[reportArgumentType]
        with pytest.raises(SynthesisError, match=r"Neighbours\.REPLACE"):
            method.fit(population, PLENTY, source=Seeded("p"), neighbours="near")  # pyright: ignore[reportArgumentType]
    with pytest.raises(SynthesisError, match="public number of rows"):
        PersonsAlone(MWEM()).fit(population, PLENTY, source=Seeded("p"), neighbours=Neighbours.ADD_REMOVE)
    with pytest.raises(BudgetError, match="leaves nothing for the sizes"):
        PersonsAlone(MWEM(), share=1)
    for method in (IndependentMarginals(), PersonsAlone(MWEM(), k=2)):
        ledger, budget = RhoLedger("1/100"), AdaptiveBudget(1, "1e-6", rounds=4)
        with pytest.raises(BudgetError, match="would spend"):
            method.fit(population, budget, source=Seeded("p"), ledger=ledger)
        assert ledger.spent == []


def test_persons_of_too_many_kinds_are_refused():
    many = [Attribute(f"a{i}", tuple(range(50))) for i in range(8)]
    domain = Domain.plain([], many, max_size=1)
    one = Population(domain, np.empty((1, 0), int), np.zeros((1, 8), int), np.zeros(1, int), np.zeros(1, int))
    with pytest.raises(MemoryNeededError, match=r"kinds of persons.*coarser attributes"):
        PersonsAlone(MWEM()).fit(one, AdaptiveBudget(1, "1e-6", rounds=2), source=Seeded("many"))
