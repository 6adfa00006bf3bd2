"""What the results say about a claim or a printed number."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from experiments.engine.summary import LevelError

if TYPE_CHECKING:
    import pandas as pd


class Finding(StrEnum):
    """HOLDS and FAILS need two standard errors; UNDECIDED lies between; NOT_CHECKED lacks results."""

    HOLDS = "holds"
    FAILS = "fails"
    UNDECIDED = "undecided"
    NOT_CHECKED = "not checked"


@dataclass(frozen=True)
class Verdict:
    """One claim, what became of it, and the figures in words."""

    claim: str
    data: str
    finding: Finding
    words: str


def compared(difference: Sequence[float]) -> Finding:
    """Whether a quantity is above 0, from independent replicates.

    Example:
        >>> compared([1.0, 1.1, 0.9])
        <Finding.HOLDS: 'holds'>
    """
    import numpy as np

    values = np.asarray(difference, float)
    if len(values) < 2:
        return Finding.NOT_CHECKED
    mean, error = values.mean(), 2 * values.std(ddof=1) / np.sqrt(len(values))
    return Finding.HOLDS if mean > error else Finding.FAILS if mean < -error else Finding.UNDECIDED


def smaller(this: LevelError | None, *others: LevelError | None) -> Finding:
    """Judge whether `this` error is smaller than each of the others, by their common noise; the worst counts."""
    known = [other for other in others if other is not None]
    if this is None or not known:
        return Finding.NOT_CHECKED
    return worst(compared(other.less(this)) for other in known)


def worst(findings: Iterable[Finding]) -> Finding:
    """Pick the finding that counts where all must hold.

    Example:
        >>> worst([Finding.HOLDS, Finding.UNDECIDED])
        <Finding.UNDECIDED: 'undecided'>
    """
    found = set(findings)
    order = (Finding.FAILS, Finding.UNDECIDED, Finding.NOT_CHECKED, Finding.HOLDS)
    return next((finding for finding in order if finding in found), Finding.NOT_CHECKED)


def verdict_frame(verdicts: Sequence[Verdict]) -> "pd.DataFrame":
    """The verdicts as a table for people."""
    import pandas as pd

    return pd.DataFrame(
        [{"claim": v.claim, "data": v.data, "verdict": str(v.finding), "figures": v.words} for v in verdicts]
    )
