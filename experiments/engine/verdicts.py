"""The verdicts of results on a claim or a printed number: the test, its outcome, its effect, and the replicates."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np

from pgsr.experiments.engine.causes import Cause
from pgsr.experiments.engine.effects import MATERIAL, Effect, Side, independent, paired, quantile
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
    """

    finding: TestOutcome
    test: str
    replicates: int | None = None
    effect: Effect | None = None


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
    over, under = _pairs(larger, smaller)
    if len(over) < FEWEST:
        return _too_few(len(over))
    return _ordered(Effect(*paired(over, under), limit=times), "paired t-test, 5 %", len(over))


def at_most(this: Values | float, other: Values | float, times: float) -> Judgement:
    """Test whether a quantity is at most `times` another one, by the same test.

    Example:
        >>> at_most({r: 1.05 + r / 1000 for r in range(5)}, 1.0, times=1.1).finding
        <TestOutcome.HOLDS: 'holds'>
    """
    over, under = _pairs(this, other)
    if len(over) < FEWEST:
        return _too_few(len(over))
    return _ordered(Effect(*paired(over, under), Side.AT_MOST, times), "paired t-test, 5 %", len(over))


def separated(larger: Iterable[float], smaller: Iterable[float]) -> Judgement:
    """Test whether one mean is above another by Welch's t-test, for samples with independent noise.

    Example:
        >>> separated([3.0, 3.1, 2.9, 3.0, 3.2], [1.0, 1.2, 0.9, 1.1, 1.0]).finding
        <TestOutcome.HOLDS: 'holds'>
    """
    one, two = [*larger], [*smaller]
    n = min(len(one), len(two))
    return _too_few(n) if n < FEWEST else _ordered(Effect(*independent(one, two)), "Welch's t-test, 5 %", n)


def agrees(values: Iterable[float], printed: float, tolerance: float = 0.0) -> Judgement:
    """Test whether a printed number is compatible with the mean of our replicates.

    It holds if the printed number lies within t standard errors of our mean, widened by `tolerance` of itself. The
    papers print no standard errors, so theirs counts as 0. The effect is ours over the printed number.

    Example:
        >>> found = agrees([9.0, 12.0, 10.0, 11.0, 9.5], 10.5)
        >>> found.test, str(found.effect)
        ('printed number within 2.78 standard errors of our mean', '0.9810 [0.839, 1.123]')
        >>> agrees([9.0, 12.0, 10.0, 11.0, 9.5], 20).finding
        <TestOutcome.FAILS: 'fails'>
    """
    ours = np.asarray([*values], float)
    if len(ours) < FEWEST:
        return _too_few(len(ours))
    mean, half = float(ours.mean()), half_width(ours)
    near = abs(mean - printed) <= half + tolerance * abs(printed)
    wider = f", or {100 * tolerance:.0f} % beyond" if tolerance else ""
    test = f"printed number within {quantile(len(ours) - 1):.2f} standard errors of our mean{wider}"
    low, high = max(0.0, mean - half), mean + half
    effect = Effect(mean / printed, low / printed, high / printed, Side.ABOUT) if printed else None
    return Judgement(TestOutcome.HOLDS if near else TestOutcome.FAILS, test, len(ours), effect)


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


def half_width(values: Sequence[float] | np.ndarray) -> float:
    """Compute half the width of the 95 % confidence interval of a mean: t standard errors, and 0 for a single value."""
    n = len(values)
    return float(quantile(n - 1) * np.std(values, ddof=1) / n**0.5) if n > 1 else 0.0


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


def _ordered(effect: Effect, test: str, n: int) -> Judgement:
    """Judge whether the ratio lies on its side of the limit: what every test of two errors is decided by."""
    if effect.immaterial:
        return Judgement(TestOutcome.IMMATERIAL, f"{test}; less than {MATERIAL:.0%}", n, effect)
    if not effect.apart:
        return Judgement(TestOutcome.UNDECIDED, test, n, effect)
    return Judgement(TestOutcome.HOLDS if effect.support > 1 else TestOutcome.FAILS, test, n, effect)


def _too_few(n: int) -> Judgement:
    return Judgement(TestOutcome.NOT_JUDGED, f"too few replicates: {n} of {FEWEST}", n)
