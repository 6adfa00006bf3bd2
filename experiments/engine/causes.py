"""The causes of verdicts: whose word a verdict tests, so that a paper's claim is not mixed up with a choice of ours.

An experiment declares the cause beside the claim; `cause_on` turns it into STAND_IN where the data are not the paper's.
"""

from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pgsr.experiments.engine.papers import StandsFor


class Cause(StrEnum):
    """What a verdict says something about; `meaning` has the sentence that the report shows.

    CLAIM and NUMBER are the paper's own words and numbers, tested as it states them. READING is either of them, read or
    run in another way. STAND_IN, SOLVER and PROFILE say why a test is not one of the paper yet. OURS is no paper's.
    """

    CLAIM = "paper's claim"
    NUMBER = "printed number"
    STAND_IN = "stand-in data"
    SOLVER = "other solver or extrapolated"
    PROFILE = "profile too small"
    READING = "alternative reading"
    OURS = "our own claim"

    @property
    def meaning(self) -> str:
        return _MEANING[self]


_MEANING = {
    Cause.CLAIM: "a claim of a paper, tested as the paper states it, on its data, on data made by its recipe, or where "
    "the data do not matter",
    Cause.NUMBER: "a number that a paper prints, tested on its own data or against arithmetic; a failure is a fact "
    "about the print",
    Cause.STAND_IN: "a claim or number of a paper, on data that stand in for the paper's; a failure refutes nothing",
    Cause.SOLVER: "a claim of a paper on running times, with another solver in place of the paper's, or with times of "
    "a part of the sizes extrapolated to all; a failure refutes nothing",
    Cause.PROFILE: "fewer replicates, less time, smaller models or less data than the test needs; a larger profile "
    "decides",
    Cause.READING: "a claim or number of a paper, read or run in another way than the paper states it, to find out "
    "what was done",
    Cause.OURS: "a claim of this project, of no paper",
}


def cause_on(data: "StandsFor | None", declared: Cause) -> Cause:
    """Find the cause of a verdict on a data set, from the one that is declared beside the claim.

    A claim of a paper stays one on data made by the paper's recipe, and on data that stand for none of the paper's; a
    printed number stays one on the paper's own data alone.

    Args:
        data: what the data set is or stands for; None for neither.
        declared: for the paper's own data.

    Example:
        >>> from pgsr.experiments.engine.papers import StandsFor
        >>> by_recipe = StandsFor("Census", "draws of our own", by_recipe=True)
        >>> cause_on(by_recipe, Cause.CLAIM), cause_on(by_recipe, Cause.NUMBER), cause_on(None, Cause.CLAIM)
        (<Cause.CLAIM: "paper's claim">, <Cause.STAND_IN: 'stand-in data'>, <Cause.CLAIM: "paper's claim">)
    """
    if data is None or data.is_the_papers or declared not in (Cause.CLAIM, Cause.NUMBER):
        return declared
    return declared if data.by_recipe and declared is Cause.CLAIM else Cause.STAND_IN
