"""The general noise step: what is drawn, what it costs, and what is refused, for all budgets, laws and units."""

from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd
import pytest
from instances import FULL

from pgsr import CountOfCounts, Hierarchy, View
from pgsr.algorithms import TreeProjection
from pgsr.data.views import cumulative, ranked
from pgsr.errors import PgsrError
from pgsr.estimators import Matching
from pgsr.estimators.posterior import Posterior
from pgsr.methods.mechanism import Mechanism
from pgsr.methods.method import Status
from pgsr.noise import Geometric, Noise
from pgsr.noise.measurement import Measurement
from pgsr.privacy import Ledger, Seeded
from pgsr.privacy.accounting import Approximate, PureEpsilon, Rho
from pgsr.privacy.accounting.composition import composed
from pgsr.privacy.accounting.loss import Loss
from pgsr.privacy.laws import DiscreteGaussian, DoubleGeometric, GeometricNoise
from pgsr.privacy.laws.per_level import GaussianNoise
from pgsr.privacy.neighbours import Relation, Unit
from pgsr.privacy.random import StreamId
from pgsr.privacy.sensitivity import sensitivity_of, sensitivity_of_totals
from pgsr.problems.precisions import precision_weights
from pgsr.problems.problem import Problem
from pgsr.tables import Entities, Parents, count_groups

TREE = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
TRUTH = CountOfCounts(TREE, [[3, 20, 0, 1], [0, 10, 10, 1]], "d")
BUDGETS = (PureEpsilon("3/2"), Approximate(1, "1e-6"), Rho("1/10"), Rho(6))


def test_a_pure_budget_of_entities_is_geometric_noise() -> None:
    """Value by value the measurement of the step that knows nothing else."""
    for view, totals, shares in product(View, ("regions", "noisy"), (None, ("1/4", "3/4"))):
        general = Noise(view, PureEpsilon("1/2"), shares, totals=totals).measure(TRUTH, Seeded("same"))
        today = Geometric(view, "1/2", shares, totals).measure(TRUTH, Seeded("same"))
        assert (general.noise, general.totals_noise) == (today.noise, today.totals_noise)
        assert (general.unit, general.relation) == (today.unit, today.relation)
        assert (general.cells == today.cells).all()


@pytest.mark.parametrize("unit", [Unit.ENTITY, Unit.entity_in_groups(3 if FULL else 2), Unit.GROUP], ids=str)
def test_all_levels_and_totals_together_keep_the_budget(unit: Unit) -> None:
    for budget, view, totals in product(BUDGETS, View, ("regions", "noisy")):
        if isinstance(budget, Approximate) and not FULL:
            continue  # seconds each; `accounting_checks` has such budgets
        relation = Relation.REPLACE if unit.is_group and totals == "regions" else Relation.ADD_REMOVE
        noise = Noise(view, budget, totals=totals, unit=unit, relation=relation)
        levels = [*noise.levels(2, 3), *(noise.totals_noise(2, 3),) * 2]
        of_values = sensitivity_of(view, unit, max_size=3, relation=noise.relation)
        of_totals = sensitivity_of_totals(unit, noise.relation)
        spent = composed(levels, [of_values, of_values, of_totals, of_totals])
        assert spent.within(budget), (unit, view, totals)
        assert noise.cost == budget


def test_what_is_drawn_is_the_stated_law() -> None:
    """Every value is the true one plus the draws of the law that the measurement states, from the region's stream."""
    for budget, view in product(BUDGETS, View):
        noisy = Noise(view, budget, ("1/3", "2/3")).measure(TRUTH, Seeded("drawn"))
        for region in range(3):
            law, level = noisy.law(region), int(TREE.level_of[region])
            assert law is not None
            of = {View.COUNTS: np.copy, View.CUMULATIVE: cumulative, View.RANKED: ranked}[view]
            expected = of(TRUTH.rows(region, region + 1)[0]).astype(np.int64)
            law.add_to(expected, Seeded("drawn").stream(StreamId("d", view.value, level, TREE.paths[region])))
            assert (noisy.row(region) == expected).all()


def test_the_law_of_a_level_follows_from_the_unit() -> None:
    """sigma^2 = Delta_2^2 / (2 rho) and scale = Delta_1 / epsilon, with the numbers written out."""

    def law(view: View, budget: Loss, unit: Unit, relation: Relation = Relation.ADD_REMOVE) -> object:
        return Noise(view, budget, ("0", "1"), unit=unit, relation=relation).measure(TRUTH, Seeded("u")).law(1)

    m = Unit.entity_in_groups(3)
    assert law(View.COUNTS, Rho("1/10"), Unit.ENTITY) == DiscreteGaussian(Fraction(10))
    assert law(View.CUMULATIVE, Rho("1/10"), Unit.ENTITY) == DiscreteGaussian(Fraction(5))
    assert law(View.COUNTS, Rho("1/10"), m) == DiscreteGaussian(Fraction(90))
    assert law(View.CUMULATIVE, Rho("1/10"), m) == DiscreteGaussian(Fraction(45))
    assert law(View.RANKED, Rho("1/10"), m) == DiscreteGaussian(Fraction(15))
    assert law(View.COUNTS, PureEpsilon(1), m) == DoubleGeometric(Fraction(6))
    assert law(View.COUNTS, Rho("1/10"), Unit.GROUP, Relation.REPLACE) == DiscreteGaussian(Fraction(10))
    assert law(View.COUNTS, PureEpsilon(1), Unit.GROUP, Relation.REPLACE) == DoubleGeometric(Fraction(2))


def test_best_takes_the_law_of_less_variance() -> None:
    chosen = Noise(View.CUMULATIVE, Rho(6), ("1/60", "59/60")).levels(2, 3)
    assert [type(noise) for noise in chosen] == [GaussianNoise, GeometricNoise]
    for laws, kind in (("geometric", GeometricNoise), ("gaussian", GaussianNoise)):
        assert {type(noise) for noise in Noise(View.CUMULATIVE, Rho(6), laws=laws).levels(2, 3)} == {kind}


def test_weights_are_inverse_variances() -> None:
    """In the ratio of the levels' rho for Gaussian noise, and of exact variances where laws differ."""
    noisy = Noise(View.COUNTS, Rho("1/10"), ("1/4", "3/4")).measure(TRUTH, Seeded("w"))
    assert precision_weights(noisy).tolist() == pytest.approx([2**30 // 3, 2**30, 2**30], abs=1)
    mixed = Noise(View.CUMULATIVE, Rho(6), ("1/60", "59/60")).measure(TRUTH, Seeded("w"))
    variances = [law.variance for law in map(mixed.law, range(3)) if law]
    weights = precision_weights(mixed)
    assert weights[0] / weights[1] == pytest.approx(variances[1] / variances[0], rel=1e-5)


@pytest.mark.parametrize("budget", BUDGETS[1:], ids=str)
def test_post_processing_takes_any_law(budget: Loss) -> None:
    noisy: Measurement = Noise(View.CUMULATIVE, budget).measure(TRUTH, Seeded("post"))
    for post in (Posterior(), Matching()):
        counts = post.apply(noisy).estimate.counts()
        assert (counts.totals == TRUTH.totals).all()
        assert (counts.counts >= 0).all()
    counts = Noise(View.COUNTS, budget, totals="root").measure(TRUTH, Seeded("post"))
    assert TreeProjection().solve(Problem.m_h(counts)).status is Status.OPTIMAL


def test_a_ledger_is_charged_in_its_currency() -> None:
    ledger = Ledger(Rho("1/2"))
    Noise(View.COUNTS, Rho("1/5")).measure(TRUTH, Seeded("l"), ledger)
    Geometric(View.COUNTS, "1/2").measure(TRUTH, Seeded("l"), ledger)
    spent = Fraction(1, 5) + ledger.spent[1][0]
    assert 0.122 < ledger.spent[1][0] < 0.1225  # epsilon tanh(epsilon / 2) at 1/2, below epsilon^2 / 2 = 0.125
    assert ledger.left == Fraction(1, 2) - spent
    with pytest.raises(PgsrError, match="is left"):
        Noise(View.COUNTS, Rho("1/5")).measure(TRUTH, Seeded("l"), ledger)
    with pytest.raises(PgsrError, match="cannot be counted in a ledger of epsilon 1"):
        Noise(View.COUNTS, Rho("1/5")).measure(TRUTH, Seeded("l"), Ledger(1))
    assert len(ledger.spent) == 2


def test_a_mechanism_states_its_cost() -> None:
    mechanism = Mechanism(Noise(View.CUMULATIVE, Rho("1/5")), Matching())
    assert mechanism.cost == Rho("1/5")
    with pytest.raises(PgsrError, match="no pure epsilon"):
        _ = mechanism.epsilon


@pytest.mark.parametrize(("view", "m"), product(View, (1, 3)))
def test_an_entity_that_leaves_may_take_its_groups_along(view: View, m: int) -> None:
    """Without a table of groups a group exists if it has a row: the worst log ratio of all that is drawn is epsilon."""
    regions = pd.DataFrame({"region": ["US", "GA"], "parent": [None, "US"]})
    others = [(100 + person, 100 + person % 4, "GA") for person in range(8)]
    rows = pd.DataFrame([*others, *((0, group, "GA") for group in range(m))], columns=["entity", "group", "region"])
    with_, without = (
        count_groups(Entities(table, None, region="region"), None, Parents(regions), max_size=3, private_groups=True)
        for table in (rows, rows[rows.entity != 0].reset_index(drop=True))
    )
    epsilon = Fraction(3, 2)
    noise = Noise(view, PureEpsilon(epsilon), totals="noisy", totals_share="1/3", unit=Unit.entity_in_groups(m))
    laws = noise._laws(2, 3)
    lost = Fraction(0)
    for region in range(2):
        totals = [int(truth.totals[region]) for truth in (with_, without)]
        lost += Fraction(abs(totals[0] - totals[1])) / noise._totals_law(2, 3).scale
        one, other = (view.vector(truth.row(region), 20) for truth in (with_, without))
        law = laws[region][view]
        assert isinstance(law, DoubleGeometric)
        lost += Fraction(int(np.abs(one - other).sum())) / law.scale
    assert lost <= epsilon
    if view is not View.COUNTS:  # of two cells that counts may change in, an entity that takes its group along uses one
        assert lost == epsilon


def test_a_ledger_adds_up_what_protects_the_same() -> None:
    """Epsilon of households and epsilon of persons are no sum of anything; noisy totals hide empty groups as well."""
    ledger = Ledger(10)
    half, group = PureEpsilon("1/2"), {"unit": Unit.GROUP, "relation": Relation.REPLACE}
    Noise(View.COUNTS, half).measure(TRUTH, Seeded("one"), ledger)
    Geometric(View.COUNTS, "1/2", totals="noisy").measure(TRUTH, Seeded("two"), ledger)
    for other in (group, {"relation": Relation.MOVE}, {"unit": Unit.entity_in_groups(2)}):
        with pytest.raises(PgsrError, match=r"what was charged before one entity under add_remove; keep a ledger of"):
            Noise(View.COUNTS, half, **other).measure(TRUTH, Seeded("other"), ledger)
    with pytest.raises(PgsrError, match="measuring counts protects one group under replace, and what was charged"):
        Noise(View.COUNTS, half, max_sizes=(3, 2), **group).measure(TRUTH, Seeded("k"), ledger)
    households = Ledger(10)
    Noise(View.COUNTS, half, **group).measure(TRUTH, Seeded("other"), households)
    with pytest.raises(PgsrError, match="what was charged before one group under replace"):
        Geometric(View.COUNTS, 1).measure(TRUTH, Seeded("one"), households)
    assert ledger.left == 10 - 1
