"""Choosing among mechanisms: what it may see, what it costs, and why the published accounting is wrong."""

from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import pytest
from instances import scale

from pgsr import CountOfCounts, Hierarchy, PgsrError, Result, Status, View
from pgsr.algorithms import TreeProjection
from pgsr.data import Estimate
from pgsr.estimators import Matching
from pgsr.experiments.kuo2018.choosing import (
    Branch,
    ChosenByScore,
    ChosenByStatistic,
    IntegerStatistic,
    distinct_sizes,
)
from pgsr.methods import Mechanism, metrics
from pgsr.noise import Geometric, Measurement, Noise
from pgsr.privacy import Ledger, Secure, Seeded
from pgsr.privacy.accounting import PureEpsilon
from pgsr.privacy.laws import DoubleGeometric
from pgsr.privacy.neighbours import Relation, Unit
from pgsr.privacy.random import ByteStream, StreamId

TREE = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
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
    [
        (Unit.GROUP, Relation.REPLACE),
        (Unit.entity_in_groups(3), Relation.ADD_REMOVE),
        (Unit.ENTITY, Relation.MOVE),
    ],
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
