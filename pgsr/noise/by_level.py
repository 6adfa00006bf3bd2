"""The noise step for counts and cumulative counts with sizes per level."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol, runtime_checkable

import numpy as np

from pgsr.checks import require_kind, require_source
from pgsr.data.counts_by_level import CountsByLevel
from pgsr.data.views import View
from pgsr.errors import BudgetError, ProblemError
from pgsr.noise.measurement import Totals
from pgsr.noise.measurement_by_level import MeasurementByLevel
from pgsr.privacy.accounting import Loss
from pgsr.privacy.accounting.spending import Ledger
from pgsr.privacy.laws import Law
from pgsr.privacy.laws.per_level import LevelNoise
from pgsr.privacy.neighbours import Relation, Unit
from pgsr.privacy.random import Source, StreamId
from pgsr.privacy.sensitivity import Sensitivity

_BLOCK = 1 << 22


@runtime_checkable
class StatedNoise(Protocol):
    """The part of a noise step that says how much noise there is; `pgsr.noise.step.NoiseStep` is one."""

    @property
    def view(self) -> object: ...

    @property
    def totals(self) -> Totals | str: ...

    @property
    def max_quantity(self) -> int: ...

    @property
    def unit(self) -> Unit: ...

    @property
    def relation(self) -> Relation: ...

    @property
    def cost(self) -> Loss: ...

    def levels(self, n_levels: int, max_size: int | Sequence[int]) -> tuple[LevelNoise | None, ...]:
        """Give the noise of the values of every level, root first."""
        ...

    def sensitivity(self, view: View, max_size: int) -> Sensitivity:
        """Give how far the vectors of this view of one level differ between neighbouring data sets."""
        ...


def measure_by_level(
    noise: StatedNoise,
    truth: CountsByLevel,
    source: Source,
    name: str,
    first_level: int = 0,
    max_sizes: Sequence[int] | None = None,
) -> CountsByLevel:
    """Add noise to counts with sizes per level, or to their cumulative counts; or to the part of them below one region.

    Which of the two, the noise says: `View.COUNTS` or `View.CUMULATIVE`. The values of a level are those of a data set
    whose largest size is that level's, so sensitivities are known: no more than with all sizes. Noise is keyed by data
    set, view, level and the path of the root of what is measured: a part that is measured again under the same seed
    gets the same noise. Nothing is charged.

    Args:
        noise: how much, such as `Geometric(View.COUNTS, 1)`; one share per level of the whole hierarchy.
        name: of the data set.
        first_level: the level in the whole hierarchy of the root of `truth`.
        max_sizes: of the levels of the whole hierarchy; those of `truth` if None.

    Raises:
        BudgetError: the shares do not fit the levels, or a level would get nothing.
        ProblemError: the noise is of another view, it is to pay for totals, or it is made for other quantities, groups
            or sizes than were counted.

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
    sizes = truth.max_sizes if max_sizes is None else tuple(max_sizes)
    laws = require_by_level(noise, sizes)
    _require_counted(noise, truth, sizes[first_level : first_level + len(truth.tables)])
    view, tables = require_view(noise), []
    for level, table in enumerate(truth.tables, first_level):
        stream = source.stream(StreamId(name, view.value, level, truth.hierarchy.paths[0]))
        noisy = np.empty_like(table).reshape(-1)
        exact = table if view is View.COUNTS else np.cumsum(table, axis=1, dtype=table.dtype)
        for start in range(0, table.size, _BLOCK):
            block = exact.reshape(-1)[start : start + _BLOCK].astype(np.int64)
            laws[level].add_to(block, stream)
            noisy[start : start + _BLOCK] = _narrow(block, table.dtype)
        tables.append(noisy.reshape(table.shape))
    return CountsByLevel(truth.hierarchy, tuple(tables))


def measured_by_level(
    noise: StatedNoise, truth: CountsByLevel, source: Source, name: str, ledger: Ledger | None = None
) -> MeasurementByLevel:
    """Measure counts or cumulative counts with sizes per level, and state what is public of them.

    The noise says what: its view, its amount on every level, and whether the numbers of groups of all regions are
    public (totals="regions") or the root's alone. The ledger is charged before anything is drawn.

    Args:
        name: of the data set, by which noise is keyed.

    Raises:
        BudgetError: the shares do not fit the levels, a level would get nothing, or the ledger lacks epsilon.
        ProblemError: the noise is of another view, it is to pay for totals, or it is made for other quantities or
            groups than were counted.

    Example:
        >>> from pgsr import Geometric, Hierarchy, Seeded
        >>> tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
        >>> truth = CountsByLevel(tree, ([[0, 3, 1, 2]], [[0, 2, 1], [0, 1, 2]]))
        >>> noisy = measured_by_level(Geometric(View.CUMULATIVE, 2), truth, Seeded("demo"), "demo")
        >>> [table.tolist() for table in noisy.values.tables], noisy.totals.tolist()
        ([[[3, 4, 4, 5]], [[-2, 2, 3], [0, 1, 1]]], [3, 3])
    """
    require_source(source)
    blank = blank_by_level(noise, truth)
    if ledger is not None:
        require_kind(ledger, Ledger, "ledger", "give Ledger(epsilon) or None")
        ledger.charge(noise.cost, "measuring by level", noise.unit, noise.relation)
    values = measure_by_level(noise, truth, source, name)
    return replace(blank, values=values, secure=source.secure, data_set=name)


def blank_by_level(noise: StatedNoise, truth: CountsByLevel) -> MeasurementByLevel:
    """Make a measurement of zeros with the public facts of a real one, to ask if post-processing can use it.

    Raises:
        BudgetError, ProblemError: as `measured_by_level`.
    """
    laws, view = require_by_level(noise, truth.max_sizes), require_view(noise)
    _require_counted(noise, truth, truth.max_sizes)
    zeros = CountsByLevel(truth.hierarchy, tuple(map(np.zeros_like, truth.tables)))
    every = Totals.parse(noise.totals) is Totals.REGIONS
    totals = truth.tables[-1].sum(axis=1, dtype=np.int64) if every else None
    return MeasurementByLevel(zeros, view, tuple(laws), int(truth.tables[0].sum(dtype=np.int64)), totals)


def require_view(noise: StatedNoise) -> View:
    """Give the view that all levels are measured in, or raise where it has no sizes per level."""
    if noise.view is View.COUNTS or noise.view is View.CUMULATIVE:
        return noise.view
    raise ProblemError(
        f"sizes per level are those of counts and cumulative counts, not of {noise.view!r}; give View.COUNTS or "
        "View.CUMULATIVE"
    )


def require_by_level(noise: StatedNoise, max_sizes: Sequence[int]) -> list[Law]:
    """Find the law of the noise of every level, or raise what `measure_by_level` would raise."""
    require_kind(noise, StatedNoise, "noise", "give Geometric(View.COUNTS, epsilon)")
    view = require_view(noise)
    if noise.totals is Totals.NOISY:
        raise ProblemError("totals by level are public here; give totals='root' or 'regions'")
    levels = noise.levels(len(max_sizes), max_sizes)
    laws = []
    for level, max_size in zip(levels, max_sizes, strict=True):
        if level is None:
            raise BudgetError("a level has a share of 0; give every level a part, as all are to be measured")
        laws.append(level.law(noise.sensitivity(view, max_size)))
    return laws


def _require_counted(noise: StatedNoise, truth: CountsByLevel, max_sizes: tuple[int, ...]) -> None:
    """Raise `ProblemError` unless the noise is made for what was counted: quantities, groups, and sizes by level."""
    if truth.max_quantity > noise.max_quantity:
        raise ProblemError(
            f"one entity adds up to {truth.max_quantity} to a size here, and this noise hides {noise.max_quantity}; "
            f"give {type(noise).__name__}(..., max_quantity={truth.max_quantity})"
        )
    if truth.private_groups:
        raise ProblemError(
            "the table of groups is private, and totals by level are public; measure counts of one max_size for all "
            "levels with totals='noisy'"
        )
    if truth.max_sizes != max_sizes:
        counted, made_for = (", ".join(f"0..{k:,}" for k in sizes) for sizes in (truth.max_sizes, max_sizes))
        raise ProblemError(f"these levels have the sizes {counted}, and the noise is for {made_for}; give the same")


def _narrow(block: np.ndarray, kind: np.dtype) -> np.ndarray:
    """Convert to the kind of the table, at its limits where noise goes beyond: a function of the noisy counts alone."""
    limits = np.iinfo(kind)
    return np.clip(block, limits.min, limits.max).astype(kind)
