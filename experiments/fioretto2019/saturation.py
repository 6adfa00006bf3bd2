"""The order of the four mechanisms, where their errors are not so large that they say nothing.

Counts that are not negative and add up to G groups are off by at most 2 G at a level, whatever they are. Errors near
that are those of any guess, so two of them are not compared.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from pgsr.experiments.engine.causes import Cause
from pgsr.experiments.engine.summary import LevelError
from pgsr.experiments.engine.verdicts import Judgement, Verdict, compared, missing, not_judged, worst
from pgsr.experiments.fioretto2019 import published as fioretto
from pgsr.experiments.fioretto2019.arms import M_C_DP, M_C_R, M_H_DP, M_H_R
from pgsr.experiments.fioretto2019.data import groups_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SATURATED = "both errors are saturated: beyond half of the largest that the number of groups allows"


def half_of_largest(data: str, n_levels: int = 1) -> float:
    """Compute half of the largest L1 error of one level, or of several added up, on the data set of this name.

    Example:
        >>> half_of_largest("Taxi 2014, generated")
        13282.0
    """
    return float(n_levels * groups_of(data))


def smaller_unless_saturated(this: LevelError | None, *others: LevelError | None, n_levels: int = 1) -> Judgement:
    """Test as `smaller` does, but judge no pair of saturated errors; errors are sums over `n_levels` levels."""
    if this is None or not any(others):
        return not_judged("no results of one side")
    most = half_of_largest(this.data, n_levels)

    def one(other: LevelError | None) -> Judgement:
        if other is None:
            return missing()
        return not_judged(SATURATED) if min(this.mean, other.mean) > most else compared(other.values, this.values)

    return worst(map(one, others))


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


def mark_saturation(axes: "Axes", data: str, errors: Iterable[LevelError], n_levels: int = 1) -> None:
    """Draw a line at half of the largest error, above which errors are saturated, where one of these comes near it."""
    most = half_of_largest(data, n_levels)
    if max((error.mean for error in errors), default=0) > NEAR * most:
        axes.axhline(most, color="#555555", linewidth=0.8, linestyle="--",
                     label="half of the largest possible error: saturated above")  # fmt: skip


NEAR = 0.2
"""Part of that line from which errors count as near it; elsewhere it would only stretch the axis."""
