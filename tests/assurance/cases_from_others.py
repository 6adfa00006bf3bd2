"""A table of inputs on which neighbouring projects, or an earlier version of this one, gave a wrong or no answer.

Whoever finds such an input adds it: where it comes from, in words; a call; and what the call has to give, or the words
of the error which it has to raise. The table only grows.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import pgsr


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


def _written(make: Callable[[Any], np.ndarray]) -> Callable[[], None]:
    """Make a call that writes to an array of a solved problem of noisy counts."""
    truth = pgsr.CountOfCounts(pgsr.Hierarchy.from_paths([("US", "GA"), ("US", "MI")]), [[0, 3], [1, 6]])

    def write() -> None:
        noisy = pgsr.measure(truth, "counts", epsilon=1, seed="d")
        make(noisy)[...] = -7

    return write


SOLVERS: tuple[Case, ...] = (
    Case(
        "an earlier version solved another problem under the old proof, once noisy values were written to",
        _written(lambda noisy: noisy.matrix),
        words="read-only",
    ),
    Case(
        "an earlier version showed numbers that somebody wrote beside OPTIMAL, no violations",
        _written(lambda noisy: pgsr.solve(pgsr.Problem.m_h(noisy)).estimate.values),
        words="read-only",
    ),
)
"""Arrays, interruptions, packages, limits, releases."""

CASES = TABLES + NAMES + SOLVERS
