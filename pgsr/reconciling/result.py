"""A table that was made consistent, with the proof and what was moved."""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from pgsr.certificates import Certificate
from pgsr.data.columns import ColumnFrame
from pgsr.data.read_only import read_only_arrays
from pgsr.data.region_ids import notes_of_names, region_id
from pgsr.engines.losses import loss
from pgsr.errors import ArgumentError
from pgsr.figures.html import facts_table
from pgsr.intervals.statistics import exact_level
from pgsr.machine.extras import extra
from pgsr.methods.method import Result, Status
from pgsr.privacy.budget import Number
from pgsr.reconciling.diagnostics import LevelDiagnostics, Plausibility, diagnostics, lowest_copies, plausibility
from pgsr.reconciling.draws import DrawnTable, StatedNoise
from pgsr.reconciling.measurements import MeasuredCells
from pgsr.reconciling.problem import Stated
from pgsr.reconciling.variances import estimates_and_variances, intervals

if TYPE_CHECKING:
    import pandas as pd

COLUMN = "reconciled"
"""The column that tables get."""


@dataclass(frozen=True, eq=False)
@read_only_arrays
class Reconciled:
    """A table whose numbers add up, the proof that no others are nearer, and what was changed.

    It makes no claim of privacy: what protected the numbers before protects them now, and nothing else does.

    Attributes:
        result: of the method that solved the stated problem; `status` and `certificate` are its.
        answer: the numbers of all cells, those without a row among them; regions by sizes, int64 or float64.
        found: the cells and values of the table.
        stated: the problem, `stated.problem`, and what was rounded on the way to it.
        frame: the table as it was given.
        level_names: of the hierarchy.
        level: the chance of the intervals, or None where no variances were given.
        nonnegative: whether numbers are from 0 on.
        noise: the law of noise and the draws that were asked for, or None.
    """

    result: Result
    answer: np.ndarray
    found: MeasuredCells
    stated: Stated
    frame: ColumnFrame
    level_names: tuple[str, ...]
    level: float | None
    nonnegative: bool
    noise: StatedNoise | None

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "table"}

    @property
    def status(self) -> Status:
        """How the solve ended."""
        return self.result.status

    @property
    def certificate(self) -> Certificate:
        """The proof of the answer: violations, objective and bound of the stated problem."""
        assert self.result.certificate is not None, "every answer has one"
        return self.result.certificate

    @cached_property
    def table(self) -> Any:
        """The table that was given, with the column `result`, and with variances `lower` and `upper`."""
        columns: dict[str, np.ndarray] = {COLUMN: self._of_rows(self.answer)}
        if self.level is not None:
            low, high = self._intervals
            columns |= {"lower": self._of_rows(low), "upper": self._of_rows(high)}
        return self.frame.taking(columns)

    @property
    def draws(self) -> np.ndarray:
        """Whole tables drawn from the posterior, all as likely; shape (draws, regions, sizes), rows as in `found.tree`.

        Raises:
            ArgumentError: no law of noise was given.
        """
        return self._noise_stated.draws

    @property
    def drawn_tables(self) -> Iterator[Any]:
        """The table that was given, of the same kind, with a column `draws`: one for every draw."""
        return (self.frame.taking({"drawn": self._of_rows(table)}) for table in self.draws)

    def intervals(self, statistic: Callable[[DrawnTable], float], level: Number = 0.9) -> tuple[float, float]:
        """Find between which numbers a statistic of the table lies: quantiles over draws.

        Args:
            statistic: a number of a table, such as `lambda table: table["US/GA"].sum() / table["US"].sum()`.
            level: the chance that it does.

        Raises:
            ArgumentError: no law of noise was given, the statistic is not one finite number, or the level is none.
        """
        values, chance = self._noise_stated.statistics(statistic), float(exact_level(level))
        low, high = np.quantile(values, [(1 - chance) / 2, (1 + chance) / 2])
        return float(low), float(high)

    @cached_property
    def plausibility(self) -> Plausibility | None:
        """Whether the table is off by no more than its noise explains; None where no variances were given."""
        if self.level is None:
            return None
        return plausibility(self.found, None if self.noise is None else self.noise.law)

    @cached_property
    def cells(self) -> "pd.DataFrame":
        """All cells as a data frame, those without a row among them: the region, its level, the size, the number.

        A region that stands in no row is there, too, such as a nation whose states alone were measured.
        """
        tree, n_sizes = self.found.tree, self.found.shape[1]
        regions = np.flatnonzero(np.append(False, tree.padded)[tree.parent + 1] == 0)
        columns: dict[str, Any] = {
            "region": np.repeat([region_id(tree.paths[r]) for r in regions], n_sizes),
            "level": np.repeat(tree.level_of[regions], n_sizes),
        }
        tables = self.found.tables
        sizes = self.found.sizes if tables is None else tables.sizes
        if set(sizes) != {""}:
            columns["size"] = np.tile(np.array(sizes), len(regions))
        lowest = lowest_copies(self.found)[regions]
        columns["measured"] = (self.found.weight[lowest] > 0).ravel()
        columns[COLUMN] = self.answer[regions].ravel()
        if self.noise is not None:
            posterior = self.noise.posterior
            columns |= {"median": posterior.median[regions].ravel(), "lower": posterior.low[regions].ravel()}
            columns["upper"] = posterior.high[regions].ravel()
        return self._framed(
            columns, [] if tables is None else tables.keys_of_rows(np.diff(tables.start).tolist()) * len(regions)
        )

    @cached_property
    def diagnostics(self) -> "pd.DataFrame":
        """The violations before and the changes made, a row per level; `LevelDiagnostics` explains the columns.

        Of many tables the rows of each stand below those of the one before; the index says of which.
        """
        tables, levels = self.found.tables, self.levels
        if tables is None:
            return self._framed(list(map(vars, levels)), [])
        rows = [vars(row) for ends in itertools.pairwise(tables.start) for row in self._diagnosed(slice(*ends))]
        return self._framed(rows, tables.keys_of_rows([len(levels)] * len(tables.keys)))

    def _framed(self, rows: Any, keys: Sequence[Any]) -> "pd.DataFrame":
        """Make a data frame, whose index says of many tables which a row is of."""
        with extra("release"):
            import pandas as pd

        tables = self.found.tables
        return pd.DataFrame(rows, None if tables is None else pd.MultiIndex.from_tuples(keys, names=tables.by))

    @cached_property
    def notes(self) -> list[str]:
        """What the table leaves open, a sentence each: levels of which no row has a value, repeated rows, spellings.

        A total that stands beside its parts, such as a row of the state "Total", is one part more; then nothing
        measures the level above.
        """
        notes = [note for spelled in self.frame.spelled.values() for note in notes_of_names(spelled)]
        return [*self._repeated, *notes] + [
            f"no row has a value of the level {level.name!r} itself, which is the sum of what is below it; if some row "
            f"has its total, leave the columns below {level.name!r} empty there"
            for level, below in itertools.pairwise(self.levels)
            if not level.measured and below.measured
        ]

    @property
    def _repeated(self) -> list[str]:
        """Say which regions have several rows, which are taken for measurements of one number."""
        found, of_one = self.found, " of one size" if self.found.sizes != ("",) else ""
        again = np.flatnonzero((times := np.bincount(found.row_cell[found.row_weight > 0])) > 1)
        remedy = "" if of_one else ", and if they are of several sizes or kinds, name the column of these by size="
        return [
            f"{len(np.unique(again // len(found.sizes))):,} regions have several rows{of_one}, such as "
            f"{times[cell]:,} of {found.cell_name(cell)}; they count as measurements of one number; delete "
            f"repetitions{remedy}"
            for cell in again[:1]
        ]

    @cached_property
    def levels(self) -> list[LevelDiagnostics]:
        """The rows of `diagnostics`, of all tables together."""
        return self._diagnosed(slice(0, self.found.shape[1]))

    def _diagnosed(self, sizes: slice) -> list[LevelDiagnostics]:
        largest = float(np.abs(self.answer).max(initial=0.0))
        near = 0.0 if self.answer.dtype.kind == "i" else 1e-6 * self._noise + 1e-9 * largest
        return diagnostics(self.found, self.answer, self.level_names, near, sizes)

    @property
    def objective(self) -> float:
        """The distance in what was given: the sum over all rows of weight |reconciled - value|^norm.

        The certificate's objective is that of the stated problem: weights are whole numbers there, in about the same
        ratio, fractions are two measurements of whole numbers, and unknown leaves have a faint weight.
        """
        rows = self.found.row_weight > 0
        x = self.answer.ravel()[self.found.row_cell[rows]]
        off, weight = x - self.found.row_value[rows], self.found.row_weight[rows]
        return float((weight * loss(off, self.stated.problem.norm)).sum())

    @property
    def rounding(self) -> Mapping[str, float]:
        """How far the stated problem is from what was given: largest change of a value, and of a weight in parts of it.

        Both are 0 where values are whole and weights in whole ratios. Cells that are held have no part in it.
        """
        found, numbers = self.stated.found, self.stated.numbers
        there = (found.weight > 0) & ~self.stated.held.out
        value = np.where(there, found.value, 0.0)
        inside = replace(numbers, low_w=numbers.low_w * there, high_w=numbers.high_w * there)
        return {"value": inside.moved(value), "weight": inside.reweighed(np.where(there, found.weight, 0.0))}

    @property
    def _noise(self) -> float:
        there = self.found.weight > 0
        return float(np.sqrt(np.mean(np.square((self.answer - self.found.value)[there])))) if there.any() else 0.0

    @cached_property
    def _intervals(self) -> tuple[np.ndarray, np.ndarray]:
        if self.level is None:
            raise ArgumentError("no variances were given; give variance= for intervals")
        if self.noise is not None:
            return self.noise.posterior.low, self.noise.posterior.high
        found = self.found
        estimate, variance = estimates_and_variances(found.tree, found.value, found.weight)
        return intervals(estimate, variance, self.answer, self.level, self.nonnegative)

    @property
    def _noise_stated(self) -> StatedNoise:
        if self.noise is None:
            raise ArgumentError("no law of noise was given; give noise= and scale= for draws")
        return self.noise

    def _of_rows(self, cells: np.ndarray) -> np.ndarray:
        """Give the number of every row's cell."""
        return cells.ravel()[self.found.row_cell]

    def __repr__(self) -> str:
        many = "" if self.found.tables is None else f"{len(self.found.tables.keys):,} tables, "
        return "\n".join([f"Reconciled({many}{self.result!r})", *self.notes])

    def _repr_html_(self) -> str:
        last = self.levels[-1]
        facts = {
            "status": f"{self.status.name}: {self.status.value}",
            "certificate": self.certificate,
            "sums off before": sum(level.sums_off for level in self.levels),
            "negative before": sum(level.negative for level in self.levels),
            "cells moved": sum(level.moved for level in self.levels),
            f"mean change, {last.name}": f"{last.mean_change:.3g}",
            "to be looked at": "; ".join(self.notes) or None,
        }
        return facts_table("Reconciled", facts)
