"""Choosing among mechanisms: what it costs, why the published accounting is wrong, and what it may see."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from math import prod

import numpy as np
import pytest
from instances import random_tree, random_truth, rng_of, scale
from neighbours import joined, tables, truth_of, with_empty_group

from pgsr import CountOfCounts, Hierarchy, PgsrError, Result, Status, View
from pgsr.algorithms import TreeProjection
from pgsr.data import Estimate
from pgsr.estimators import Matching
from pgsr.experiments.kuo2018.choosing import (
    DISTINCT_SIZES,
    Branch,
    ChosenByScore,
    ChosenByStatistic,
    IntegerStatistic,
    distinct_sizes,
    score,
)
from pgsr.methods import Mechanism, metrics
from pgsr.noise import Geometric, Measurement, Noise
from pgsr.privacy import Ledger, Secure, Seeded
from pgsr.privacy.accounting import PureEpsilon
from pgsr.privacy.laws import DoubleGeometric
from pgsr.privacy.neighbours import Relation, Unit
from pgsr.privacy.random import ByteStream, StreamId

TREE = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
DEEP = Hierarchy.from_paths([("r", "a", "x"), ("r", "a", "y"), ("r", "b", "z")])


def difference_exceeds(a: Fraction, n: int) -> Fraction:
    """P(X - Y > n) for independent double geometric X, Y with P(k) ~ a^|k|, n >= 0.

    P(X - Y = w) = c^2 a^w (w + B) with c = (1 - a) / (1 + a) and B = 1 + 2 a^2 / (1 - a^2), and
    sum_{w > n} a^w (w + B) = a^m ((m + B) / (1 - a) + a / (1 - a)^2) with m = n + 1.
    """
    c, b, m = (1 - a) / (1 + a), 1 + 2 * a**2 / (1 - a**2), n + 1
    return c**2 * a**m * ((m + b) / (1 - a) + a / (1 - a) ** 2)


def test_the_law_of_a_difference() -> None:
    a = Fraction(1, 3)
    law = {k: (1 - a) / (1 + a) * a ** abs(k) for k in range(-60, 61)}
    for n in (0, 1, 5):
        summed = sum((p * q for (k, p), (m, q) in product(law.items(), law.items()) if k - m > n), Fraction(0))
        assert abs(difference_exceeds(a, n) - summed) < a**50


def test_counter_example_to_the_published_accounting() -> None:
    """Two eps-private methods and a noisy choice with eps2 = eps / 100 lose nearly 2 eps, not 1.01 eps.

    Both see the same bit, with independent randomness. Each answers b with probability q under D and q / r under D',
    else a; r = e^eps, and the ratio for a is below r, so each is eps-private and no better. The error of a is 0 and
    that of b is S under both. With s = e^(eps2 / 2) rational and r = s^200, everything is a fraction.
    """
    s = Fraction(101, 100)
    r, q, error = s**200, Fraction(1, 2), 10_000
    a = 1 / s  # the law of noise of scale 2 / eps2
    eps, eps2 = 200, 2  # in units of log s
    assert Fraction(eps2, eps) == Fraction(1, 100)

    def released_b(p: Fraction) -> Fraction:
        """Both answered b, or one did and the noise preferred it (ties by index; > 0 either way, and negligible)."""
        first_is_worse = difference_exceeds(a, error - 1)  # the worse one comes first and wins ties
        second_is_worse = difference_exceeds(a, error)
        return p**2 + p * (1 - p) * (first_is_worse + second_is_worse)

    p, p_neighbour = q, q / r
    assert p / p_neighbour == r  # eps, reached
    assert 1 / r <= (1 - p) / (1 - p_neighbour) <= r
    mistake = difference_exceeds(a, error - 1)
    assert 0 < mistake < Fraction(1, 10**38)
    ratio = released_b(p) / released_b(p_neighbour)
    assert ratio > s ** (eps + eps2)  # what the paper promises
    assert ratio > s ** (2 * eps - 1)  # a loss above 1.995 eps
    assert ratio <= s ** (2 * eps + eps2)  # the honest ledger


def chances(scores: tuple[int, ...], a: Fraction, reach: int = 80) -> list[Fraction]:
    """P(candidate i is chosen): least score + double geometric noise, ties by index. Short of 1 by the tails only."""
    law = {k: (1 - a) / (1 + a) * a ** abs(k) for k in range(-reach, reach + 1)}

    def above(n: int) -> Fraction:
        """P(X > n)."""
        return a ** (n + 1) / (1 + a) if n >= -1 else 1 - a ** (-n) / (1 + a)

    chosen = []
    for i, own in enumerate(scores):
        total = Fraction(0)
        for k, p in law.items():
            # an earlier one wins ties, a later one loses them
            others = [above(own + k - other - (j > i)) for j, other in enumerate(scores) if j != i]
            total += p * prod(others)
        chosen.append(total)
    return chosen


@pytest.mark.slow
def test_noisy_choice_loses_at_most_its_epsilon() -> None:
    """Three candidates, every direction of moves, in fractions: with a = e^(-eps2 / (2 L)) the ratio is <= e^eps2.

    Half that noise is too little: scores move in either direction.
    """
    a, worst, worst_with_half = Fraction(1, 2), Fraction(0), Fraction(0)
    for sensitivity in (1, 2):
        moves = [sensitivity, -sensitivity] if sensitivity > 1 else [-1, 0, 1]
        bound = a ** (-2 * sensitivity)
        for scores in product(*[(0, 1, 4)] * 2, (0,)):
            before = chances(scores, a)
            assert 1 - sum(before) < a**70
            for move in product(moves, repeat=3):
                after = chances(tuple(map(sum, zip(scores, move, strict=True))), a)
                for p, other in zip(before, after, strict=True):
                    assert p <= bound * other + a**70
                    worst = max(worst, p / (bound * other))
    for gap in (0, 10, 40):
        ratio = chances((gap, 0), a**2, 160)[0] / chances((gap + 1, -1), a**2, 160)[0]
        worst_with_half = max(worst_with_half, ratio / a**-2)
    assert worst <= 1
    assert worst_with_half > 3


def pairs(tree: Hierarchy, max_groups: int, max_size: int) -> Iterator[tuple[CountOfCounts, list[CountOfCounts]]]:
    """Every table of up to so many groups with its neighbours: one entity more in a group, or one empty group more."""
    for groups in product(range(max_groups + 1), repeat=tree.n_regions - tree.n_inner):
        for table in tables(groups, max_size) if sum(groups) <= max_groups else ():
            others = [*joined(table, max_size), *with_empty_group(table)]
            yield truth_of(tree, table, max_size), [truth_of(tree, other, max_size) for other in others]


def test_sensitivity_of_distinct_sizes() -> None:
    """All databases of up to 4 groups over two leaves, sizes 0..4: -1, 0 and 1 occur, nothing else."""
    changes = set()
    for truth, others in pairs(TREE, scale(3, 5), 4):
        changes |= {distinct_sizes(other) - distinct_sizes(truth) for other in others}
    assert changes == {-1, 0, 1}
    assert DISTINCT_SIZES.sensitivity == 1


@pytest.mark.parametrize("tree", [Hierarchy.from_parents(["r"], [-1]), TREE, DEEP])
def test_sensitivity_of_scores(tree: Hierarchy) -> None:
    """One entity, or one empty group, changes the score of any answer by the number of levels at most, and that much.

    Answers are integer or fractional, of any sign, with or without the true totals, adding up or not.
    """
    rng = rng_of(71)
    n_leaves = tree.n_regions - tree.n_inner
    changes = set()
    for truth, others in pairs(tree, 2, 2):
        answers = [rng.integers(-2, 4, (tree.n_regions, 3)) for _ in range(scale(2, 20))]
        answers += [rng.uniform(-1, 3, (tree.n_regions, 3)), tree.sum_up(rng.integers(0, 2, (n_leaves, 3)))]
        for estimate in (Estimate(tree, View.COUNTS, answer) for answer in answers):
            ours = score(truth, estimate)
            assert ours is not None
            for other in others:
                theirs = score(other, estimate)
                assert theirs is not None
                changes.add(theirs - ours)
    assert min(changes) == -tree.n_levels
    assert max(changes) == tree.n_levels


def test_scores_are_the_earth_movers_distance_where_totals_agree() -> None:
    rng = rng_of(72)
    for _ in range(scale(30, 500)):
        tree = random_tree(rng)
        truth = random_truth(rng, tree)
        leaves = truth.counts[tree.leaves].copy()
        for row in leaves:
            rng.shuffle(row)
        other = tree.sum_up(leaves)
        expected = int(metrics.emd(truth, CountOfCounts(tree, other)).sum())
        assert score(truth, Estimate(tree, View.COUNTS, other)) == expected
        assert score(truth, Estimate(tree, View.CUMULATIVE, np.cumsum(other, axis=1))) == expected


def test_scores_are_exact_or_absent() -> None:
    tree = Hierarchy.from_parents(["r"], [-1])
    truth = CountOfCounts(tree, [[2**61, 0, 0, 0, 0, 0, 0, 0, 0, 1]])
    nothing = Estimate(tree, View.COUNTS, np.zeros((1, 10), np.int64))
    assert score(truth, nothing) == 2**61 + 1 + 9
    for bad in (np.full((1, 10), np.nan), np.full((1, 10), 2.0**62), np.zeros((1, 9))):
        assert score(truth, Estimate(tree, View.COUNTS, bad)) is None


# What it may see, and what it spends.


TRUTH = CountOfCounts(TREE, [[0, 9, 4, 1], [0, 8, 3, 1]], name="tiny")


def hc(epsilon: object = "1", **options) -> Mechanism:
    return Mechanism(Geometric(View.CUMULATIVE, epsilon, **options), Matching())  # type: ignore[arg-type]


def hg(epsilon: object = "1") -> Mechanism:
    return Mechanism(Geometric(View.RANKED, epsilon), Matching())  # type: ignore[arg-type]


@dataclass
class Recording:
    """Seeded noise that remembers which streams were asked for."""

    secure: bool = False
    asked: list[StreamId] = field(default_factory=list)

    def stream(self, identity: StreamId) -> ByteStream:
        self.asked.append(identity)
        return Seeded("recorded").stream(identity)


@dataclass(frozen=True)
class Constant:
    """A post-process that ignores its measurement."""

    values: tuple[tuple[float, ...], ...]

    def apply(self, measurement: Measurement, time_limit: float | None = None) -> Result:
        return Result(Status.FEASIBLE, "", Estimate(measurement.hierarchy, View.COUNTS, np.array(self.values)))


@dataclass(frozen=True)
class Failing:
    """A post-process without an answer: a status, or an error of ours."""

    raises: bool = False

    def apply(self, measurement: Measurement, time_limit: float | None = None) -> Result:
        if self.raises:
            raise PgsrError("it broke")
        return Result(Status.TIMED_OUT, "it was slow")


@dataclass(frozen=True)
class Spy:
    """Matching that keeps what it was given."""

    seen: list[Measurement]

    def apply(self, measurement: Measurement, time_limit: float | None = None) -> Result:
        self.seen.append(measurement)
        return Matching().apply(measurement)


def constant(values: object, epsilon: object = "1") -> Mechanism:
    rows = tuple(map(tuple, np.asarray(values).tolist()))
    return Mechanism(Geometric(View.CUMULATIVE, epsilon), Constant(rows))  # type: ignore[arg-type]


def test_epsilon_and_ledger_are_exact() -> None:
    candidates = (hc("1/3"), hg("1/7"), hc("0.1"))
    by_score = ChosenByScore(candidates, "1/100")
    by_statistic = ChosenByStatistic(candidates, lambda t: candidates[t % 3], "1/100")
    assert by_score.epsilon == Fraction(1, 3) + Fraction(1, 7) + Fraction(1, 10) + Fraction(1, 100)
    assert by_statistic.epsilon == Fraction(1, 3) + Fraction(1, 100)
    for chosen in (by_score, by_statistic):
        ledger = Ledger(chosen.epsilon)
        chosen.release(TRUTH, Seeded(1), ledger)
        assert ledger.left == 0
        assert [amount for amount, _ in ledger.spent] == [chosen.epsilon]  # once, for the whole
        source = Recording()
        with pytest.raises(PgsrError, match="is left"):
            chosen.release(TRUTH, source, Ledger(chosen.epsilon - Fraction(1, 10**9)))
        assert not source.asked


@pytest.mark.parametrize(
    ("bad", "word"),
    [
        (hc(shares=("1/2", "1/4", "1/4")), "shares"),
        (hc("1e-9"), "noise of scale"),
        (Mechanism(Geometric((View.RANKED,) * 4, 1), Matching()), "views for 2 levels"),
        (Mechanism(Geometric(View.RANKED, 1), TreeProjection()), "say which problem"),
        (Mechanism(Geometric(View.CUMULATIVE, 1), TreeProjection()), "TreeProjection works on counts"),
    ],
)
def test_what_cannot_run_is_refused_before_anything_is_spent(bad: Mechanism, word: str) -> None:
    both = (hc(), bad)
    for chosen in (ChosenByScore(both, 1), ChosenByStatistic(both, lambda t: both[0], 1)):
        ledger, source = Ledger(100), Recording()
        with pytest.raises(PgsrError, match=word):
            chosen.release(TRUTH, source, ledger)
        assert ledger.left == 100
        assert not source.asked


def test_bad_values_are_refused() -> None:
    for candidates in ((), [None], [Geometric(View.COUNTS, 1)], hc()):  # type: ignore[arg-type]
        for make in (lambda c: ChosenByScore(c, 1), lambda c: ChosenByStatistic(c, print, 1)):  # type: ignore[arg-type]
            with pytest.raises(PgsrError, match="give"):
                make(candidates)
    for epsilon in (0, -1, True, "x"):
        with pytest.raises(PgsrError, match="choice_epsilon"):
            ChosenByScore([hc()], epsilon)
    for sensitivity in (0, 1.0, True):
        with pytest.raises(PgsrError, match="positive integer"):
            IntegerStatistic("t", distinct_sizes, sensitivity)  # type: ignore[arg-type]
    with pytest.raises(PgsrError, match="list it among the candidates"):
        ChosenByStatistic([hc()], lambda t: hc("2"), 1).release(TRUTH, Seeded(1))
    ledger, source = Ledger(100), Recording()
    mean = IntegerStatistic("mean", lambda truth: 1.5, 1)  # type: ignore[arg-type, return-value]
    with pytest.raises(PgsrError, match="float"):
        ChosenByStatistic([hc()], lambda t: hc(), 1, mean).release(TRUTH, source, ledger)
    with pytest.raises(PgsrError, match="scale"):
        ChosenByStatistic([hc()], lambda t: hc(), "1e-6").release(TRUTH, source, ledger)
    with pytest.raises(PgsrError, match="scale"):
        ChosenByScore([hc()], "1e-6").release(TRUTH, source, ledger)
    assert ledger.left == 100
    assert not source.asked


def test_a_choice_by_statistic_runs_the_chosen_mechanism_alone() -> None:
    few, many = hg(), hc()
    noisy_values = []

    def rule(t: int) -> Mechanism:
        noisy_values.append(t)
        return few if t < 3 else many

    chosen = ChosenByStatistic((few, many), rule, "1/2")
    law = DoubleGeometric(Fraction(2))  # sensitivity 1 / (1/2)
    picked = set()
    for replicate in range(20):
        source = Recording()
        assert chosen.release(TRUTH, source).answer is not None
        assert len({identity.view for identity in source.asked}) == 2  # the statistic's, and one view
        assert len(set(source.asked)) == len(source.asked)
        result = chosen.release(TRUTH, Seeded("s", replicate))
        noise = np.zeros(1, np.int64)
        law.add_to(
            noise, Seeded("s", replicate).stream(StreamId("tiny", "selection statistic", 0, ("distinct sizes",)))
        )
        assert noisy_values[-1] == 3 + noise[0]
        mechanism = few if noisy_values[-1] < 3 else many
        alone = mechanism.release(TRUTH, Seeded("s", replicate))
        assert (result.estimate.values == alone.estimate.values).all()
        assert result.reason.startswith(f"chosen by noisy distinct sizes = {noisy_values[-1]}: Matching() on ")
        picked.add(mechanism.noise.view)
    assert picked == {View.RANKED, View.CUMULATIVE}


def test_a_choice_by_score_is_the_least_noisy_score() -> None:
    """The steps again, one by one, with the distance from another module: scale 2 L / eps2, ties by index."""
    candidates = (hc("1/5"), hg("1/5"), hc("1/5"))
    chosen = ChosenByScore(candidates, "1/4")
    law, counted = DoubleGeometric(Fraction(2 * TREE.n_levels * 4)), [0, 0, 0]
    for replicate in range(scale(25, 600)):
        source = Seeded("score", replicate)
        results = [c.release(TRUTH, Branch(source, i)) for i, c in enumerate(candidates)]
        noisy = []
        for i, result in enumerate(results):
            noise = np.zeros(1, np.int64)
            law.add_to(noise, source.stream(StreamId("tiny", "selection score", 0, (str(i),))))
            noisy.append(int(metrics.emd(TRUTH, result.estimate).sum() + noise[0]))
        best = noisy.index(min(noisy))
        released = chosen.release(TRUTH, source)
        assert released.reason.startswith(f"candidate {best + 1} of 3, ")
        assert (released.estimate.values == results[best].estimate.values).all()
        counted[best] += 1
    assert min(counted) > 0


def test_ties_go_to_the_first() -> None:
    """Answers with equal scores and next to no noise."""
    for order in ([0, 1], [1, 0]):
        up = np.array([-1, 1, 0, 0])
        answers = [TRUTH.counts + up, TRUTH.counts - up]
        released = ChosenByScore([constant(answers[i]) for i in order], 10**6).release(TRUTH, Seeded(1))
        assert (released.estimate.values == answers[order[0]]).all()


def test_candidates_never_share_noise() -> None:
    """Equal candidates ask for different streams, get different noise, and none is the score's."""
    source = Recording()
    seen: list[Measurement] = []

    twins = [Mechanism(Geometric(View.CUMULATIVE, "1/10"), Spy(seen))] * 3
    ChosenByScore(twins, 1).release(TRUTH, source)
    assert len(source.asked) == 3 * TREE.n_regions + 3
    assert len(set(source.asked)) == len(source.asked)
    noises = [measured.matrix - np.cumsum(TRUTH.counts, axis=1) for measured in seen]
    assert all((a != b).any() for a, b in ((noises[0], noises[1]), (noises[0], noises[2]), (noises[1], noises[2])))
    streams = {tuple(Seeded("recorded").stream(identity).words(4).tolist()) for identity in source.asked}
    assert len(streams) == len(source.asked)
    assert StreamId("tiny", "cumulative", 0, ("US",)) not in source.asked  # that of a plain measurement


def test_secure_stays_secure() -> None:
    seen: list[Measurement] = []
    spying = Mechanism(Geometric(View.CUMULATIVE, 1), Spy(seen))
    for source in (Secure(), Seeded(1)):
        ChosenByScore([spying, spying], 1).release(TRUTH, source)
        ChosenByStatistic([spying], lambda t: spying, 1).release(TRUTH, source)
    assert [measured.secure for measured in seen] == [True] * 3 + [False] * 3
    identity = StreamId("", "counts", 0, ())
    assert Branch(Secure(), 0).stream(identity).bits(8) != Branch(Secure(), 0).stream(identity).bits(8)


class Guarded(CountOfCounts):
    """A truth that can be closed: every further look at it raises."""

    closed = False
    looks = 0

    def __getattribute__(self, name: str):
        if name in ("rows", "counts", "totals", "_table"):
            assert not Guarded.closed, f"the truth's {name} was read"
            Guarded.looks += 1
        return super().__getattribute__(name)


def test_post_processing_never_sees_the_truth() -> None:
    """Closed from the start of post-processing: for good with a statistic, until the score is due with scores."""

    @dataclass(frozen=True)
    class Closing:
        reopen: bool

        def apply(self, measurement: Measurement, time_limit: float | None = None) -> Result:
            Guarded.closed = True
            result = Matching().apply(measurement)
            Guarded.closed = not self.reopen
            return result

    truth = Guarded(TREE, TRUTH.counts)
    noise = Geometric(View.CUMULATIVE, 1)
    try:
        ChosenByScore([Mechanism(noise, Closing(True))] * 2, 1).release(truth, Seeded(1))
        only = Mechanism(noise, Closing(False))
        ChosenByStatistic([only], lambda t: only, 1).release(truth, Seeded(1))
        assert Guarded.closed
        assert Guarded.looks > 0
    finally:
        Guarded.closed = False


def test_a_release_tells_no_score() -> None:
    """Two truths with different scores, noise so large that both choices agree: the reasons are equal."""
    answers = [constant(TRUTH.counts), constant(TRUTH.counts)]
    other = CountOfCounts(TREE, [[1, 8, 4, 1], [0, 8, 3, 1]], name="tiny")
    results = [ChosenByScore(answers, "1/1000").release(truth, Seeded(2)) for truth in (TRUTH, other)]
    expected = f"of 2, chosen by noisy scores: {answers[0].post!r} on cumulative"
    assert results[0].reason == results[1].reason
    assert results[0].reason in (f"candidate 1 {expected}", f"candidate 2 {expected}")


def test_candidates_without_an_answer_take_no_part() -> None:
    noise = Geometric(View.CUMULATIVE, 1)
    slow, broken = Mechanism(noise, Failing()), Mechanism(noise, Failing(raises=True))
    not_finite = constant(TRUTH.counts * np.nan)
    ledger = Ledger(10)
    result = ChosenByScore([slow, broken, hc(), not_finite], 1).release(TRUTH, Seeded(1), ledger)
    assert result.reason.startswith("candidate 3 of 4")
    assert all(word in result.reason for word in ("it was slow", "it broke", "not finite"))
    assert ledger.left == 5  # paid for all the same
    nobody = ChosenByScore([slow, broken], 1).release(TRUTH, Seeded(1))
    assert nobody.status is Status.FAILED
    assert nobody.answer is None


@pytest.mark.parametrize(
    ("unit", "relation"),
    [(Unit.GROUP, Relation.REPLACE), (Unit.entity_in_groups(3), Relation.ADD_REMOVE), (Unit.ENTITY, Relation.MOVE)],
)
def test_scores_and_statistics_are_of_one_entity(unit: Unit, relation: Relation) -> None:
    """A score moves by up to K levels with a replaced group, by m levels with an entity in m groups, twice if moved."""
    counts = Mechanism(
        Noise(View.CUMULATIVE, PureEpsilon(1), laws="geometric", unit=unit, relation=relation), Matching()
    )
    for chosen in (ChosenByScore([hc(), counts], "1/2"), ChosenByStatistic([hc(), counts], lambda t: counts, "1/2")):
        ledger = Ledger(10)
        with pytest.raises(PgsrError, match=f"protects one {unit} under {relation}.*one entity more or less"):
            chosen.release(TRUTH, Seeded("unit"), ledger)
        assert ledger.left == 10


def test_private_tables_of_groups() -> None:
    chosen = ChosenByScore([hc(totals="noisy"), hc("1/2", totals="noisy")], "1/2")
    result = chosen.release(TRUTH, Seeded(4), ledger := Ledger(2))
    assert ledger.left == 0
    assert result.answer is not None
