"""Statistics as text, for the command line."""

from collections.abc import Callable

from pgsr.data.region_ids import path_of_id
from pgsr.errors import ArgumentError
from pgsr.intervals.statistics import (
    Count,
    Counts,
    Cumulative,
    CumulativeCounts,
    Difference,
    Gini,
    MeanSize,
    Quantile,
    Share,
    Statistic,
    Tail,
)


def statistic_of(text: str) -> Statistic:
    """Read a statistic from text.

    These are count and cumulative (of all sizes), count:5, cumulative:5, tail:100, mean, quantile:0.5, gini and
    share:1..3; each may be followed by " minus " and the id of another region.

    Raises:
        ArgumentError: no statistic is written so.

    Example:
        >>> statistic_of("tail:100"), statistic_of("mean minus US/GA")
        (Tail(size=100), Difference(statistic=MeanSize(), other=('US', 'GA')))
    """
    first, minus, other = text.partition(" minus ")
    if minus:
        return Difference(statistic_of(first), path_of_id(other))
    name, _, value = text.partition(":")
    unknown = ArgumentError(f"{text!r} is no statistic; write {SPELLINGS}")
    try:
        if not value and name in _PLAIN:
            return _PLAIN[name]()
        if name in _SIZED:
            return _SIZED[name](int(value))
        if name == "quantile":
            return Quantile(value)
        if name == "share":
            low, _, high = value.partition("..")
            return Share(int(low), int(high))
    except ValueError:  # what follows the colon is no number
        raise unknown from None
    raise unknown


SPELLINGS = "count, count:5, cumulative, cumulative:5, tail:100, mean, quantile:0.5, gini or share:1..3"
"""The texts of statistics, by example."""

_PLAIN: dict[str, type[Statistic]] = {
    "count": Counts, "cumulative": CumulativeCounts, "mean": MeanSize, "gini": Gini
}  # fmt: skip
_SIZED: dict[str, Callable[[int], Statistic]] = {"count": Count, "cumulative": Cumulative, "tail": Tail}
