"""Sensitivities by unit and relation, against all neighbours in small worlds; texts of units; public totals."""

from collections.abc import Callable, Iterator
from functools import cache
from itertools import combinations, combinations_with_replacement, product
from typing import NamedTuple

import naive
import numpy as np
import pytest
from instances import rng_of, scale

from pgsr.data.split_view import Split
from pgsr.data.views import AnyView, View
from pgsr.errors import ArgumentError, ProblemError
from pgsr.privacy.accounting import PureEpsilon
from pgsr.privacy.neighbours import Relation, Unit
from pgsr.privacy.sensitivity import Sensitivity, require_totals, sensitivity_of, sensitivity_of_totals
from pgsr.release.ledger import LedgerFile
from pgsr.release.ledger.charge import Charge, LedgerError

LEAVES = 2

World = tuple[tuple[int, int], ...]
"""(leaf, size) of every group, sorted."""


class Case(NamedTuple):
    """A unit and a relation, and the worlds in which their neighbours are enumerated."""

    unit: Unit
    relation: Relation
    max_quantity: int = 1
    max_size: int = 3
    max_groups: int = 4

    def __str__(self) -> str:
        return f"{self.unit}, {self.relation}, M={self.max_quantity}, K={self.max_size}"


ADD, EMPTY, REPLACE, MOVE = Relation
CASES = [
    *(Case(Unit.ENTITY, relation) for relation in (ADD, EMPTY, MOVE)),
    *(Case(Unit.ENTITY, relation, max_quantity=2) for relation in (ADD, EMPTY)),
    Case(Unit.ENTITY, MOVE, max_quantity=2, max_size=4, max_groups=3),
    Case(Unit.ENTITY, ADD, max_quantity=4, max_size=2),
    Case(Unit.entity_in_groups(2), ADD),
    Case(Unit.entity_in_groups(2), ADD, max_quantity=2),
    Case(Unit.entity_in_groups(2), EMPTY, max_quantity=2, max_size=2),
    Case(Unit.entity_in_groups(3), ADD, max_size=2),
    Case(Unit.entity_in_groups(2), MOVE, max_size=2),
    *(Case(Unit.GROUP, relation, max_size=k) for relation in Relation for k in (1, 3)),
]


@pytest.mark.few(3)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_every_neighbour_of_small_worlds(case: Case, counted: Callable[[int, str], None]) -> None:
    """Every change between neighbours is at most the stated one, and its L1 and L2 norms are reached.

    Of each pair the two leaves are compared together, as one level, and the root by itself, which changes by no more.
    """
    for view in View:
        stated, found = of(view, case), changes(view, case)
        assert faults(stated, found) == []
        assert {change for change in found if not at_most(change, stated)} == set()
    for view in splits(case):
        # The L1 norm is reached, the L2 norm where both parts have room for an entity.
        stated, found, room = of(view, case), changes(view, case), min(view.threshold, case.max_size - view.threshold)
        wrong = faults(stated, found)
        tight = case.unit.is_group or room >= case.max_quantity
        assert wrong == [] or (not tight and all(fault.startswith("L2^2 is") for fault in wrong))
    assert faults(sensitivity_of_totals(case.unit, case.relation), changes(None, case)) == []
    counted(len(pairs(case)[1]), "neighbour pairs of a unit and a relation")


def test_moved_counts_of_two_sizes_are_bounded_and_not_reached() -> None:
    """With the sizes 0 and 1 alone, an entity that leaves and one that joins cannot fill the same cell."""
    case = Case(Unit.entity_in_groups(2), MOVE, max_size=1)
    assert faults(of(View.COUNTS, case), changes(View.COUNTS, case)) == ["L2^2 is 16"]
    assert of(View.COUNTS, case).l2_squared == 24


@pytest.mark.few(5)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_sensitivity_too_small_by_one_is_found(case: Case) -> None:
    """Any one entry of a stated change less by one, or one cell more, is found in the same enumeration."""
    for view in View:
        (stated,) = of(view, case).changes
        for place in {0, len(stated) - 1}:
            smaller = [change - (i == place) for i, change in enumerate(stated)]
            assert faults(Sensitivity((tuple(sorted(filter(None, smaller), reverse=True)),)), changes(view, case))
        assert faults(Sensitivity(((*stated, 1),)), changes(view, case))


@pytest.mark.parametrize("together", [False, True])
def test_what_is_enumerated_holds_in_random_worlds(together: bool) -> None:
    """Of many groups, for m up to 20: nothing beyond the stated change, also where an entity has rows in one group.

    There ranked sizes change by no more in sum, which is what geometric noise is made for; one of them may change by m.
    """
    rng, beyond = rng_of(71 + together), 0
    for _ in range(scale(2_000, 50_000)):
        m, quantity, max_size = (int(rng.integers(1, top)) for top in ((9, 4, 12) if together else (21, 6, 12)))
        sizes = rng.integers(0, max_size + 1, int(rng.integers(1, 20 if together else 60)))
        grown = sizes.copy()
        if together:
            np.add.at(grown, rng.integers(0, min(len(sizes), 4), m), rng.integers(1, quantity + 1, m))
        else:
            grown[rng.permutation(len(sizes))[:m]] += rng.integers(1, quantity + 1)
        case = Case(Unit.entity_in_groups(m), ADD, quantity, max_size)
        one, other = (tuple((0, int(size)) for size in group) for group in (sizes, grown))
        for view in View:
            change = np.abs(vector(one, view, case) - vector(other, view, case))
            found, stated = tuple(sorted(change[change > 0].tolist(), reverse=True)), of(view, case)
            assert sum(found) <= stated.l1
            assert at_most(found, stated) or (together and view is View.RANKED)
            beyond += not at_most(found, stated)
    assert bool(beyond) == together, "ranked sizes"


def test_convex_costs_are_largest_at_the_stated_change() -> None:
    """Renyi divergences of moved double-geometric noise, summed over cells, from the law's probabilities.

    Their convexity in the move is what `Sensitivity` promises; it is shown from the definition for moves up to 12.
    """
    for epsilon, order in product((0.1, 1.0, 3.0), (1.01, 1.5, 2.0, 8.0, 40.0)):
        points = np.arange(-4_000, 4_000)
        log_law = -epsilon * np.abs(points) + np.log(np.tanh(epsilon / 2))
        divergences = []
        for move in range(13):
            shifted = -epsilon * np.abs(points - move) + np.log(np.tanh(epsilon / 2))
            terms = order * log_law + (1 - order) * shifted
            top = terms.max()
            divergences.append((top + np.log(np.exp(terms - top).sum())) / (order - 1))
        assert abs(divergences[0]) < 1e-9
        assert np.diff(divergences, n=2).min() > -1e-9
        assert np.diff(divergences).min() > -1e-12


@pytest.mark.parametrize("unit", [Unit.ENTITY, Unit.GROUP, Unit.entity_in_groups(3)], ids=str)
@pytest.mark.parametrize("relation", Relation)
@pytest.mark.parametrize("totals", ["regions", "root", "noisy"])
def test_public_totals_are_refused_where_they_change(unit: Unit, relation: Relation, totals: str) -> None:
    """Public numbers are refused exactly where the enumeration finds neighbours that differ in them."""
    if not unit.is_group and relation is REPLACE:
        return
    all_worlds, found = pairs(Case(unit, relation, max_groups=3, max_size=2))
    groups = np.array([[sum(leaf == i for leaf, _ in world) for i in range(LEAVES)] for world in all_worlds])
    one, other = groups[found[:, 0]], groups[found[:, 1]]
    changed = {"regions": (one != other).any(), "root": (one.sum(1) != other.sum(1)).any(), "noisy": False}[totals]
    if changed:
        with pytest.raises(ProblemError, match='totals = "noisy"'):
            require_totals(totals, unit, relation)
    else:
        require_totals(totals, unit, relation)


def test_units_are_read_back_from_their_text() -> None:
    for unit in (Unit.ENTITY, Unit.GROUP, Unit.entity_in_groups(2), Unit.entity_in_groups(12)):
        assert Unit.parse(str(unit)) == unit == Unit.parse(unit)
    for text in ("entities", "entity in 1 groups", "entity in 0 groups", "entity in 02 groups", "", None, 3):
        with pytest.raises(ArgumentError, match="is unknown"):
            Unit.parse(text)
    for groups in (0, -1, True, 2.0, None):
        with pytest.raises(ArgumentError, match="whole number from 1 up"):
            Unit.entity_in_groups(groups)


def test_a_ledger_keeps_units_apart(tmp_path) -> None:
    unit = Unit.entity_in_groups(5)
    ledger = LedgerFile.create(tmp_path / "ledger.jsonl", "taxi", PureEpsilon(1), unit=unit)
    ledger.charge(Charge(PureEpsilon("1/2"), "one", unit=unit), "taxi")
    assert ledger.read().unit == unit
    assert ledger.entries[0].charge.unit == unit
    with pytest.raises(LedgerError, match="counts the unit entity in 5 groups"):
        ledger.charge(Charge(PureEpsilon("1/2"), "other", unit=Unit.entity_in_groups(6)), "taxi")


# Stated and found.


def splits(case: Case) -> list[Split]:
    return [Split(threshold) for threshold in range(1, case.max_size)]


def of(view: AnyView, case: Case) -> Sensitivity:
    unit, relation, quantity, max_size, _ = case
    return sensitivity_of(view, unit, max_quantity=quantity, max_size=max_size, relation=relation)


def at_most(change: tuple[int, ...], stated: Sensitivity) -> bool:
    """Say whether a change is weakly majorised by one of the stated changes."""
    return any(
        all(sum(change[:n]) <= sum(largest[:n]) for n in range(1, len(change) + 1)) for largest in stated.changes
    )


def faults(stated: Sensitivity, found: set[tuple[int, ...]]) -> list[str]:
    """List what is wrong with a stated sensitivity, given every change that neighbours show."""
    beyond = [f"{change} is beyond it" for change in found if not at_most(change, stated)]
    l1 = max(sum(change) for change in found)
    l2 = max(sum(x * x for x in change) for change in found)
    return beyond + [f"L1 is {l1}"] * (l1 != stated.l1) + [f"L2^2 is {l2}"] * (l2 != stated.l2_squared)


# The small worlds.


@cache
def pairs(case: Case) -> tuple[list[World], np.ndarray]:
    """Every pair of neighbours whose first world has up to max_groups groups; sizes up to K + 1 pass the largest.

    The worlds, and the indices of the neighbours among them, shape (pairs, 2).
    """
    index: dict[World, int] = {}
    found = set()
    for world in worlds(case.max_groups, case.max_size + 1):
        one = index.setdefault(world, len(index))
        for other in neighbours(world, case):
            found.add((one, index.setdefault(other, len(index))))
    return list(index), np.array(sorted(found))


def worlds(max_groups: int, top: int) -> Iterator[World]:
    for n in range(max_groups + 1):
        yield from combinations_with_replacement(list(product(range(LEAVES), range(top + 1))), n)


def neighbours(world: World, case: Case) -> Iterator[World]:
    """The worlds next to this one, read from the definition of the relation; of symmetric pairs one order is enough."""
    if case.unit.is_group:
        places = list(product(range(LEAVES), range(case.max_size + 2)))
        if case.relation in (ADD, EMPTY):
            yield from (ordered([*world, place]) for place in places)
            return
        for i, (leaf, _) in enumerate(world):
            for place in places:
                if case.relation is MOVE or place[0] == leaf:
                    yield ordered([*world[:i], place, *world[i + 1 :]])
        return
    if case.relation is MOVE:
        for without in changed(world, case, -1):
            yield from changed(without, case, 1)
        return
    yield from changed(world, case, 1)
    if case.relation is EMPTY:
        yield from (ordered([*world, (leaf, 0)]) for leaf in range(LEAVES))
        # Without a table of groups, a group exists if it has a row: an entity that joins brings some of its groups.
        places, m = list(product(range(LEAVES), range(1, case.max_quantity + 1))), case.unit.groups or 0
        for n in range(1, m + 1):
            for brought in combinations_with_replacement(places, n):
                yield from (ordered([*grown, *brought]) for grown in changed(world, case, 1, m - n))


def changed(world: World, case: Case, sign: int, most: int | None = None) -> Iterator[World]:
    """The worlds in which an entity's contributions to groups that stay came in (sign 1) or went out (sign -1).

    They are at most as many as the unit says, or `most`.
    """
    most = min((case.unit.groups or 0) if most is None else most, len(world))
    for groups in (chosen for n in range(most + 1) for chosen in combinations(range(len(world)), n)):
        for amounts in product(range(1, case.max_quantity + 1), repeat=len(groups)):
            sizes = [list(group) for group in world]
            for group, amount in zip(groups, amounts, strict=True):
                sizes[group][1] += sign * amount
            if all(size >= 0 for _, size in sizes):
                yield ordered([(leaf, size) for leaf, size in sizes])


def ordered(groups: list[tuple[int, int]]) -> World:
    return tuple(sorted(groups))


@cache
def changes(view: AnyView | None, case: Case) -> set[tuple[int, ...]]:
    """Every change of the vectors of a level (the numbers of groups, without a view), as sorted absolute values."""
    all_worlds, found = pairs(case)
    result: set[tuple[int, ...]] = set()
    for level in ("leaves", "root"):
        vectors = np.array([vector(world, view, case, level) for world in all_worlds], np.int16)
        vectors = vectors[:, np.ptp(vectors, axis=0) > 0]  # what is alike in all worlds, as padding is, never changes
        change = np.abs(vectors[found[:, 0]] - vectors[found[:, 1]])
        for row in np.unique(-np.sort(-change, axis=1), axis=0):
            result.add(tuple(int(x) for x in row if x))
    return result


def vector(world: World, view: AnyView | None, case: Case, level: str = "leaves") -> np.ndarray:
    """Write the vectors of the regions of a level one after the other, from the definitions of the views.

    Cumulative counts are measured from below, but from above where groups come and go. Ranked sizes go from the largest
    down and are padded to one length, which changes nothing where neighbours have equal numbers of groups.
    """
    padded, cells = case.max_groups + 60, range(case.max_size + 1)
    from_above = case.relation is EMPTY or (case.unit.is_group and case.relation is ADD)
    noisy_totals = from_above or (case.unit.is_group and case.relation is MOVE)
    values: list[int] = []
    for leaf in range(LEAVES) if level == "leaves" else [None]:
        sizes = [min(size, case.max_size) for place, size in world if leaf is None or place == leaf]
        if view is None:
            values += [len(sizes)]
        elif isinstance(view, Split):
            cells_of_split = naive.split_view(sizes, view.threshold, padded if noisy_totals else None)
            values += cells_of_split + [0] * (view.threshold + padded - len(cells_of_split))
        elif view is View.COUNTS:
            values += [sizes.count(s) for s in cells]
        elif view is View.CUMULATIVE:
            values += [sum(size > s if from_above else size <= s for size in sizes) for s in cells]
        else:
            values += sorted(sizes, reverse=True) + [0] * (padded - len(sizes))
    return np.array(values)
