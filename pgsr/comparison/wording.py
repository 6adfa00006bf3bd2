"""Times, numbers and names of problems, as pages and figures of comparisons write them."""

import re
from collections.abc import Sequence
from html import escape

from pgsr.figures.drawing import named


def time(seconds: float) -> str:
    """Write a time in two figures.

    Example:
        >>> time(0.00131), time(0.0263), time(0.417), time(12.3)
        ('1.3 ms', '26 ms', '0.42 s', '12 s')
    """
    ms = 1000 * seconds
    if ms < 99.5:
        return f"{ms:.1f} ms" if ms < 9.95 else f"{ms:.0f} ms"
    return f"{seconds:.2f} s" if seconds < 9.95 else f"{seconds:,.0f} s"


def factor(value: float) -> str:
    """Write a ratio or an error, in two figures at least."""
    return f"{value:.1f}" if value < 9.95 else f"{value:,.0f}"


def number(value: float) -> str:
    """Write an objective."""
    return f"{value:,.0f}" if value == round(value) else f"{value:,.3f}" if value < 1e6 else f"{value:,.1f}"


def count(n: int, one: str) -> str:
    """Write a number of things, one or many."""
    return f"{n:,} {one}" if n == 1 else f"{n:,} {one}s"


def and_list(parts: Sequence[str]) -> str:
    """Join parts by commas and one "and"."""
    return f"{', '.join(parts[:-1])} and {parts[-1]}" if len(parts) > 1 else parts[0]


def short_part(part: str) -> str:
    """Name a hierarchy by its regions alone.

    Example:
        >>> short_part("30,000 households in 61 regions, sizes 0 to 20, epsilon 1")
        '61 regions'
    """
    found = re.search(r"[\d,]+ regions", part)
    return found[0] if found else part


def math(text: str) -> str:
    """Write names of problems in HTML.

    Example:
        >>> math("M_H^r"), math("H_c, L2")
        ('<i>M</i><sub>H</sub><sup>r</sup>', '<i>H</i><sub>c</sub>, <i>L</i><sub>2</sub>')
    """
    return named(escape(text), "<i>{}</i><sub>{}</sub>", "<sup>{}</sup>", "")
