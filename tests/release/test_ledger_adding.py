"""The sum of charges, held against small mechanisms whose chances are enumerated in exact fractions."""

from fractions import Fraction
from itertools import product
from math import comb, exp, log

import pytest

from pgsr.privacy.accounting import Approximate, PureEpsilon, Rho
from pgsr.privacy.accounting.loss import epsilon_delta
from pgsr.privacy.accounting.zcdp import epsilon_of, rho_of
from pgsr.privacy.enclosure import log_bounds
from pgsr.privacy.neighbours import Relation, Unit
from pgsr.release.ledger import LedgerFile
from pgsr.release.ledger.charge import Charge, LedgerError
from pgsr.release.ledger.sums import counted, fits, spent, steps

Law = dict[object, Fraction]

ANSWERS = [Fraction(2), Fraction(3), Fraction(7, 2), Fraction(10)]
"""e^epsilon of some randomized responses."""


def response(ratio: Fraction, truth: int, leak: Fraction = Fraction(0)) -> Law:
    """Tells a bit, or with chance 1 / (1 + ratio) the other one; with chance `leak` it gives the truth away."""
    told = {("told", truth): ratio / (1 + ratio), ("told", 1 - truth): 1 / (1 + ratio)}
    return {answer: (1 - leak) * p for answer, p in told.items()} | ({("leak", truth): leak} if leak else {})


def jointly(laws: list[Law]) -> Law:
    """Independent answers."""
    found: Law = {(): Fraction(1)}
    for law in laws:
        found = {(*a, b): p * q for (a, p), (b, q) in product(found.items(), law.items())}
    return found


def excess(ratio: Fraction, p: Law, q: Law) -> Fraction:
    """Compute max_S P(S) - ratio Q(S): the least delta at epsilon = ln ratio."""
    return sum((max(Fraction(0), mass - ratio * q.get(answer, Fraction(0))) for answer, mass in p.items()), Fraction(0))


def renyi_above(order: int, p: Law, q: Law) -> Fraction:
    """A number just above D_order(P || Q)."""
    return log_bounds(sum(mass**order / q[answer] ** (order - 1) for answer, mass in p.items()))[1] / (order - 1)


def epsilon_above(ratio: Fraction) -> Fraction:
    return log_bounds(ratio)[1]


def test_pure_epsilons_add_up_and_no_less_would_do():
    for ratios in product(ANSWERS, repeat=2):
        whole = spent(PureEpsilon(100), [PureEpsilon(epsilon_above(r)) for r in ratios]).parts[0]
        p, q = (jointly([response(r, truth) for r in ratios]) for truth in (0, 1))
        largest = max(p[answer] / q[answer] for answer in p)
        low, high = log_bounds(largest)
        assert low <= whole <= high + Fraction(1, 2**150)


def test_epsilons_and_deltas_add_up_component_by_component():
    leaks = [Fraction(0), Fraction(1, 100), Fraction(1, 7)]
    for (r, d), (s, e) in product(product(ANSWERS[:3], leaks), repeat=2):
        losses = [epsilon_delta(epsilon_above(r), d), epsilon_delta(epsilon_above(s), e)]
        whole = spent(Approximate(100, "1/2"), losses)
        assert whole == epsilon_delta(epsilon_above(r) + epsilon_above(s), d + e)
        p, q = (jointly([response(r, truth, d), response(s, truth, e)]) for truth in (0, 1))
        assert excess(r * s, p, q) <= d + e


def test_a_pure_epsilon_is_a_rho_by_its_hyperbolic_tangent():
    """epsilon tanh(epsilon / 2) = epsilon (e^epsilon - 1) / (e^epsilon + 1), less than epsilon^2 / 2."""
    for ratio, order in product(ANSWERS, (2, 3, 5, 20)):
        rho = spent(Rho(100), [PureEpsilon(epsilon_above(ratio))]).parts[2]
        exact = epsilon_above(ratio) * (ratio - 1) / (ratio + 1)
        assert abs(rho - exact) < Fraction(1, 2**75)
        assert rho < epsilon_above(ratio) ** 2 / 2
        assert renyi_above(order, response(ratio, 0), response(ratio, 1)) <= order * rho


def test_rhos_add_up():
    for ratios, order in product(product(ANSWERS, repeat=2), (2, 3, 5)):
        losses = [Rho(epsilon_above(r) ** 2 / 2) for r in ratios]
        p, q = (jointly([response(r, truth) for r in ratios]) for truth in (0, 1))
        assert renyi_above(order, p, q) <= order * spent(Rho(100), losses).parts[2]


def test_rho_is_converted_once_for_all():
    """The answers, n of rho 1/2 epsilon^2 each, are together (epsilon', delta), by enumeration of all answers.

    Converted one by one they would come to far more than the ledger says.
    """
    ratio, n, delta = Fraction(11, 10), 60, Fraction(1, 1000)
    one = Rho(epsilon_above(ratio) ** 2 / 2)
    total = Approximate(10, delta)
    whole = spent(total, [one] * n).parts[0]
    assert whole == epsilon_of(n * one.parts[2], delta)
    assert whole < n * epsilon_of(one.parts[2], delta) / 5
    grown = Fraction(exp(whole)) * (1 - Fraction(1, 10**12))  # below e^epsilon', which asks more of the excess
    p = {k: comb(n, k) * ratio**k / (1 + ratio) ** n for k in range(n + 1)}  # k answers are true
    q = {k: comb(n, k) * ratio ** (n - k) / (1 + ratio) ** n for k in range(n + 1)}
    assert excess(grown, p, q) <= delta


def test_rho_beside_other_charges_gets_what_they_leave():
    total = Approximate(1, "1e-6")
    others = [PureEpsilon("1/4"), Approximate("1/4", "4e-7")]
    most = rho_of("1/2", "6e-7")
    assert fits(total, [*others, Rho(most)])
    assert not fits(total, [*others, Rho(most * (1 + Fraction(1, 2**70)))])
    assert not fits(total, [*others, PureEpsilon("1/2"), Rho("1e-50")]), "no epsilon is left"
    assert not fits(total, [*others, Approximate("1/9", "6e-7"), Rho("1e-50")]), "no delta is left"
    found = spent(total, [*others, Rho(most)])
    assert 0 <= found.parts[0] - 1 < Fraction(1, 10**20) or found.parts[0] <= 1
    assert found.parts[1] == Fraction("4e-7")


@pytest.mark.parametrize("epsilon", ["1", "1/3", "0.1", "7"])
def test_a_fit_of_the_whole_total_fits_exactly(epsilon):
    """Whatever the digits of rho: what a total is worth in rho is what a fit of that epsilon and delta spends."""
    assert fits(Approximate(epsilon, "1e-8"), [Rho(rho_of(epsilon, "1e-8"))])


REFUSED = [
    (PureEpsilon(1), Rho("1/1000"), "epsilon alone"),
    (PureEpsilon(1), Approximate("1/1000", "1e-30"), "epsilon alone"),
    (Rho(1), Approximate("1/1000", "1e-30"), "ledger of rho"),
]


@pytest.mark.parametrize(("total", "loss", "words"), REFUSED)
def test_currencies_that_cannot_be_counted_are_refused(total, loss, words):
    for count in (fits, spent):
        with pytest.raises(LedgerError, match=words):
            count(total, [loss])


def test_every_pair_of_currencies_is_counted_or_refused():
    refused = {(type(total), type(loss)) for total, loss, _ in REFUSED}
    for total, loss in product((PureEpsilon(1), Approximate(1, "1/9"), Rho(1)), repeat=2):
        if (type(total), type(loss)) not in refused:
            assert type(spent(total, [loss])) in (type(total), PureEpsilon)
    assert len(refused) == 3


# Relations, on data sets that are lists of rows: in every group some rows of values 0 and 1


def neighbours(relation: Relation, data: tuple) -> set:
    """All neighbours of a data set, which is a sorted tuple of groups, each a sorted tuple of rows."""
    fewer = {_with(data, g, _without(data[g], row)) for g in range(len(data)) for row in set(data[g])}
    more = {_with(data, g, (*data[g], row)) for g in range(len(data)) for row in (0, 1)}
    if relation is Relation.ADD_REMOVE:
        return fewer | more
    if relation is Relation.ADD_REMOVE_OR_EMPTY_GROUP:
        emptied = {tuple(data[:g] + data[g + 1 :]) for g in range(len(data)) if not data[g]}
        return fewer | more | emptied | {tuple(sorted(((), *data)))}
    return {
        _with(_with(data, g, _without(data[g], row)), h, (*(_without(data[g], row) if g == h else data[h]), new))
        for g, h, new in product(range(len(data)), range(len(data)), (0, 1))
        for row in set(data[g])
        if relation is Relation.MOVE or g == h
    }


def _with(data: tuple, group: int, rows: tuple) -> tuple:
    # Groups keep their places, for they are public; a new empty one comes first.
    return (*data[:group], tuple(sorted(rows)), *data[group + 1 :])


def _without(rows: tuple, row: int) -> tuple:
    place = rows.index(row)
    return rows[:place] + rows[place + 1 :]


START = ((0, 1), (1,), ())


def test_steps_by_enumeration():
    """The least number of steps that reaches every neighbour, by breadth-first search; none within 3, refused."""
    for under, charged in product(Relation, repeat=2):
        targets = neighbours(under, START) - {START}
        reached, found = {START}, None
        for step in (1, 2, 3):
            reached = reached | {far for near in reached for far in neighbours(charged, near)}
            if targets <= reached:
                found = step
                break
        if found is None:
            with pytest.raises(LedgerError, match=rf"alone \(relation {charged}\), so its cost cannot be counted"):
                steps(charged, under)
        else:
            assert steps(charged, under) == found, (charged, under)


def test_group_privacy_by_enumeration():
    """Geometric noise on a number that a replacement changes by 2 steps: exactly 2 epsilon, and 4 rho hold."""
    ratio = Fraction(3)
    epsilon = epsilon_above(ratio)

    def law(truth: int) -> Law:
        """Give the law on 0..30, what is beyond at the ends."""
        inner = {k: (ratio - 1) / (ratio + 1) / ratio ** abs(k - truth) for k in range(1, 30)}
        return inner | {0: 1 / (1 + ratio) / ratio ** (truth - 1), 30: 1 / (1 + ratio) / ratio ** (29 - truth)}

    near, far = law(14), law(16)
    assert sum(near.values()) == sum(far.values()) == 1
    largest = max(near[k] / far[k] for k in near)
    double = counted(PureEpsilon(epsilon), Relation.ADD_REMOVE, under=Relation.REPLACE).parts[0]
    assert double == 2 * epsilon
    assert log_bounds(largest)[0] <= double <= log_bounds(largest)[1] + Fraction(1, 2**150)
    rho = Rho(epsilon**2 / 2)
    quadruple = counted(rho, Relation.ADD_REMOVE, under=Relation.MOVE).parts[2]
    assert quadruple == 4 * rho.parts[2]
    for order in (2, 3, 7):
        assert renyi_above(order, near, far) <= order * quadruple


def test_gaussian_noise_needs_all_of_four_rho():
    """Discrete Gaussian noise of variance 1 / (2 rho): two steps have Renyi divergence 4 alpha rho, and no less."""
    rho = 0.02
    mass = [exp(-rho * k * k) for k in range(-60, 61)]
    for order in (2, 5):
        moment = sum(p**order * q ** (1 - order) for p, q in zip(mass[2:], mass, strict=False)) / sum(mass)
        assert log(moment) / (order - 1) == pytest.approx(4 * order * rho, rel=1e-6)
    assert counted(Rho("0.02"), Relation.ADD_REMOVE, Relation.REPLACE).parts[2] == Fraction("0.08")


def test_a_delta_over_two_steps_is_refused():
    loss = Approximate(1, "1e-8")
    assert counted(loss, Relation.MOVE, under=Relation.REPLACE) == loss
    with pytest.raises(LedgerError, match="its delta would grow"):
        counted(loss, Relation.ADD_REMOVE, under=Relation.REPLACE)


def test_a_charge_counts_under_the_ledger_s_relation(tmp_path):
    ledger = LedgerFile.create(tmp_path / "ledger.jsonl", "demo", PureEpsilon(1), Relation.REPLACE)
    ledger.charge(Charge(PureEpsilon("1/2"), "a release", Relation.ADD_REMOVE), "demo")
    assert ledger.left == PureEpsilon(0)
    assert ledger.entries[0].charge.loss == PureEpsilon("1/2"), "the ledger keeps what was charged"
    add_remove = LedgerFile.create(tmp_path / "other.jsonl", "demo", PureEpsilon(1))
    with pytest.raises(LedgerError, match=r"alone \(relation replace\)"):
        add_remove.charge(Charge(PureEpsilon("1/2"), "a fit", Relation.REPLACE), "demo")
    with pytest.raises(LedgerError, match="protects the unit group"):
        add_remove.charge(Charge(PureEpsilon("1/2"), "a fit", unit=Unit.GROUP), "demo")
    assert not add_remove.entries


def test_currencies_side_by_side_in_one_ledger(tmp_path):
    """A release of pure epsilon and two fits of rho, in a ledger of epsilon with delta."""
    ledger = LedgerFile.create(tmp_path / "ledger.jsonl", "demo", Approximate(2, "1e-8"))
    ledger.charge(Charge(PureEpsilon(1), "a release"), "demo")
    half = rho_of(1, "1e-8") / 2
    for _ in range(2):
        ledger.charge(Charge(Rho(half), "a fit"), "demo")
    for more in (Rho(half / 10**6), PureEpsilon("1e-6")):
        with pytest.raises(LedgerError, match="is left"):
            ledger.require(Charge(more, "one too many"), "demo")
    lefts = ledger.left.parts
    assert lefts[0] < Fraction(1, 10**9)
    assert lefts[1] == Fraction("1e-8")


def test_nothing_is_no_charge():
    with pytest.raises(LedgerError, match="is 0"):
        Charge(PureEpsilon(0), "nothing")
