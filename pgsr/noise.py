"""The noise step: the only place that touches the truth."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from pgsr import memory
from pgsr.budget import Budget, Ledger, Number, exact
from pgsr.checks import require_kind, require_source
from pgsr.errors import BudgetError, ProblemError
from pgsr.group_totals import noisy_totals
from pgsr.hierarchy import Hierarchy
from pgsr.histogram import CountOfCounts
from pgsr.laws import DoubleGeometric
from pgsr.measurement import Measurement, Totals, measured_regions, noise_sensitivity, view_of
from pgsr.random import Source, StreamId
from pgsr.views import View, cumulative, ranked
from pgsr.views_by_region import ByGroups, ViewRule, possible_views, views_of_regions


@dataclass(frozen=True)
class Geometric:
    """The noise step that adds double-geometric noise to one view of every region: epsilon-differentially private.

    Neighbouring data sets differ by one entity joining or leaving a group. Region r of level l gets noise of scale
    sensitivity(view) / epsilon_l on every cell, and sum_l epsilon_l = epsilon exactly.

    With `totals="noisy"` the table of groups is private too: neighbouring data sets then also differ by one empty group
    (a group with s members is s + 1 such steps). Counts change by 2 at most as before. Cumulative counts are measured
    from above, as numbers of groups larger than s, and ranked sizes from the largest down, padded with zeros to the
    noisy total; an empty group changes neither, an entity one cell by one. Numbers of groups have sensitivity 1 per
    level and get `totals_share` of epsilon (see `pgsr.group_totals`).

    Args:
        view: the vector to measure; its sensitivity is 2 (`View.COUNTS`) or 1. One per level, root first, is possible:
            `(View.CUMULATIVE, View.RANKED, View.CUMULATIVE)` is the paper's "Hc x Hg x Hc". With `ByGroups()`, alone or
            for a level, each region's number of groups decides between ranked sizes and cumulative counts.
        epsilon: the total, as text, int, Fraction, Decimal or float (read through its shortest text).
        shares: part of the values' epsilon per level, root first, adding up to exactly 1; equal parts if None.
        totals: whose number of groups is public, "regions" (a public table of groups), "root", or nobody's: "noisy".
        totals_share: part of epsilon for noisy totals.
        max_quantity: public bound M on what one entity adds to its group's size. The group moves from size s to s + M
            at most: still two cells of the counts, but M cells of the cumulative counts by one, or one ranked size by
            M. Noisy totals are not affected.

    Example:
        >>> from pgsr import Hierarchy, Seeded
        >>> truth = CountOfCounts(Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0]), [[0, 2, 0, 1], [0, 1, 1, 1]])
        >>> Geometric(View.COUNTS, epsilon="1").measure(truth, Seeded("demo"))
        Measurement(View.COUNTS, Hierarchy(3 regions, levels 1 / 2), sizes 0..3, epsilon=1)

    Source: Kuo et al. 2018, section 4; Fioretto and Van Hentenryck 2019, section 4. Sensitivities by enumeration:
    `tests/test_core_views.py::test_sensitivity_by_enumeration`, `tests/test_core_group_totals.py::test_sensitivities`.
    """

    view: ViewRule | tuple[ViewRule, ...]
    epsilon: Number
    shares: Sequence[Number] | None = None
    totals: Totals | str = Totals.REGIONS
    totals_share: Number = "1/10"
    max_quantity: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", exact(self.epsilon))
        object.__setattr__(self, "totals", Totals.parse(self.totals))
        object.__setattr__(self, "totals_share", exact(self.totals_share, "totals_share"))
        for rule in self._rules:
            if not isinstance(rule, ViewRule):
                raise ProblemError(
                    f"view={rule!r} is unknown; use View.COUNTS, View.CUMULATIVE, View.RANKED or ByGroups()"
                )
        if isinstance(self.max_quantity, bool) or not isinstance(self.max_quantity, int) or self.max_quantity < 1:
            raise ProblemError(f"max_quantity={self.max_quantity!r}; give a public whole number from 1 up")
        if self._ragged and self.totals is Totals.ROOT:
            which = "View.RANKED" if View.RANKED in self._rules else "ByGroups()"
            raise ProblemError(
                f"{which} tells every region's number of groups by its length; use totals='regions' or another view"
            )
        if self.totals is Totals.NOISY and exact(self.totals_share) >= 1:
            raise BudgetError(f"totals_share={self.totals_share} leaves nothing for the values; keep it below 1")

    def budget(self, n_levels: int) -> Budget:
        """Split the epsilon of the values over the levels of a hierarchy with this many."""
        return Budget.split(exact(self.epsilon) - self.totals_epsilon, n_levels, self.shares)

    @property
    def totals_epsilon(self) -> Fraction:
        """The epsilon of all noisy totals together; 0 where totals are public."""
        return exact(self.epsilon) * exact(self.totals_share) if self.totals is Totals.NOISY else Fraction(0)

    def measure(self, truth: CountOfCounts, source: Source, ledger: Ledger | None = None) -> Measurement:
        """Measure `truth` with noise. Everything that can be refused is refused before the ledger is charged.

        Raises:
            BudgetError: the shares do not fit the hierarchy, the noise would be too large, or the ledger lacks epsilon.
            ProblemError: as many views as levels are needed, or one.
            MemoryNeededError: the measurement does not fit.
        """
        self.check(truth, source)
        tree, public = truth.hierarchy, Totals.parse(self.totals)
        budget, laws = self.budget(tree.n_levels), self._laws(tree.n_levels)
        if ledger is not None:
            require_kind(ledger, Ledger, "ledger", "give Ledger(epsilon) or None")
            ledger.charge(exact(self.epsilon), f"measuring {_named(dict.fromkeys(self._rules))}")

        totals = (truth.totals if public is Totals.REGIONS else truth.totals[:1]).copy()
        if public is Totals.NOISY:
            totals = noisy_totals(truth, self.totals_epsilon, source)
        views, measured = self.views_on(tree, truth.max_size, totals), measured_regions(tree, budget.levels)
        rows = [np.empty(0, np.int64)] * tree.n_regions
        matrix = None if self._ragged else np.zeros((tree.n_regions, truth.max_size + 1), np.int64)
        for region in range(tree.n_regions):
            if not measured[region]:
                continue
            level, view = int(tree.level_of[region]), view_of(views, tree, region)
            counts = truth.rows(region, region + 1)[0]
            total = int(totals[region]) if public is Totals.NOISY else None
            row = _vector(counts, view, total)
            laws[level][view].add_to(row, source.stream(StreamId(truth.name, view.value, level, tree.paths[region])))
            if total is not None and view is View.CUMULATIVE:
                row = total - row  # measured from above
            if matrix is None:
                rows[region] = row
            else:
                matrix[region] = row
        return Measurement(
            hierarchy=tree,
            view=views,
            values=tuple(rows) if matrix is None else matrix,
            max_size=truth.max_size,
            epsilon=budget.levels,
            public=public,
            totals=totals,
            secure=source.secure,
            data_set=truth.name,
            totals_epsilon=self.totals_epsilon,
            max_quantity=self.max_quantity,
        )

    def check(self, truth: CountOfCounts, source: Source) -> None:
        """Refuse what `measure` would refuse; nothing is charged or drawn."""
        require_kind(truth, CountOfCounts, "truth", "give CountOfCounts(hierarchy, counts)")
        require_source(source)
        if truth.max_quantity > self.max_quantity:
            raise ProblemError(
                f"one entity adds up to {truth.max_quantity} to a size here, and this noise hides {self.max_quantity}; "
                f"give Geometric(..., max_quantity={truth.max_quantity})"
            )
        if truth.private_groups and self.totals is not Totals.NOISY:
            raise ProblemError("the table of groups is private; pay for the totals with Geometric(..., totals='noisy')")
        tree = truth.hierarchy
        self._laws(tree.n_levels)
        if self.totals is Totals.NOISY:
            DoubleGeometric(tree.n_levels / self.totals_epsilon)
        n_cells = _most_cells(truth, self._rules_of_levels(tree.n_levels))
        memory.require(8 * n_cells, f"a measurement of {n_cells:,} values")

    def blank(self, truth: CountOfCounts) -> Measurement:
        """Make a measurement of zeros with the public facts of a real one, to ask if post-processing can use it."""
        tree, shape = truth.hierarchy, (truth.hierarchy.n_regions, truth.max_size + 1)
        public = Totals.parse(self.totals)
        totals = {Totals.REGIONS: truth.totals, Totals.ROOT: truth.totals[:1]}.get(public, np.zeros(shape[0], np.int64))
        return Measurement(
            hierarchy=tree,
            view=self.views_on(tree, truth.max_size, totals),
            values=(np.empty(0, np.int64),) * shape[0] if self._ragged else np.broadcast_to(np.int64(0), shape),
            max_size=truth.max_size,
            epsilon=self.budget(tree.n_levels).levels,
            public=public,
            totals=totals.copy(),
            secure=False,
            data_set=truth.name,
            totals_epsilon=self.totals_epsilon,
            max_quantity=self.max_quantity,
        )

    def views_on(self, tree: Hierarchy, max_size: int, totals: np.ndarray) -> View | tuple[View, ...]:
        """Choose the view of every region from public facts, in the form of `Measurement.view`.

        That is one view, a tuple with one per level where levels differ, or, with `ByGroups`, one per region even where
        all are the same: what may be asked of a measurement should not hang on a number of groups.

        Args:
            tree: the regions.
            max_size: K.
            totals: public numbers of groups, of the root or of every region as `totals` says; noisy ones if they are.

        Raises:
            ProblemError: as many views as levels are needed, or one.
        """
        rules = self._rules_of_levels(tree.n_levels)
        if any(isinstance(rule, ByGroups) for rule in rules):
            return views_of_regions(rules, tree.level_of.tolist(), totals.tolist(), max_size)
        views = tuple(rule for rule in rules if isinstance(rule, View))
        return views[0] if len(set(views)) == 1 else views

    @property
    def label(self) -> str:
        """The view in words, or the views from the root down."""
        return _named(self._rules)

    @property
    def _rules(self) -> tuple[ViewRule, ...]:
        return self.view if isinstance(self.view, tuple) else (self.view,)

    @property
    def _ragged(self) -> bool:
        """Say whether vectors may differ in length."""
        return any(View.RANKED in possible_views(rule) for rule in self._rules)

    def _laws(self, n_levels: int) -> list[dict[View, DoubleGeometric]]:
        """Make the law of the noise of every view that a level may have; none where nothing is measured."""
        pairs = zip(self._rules_of_levels(n_levels), self.budget(n_levels).levels, strict=True)
        return [
            {
                view: DoubleGeometric(noise_sensitivity(view, self.max_quantity) / epsilon)
                for view in possible_views(rule)
                if epsilon
            }
            for rule, epsilon in pairs
        ]

    def _rules_of_levels(self, n_levels: int) -> tuple[ViewRule, ...]:
        if not isinstance(self.view, tuple):
            return (self.view,) * n_levels
        if len(self.view) != n_levels:
            raise ProblemError(f"{len(self.view)} views for {n_levels} levels; give one view per level, or one for all")
        return self.view


def _vector(counts: np.ndarray, view: View, total: int | None) -> np.ndarray:
    """Make a fresh array of the view's values; cumulative counts from above where totals are noisy."""
    if view is View.COUNTS:
        return counts.astype(np.int64, copy=True)
    if view is View.CUMULATIVE:
        return cumulative(counts) if total is None else int(counts.sum()) - cumulative(counts)
    sizes = ranked(counts)
    if total is None:
        return sizes
    return np.concatenate([np.zeros(max(0, total - len(sizes)), np.int64), sizes[max(0, len(sizes) - total) :]])


def _most_cells(truth: CountOfCounts, rules: tuple[ViewRule, ...]) -> int:
    """Count the values to be measured; where a number of groups decides, the most that a region may have."""
    level_of, n_sizes = truth.hierarchy.level_of, truth.max_size + 1
    ranks = np.array([rule is View.RANKED for rule in rules])
    few = [rule.ranked_up_to(truth.max_size) if isinstance(rule, ByGroups) else 0 for rule in rules]
    groups = truth.totals if ranks.any() else 0
    return int(np.where(ranks[level_of], groups, np.maximum(n_sizes, few)[level_of]).sum())


def _named(rules: Iterable[ViewRule]) -> str:
    return " x ".join(rule.value if isinstance(rule, View) else repr(rule) for rule in rules)
