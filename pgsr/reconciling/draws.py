"""What follows of a table's noise when its law is stated: the posterior of its cells, and draws of whole tables."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pgsr.data.read_only import read_only_arrays
from pgsr.data.region_ids import region_id
from pgsr.errors import ArgumentError, ProblemError
from pgsr.reconciling.laws import NoiseLaw
from pgsr.reconciling.measurements import MeasuredCells
from pgsr.reconciling.posterior import TablePosterior, table_posterior
from pgsr.reconciling.problem import Asked


@dataclass(frozen=True, eq=False)
@read_only_arrays
class DrawnTable(Mapping[str, np.ndarray]):
    """A drawn table: for every region, such as "US/GA", its numbers by size, or table and size; shape (sizes,).

    Attributes:
        counts: regions by sizes.
        regions: the row of every region.
    """

    counts: np.ndarray
    regions: Mapping[str, int]

    def __getitem__(self, region: str) -> np.ndarray:
        if region not in self.regions:
            raise KeyError(f"no region {region!r}; give names from the root down, such as {[*self.regions][-1]!r}")
        return self.counts[self.regions[region]]

    def __iter__(self) -> Iterator[str]:
        return iter(self.regions)

    def __len__(self) -> int:
        return len(self.regions)


@dataclass(frozen=True, eq=False)
@read_only_arrays
class StatedNoise:
    """A table whose noise has a known law.

    Attributes:
        found: the table.
        law: of the noise of every row.
        level: the chance of intervals.
        number, seed: of draws.
    """

    found: MeasuredCells
    law: NoiseLaw
    level: float
    number: int
    seed: int

    @cached_property
    def posterior(self) -> TablePosterior:
        """The posterior of all cells."""
        return table_posterior(self.found, self.law, self.level, None)

    @cached_property
    def draws(self) -> np.ndarray:
        """Tables drawn from the posterior; shape (draws, regions, sizes)."""
        return self.posterior.draws(self.number, self.seed)

    def statistics(self, statistic: Callable[[DrawnTable], float]) -> np.ndarray:
        """Compute a statistic of every drawn table; shape (draws,).

        Raises:
            ArgumentError: it is not one finite number.
        """
        tree = self.found.tree
        last = {region_id(tree.paths[region]): region for region in range(tree.n_regions)}
        values = np.array([statistic(DrawnTable(table, last)) for table in self.draws])
        if values.ndim > 1:
            raise ArgumentError(
                f"the statistic has the shape {values.shape[1:]} and not one number; add it up over sizes by sum()"
            )
        wrong = int(np.count_nonzero(~np.isfinite(values)))
        if wrong:
            raise ArgumentError(
                f"the statistic is no finite number in {wrong} of {len(values)} draws; if it divides by 0 there, give "
                "the number that it shall be"
            )
        return values

    @cached_property
    def medians(self) -> MeasuredCells:
        """The table as if its rows were the medians of all cells, weighted by 1 / (posterior variance + 1 / 12)."""
        found, median = self.found, self.posterior.median.astype(float)
        weight = 1.0 / (self.posterior.variance + 1.0 / 12.0)
        cells = np.arange(median.size)
        rows = cells, median.ravel(), weight.ravel()
        return MeasuredCells(found.tree, found.sizes, *rows, median, weight, found.lower, found.upper, found.tables)


def require_drawable(found: MeasuredCells, law: NoiseLaw, asked: Asked) -> None:
    """Refuse what is no tree of whole numbers, each size by itself.

    Raises:
        ProblemError: something else is asked for; the message says what to leave out.
    """
    reasons = {
        "totals= ties sizes together": asked.totals is not None,
        "where= states conditions": bool(asked.where),
        "monotone=True orders sizes": asked.monotone,
        "integer=False asks for real numbers": not asked.integer,
        "nonnegative=False allows any signs": not asked.nonnegative,
    }
    for reason, given in reasons.items():
        if given:
            raise ProblemError(
                f"{reason}, and laws of cells are found for whole numbers from 0 on that add up over one hierarchy, "
                "each size by itself; leave it out, or leave noise= out"
            )
    there = found.row_weight > 0
    if law.name == "geometric" and (found.row_value[there] != np.floor(found.row_value[there])).any():
        row = int(np.flatnonzero(there)[np.argmax(found.row_value[there] != np.floor(found.row_value[there]))])
        raise ProblemError(
            f"row {row} has the value {found.row_value[row]:g}, and geometric noise is whole; give noise='laplace' or "
            "'gaussian', or whole values"
        )
