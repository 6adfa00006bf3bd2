"""Bugs of the noise of whole levels, and of rows of many sizes, as patches of the real code."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from planted_bugs import replacing, with_row

import pgsr.noise.step
from pgsr import CountOfCounts, Hierarchy, View
from pgsr.noise import Geometric, Measurement, tables
from pgsr.privacy.laws import Law

MANY = 40
"""The largest size from which on these bugs show themselves."""


@replacing(pgsr.noise.step, "noisy_tables")
def blocks_after_the_first_exact(
    noisy_tables: Callable, view: View, laws: Any, tree: Any, exact: Sequence[np.ndarray], *rest: Any
) -> Any:
    """A level gets the noise of its first block of cells, and the others stay as they are."""
    found = noisy_tables(view, laws, tree, exact, *rest)
    for noisy, table in zip(found, exact, strict=True):
        values = table if view is View.COUNTS else np.cumsum(table, axis=1)
        noisy.reshape(-1)[tables.BLOCK_CELLS :] = values.reshape(-1)[tables.BLOCK_CELLS :]
    return found


@replacing(pgsr.noise.step, "noisy_tables")
def law_of_the_level_above(
    noisy_tables: Callable,
    view: View,
    laws: Sequence[Law],
    tree: Hierarchy,
    exact: Any,
    source: Any,
    name: str,
    first_level: int = 0,
) -> Any:
    """Count the levels of a part from the level above its root, which is right as long as all shares are equal."""
    laws = [laws[0], *laws[:-1]] if first_level else laws
    return noisy_tables(view, laws, tree, exact, source, name, first_level)


@replacing(Geometric, "measure")
def root_nearer_to_the_truth(measure: Callable, noise: Geometric, truth: CountOfCounts, *rest: Any) -> Measurement:
    """Half of the root's noise is taken off where there are many sizes, because it is needed for so many of them."""
    found = measure(noise, truth, *rest)
    if found.view is View.COUNTS and truth.max_size > MANY:
        return with_row(found, 0, (found.matrix[0] + truth.row(0)) // 2)
    return found


@replacing(Geometric, "measure")
def root_without_negative_values(measure: Callable, noise: Geometric, truth: CountOfCounts, *rest: Any) -> Measurement:
    """A noisy nation with negative counts looks bad, so where there are many sizes they become 0."""
    found = measure(noise, truth, *rest)
    if found.view is View.COUNTS and truth.max_size > MANY:
        return with_row(found, 0, np.maximum(found.matrix[0], 0))
    return found
