"""What noise spends, over all levels and numbers of groups together, between all neighbours of small worlds."""

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
import pytest

from pgsr import View
from pgsr.data import Split
from pgsr.data.views import AnyView
from pgsr.errors import ProblemError
from pgsr.noise import Noise
from pgsr.noise.split_by_root import ViewRule
from pgsr.privacy.accounting import PureEpsilon, Rho
from pgsr.privacy.accounting.loss import Loss
from pgsr.privacy.accounting.noise_rho import rho_of_law
from pgsr.privacy.laws import DoubleGeometric, Law
from pgsr.privacy.neighbours import Relation, Unit
from tests.privacy.test_privacy_sensitivity import ADD, EMPTY, LEAVES, MOVE, REPLACE, Case, World, neighbours, worlds

K, PADDED = 2, 9
SIZES = ((K, K), (K, 1))
"""The largest sizes of the root and of the leaves."""

TWO = Unit.entity_in_groups(2)
UNITS = [
    *((Unit.ENTITY, EMPTY, 2), (Unit.GROUP, ADD, 1)),
    *(pytest.param(*unit, marks=pytest.mark.slow) for unit in ((Unit.ENTITY, MOVE, 1), (TWO, ADD, 1), (TWO, EMPTY, 1))),
    *(
        pytest.param(*unit, marks=pytest.mark.full)
        for unit in (
            *((Unit.ENTITY, ADD, 1), (Unit.ENTITY, ADD, 2), (Unit.ENTITY, EMPTY, 1), (Unit.ENTITY, MOVE, 2)),
            *((TWO, MOVE, 1), (Unit.GROUP, EMPTY, 1), (Unit.GROUP, REPLACE, 1), (Unit.GROUP, MOVE, 1)),
        )
    ),
]
BUDGETS: list[tuple[Loss, str]] = [(PureEpsilon("3/2"), "best"), (Rho("1/5"), "gaussian"), (Rho(5), "best")]

Rules = ViewRule | tuple[ViewRule, ...]
MIXED: Rules = (Split(1), View.RANKED, Split(1))
"""A view for every region: the root and its leaves."""

ALL_VIEWS: tuple[AnyView, ...] = (*View, Split(1))

Changes = tuple[tuple[AnyView, int, tuple[int, ...]], ...]
"""(view, level, absolute changes) of every region that changes; of numbers of groups the level is 2."""


@pytest.mark.parametrize(("unit", "relation", "quantity"), UNITS, ids=str)
def test_all_levels_together_spend_at_most_the_budget(
    unit: Unit, relation: Relation, quantity: int, counted: Callable[[int, str], None]
) -> None:
    """Of every pair of neighbours, by the laws that are drawn; and the whole of it is spent somewhere.

    Epsilon is the sum of |change| / scale, and rho that of `rho_of_law`, over all regions of both levels and their
    numbers of groups where these are noisy.
    """
    largest, kept = Fraction(0), 0
    rules: tuple[Rules, ...] = (*View, Split(1), MIXED)
    for rule, sizes, totals in product(rules, SIZES, ("regions", "root", "noisy")):
        by_level = sizes != (K, K)
        if by_level and (totals == "noisy" or rule not in (View.COUNTS, View.CUMULATIVE)):
            continue
        for budget, laws in BUDGETS:
            try:
                noise = Noise(rule, budget, ("1/3", "2/3"), laws, totals, "1/4", quantity, unit, relation)
            except ProblemError:  # totals that the unit changes, or lengths that tell them
                continue
            if totals == "noisy" and relation in (MOVE, REPLACE):
                continue  # numbers of groups do not change, or only some of them: nothing to pay for
            drawn = laws_of(noise, sizes, totals == "noisy")
            case = Case(unit, noise.relation, quantity, K, 3)
            spent = max(cost(drawn, budget, changes) for changes in found(case, rule, sizes, totals == "noisy"))
            amount = max(budget.parts)
            assert spent <= amount * (1 + Fraction(1, 10**20)), (rule, sizes, totals, budget)
            largest, kept = max(largest, spent / amount), kept + 1
    counted(kept, "combinations of noise, between all neighbours")
    few = relation is MOVE and unit.groups == 2  # two groups that shrink and two that grow are more than three
    assert largest > Fraction(999, 1_000) or few


def laws_of(noise: Noise, sizes: tuple[int, int], noisy: bool) -> list[dict[AnyView, Law]]:
    """The laws that are drawn on every level, by view, and last those of the numbers of groups."""
    if sizes != (K, K):
        assert isinstance(noise.view, View)
        return [{noise.view: law} for law in noise.laws_of_sizes(sizes)]
    return [*noise._laws(2, K), dict.fromkeys(ALL_VIEWS, noise._totals_law(2, K)) if noisy else {}]


def cost(drawn: list[dict[AnyView, Law]], budget: Loss, changes: Changes) -> Fraction:
    if isinstance(budget, Rho):
        return sum((rho_of_law(drawn[level][view], change) for view, level, change in changes), Fraction(0))
    spent = Fraction(0)
    for view, level, change in changes:
        law = drawn[level][view]
        assert isinstance(law, DoubleGeometric)
        spent += Fraction(sum(change)) / law.scale
    return spent


@cache
def found(case: Case, rule: Rules, sizes: tuple[int, int], noisy: bool) -> set[Changes]:
    """The changes between all neighbours that public facts do not tell apart."""
    pairs = ((one, other) for one in worlds(case.max_groups, K + 1) for other in neighbours(one, case))
    return {between(one, other, rule, sizes, noisy) for one, other in pairs}


def between(one: World, other: World, rule: Rules, sizes: tuple[int, int], noisy: bool) -> Changes:
    changes = []
    for level, k in enumerate(sizes):
        for region, leaves in enumerate([range(LEAVES)] if level == 0 else [[leaf] for leaf in range(LEAVES)], level):
            ours, theirs = (counts(world, leaves, k) for world in (one, other))
            view = (rule[region] if isinstance(rule, tuple) else rule).on(K)
            length = PADDED if noisy or view is View.RANKED else None
            vectors = [view.vector(row, length) for row in (ours, theirs)]
            changes.append((view, level, absolute(*vectors)))
            if noisy:
                changes.append((view, 2, absolute(*(np.array([row.sum()]) for row in (ours, theirs)))))
    return tuple(sorted((change for change in changes if change[2]), key=repr))


def counts(world: World, leaves: range | list[int], k: int) -> np.ndarray:
    return np.bincount([min(size, k) for leaf, size in world if leaf in leaves], minlength=k + 1)


def absolute(one: np.ndarray, other: np.ndarray) -> tuple[int, ...]:
    change = np.abs(one - other)
    return tuple(sorted(change[change > 0].tolist(), reverse=True))
