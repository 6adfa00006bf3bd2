"""Bugs of the noise of whole levels, and of rows of many sizes, as patches of the real code."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from planted_bugs import around
from pytest import MonkeyPatch  # noqa: PT013

import pgsr.noise.step
from pgsr import CountOfCounts, Hierarchy, View
from pgsr.noise import Geometric, Measurement, tables
from pgsr.privacy.laws import Law

MANY = 40
"""The largest size from which on these bugs show themselves."""


def blocks_after_the_first_exact(patch: MonkeyPatch) -> None:
    """A level gets the noise of its first block of cells, and the others stay as they are."""

    def once(noisy_tables: Callable) -> Callable:
        def measured(view: View, laws: Any, tree: Any, exact: Sequence[np.ndarray], *rest: Any) -> Any:
            found = noisy_tables(view, laws, tree, exact, *rest)
            for noisy, table in zip(found, exact, strict=True):
                values = table if view is View.COUNTS else np.cumsum(table, axis=1)
                noisy.reshape(-1)[tables.BLOCK_CELLS :] = values.reshape(-1)[tables.BLOCK_CELLS :]
            return found

        return measured

    around(patch, pgsr.noise.step, "noisy_tables", once)


def law_of_the_level_above(patch: MonkeyPatch) -> None:
    """Count the levels of a part from the level above its root, which is right as long as all shares are equal."""

    def shifted(noisy_tables: Callable) -> Callable:
        def measured(
            view: View, laws: Sequence[Law], tree: Hierarchy, exact: Any, source: Any, name: str, first_level: int = 0
        ) -> Any:
            laws = [laws[0], *laws[:-1]] if first_level else laws
            return noisy_tables(view, laws, tree, exact, source, name, first_level)

        return measured

    around(patch, pgsr.noise.step, "noisy_tables", shifted)


def root_nearer_to_the_truth(patch: MonkeyPatch) -> None:
    """Half of the root's noise is taken off where there are many sizes, because it is needed for so many of them."""

    def nearer(measure: Callable) -> Callable:
        def measured(noise: Geometric, truth: CountOfCounts, *rest: Any) -> Measurement:
            found = measure(noise, truth, *rest)
            if found.view is View.COUNTS and truth.max_size > MANY:
                found.matrix[0] = (found.matrix[0] + truth.row(0)) // 2
            return found

        return measured

    around(patch, Geometric, "measure", nearer)


def root_without_negative_values(patch: MonkeyPatch) -> None:
    """A noisy nation with negative counts looks bad, so where there are many sizes they become 0."""

    def clipped(measure: Callable) -> Callable:
        def measured(noise: Geometric, truth: CountOfCounts, *rest: Any) -> Measurement:
            found = measure(noise, truth, *rest)
            if found.view is View.COUNTS and truth.max_size > MANY:
                np.maximum(found.matrix[0], 0, out=found.matrix[0])
            return found

        return measured

    around(patch, Geometric, "measure", clipped)
