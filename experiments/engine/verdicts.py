"""The verdicts of results on a claim or a printed number: the test, its outcome, and the number of replicates."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from pgsr.experiments.engine.causes import Cause
from pgsr.experiments.engine.summary import LevelError

if TYPE_CHECKING:
    import pandas as pd

FEWEST = 5
"""The number of replicates below which no random quantity is judged."""

LEVEL = 0.05
"""The level of every test, two-sided."""


class Finding(StrEnum):
    """The outcome of a test: HOLDS, FAILS or UNDECIDED; NOT_JUDGED where no test can be made."""

    HOLDS = "holds"
    FAILS = "fails"
    UNDECIDED = "undecided"
    NOT_JUDGED = "not judged"


@dataclass(frozen=True)
class Judgement:
    """A finding, with the test or the reason behind it.

    Attributes:
        finding: the outcome.
        test: how it was found, or why it was not.
        replicates: independent draws of the noise behind it; None where nothing is random.
    """

    finding: Finding
    test: str
    replicates: int | None = None


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
    def finding(self) -> Finding:
        return self.judgement.finding

    @property
    def cause(self) -> Cause:
        """What the verdict says something about.

        Example:
            >>> few = Verdict("M_c^dp is the most accurate", "flights", compared([1.0, 1.1]), "", Cause.CLAIM)
            >>> few.cause
            <Cause.PROFILE: 'profile too small'>
        """
        n = self.judgement.replicates
        return Cause.PROFILE if n is not None and n < FEWEST else self.declared


def compared(difference: Sequence[float]) -> Judgement:
    """Test whether a quantity is above 0, by Student's t over independent replicates.

    Example:
        >>> compared([1.0, 1.1, 0.9, 1.2, 1.0]).finding, compared([1.0, 1.1]).test
        (<Finding.HOLDS: 'holds'>, 'too few replicates: 2 of 5')
    """
    values = np.asarray(difference, float)
    if len(values) < FEWEST:
        return _too_few(len(values))
    mean, half = values.mean(), half_width(values)
    finding = Finding.HOLDS if mean > half else Finding.FAILS if mean < -half else Finding.UNDECIDED
    return Judgement(finding, "t-test of the paired difference, 5 %", len(values))


def separated(larger: Iterable[float], smaller: Iterable[float]) -> Judgement:
    """Test whether one mean is above another by Welch's t-test, for samples with independent noise.

    Example:
        >>> separated([3.0, 3.1, 2.9, 3.0, 3.2], [1.0, 1.2, 0.9, 1.1, 1.0]).finding
        <Finding.HOLDS: 'holds'>
    """
    one, two = np.asarray([*larger], float), np.asarray([*smaller], float)
    if min(len(one), len(two)) < FEWEST:
        return _too_few(min(len(one), len(two)))
    parts = np.array([x.var(ddof=1) / len(x) for x in (one, two)])
    weights = np.array([len(one) - 1, len(two) - 1])
    whole = parts.sum()
    degrees = whole**2 / (parts**2 / weights).sum() if whole else weights.sum()
    far, half = one.mean() - two.mean(), _quantile(degrees) * whole**0.5
    finding = Finding.HOLDS if far > half else Finding.FAILS if far < -half else Finding.UNDECIDED
    return Judgement(finding, "Welch's t-test of two means, 5 %", min(len(one), len(two)))


def agrees(values: Iterable[float], printed: float, tolerance: float = 0.0) -> Judgement:
    """Test whether a printed number is compatible with the mean of our replicates.

    It holds if the printed number lies within t standard errors of our mean, widened by `tolerance` of itself. The
    papers print no standard errors, so theirs counts as 0.

    Example:
        >>> agrees([9.0, 12.0, 10.0, 11.0, 9.5], 10.5).test
        'printed number within 2.78 standard errors of our mean'
        >>> agrees([9.0, 12.0, 10.0, 11.0, 9.5], 20).finding
        <Finding.FAILS: 'fails'>
    """
    ours = np.asarray([*values], float)
    if len(ours) < FEWEST:
        return _too_few(len(ours))
    near = abs(ours.mean() - printed) <= half_width(ours) + tolerance * abs(printed)
    wider = f", or {100 * tolerance:.0f} % beyond" if tolerance else ""
    test = f"printed number within {_quantile(len(ours) - 1):.2f} standard errors of our mean{wider}"
    return Judgement(Finding.HOLDS if near else Finding.FAILS, test, len(ours))


def exactly(holds: bool, test: str) -> Judgement:
    """Judge a claim that involves no randomness, such as a number counted in a model."""
    return Judgement(Finding.HOLDS if holds else Finding.FAILS, f"exact: {test}")


def in_every_replicate(holds: bool, replicates: int, test: str) -> Judgement:
    """Judge a claim that holds if every replicate meets it; `holds` says whether all did."""
    if replicates < FEWEST:
        return _too_few(replicates)
    return Judgement(Finding.HOLDS if holds else Finding.FAILS, test, replicates)


def not_judged(why: str) -> Judgement:
    """Return the judgement NOT_JUDGED with the reason why there is no test."""
    return Judgement(Finding.NOT_JUDGED, why)


def smaller(this: LevelError | None, *others: LevelError | None) -> Judgement:
    """Test whether `this` error is smaller than each of the others, by replicates; return the worst judgement.

    Without results of one of the others it is never found to hold: an arm that is missing was not beaten.
    """
    if this is None or not any(others):
        return not_judged("no results of one side")
    return worst(missing() if other is None else compared(other.less(this)) for other in others)


def missing() -> Judgement:
    """Return the judgement of a comparison with an arm that has no results."""
    return not_judged("no results of one of the others")


def worst(judgements: Iterable[Judgement]) -> Judgement:
    """Return the worst of several judgements, which decides where all claims must hold.

    Example:
        >>> worst([exactly(True, "counted"), not_judged("no results")]).finding
        <Finding.NOT_JUDGED: 'not judged'>
    """
    order = (Finding.FAILS, Finding.UNDECIDED, Finding.NOT_JUDGED, Finding.HOLDS)
    return min(judgements, key=lambda each: order.index(each.finding), default=not_judged("no results"))


def half_width(values: Sequence[float] | np.ndarray) -> float:
    """Compute half the width of the 95 % confidence interval of a mean: t standard errors, and 0 for a single value."""
    n = len(values)
    return float(_quantile(n - 1) * np.std(values, ddof=1) / n**0.5) if n > 1 else 0.0


def verdict_frame(verdicts: Sequence[Verdict]) -> "pd.DataFrame":
    """Make a data frame of the verdicts, one row per verdict."""
    import pandas as pd

    rows = [
        {"claim": v.claim, "data": v.data, "verdict": str(v.finding), "cause": str(v.cause), "figures": v.words}
        | {"by": by(v.judgement)}
        for v in verdicts
    ]
    return pd.DataFrame(rows)


def by(judgement: Judgement) -> str:
    """Name the test and the number of replicates.

    Example:
        >>> by(compared([1.0, 1.1, 0.9, 1.2, 1.0])), by(exactly(True, "counted"))
        ('t-test of the paired difference, 5 %, 5 replicates', 'exact: counted')
    """
    n = judgement.replicates
    return (
        judgement.test if n is None or judgement.finding is Finding.NOT_JUDGED else f"{judgement.test}, {n} replicates"
    )


def _too_few(n: int) -> Judgement:
    return Judgement(Finding.NOT_JUDGED, f"too few replicates: {n} of {FEWEST}", n)


def _quantile(degrees: float) -> float:
    """Compute the two-sided quantile of Student's t at `LEVEL`, for so many degrees of freedom."""
    from scipy.special import stdtrit

    return float(stdtrit(degrees, 1 - LEVEL / 2))
