"""The errors that are so large that they say nothing about a mechanism: beyond half of the largest possible.

Counts that are not negative and add up to G groups are off by at most 2 G at a level, whatever they are. Errors near
that are those of any guess, so two of them are not compared.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from pgsr.experiments.engine.summary import LevelError
from pgsr.experiments.engine.verdicts import Judgement, compared, missing, not_judged, worst
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


def mark_saturation(axes: "Axes", data: str, errors: Iterable[LevelError], n_levels: int = 1) -> None:
    """Draw a line at half of the largest error, above which errors are saturated, where one of these comes near it."""
    most = half_of_largest(data, n_levels)
    if max((error.mean for error in errors), default=0) > NEAR * most:
        axes.axhline(most, color="#555555", linewidth=0.8, linestyle="--",
                     label="half of the largest possible error: saturated above")  # fmt: skip


NEAR = 0.2
"""Part of that line from which errors count as near it; elsewhere it would only stretch the axis."""
