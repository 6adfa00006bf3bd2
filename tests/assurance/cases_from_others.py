"""A table of inputs on which neighbouring projects, or an earlier version of this one, gave a wrong or no answer.

Whoever finds such an input adds it: where it comes from, in words; a call; and what the call has to give, or the words
of the error which it has to raise. The table only grows.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Case:
    """One input: its source in words, a call that answers it, and the right answer."""

    source: str
    answer: Callable[[], Any]
    right: Any = None
    words: str | None = None
    """Words of the sentence that refuses the input, where a refusal is right."""


TABLES: tuple[Case, ...] = ()
"""Sizes, totals, weights and values of `reconcile`."""

NAMES: tuple[Case, ...] = ()
"""Names of regions, kinds of numbers, times, trees and what travels."""

SOLVERS: tuple[Case, ...] = ()
"""Arrays, interruptions, packages, limits, releases."""

CASES = TABLES + NAMES + SOLVERS
