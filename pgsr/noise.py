"""The noise step: the only place that touches the truth."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from pgsr import memory
from pgsr.budget import Budget, Ledger, Number, exact
from pgsr.double_geometric import DoubleGeometric
from pgsr.errors import ProblemError
from pgsr.histogram import CountOfCounts
from pgsr.measurement import Measurement, Totals, measured_regions
from pgsr.random import Source, StreamId
from pgsr.views import View, cumulative, ranked


@dataclass(frozen=True)
class Geometric:
    """Adds double-geometric noise to one view of every region: epsilon-differentially private.

    Neighbouring data sets differ by one entity joining or leaving a group. Region r of level l gets noise of scale
    sensitivity(view) / epsilon_l on every cell, and sum_l epsilon_l = epsilon exactly.

    Args:
        view: the vector to measure; its sensitivity is 2 (`View.COUNTS`) or 1.
        epsilon: the total, as text, int, Fraction, Decimal or float (read through its shortest text).
        shares: part of epsilon per level, root first, adding up to exactly 1; equal parts if None.
        totals: whose number of groups is public, "regions" (a public table of groups) or "root".

    Example:
        >>> from pgsr import Hierarchy, Seeded
        >>> truth = CountOfCounts(Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0]), [[0, 2, 0, 1], [0, 1, 1, 1]])
        >>> Geometric(View.COUNTS, epsilon="1").measure(truth, Seeded("demo"))
        Measurement(View.COUNTS, Hierarchy(3 regions, levels 1 / 2), sizes 0..3, epsilon=1)

    Source: Kuo et al. 2018, section 4; Fioretto and Van Hentenryck 2019, section 4.
    """

    view: View
    epsilon: Number
    shares: Sequence[Number] | None = None
    totals: Totals | str = Totals.REGIONS

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", exact(self.epsilon))
        object.__setattr__(self, "totals", Totals.parse(self.totals))
        if not isinstance(self.view, View):
            raise ProblemError(f"view={self.view!r} is unknown; use View.COUNTS, View.CUMULATIVE or View.RANKED")
        if self.view is View.RANKED and self.totals is Totals.ROOT:
            raise ProblemError(
                "View.RANKED tells every region's number of groups by its length; use totals='regions' or another view"
            )

    def budget(self, n_levels: int) -> Budget:
        """Epsilon per level of a hierarchy with this many levels."""
        return Budget.split(self.epsilon, n_levels, self.shares)

    def law(self, level_epsilon: Fraction) -> DoubleGeometric:
        """The noise of a level that gets this epsilon."""
        return DoubleGeometric(self.view.sensitivity / level_epsilon)

    def measure(self, truth: CountOfCounts, source: Source, ledger: Ledger | None = None) -> Measurement:
        """Noisy values of `truth`. Everything that can be refused is refused before the ledger is charged.

        Raises:
            BudgetError: the shares do not fit the hierarchy, the noise would be too large, or the ledger lacks epsilon.
            MemoryNeededError: the measurement does not fit.
        """
        tree, n_sizes = truth.hierarchy, truth.max_size + 1
        budget = self.budget(tree.n_levels)
        laws = [self.law(epsilon) if epsilon else None for epsilon in budget.levels]
        n_cells = int(truth.totals.sum()) if self.view is View.RANKED else tree.n_regions * n_sizes
        memory.require(8 * n_cells, f"a measurement of {n_cells:,} values")
        if ledger is not None:
            ledger.charge(budget.total, f"measuring {self.view.value}")

        measured = measured_regions(tree, budget.levels)
        rows = [np.empty(0, np.int64)] * tree.n_regions
        matrix = None if self.view is View.RANKED else np.zeros((tree.n_regions, n_sizes), np.int64)
        for region in range(tree.n_regions):
            level = int(tree.level_of[region])
            law = laws[level]
            if not measured[region] or law is None:
                continue
            counts = truth.rows(region, region + 1)[0]
            if matrix is None:
                row = rows[region] = ranked(counts)
            else:
                row = matrix[region]
                row[:] = cumulative(counts) if self.view is View.CUMULATIVE else counts
            law.add_to(row, source.stream(StreamId(truth.name, self.view.value, level, tree.paths[region])))
        public = Totals.parse(self.totals)
        return Measurement(
            hierarchy=tree,
            view=self.view,
            values=tuple(rows) if matrix is None else matrix,
            max_size=truth.max_size,
            epsilon=budget.levels,
            public=public,
            totals=(
                truth.totals if public is Totals.REGIONS else truth.totals[:1]
            ).copy(),  # no slice: it holds the rest
            secure=source.secure,
            data_set=truth.name,
        )
