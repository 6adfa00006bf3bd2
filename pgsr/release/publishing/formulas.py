"""Recognise texts that spreadsheet programs take for formulas, so that none stands in a published CSV file."""

import re
from collections.abc import Iterable

from pgsr.release.publishing.errors import ConfigError


def is_formula(text: str) -> bool:
    """Tell whether a spreadsheet program would compute a cell with this text; a plain number is none.

    Example:
        >>> [is_formula(text) for text in ('=HYPERLINK("http://a.example")', "@SUM(1)", "-5", "- other", "A=B")]
        [True, True, False, True, False]
    """
    return text.lstrip().startswith(_SIGNS) and _NUMBER.fullmatch(text) is None


def require_no_formula(texts: Iterable[str], what: str) -> None:
    """Raise `ConfigError` if one of these texts, cells of a table that is published, would be computed.

    Example:
        >>> require_no_formula(["North", "=1+1"], "region")
        Traceback (most recent call last):
        pgsr.release.publishing.errors.ConfigError: the region '=1+1' begins as a formula does, and spreadsheet
            programs would compute it when they open a CSV file; write another name
    """
    for text in texts:
        if is_formula(text):
            raise ConfigError(
                f"the {what} {text!r} begins as a formula does, and spreadsheet programs would compute it when they "
                "open a CSV file; write another name"
            )


_SIGNS = tuple("=+-@\uff1d\uff0b\uff0d\uff20")
"""The signs with which formulas begin, and their wide forms, which some programs take for the same."""

_NUMBER = re.compile(r"[+-]?[0-9]+([.,][0-9]+)?")
