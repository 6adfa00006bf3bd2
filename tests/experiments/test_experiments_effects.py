"""Effects of verdicts: intervals of ratios against SciPy's tests of ratio by ratio, and when a difference matters."""

from math import inf

import numpy as np
import pytest
from instances import rng_of, scale
from scipy import stats

from pgsr.experiments.engine.effects import Effect, independent, paired
from pgsr.experiments.engine.verdicts import Judgement, TestOutcome, at_most, compared, family, smaller, worst

WIDE = 3
"""Errors that vary by so many times their mean leave the sign of the lower mean open, and intervals without an end."""


def errors(rng: np.random.Generator, n: int, spread: float) -> tuple[np.ndarray, np.ndarray]:
    """Draw errors that share a part of their noise, none below 0."""
    common = rng.normal(size=n)
    one, two = (np.abs(level * (1 + spread * (common + rng.normal(size=n)))) for level in rng.uniform(0.5, 2, 2))
    return one, two


@pytest.mark.parametrize("spread", [0.01, WIDE])
def test_an_interval_holds_the_ratios_that_a_paired_test_does_not_reject(spread):
    rng, unbounded = rng_of(8), 0
    for _ in range(scale(30, 300)):
        over, under = errors(rng, int(rng.integers(5, 12)), spread)
        ratio, low, high = paired(over, under)
        assert ratio == pytest.approx(over.mean() / under.mean())
        assert low <= ratio <= high

        def accepted(r: float, one=over, two=under) -> bool:
            return bool(stats.ttest_rel(one, r * two).pvalue >= 0.05)

        # Inside the interval everything is accepted, and at its ends the test begins to reject.
        inside = np.linspace(low, min(high, 100 * ratio), 23)[1:-1]
        assert all(map(accepted, inside))
        if low > 0:
            assert not accepted(low * (1 - 1e-6))
        if high < inf:
            assert not accepted(high * (1 + 1e-6))
        unbounded += high == inf
        assert (low <= 1 <= high) == accepted(1.0)
    assert (unbounded > 0) == (spread == WIDE)


@pytest.mark.parametrize("spread", [0.01, 0.3])
def test_an_interval_of_independent_samples_leaves_one_out_where_welch_rejects(spread):
    rng, rejected = rng_of(9), []
    for _ in range(scale(60, 600)):
        over, under = errors(rng, 6, spread)
        under = np.append(rng.permutation(under), under.mean())
        ratio, low, high = independent(over, under)
        assert low <= ratio <= high
        rejected.append(stats.ttest_ind(over, under, equal_var=False).pvalue < 0.05)
        assert (not low <= 1 <= high) == rejected[-1]
    assert any(rejected)


def test_small_exact_cases():
    same = [2.0, 3.0, 4.0, 5.0, 6.0]
    assert paired([3 * x for x in same], same) == pytest.approx((3, 3, 3))
    assert independent([3.0] * 5, [1.0] * 6) == pytest.approx((3, 3, 3))
    for ratio in (paired, independent):
        assert ratio([0.0] * 5, [0.0] * 5) == (1, 1, 1)
        assert ratio([1.0, 2, 1, 2, 1], [0.0] * 5) == (inf, inf, inf)
        assert ratio([0, 0, 0, 0, 1.0], [0.0] * 5) == (inf, 0, inf)
        assert ratio([0.0] * 5, [1.0, 2, 1, 2, 1]) == pytest.approx((0, 0, 0))


@pytest.mark.parametrize(
    ("low", "high", "finding"),
    [
        (1.20, 1.40, TestOutcome.HOLDS),
        (1.01, 1.05, TestOutcome.HOLDS),  # told from 1, and estimated beyond 2 %
        (1.005, 1.03, TestOutcome.IMMATERIAL),  # told from 1, and estimated below 2 %
        (0.99, 1.01, TestOutcome.IMMATERIAL),  # not told from 1, and all of the interval within 2 %
        (0.97, 1.03, TestOutcome.UNDECIDED),
        (0.90, 2.30, TestOutcome.UNDECIDED),
        (0.972, 0.995, TestOutcome.IMMATERIAL),
        (0.95, 0.98, TestOutcome.FAILS),
    ],
)
def test_a_difference_matters_or_does_not_or_is_open(low, high, finding):
    """Five values with this interval, compared with the number 1; the other way round, its ends are the inverse."""
    middle, half = (low + high) / 2, (high - low) / 2
    steps = np.array([-2, -1, 0, 1, 2]) * half / (stats.t.ppf(0.975, 4) * (2.5 / 5) ** 0.5)
    values = dict(enumerate(middle + steps))
    there, back = compared(values, 1.0), compared(1.0, values)
    mirrored = {TestOutcome.HOLDS: TestOutcome.FAILS, TestOutcome.FAILS: TestOutcome.HOLDS}
    assert (there.finding, back.finding) == (finding, mirrored.get(finding, finding))
    for judged, wanted in ((there, (middle, low, high)), (back, (1 / middle, 1 / high, 1 / low))):
        assert (judged.effect.ratio, judged.effect.low, judged.effect.high) == pytest.approx(wanted)


def test_a_claim_that_names_a_factor_has_no_other_margin():
    values = {r: 1.01 + r / 10_000 for r in range(5)}
    assert compared(values, 1.0).finding is TestOutcome.IMMATERIAL
    assert compared(values, 1.0, times=1.005).finding is TestOutcome.HOLDS
    assert compared(values, 1.0, times=1.02).finding is TestOutcome.FAILS
    assert at_most(values, 1.0, times=1.02).finding is TestOutcome.HOLDS
    assert at_most(values, 1.0, times=1.005).finding is TestOutcome.FAILS
    assert at_most(values, 1.0, times=1.0102).finding is TestOutcome.UNDECIDED
    assert (compared(values, 1.0, times=10).effect.needed, at_most(values, 1.0, 1.1).effect.needed) == (
        "above 10",
        "at most 1.1",
    )


def test_a_claim_over_many_places_has_one_word():
    """It fails by Holm's correction alone: one place among forty at 3 % is chance, one at 1e-6 is none."""

    def place(finding: TestOutcome, p: float | None) -> Judgement:
        return Judgement(finding, "a test", 10, Effect(0.9 if finding is TestOutcome.FAILS else 1.2, 0.8, 1.3), p)

    holds, fails, undecided = (TestOutcome.HOLDS, TestOutcome.FAILS, TestOutcome.UNDECIDED)
    for places, word in (
        ([place(holds, 0.03)] * 40, holds),
        ([place(holds, 0.001)] * 39 + [place(fails, 0.03)], undecided),
        ([place(holds, 0.001)] * 39 + [place(fails, 1e-6)], fails),
        ([place(holds, 0.001), place(undecided, 0.5)], undecided),
        ([place(holds, None), place(fails, None)], fails),
        ([place(holds, 0.01), place(TestOutcome.NOT_JUDGED, None)], holds),
        ([place(TestOutcome.NOT_JUDGED, None)], TestOutcome.NOT_JUDGED),
    ):
        assert family(places).finding is word


def test_the_worst_of_several_is_the_closest_of_the_worst_kind():
    def against(factor: float):
        return compared({r: factor + r / 1_000 for r in range(5)}, 1.0)

    far, near, even, beaten = against(3), against(1.5), against(1), against(0.5)
    assert worst([far, near]) is near
    assert worst([far, even, near]) is even
    assert worst([even, beaten, far]) is beaten
    assert smaller(None).finding is TestOutcome.NOT_JUDGED
