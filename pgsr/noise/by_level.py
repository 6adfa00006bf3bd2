"""The noise step for counts with sizes per level."""

from collections.abc import Sequence

import numpy as np

from pgsr.checks import require_kind, require_source
from pgsr.counts_by_level import CountsByLevel
from pgsr.errors import BudgetError, ProblemError
from pgsr.laws import Law
from pgsr.measurement import Totals
from pgsr.noise.step import NoiseStep
from pgsr.random import Source, StreamId
from pgsr.views import View

_BLOCK = 1 << 22


def measure_by_level(
    noise: NoiseStep,
    truth: CountsByLevel,
    source: Source,
    name: str,
    first_level: int = 0,
    max_sizes: Sequence[int] | None = None,
) -> CountsByLevel:
    """Add noise to counts with sizes per level, or to the part of them below one region.

    Counts of a level are those of a data set whose largest size is that level's, so sensitivities are known: no more
    than with all sizes. Noise is keyed by data set, view, level and the path of the root of what is measured: a part
    that is measured again under the same seed gets the same noise. Nothing is charged.

    Args:
        noise: how much, such as `Geometric(View.COUNTS, 1)`; one share per level of the whole hierarchy.
        name: of the data set.
        first_level: the level in the whole hierarchy of the root of `truth`.
        max_sizes: of the levels of the whole hierarchy; those of `truth` if None.

    Raises:
        BudgetError: the shares do not fit the levels, or a level would get nothing.
        ProblemError: the noise is not of counts, or it is to pay for totals.

    Example:
        >>> from pgsr import Geometric, Hierarchy, Seeded
        >>> tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
        >>> truth = CountsByLevel(tree, ([[0, 3, 1, 2]], [[0, 2, 1], [0, 1, 2]]))
        >>> noisy = measure_by_level(Geometric(View.COUNTS, 2), truth, Seeded("demo"), "demo")
        >>> [table.tolist() for table in noisy.tables]
        [[[2, 7, 0, 0]], [[-9, 7, -2], [0, 2, 2]]]

    Shown by `tests/test_noise_by_level.py::test_sensitivity_by_enumeration`.
    """
    require_source(source)
    laws = require_by_level(noise, truth.max_sizes if max_sizes is None else max_sizes)
    tables = []
    for level, table in enumerate(truth.tables, first_level):
        stream = source.stream(StreamId(name, View.COUNTS.value, level, truth.hierarchy.paths[0]))
        noisy = np.empty_like(table).reshape(-1)
        for start in range(0, table.size, _BLOCK):
            block = table.reshape(-1)[start : start + _BLOCK].astype(np.int64)
            laws[level].add_to(block, stream)
            noisy[start : start + _BLOCK] = _narrow(block, table.dtype)
        tables.append(noisy.reshape(table.shape))
    return CountsByLevel(truth.hierarchy, tuple(tables))


def require_by_level(noise: NoiseStep, max_sizes: Sequence[int]) -> list[Law]:
    """Find the law of the noise of every level, or raise what `measure_by_level` would raise."""
    require_kind(noise, NoiseStep, "noise", "give Geometric(View.COUNTS, epsilon)")
    if noise.view is not View.COUNTS:
        raise ProblemError(f"sizes per level are those of counts, not of {noise.view!r}; give View.COUNTS")
    if noise.totals is Totals.NOISY:
        raise ProblemError("totals by level are public here; give totals='root' or 'regions'")
    levels = noise.levels(len(max_sizes), max(max_sizes))
    laws = []
    for level, max_size in zip(levels, max_sizes, strict=True):
        if level is None:
            raise BudgetError("a level has a share of 0; give every level a part, as all are to be measured")
        laws.append(level.law(noise.sensitivity(View.COUNTS, max_size)))
    return laws


def _narrow(block: np.ndarray, kind: np.dtype) -> np.ndarray:
    """Convert to the kind of the table, at its limits where noise goes beyond: a function of the noisy counts alone."""
    limits = np.iinfo(kind)
    return np.clip(block, limits.min, limits.max).astype(kind)
