"""Words and marks that the figures and verdicts of the pgsr experiments share."""

from collections.abc import Collection, Iterable
from statistics import fmean, stdev
from typing import TYPE_CHECKING

from experiments.engine.summary import LevelError
from experiments.engine.verdicts import Finding, compared

if TYPE_CHECKING:
    from matplotlib.axis import Axis


OTHER_DATA = {
    "Taxi": "the data were not published; 3,973 leaves are printed for 263 zones, N = 13,282 equals the number of "
    "groups, and a taxi works in many zones: sizes and places are generated, only totals are the paper's",
    "Census": "sizes above 8 are synthetic in the paper, too, with draws that were not published; 7,592 leaves are "
    "printed for 3,143 counties, and Puerto Rico is missing here: households of 2000 scaled to the groups of 2010",
}
"""Why no printed number of Fioretto and Van Hentenryck 2019 can be expected to come out, by their data set."""


def number(value: float) -> str:
    """
    Example:
        >>> number(12_345.6), number(7.89), number(0.0123)
        ('12,346', '7.9', '0.012')
    """
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:,.1f}" if abs(value) >= 1 else f"{value:.2g}"


def with_error(values: Collection[float]) -> str:
    """Mean and its standard error.

    Example:
        >>> with_error([1.0, 2.0, 3.0])
        '2.0 +- 0.58'
    """
    known = list(values)
    if len(known) < 2:
        return number(known[0]) if known else "nothing"
    return f"{number(fmean(known))} +- {number(stdev(known) / len(known) ** 0.5)}"


def relation(ours: float, other: float) -> str:
    """
    Example:
        >>> relation(3, 2), relation(1, 0)
        ('1.5', 'undefined')
    """
    ratio = ours / other if other else None
    return "undefined" if ratio is None else f"{ratio:,.0f}" if ratio >= 100 else f"{ratio:.3g}"


def short(name: str) -> str:
    """The name of a data set on at most two lines.

    Example:
        >>> short("Census, generated anew, K = 100")
        'Census\\ngenerated anew, K = 100'
    """
    first, comma, rest = name.partition(", ")
    return f"{first}\n{rest}" if comma else first


def smaller(this: LevelError | None, *others: LevelError | None) -> Finding:
    """Whether `this` error is smaller than each of the others, by their common noise; the worst finding counts."""
    known = [other for other in others if other is not None]
    if this is None or not known:
        return Finding.NOT_CHECKED
    return worst(compared(other.less(this)) for other in known)


def worst(findings: Iterable[Finding]) -> Finding:
    """
    Example:
        >>> worst([Finding.HOLDS, Finding.UNDECIDED])
        <Finding.UNDECIDED: 'undecided'>
    """
    found = set(findings)
    order = (Finding.FAILS, Finding.UNDECIDED, Finding.NOT_CHECKED, Finding.HOLDS)
    return next((finding for finding in order if finding in found), Finding.NOT_CHECKED)


def readable(axis: "Axis") -> None:
    """Labels 1, 2, 5 on a log axis of few decades, powers of ten on others; none overlap."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = axis.get_view_interval()
    if high < FEW * low:
        axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.10g}"))
    axis.set_minor_formatter(NullFormatter())


FEW = 30
"""Largest over smallest value of an axis of few decades."""
