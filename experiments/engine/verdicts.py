"""The verdicts of results on a claim or a printed number: the test, its outcome, its effect, and the replicates."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np

from pgsr.experiments.engine.causes import Cause
from pgsr.experiments.engine.effects import (
    LEVEL,
    MATERIAL,
    Effect,
    Side,
    independent,
    paired,
    quantile,
    two_sided,
    welch,
)
from pgsr.experiments.engine.summary import LevelError

if TYPE_CHECKING:
    import pandas as pd

FEWEST = 5
"""The number of replicates below which no random quantity is judged."""

Values = Mapping[Any, float]
"""Errors, or seconds, by replicate."""


class TestOutcome(StrEnum):
    """The outcome of a test; NOT_JUDGED where no test can be made.

    IMMATERIAL and UNDECIDED are two answers: of the one the data say that any difference is too small to matter
    (`Effect.immaterial`), of the other they say too little.
    """

    __test__ = False  # pytest takes classes called Test for its own

    HOLDS = "holds"
    FAILS = "fails"
    IMMATERIAL = "no material difference"
    UNDECIDED = "undecided"
    NOT_JUDGED = "not judged"


@dataclass(frozen=True)
class Judgement:
    """A finding, with the test or the reason behind it.

    Attributes:
        finding: the outcome.
        test: how it was found, or why it was not.
        replicates: independent draws of the noise behind it; None where nothing is random.
        effect: the ratio of the two errors, or of ours and a printed number; None where nothing is compared.
        p: of the two-sided test, if there is one.
    """

    finding: TestOutcome
    test: str
    replicates: int | None = None
    effect: Effect | None = None
    p: float | None = None


@dataclass(frozen=True)
class Verdict:
    """A claim, the data it was tested on, the judgement, and the figures in words.

    Attributes:
        claim: a sentence.
        data: where it was tested.
        judgement: what a test found.
        words: the figures.
        declared: whose claim it is, and in whose reading; `cause` is this, unless too few replicates judge nothing.
    """

    claim: str
    data: str
    judgement: Judgement
    words: str
    declared: Cause = Cause.OURS

    @property
    def finding(self) -> TestOutcome:
        return self.judgement.finding

    @property
    def cause(self) -> Cause:
        """What the verdict says something about.

        Example:
            >>> two = compared({0: 1.0, 1: 1.1}, 0.9)
            >>> few = Verdict("M_c^dp is the most accurate", "flights", two, "", Cause.CLAIM)
            >>> few.cause
            <Cause.PROFILE: 'profile too small'>
        """
        n = self.judgement.replicates
        return Cause.PROFILE if n is not None and n < FEWEST else self.declared


def compared(larger: Values | float, smaller: Values | float, times: float = 1.0) -> Judgement:
    """Test whether a quantity is above `times` another one, by the paired t-test over the replicates that both have.

    Where a claim names no factor, a difference of less than `MATERIAL` does not make it hold, nor fail.

    Args:
        larger, smaller: by replicate, where both share their noise; or a number to compare with.
        times: the factor that the claim names.

    Example:
        >>> ours, theirs = {0: 2.0, 1: 2.1, 2: 1.9, 3: 2.2, 4: 2.0}, {0: 1.0, 1: 1.1, 2: 0.9, 3: 1.1, 4: 1.1}
        >>> found = compared(ours, theirs)
        >>> str(found.finding), str(found.effect), str(compared(ours, theirs, times=5).finding)
        ('holds', '1.962 [1.838, 2.11]', 'fails')
    """
    return _ordered(*_pairs(larger, smaller), Side.ABOVE, times)


def at_most(this: Values | float, other: Values | float, times: float) -> Judgement:
    """Test whether a quantity is at most `times` another one, by the same test.

    Example:
        >>> at_most({r: 1.05 + r / 1000 for r in range(5)}, 1.0, times=1.1).finding
        <TestOutcome.HOLDS: 'holds'>
    """
    return _ordered(*_pairs(this, other), Side.AT_MOST, times)


def separated(larger: Iterable[float], smaller: Iterable[float]) -> Judgement:
    """Test whether one mean is above another by Welch's t-test, for samples with independent noise.

    Example:
        >>> separated([3.0, 3.1, 2.9, 3.0, 3.2], [1.0, 1.2, 0.9, 1.1, 1.0]).finding
        <TestOutcome.HOLDS: 'holds'>
    """
    one, two = [*larger], [*smaller]
    n = min(len(one), len(two))
    if n < FEWEST:
        return _too_few(n)
    return _judged(Effect(*independent(one, two)), "Welch's t-test, 5 %", n, welch(one, two))


TOLERANCE = 0.1
"""How far the ratio of ours over a printed number may be from 1."""


def agrees(values: Iterable[float], printed: float, runs: int) -> Judgement:
    """Judge whether a printed number agrees with the mean of our replicates: the one rule for all printed numbers.

    It agrees (HOLDS) if the 95 % interval of the ratio of ours over it lies within `TOLERANCE` of 1, differs (FAILS) if
    the interval lies outside, and is undecided otherwise. A mean of `runs` has noise as well, which its paper does not
    print; it is taken to be that of as many of ours. A count has no noise, so one of ours is enough. z is the
    difference in standard errors of both.

    Args:
        runs: independent runs behind the printed number; 0 where there is no noise in it.

    Example:
        >>> found = agrees([99, 101, 100, 102, 98], 97, runs=10)
        >>> found.test, str(found.effect)
        ('95 % interval of the ratio within 0.9 to 1.1, z = 3.5', '1.031 [1.0061, 1.056]')
        >>> [str(agrees([99, 101, 100, 102, 98], other, 0).finding) for other in (100, 91, 80)]
        ['holds', 'undecided', 'fails']
    """
    ours = np.asarray([*values], float)
    n = len(ours)
    if n < FEWEST and (runs or n != 1):
        return _too_few(n)
    mean = float(ours.mean())
    if not printed or n == 1:
        near = abs(mean - printed) <= TOLERANCE * abs(printed)
        effect = Effect(mean / printed, mean / printed, mean / printed, Side.ABOUT) if printed else None
        return Judgement(TestOutcome.HOLDS if near else TestOutcome.FAILS, "ratio within 0.9 to 1.1", None, effect)
    error = float(np.std(ours, ddof=1)) * (1 / n + (1 / runs if runs else 0)) ** 0.5
    low, high = (max(0.0, mean + sign * quantile(n - 1) * error) / printed for sign in (-1, 1))
    test = f"95 % interval of the ratio within 0.9 to 1.1, z = {(mean - printed) / error if error else 0:.1f}"
    finding = TestOutcome.UNDECIDED
    if low >= 1 - TOLERANCE and high <= 1 + TOLERANCE:
        finding = TestOutcome.HOLDS
    elif high < 1 - TOLERANCE or low > 1 + TOLERANCE:
        finding = TestOutcome.FAILS
    return Judgement(finding, test, n, Effect(mean / printed, low, high, Side.ABOUT))


def family(judgements: Iterable[Judgement]) -> Judgement:
    """Judge a claim over all places where it was tested, by the worst of them.

    It fails if it fails at a place, by Holm's correction for as many one-sided tests; it holds if it holds at every
    place, which needs no correction. Otherwise it is as undecided as the worst place. Places that were not judged do
    not count.

    Example:
        >>> far, near = ({r: x + r / 100 for r in range(5)} for x in (0.5, 1.5))
        >>> [str(family([compared(each, 1.0) for each in every]).finding) for every in ([near], [near, far])]
        ['holds', 'fails']
    """
    every = [*judgements]
    known = [each for each in every if each.finding is not TestOutcome.NOT_JUDGED]
    tests = sorted(_against(each) for each in known if each.p is not None)
    kept = next((i for i, p in enumerate(tests) if p > LEVEL / 2 / (len(tests) - i)), len(tests))
    limit = tests[kept - 1] if kept else -1.0
    weak = [
        each for each in known if each.finding is TestOutcome.FAILS and each.p is not None and _against(each) > limit
    ]
    rest = [replace(each, finding=TestOutcome.UNDECIDED) if each in weak else each for each in known]
    return worst(rest or every)


def exactly(holds: bool, test: str) -> Judgement:
    """Judge a claim that involves no randomness, such as a number counted in a model."""
    return Judgement(TestOutcome.HOLDS if holds else TestOutcome.FAILS, f"exact: {test}")


def in_every_replicate(holds: bool, replicates: int, test: str) -> Judgement:
    """Judge a claim that holds if every replicate meets it; `holds` says whether all did."""
    if replicates < FEWEST:
        return _too_few(replicates)
    return Judgement(TestOutcome.HOLDS if holds else TestOutcome.FAILS, test, replicates)


def not_judged(why: str) -> Judgement:
    """Return the judgement NOT_JUDGED with the reason why there is no test."""
    return Judgement(TestOutcome.NOT_JUDGED, why)


def smaller(this: LevelError | None, *others: LevelError | None) -> Judgement:
    """Test whether `this` error is smaller than each of the others, by replicates; return the worst judgement.

    Without results of one of the others it is never found to hold: an arm that is missing was not beaten.
    """
    if this is None or not any(others):
        return not_judged("no results of one side")
    return worst(missing() if other is None else compared(other.values, this.values) for other in others)


def missing() -> Judgement:
    """Return the judgement of a comparison with an arm that has no results."""
    return not_judged("no results of one of the others")


def worst(judgements: Iterable[Judgement]) -> Judgement:
    """Return the worst of several judgements, which decides where all claims must hold; of equal ones the closest.

    Example:
        >>> worst([exactly(True, "counted"), not_judged("no results")]).finding
        <TestOutcome.NOT_JUDGED: 'not judged'>
    """
    order = (
        TestOutcome.FAILS,
        TestOutcome.IMMATERIAL,
        TestOutcome.UNDECIDED,
        TestOutcome.NOT_JUDGED,
        TestOutcome.HOLDS,
    )

    def rank(each: Judgement) -> tuple[int, float]:
        return order.index(each.finding), each.effect.support if each.effect else float("inf")

    return min(judgements, key=rank, default=not_judged("no results"))


def verdict_frame(verdicts: Sequence[Verdict]) -> "pd.DataFrame":
    """Make a data frame of the verdicts, one row per verdict; without the column of effects where there are none."""
    import pandas as pd

    rows = [
        {"claim": v.claim, "data": v.data, "verdict": str(v.finding), "cause": str(v.cause)}
        | {"effect": effect_words(v.judgement), "figures": v.words, "by": by(v.judgement)}
        for v in verdicts
    ]
    frame = pd.DataFrame(rows)
    return frame if any(v.judgement.effect for v in verdicts) else frame.drop(columns="effect", errors="ignore")


def effect_words(judgement: Judgement) -> str:
    """Write the effect and what the claim needs; "" where there is none.

    Example:
        >>> ours = {r: 1.05 + r / 1000 for r in range(5)}
        >>> effect_words(at_most(ours, 1.0, times=1.1)), effect_words(exactly(True, "counted"))
        ('1.052 [1.050, 1.054], at most 1.1 needed', '')
    """
    effect = judgement.effect
    return "" if effect is None else f"{effect}, {effect.needed} needed"


def by(judgement: Judgement) -> str:
    """Name the test and the number of replicates.

    Example:
        >>> by(compared({0: 1.0, 1: 1.1, 2: 0.9, 3: 1.2, 4: 1.0}, 0.5)), by(exactly(True, "counted"))
        ('paired t-test, 5 %, 5 replicates', 'exact: counted')
    """
    n = judgement.replicates
    return (
        judgement.test
        if n is None or judgement.finding is TestOutcome.NOT_JUDGED
        else f"{judgement.test}, {n} replicates"
    )


def _pairs(one: Values | float, two: Values | float) -> tuple[list[float], list[float]]:
    """Put side by side what both have; a number stands beside every replicate of the other."""
    if not isinstance(one, Mapping):
        one = dict.fromkeys(two if isinstance(two, Mapping) else (), one)
    if not isinstance(two, Mapping):
        two = dict.fromkeys(one, two)
    both = sorted(one.keys() & two.keys())
    return [one[key] for key in both], [two[key] for key in both]


def _ordered(over: list[float], under: list[float], side: Side, limit: float) -> Judgement:
    if len(over) < FEWEST:
        return _too_few(len(over))
    rest = np.subtract(over, limit * np.asarray(under))
    error = float(rest.std(ddof=1)) / len(rest) ** 0.5
    p = two_sided(float(rest.mean()) / error, len(rest) - 1) if error else float(not rest.mean())
    return _judged(Effect(*paired(over, under), side, limit), "paired t-test, 5 %", len(over), p)


def _judged(effect: Effect, test: str, n: int, p: float | None = None) -> Judgement:
    """Judge whether the ratio lies on its side of the limit: what every test of two errors is decided by."""
    if effect.immaterial:
        return Judgement(TestOutcome.IMMATERIAL, f"{test}; less than {MATERIAL:.0%}", n, effect, p)
    if not effect.apart:
        return Judgement(TestOutcome.UNDECIDED, test, n, effect, p)
    return Judgement(TestOutcome.HOLDS if effect.support > 1 else TestOutcome.FAILS, test, n, effect, p)


def _against(judgement: Judgement) -> float:
    """Compute the one-sided p-value of a claim that names a place: small where the test speaks against it."""
    half = (judgement.p or 0.0) / 2
    return 1 - half if judgement.effect is not None and judgement.effect.support > 1 else half


def _too_few(n: int) -> Judgement:
    return Judgement(TestOutcome.NOT_JUDGED, f"too few replicates: {n} of {FEWEST}", n)
