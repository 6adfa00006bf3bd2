"""What the results say about a claim or a printed number."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

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


def verdict_frame(verdicts: Sequence[Verdict]) -> "pd.DataFrame":
    """The verdicts as a table for people."""
    import pandas as pd

    return pd.DataFrame(
        [{"claim": v.claim, "data": v.data, "verdict": str(v.finding), "figures": v.words} for v in verdicts]
    )
