"""MWEM on types of groups, against a slow twin on ordered tuples of members, and the worked example of its update."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np
import pytest
from instances import rng_of, scale
from listed_groups import Group, collapsed, groups_of, population_of

from pgsr.errors import MemoryNeededError
from pgsr.synthesis import Attribute, Domain, Level, Marginal, Population, Workload
from pgsr.synthesis.data.domain import Role
from pgsr.synthesis.queries.answers import answers, counts
from pgsr.synthesis.queries.mwem import MWEM, MWEMEstimator, Output, Update, group_step, individual_step, matches
from pgsr.synthesis.queries.transcript import MeasuredQuery
from pgsr.synthesis.queries.universe import TypeDistribution, Universe, n_types

AREA, SEX, AGE = Attribute("area", ("urban", "rural")), Attribute("sex", ("f", "m")), Attribute("age", (0, 1, 2))

PLAIN = Domain.plain([AREA], [SEX], max_size=3)
HOUSEHOLD = Domain.household([AREA], [SEX], max_children=2)
DOMAINS = (
    PLAIN,
    HOUSEHOLD,
    Domain.plain([], [SEX, AGE], max_size=2),
    Domain.plain([AREA, Attribute("one", (7,))], [Attribute("same", ("x",))], max_size=4),
    Domain((AREA,), (SEX,), (Role("a", 0, 2), Role("b", 2, 3))),
)


def ordered_groups(domain: Domain) -> Iterator[Group]:
    persons = list(product(*(range(len(a)) for a in domain.individual)))
    tuples = [
        [members for n in range(role.least, role.most + 1) for members in product(persons, repeat=n)]
        for role in domain.roles
    ]
    for codes in product(*(range(len(a)) for a in domain.group)):
        for roles in product(*tuples):
            yield codes, roles


def phi_of(types: Population, workload: Workload) -> np.ndarray:
    """Count every query in every group on its own: (queries, groups)."""
    alone = np.eye(types.n_groups)
    return np.column_stack([counts(types, workload, weights) for weights in alone])


class OrderedTwin:
    """Algorithm 5 as printed, on lists."""

    def __init__(self, workload: Workload, update: Update, iterations: int) -> None:
        self.groups = list(ordered_groups(workload.domain))
        self.workload, self.update_rule, self.iterations = workload, update, iterations
        self.phi = phi_of(population_of(workload.domain, self.groups), workload).tolist()
        self.size = [sum(len(members) for members in g[1]) for g in self.groups]
        self.a = [1 / len(self.groups)] * len(self.groups)
        self.history: list[list[float]] = []

    def answer(self, query: int, a: Sequence[float] | None = None) -> float:
        a = self.a if a is None else a
        total = sum(p * x for p, x in zip(a, self.phi[query], strict=True))
        if self.workload.levels()[query] == Level.GROUP:
            return total
        return total / sum(p * s for p, s in zip(a, self.size, strict=True))

    def update(self, measured: Sequence[MeasuredQuery]) -> None:
        errors = {i: abs(self.answer(m.query) - m.value) for i, m in enumerate(measured)}
        largest = sorted(errors, key=lambda i: -errors[i])
        for i in largest[: self.iterations]:
            if errors[i] > errors[largest[0]] / 2:
                self.factor(measured[i].query, measured[i].value)
        self.history.append(list(self.a))

    def factor(self, query: int, value: float) -> None:
        m, phi = self.workload.domain.max_size, self.phi[query]
        if self.workload.levels()[query] == Level.GROUP:
            w, error = [float(x) for x in phi], value - self.answer(query)
        elif self.update_rule is Update.LITERAL:
            w, error = [x / m for x in phi], value - self.answer(query)
        else:
            w = [(x - value * s) / m for x, s in zip(phi, self.size, strict=True)]
            error = -sum(p * x for p, x in zip(self.a, w, strict=True))
        a = [p * np.exp(x * error / 2) for p, x in zip(self.a, w, strict=True)]
        self.a = [p / sum(a) for p in a]


def workload_of(domain: Domain) -> Workload:
    """1-way and 2-way marginals of all levels that the domain has."""
    levels = [Level.GROUP, Level.INDIVIDUAL, *([Level.RELATION] if domain is HOUSEHOLD else [])]
    parts = [Workload.k_way(domain, k, levels).marginals for k in (1, 2)]
    return Workload(domain, tuple(m for part in parts for m in part))


@pytest.mark.parametrize("domain", DOMAINS, ids=range(len(DOMAINS)))
def test_universe_is_the_ordered_one_collapsed(domain: Domain) -> None:
    orderings = Counter(map(collapsed, ordered_groups(domain)))
    universe = Universe.of(domain)
    found = [collapsed(group) for group in groups_of(universe.types)]
    assert len(found) == len(set(found)) == len(orderings) == n_types(domain)
    assert sum(orderings.values()) == domain.universe
    expected = [orderings[group] / domain.universe for group in found]
    np.testing.assert_allclose(universe.prior, expected, rtol=1e-14, atol=0)


def test_a_large_universe_is_refused_before_it_is_built() -> None:
    huge = Domain.plain([AREA], [Attribute("a", range(1_000)), Attribute("b", range(1_000))], max_size=12)
    assert n_types(huge) > 10**60
    with pytest.raises(MemoryNeededError, match=r"GiB of memory, and the limit is 2,000,000 types.*lower the largest"):
        MWEM().start(Workload.k_way(huge, 1), 10, 20, seed=0)
    with pytest.raises(MemoryNeededError, match=r"18 types.*limit is 17"):
        Universe.of(PLAIN, max_types=17)
    assert Universe.of(PLAIN, max_types=18).types.n_groups == 18
    with pytest.raises(MemoryNeededError, match="GiB are free"):  # allowed by the limit, refused by the machine
        Universe.of(huge, max_types=10**80)


@pytest.mark.parametrize("domain", DOMAINS, ids=range(len(DOMAINS)))
def test_matches_are_the_counts_of_every_type(domain: Domain) -> None:
    workload, types = workload_of(domain), Universe.of(domain).types
    found = [matches(types, workload, query).tolist() for query in range(workload.n_queries)]
    assert found == phi_of(types, workload).tolist()


def e18(update: Update) -> MWEMEstimator:
    """Two types: one member who matches, or three of whom two match; both equally likely."""
    domain = Domain.plain([], [SEX], max_size=3)
    persons = np.array([[0], [0], [0], [1]])
    types = Population(domain, np.empty((2, 0), int), persons, np.array([0, 1, 1, 1]), np.zeros(4, int))
    workload = Workload(domain, (Marginal(Level.INDIVIDUAL, (), (0,)),))
    return MWEMEstimator(MWEM(update=update), workload, Universe(types, np.array([0.5, 0.5])))


def e18_path(update: Update, steps: int) -> tuple[list[float], np.ndarray]:
    """Compute q(A) step by step and the last A; the first steps by the estimator as well."""
    estimator, a = e18(update), np.array([0.5, 0.5])
    phi, sizes = np.array([1, 2]), np.array([1, 3])
    path = [0.75]
    assert estimator.answers()[0] == 0.75
    for step in range(steps):
        a = individual_step(a, phi, sizes, 3, 0.85, update)
        path.append(a @ phi / (a @ sizes))
        if step < 20:
            estimator.update([MeasuredQuery(0, 0.85)])
            assert estimator.answers()[0] == pytest.approx(path[-1], abs=1e-14)
    return path, a


def test_literal_rule_goes_the_wrong_way() -> None:
    """E18: q is 0.75, the measurement 0.85, and every step lowers q, down to 2/3."""
    path, a = e18_path(Update.LITERAL, 2_000)
    assert path[1] == pytest.approx(0.748963, abs=5e-7)
    assert (np.diff(path) <= 1e-15).all()
    assert path[-1] == pytest.approx(2 / 3, abs=1e-9)
    np.testing.assert_allclose(a, [0, 1], atol=1e-9)


def test_linearised_rule_arrives() -> None:
    """E18: 0.75 -> 0.750487 -> ... -> 0.85 with A = (11/14, 3/14), where <phi, A> = 0.85 <size, A>."""
    path, a = e18_path(Update.LINEARISED, 8_000)
    assert path[1] == pytest.approx(0.750487, abs=5e-7)
    assert (np.diff(path) >= -1e-15).all()
    assert path[-1] == pytest.approx(0.85, abs=1e-12)
    np.testing.assert_allclose(a, [11 / 14, 3 / 14], atol=1e-12)
    np.testing.assert_allclose(a, [0.786, 0.214], atol=5e-4)


def test_group_level_step_is_towards_the_measurement_and_never_beyond() -> None:
    """The step is at most |a - q| / 8, as the variance of a 0/1 weight is at most 1/4; and in the limit all of it."""
    rng = rng_of(2)
    for _ in range(scale(300, 3_000)):
        n = int(rng.integers(2, 8))
        a = rng.dirichlet(np.full(n, 0.5))
        phi = (rng.random(n) < 0.5).astype(float)
        phi[:2] = 0, 1
        value = rng.random()
        for _ in range(20):
            before, a = a @ phi, group_step(a, phi, value)
            assert a.sum() == pytest.approx(1, abs=1e-12)
            assert a.min() >= 0
            step, gap = a @ phi - before, value - before
            assert step * gap >= -1e-16
            assert abs(step) <= abs(gap) / 8 + 1e-16
    a, phi = np.array([0.3, 0.3, 0.4]), np.array([1.0, 0.0, 0.0])
    for _ in range(1_000):
        a = group_step(a, phi, 0.9)
    assert a @ phi == pytest.approx(0.9, abs=1e-12)
    assert a[1] / a[2] == pytest.approx(0.75)  # types that the query does not tell apart keep their proportion


def test_linearised_step_is_towards_the_measurement_and_never_beyond() -> None:
    """The weight's answer falls towards 0 by at most half, as its values lie within [-1, 1]; q(A) = a only there."""
    rng = rng_of(3)
    moved = 0
    for _ in range(scale(300, 3_000)):
        n, max_size = int(rng.integers(2, 8)), int(rng.integers(1, 6))
        sizes = rng.integers(1, max_size + 1, n)
        phi = rng.integers(0, sizes + 1)
        a, value = rng.dirichlet(np.full(n, 0.5)), rng.random()
        for _ in range(20):
            before, gap = a @ (phi - value * sizes), value - (a @ phi) / (a @ sizes)
            a = individual_step(a, phi, sizes, max_size, value, Update.LINEARISED)
            after = a @ (phi - value * sizes)
            assert a.sum() == pytest.approx(1, abs=1e-12)
            assert before * after >= -1e-16
            assert abs(before) / 2 - 1e-15 <= abs(after) <= abs(before) + 1e-15
            assert gap * (value - (a @ phi) / (a @ sizes)) >= -1e-15
            moved += abs(after) < abs(before)
    assert moved > 1_000


@pytest.mark.parametrize(
    ("domain", "update"), [(PLAIN, Update.LITERAL), *((domain, Update.LINEARISED) for domain in DOMAINS)], ids=range(6)
)
def test_types_equal_ordered_tuples(domain: Domain, update: Update) -> None:
    """The collapsed state answers every query as the ordered one does, after every round and on average."""
    rng = rng_of(4)
    workload = workload_of(domain)
    twin = OrderedTwin(workload, update, iterations=3)
    estimator = MWEM(iterations=3, update=update, output=Output.AVERAGE).start(workload, 1, 1, seed=0)
    measured: list[MeasuredQuery] = []
    for query in rng.permutation(workload.n_queries)[:8]:
        expected = [twin.answer(q) for q in range(workload.n_queries)]
        np.testing.assert_allclose(estimator.answers(), expected, rtol=0, atol=1e-12)
        assert estimator.distribution().probabilities.sum() == pytest.approx(1, abs=1e-12)
        measured.append(MeasuredQuery(int(query), float(rng.random())))
        twin.update(measured)
        estimator.update(measured)
    mean = np.mean(twin.history, axis=0)
    expected = [twin.answer(q, mean) for q in range(workload.n_queries)]
    np.testing.assert_allclose(estimator.distribution().answers(workload), expected, rtol=0, atol=1e-12)


def test_output_is_the_last_distribution_or_the_average() -> None:
    workload = workload_of(PLAIN)
    rounds: list[np.ndarray] = []
    pair = [MWEM(output=output).start(workload, 1, 1, seed=0) for output in (Output.LAST, Output.AVERAGE)]
    for estimator in pair:
        np.testing.assert_array_equal(estimator.distribution().probabilities, Universe.of(PLAIN).prior)
    for value in (0.9, 0.8, 0.1):
        for estimator in pair:
            estimator.update([MeasuredQuery(0, value)])
        rounds.append(pair[0].distribution().probabilities)
    average = pair[1].distribution()
    np.testing.assert_allclose(average.probabilities, np.mean(rounds, axis=0), rtol=1e-14)
    np.testing.assert_array_equal(pair[1].answers(), answers(Universe.of(PLAIN).types, workload, rounds[-1]))


def test_samples_follow_the_distribution_in_random_order() -> None:
    """Ordered groups are as frequent as their type's probability over its number of orderings; 5 standard errors."""
    domain, n = HOUSEHOLD, scale(20_000, 400_000)
    universe = Universe.of(domain)
    distribution = TypeDistribution(universe.types, rng_of(7).dirichlet(np.ones(len(universe.prior))))
    sample = distribution.sample(n, seed=8)
    seen = Counter(groups_of(sample))
    orderings = Counter(map(collapsed, ordered_groups(domain)))
    types = [collapsed(group) for group in groups_of(universe.types)]
    probability = dict(zip(types, distribution.probabilities, strict=True))
    assert set(seen) <= set(ordered_groups(domain))
    for group in ordered_groups(domain):
        p = probability[collapsed(group)] / orderings[collapsed(group)]
        assert abs(seen[group] / n - p) <= 5 * np.sqrt(p * (1 - p) / n)
    again = distribution.sample(n, seed=8)
    assert np.array_equal(again.persons, sample.persons)
    assert np.array_equal(again.groups, sample.groups)


def test_passes_are_rounds_with_the_same_measurements() -> None:
    """One pass is that of the paper."""
    workload = Workload.k_way(PLAIN, 1)
    measured = [MeasuredQuery(q, 0.2) for q in range(workload.n_queries)]
    by_pass, by_hand = (MWEM(passes=passes).start(workload, 40, 60, 0) for passes in (30, 1))
    by_pass.update(measured)
    for _ in range(30):
        by_hand.update(measured)
    np.testing.assert_allclose(by_pass.answers(), by_hand.answers(), rtol=0, atol=1e-9)
