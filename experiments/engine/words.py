"""The numbers and names as figures and verdicts of experiments write them."""

from collections.abc import Collection
from statistics import fmean, stdev


def number(value: float) -> str:
    """Write a number with about two significant digits, or with all digits before the point.

    Example:
        >>> number(12_345.6), number(7.89), number(0.0123)
        ('12,346', '7.9', '0.012')
    """
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:,.1f}" if abs(value) >= 1 else f"{value:.2g}"


def with_error(values: Collection[float]) -> str:
    """Write a mean with its standard error.

    Example:
        >>> with_error([1.0, 2.0, 3.0])
        '2.0 +- 0.58'
    """
    known = list(values)
    if len(known) < 2:
        return number(known[0]) if known else "nothing"
    return f"{number(fmean(known))} +- {number(stdev(known) / len(known) ** 0.5)}"


def relation(ours: float, other: float) -> str:
    """Write how many times the other a number is.

    Example:
        >>> relation(3, 2), relation(1, 0)
        ('1.5', 'undefined')
    """
    ratio = ours / other if other else None
    return "undefined" if ratio is None else f"{ratio:,.0f}" if ratio >= 100 else f"{ratio:.3g}"
