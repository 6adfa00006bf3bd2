"""The verdicts on the order of the four mechanisms in figure 10 of Fioretto and Van Hentenryck 2019."""

from collections.abc import Iterator, Mapping

from pgsr.experiments.engine.causes import Cause
from pgsr.experiments.engine.summary import LevelError
from pgsr.experiments.engine.verdicts import Verdict
from pgsr.experiments.fioretto2019 import published as fioretto
from pgsr.experiments.fioretto2019.arms import M_C_DP, M_C_R, M_H_DP, M_H_R
from pgsr.experiments.fioretto2019.saturation import smaller_unless_saturated


def orders(
    totals: Mapping[str, LevelError | None], n_levels: int, where: str, words: str, cause: Cause
) -> Iterator[Verdict]:
    """Judge whether dynamic programs err less than relaxations, and M_c^dp less than all others.

    Args:
        totals: the L1 error of all regions by the label of the mechanism, None where there are no results.
        n_levels: of the data set.
        where: the data set and epsilon of these errors.
        words: the errors in words.
        cause: of the verdicts.
    """
    others = [row for label, row in totals.items() if label != M_C_DP.label]
    found = {
        "figure 10a": smaller_unless_saturated(totals[M_H_DP.label], totals[M_H_R.label], n_levels=n_levels),
        "figure 10b": smaller_unless_saturated(totals[M_C_DP.label], totals[M_C_R.label], n_levels=n_levels),
        "figure 10c": smaller_unless_saturated(totals[M_C_DP.label], *others, n_levels=n_levels),
    }
    for claim, judgement in found.items():
        yield Verdict(fioretto.CLAIMS[claim], where, judgement, words, cause)
