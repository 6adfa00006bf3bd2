"""The noise step: the only place that touches the truth."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache

import numpy as np

from pgsr.checks import require_kind, require_source
from pgsr.data.counts import CountOfCounts
from pgsr.data.hierarchy import Hierarchy
from pgsr.data.sizes import Sizes
from pgsr.data.views import AnyView, View
from pgsr.errors import BudgetError, ProblemError
from pgsr.machine import memory
from pgsr.machine.parallel import Threads
from pgsr.noise.group_totals import noisy_totals
from pgsr.noise.measurement import Measurement, Totals, first_cells, measured_regions
from pgsr.noise.shares_by_root import finer_noise
from pgsr.noise.split_by_root import SplitByRoot, ViewRule, possible_views, shape_of_noisy
from pgsr.noise.tables import noisy_tables
from pgsr.privacy.accounting.loss import Loss
from pgsr.privacy.accounting.memory_ledger import Ledger
from pgsr.privacy.budget import Number, exact
from pgsr.privacy.laws import DoubleGeometric, Law
from pgsr.privacy.laws.per_level import LevelNoise
from pgsr.privacy.neighbours import Relation, Unit
from pgsr.privacy.random import Source, StreamId
from pgsr.privacy.sensitivity import Sensitivity, sensitivity_of, sensitivity_of_totals


class NoiseStep(ABC):
    """A noise step: which view of every region is measured, with which noise on every level.

    `Geometric` and `Noise` are the two that a user makes; they differ in how the noise of the levels is stated.

    Attributes:
        view, totals, totals_share, max_quantity, max_sizes: as the subclasses say.
        unit, relation: whose presence or values are hidden, and what may become of one.
    """

    view: ViewRule | tuple[ViewRule, ...]
    totals: Totals | str
    totals_share: Number
    max_quantity: int
    max_sizes: Sequence[int] | None
    unit: Unit
    relation: Relation

    @abstractmethod
    def levels(self, n_levels: int, max_size: int | Sequence[int]) -> tuple[LevelNoise | None, ...]:
        """Give the noise of the values of every level, root first; None where nothing is measured.

        `max_size` is K, or one per level where levels have sizes of their own: what a level spends of a rho or a delta
        depends on how many of its cells change.
        """

    @abstractmethod
    def totals_noise(self, n_levels: int, max_size: int) -> LevelNoise | None:
        """Give the noise of the numbers of groups of every level; None where these are public."""

    @property
    @abstractmethod
    def cost(self) -> Loss:
        """The total privacy loss of one measurement."""

    def _check_what_is_measured(self) -> None:
        """Refuse views, totals and quantities that do not go together; to be called by `__post_init__`."""
        object.__setattr__(self, "totals_share", exact(self.totals_share, "totals_share"))
        object.__setattr__(self, "totals", Totals.parse(self.totals))
        if self.totals is Totals.NOISY and exact(self.totals_share) >= 1:
            raise BudgetError(f"totals_share={self.totals_share} leaves nothing for the values; keep it below 1")
        for rule in self.rules:
            if not isinstance(rule, ViewRule):
                raise ProblemError(
                    f"view={rule!r} is unknown; use View.COUNTS, View.CUMULATIVE, View.RANKED, Split(5) or "
                    "SplitByRoot()"
                )
        if isinstance(self.max_quantity, bool) or not isinstance(self.max_quantity, int) or self.max_quantity < 1:
            raise ProblemError(f"max_quantity={self.max_quantity!r}; give a public whole number from 1 up")
        ranks = next((rule for rule in self.rules if not rule.has_a_cell_per_size), None)
        if ranks is not None and self.totals is Totals.ROOT:
            raise ProblemError(
                f"{ranks!r} tells every region's number of groups by its length; use totals='regions' or another view"
            )
        if self._by_root and self.unit.is_group:
            raise ProblemError(
                "the sensitivity of a split view hangs on its threshold where whole groups are protected, and "
                "SplitByRoot chooses it while measuring; give thresholds, Split(5), or another view"
            )

    def after_root(self, tree: Hierarchy, totals: np.ndarray, root: np.ndarray) -> "NoiseStep":
        """Give the step that measures the rest: this one, unless the first noisy values of the root choose another.

        Args:
            tree, totals: the regions, and their public or noisy numbers of groups.
            root: noisy cumulative counts.
        """
        del tree, totals, root
        return self

    def sensitivity(self, view: AnyView, max_size: int) -> Sensitivity:
        """Give how far the vectors of this view of one level differ between neighbouring data sets."""
        return sensitivity_of(
            view, self.unit, max_quantity=self.max_quantity, max_size=max_size, relation=self.relation
        )

    def measure(self, truth: CountOfCounts, source: Source, ledger: Ledger | None = None) -> Measurement:
        """Measure `truth` with noise. Everything that can be refused is refused before the ledger is charged.

        Raises:
            BudgetError: the shares do not fit the hierarchy, the noise would be too large, or the ledger lacks epsilon.
            ProblemError: as many views as levels are needed, or one.
            MemoryNeededError: the measurement does not fit.
        """
        self.check(truth, source)
        tree, public = truth.hierarchy, Totals.parse(self.totals)
        if ledger is not None:
            require_kind(ledger, Ledger, "ledger", "give Ledger(epsilon) or None")
            ledger.charge(self.cost, f"measuring {_named(dict.fromkeys(self.rules))}", self.unit, self.relation)
        sizes = self._sizes(truth)
        exact = truth if truth.max_sizes == sizes else truth.folded(sizes)
        view = self._view_of_tables(truth)
        if view is not None:
            laws = [found[view] for found in self._laws(tree.n_levels, sizes)]
            tables = noisy_tables(view, laws, tree, exact.tables, source, truth.name)
            return self._measurement(truth, (view,), public_totals(truth, public), source.secure, tables)

        noise = self.levels(tree.n_levels, sizes)
        totals = public_totals(truth, public)
        if public is Totals.NOISY:
            totals = noisy_totals(truth, self._totals_law(tree.n_levels, truth.max_size), source)

        @cache
        def law_of(level: int, view: AnyView) -> Law:
            of_level = noise[level]
            assert of_level is not None, "of measured regions alone"
            return of_level.law(self.sensitivity(view, sizes[level]))

        def draw(region: int, view: AnyView) -> np.ndarray:
            level, counts = int(tree.level_of[region]), exact.rows(region, region + 1)[0]
            total = int(totals[region]) if public is Totals.NOISY else None
            row = view.vector(counts, total)
            for part, cells in view.parts(row):
                identity = StreamId(truth.name, part.value, level, tree.paths[region])
                law_of(level, view).add_to(cells, source.stream(identity))
                if total is not None and part is View.CUMULATIVE:
                    cells[:] = total - cells  # measured from above
            return row

        def finer(values: np.ndarray, before: Law, law: Law) -> np.ndarray:
            """Make the root as precise as its share says, at the cost of this share alone (`finer_noise`)."""
            assert isinstance(before, DoubleGeometric), "of a pure epsilon"
            assert isinstance(law, DoubleGeometric), "of a pure epsilon"
            if law == before:
                return values
            total = int(totals[0]) if public is Totals.NOISY else None
            row = View.CUMULATIVE.vector(exact.rows(0, 1)[0], total)
            noise = (values if total is None else total - values) - row
            identity = StreamId(truth.name, "cumulative, finer", 0, tree.paths[0])
            row += finer_noise(noise, before.scale, law.scale, source.stream(identity))
            return row if total is None else total - row

        root, first, chosen = draw(0, View.CUMULATIVE) if self._by_root else None, None, self
        if root is not None and (chosen := self.after_root(tree, totals, root)) is not self:
            first, before, noise = root, law_of(0, View.CUMULATIVE), chosen.levels(tree.n_levels, sizes)
            law_of.cache_clear()
            root = finer(root, before, law_of(0, View.CUMULATIVE))
        views = chosen.views_on(tree, sizes, totals, root)
        found = chosen._measurement(truth, views, totals, source.secure)
        cells = np.zeros(len(found.cells), np.int64)

        def keep(region: int) -> None:
            row = draw(region, found.view_of(region)) if region or root is None else root
            there = cells[found.first_cell[region] : found.first_cell[region + 1]]
            assert len(row) == len(there), "a view makes as many values as public facts say"
            there[:] = row

        regions = np.flatnonzero(found.measured).tolist()
        each = Threads() if len(cells) > MANY_CELLS else map  # every region has a stream of noise of its own
        for _ in each(keep, regions):
            pass
        return replace(found, cells=cells, first_root=first)

    def noisy_tables(
        self,
        truth: CountOfCounts,
        source: Source,
        name: str,
        first_level: int = 0,
        max_sizes: Sequence[int] | None = None,
    ) -> tuple[np.ndarray, ...]:
        """Add noise to counts with sizes per level, or to the part of them below one region; a table per level.

        The values of a level are those of a data set whose largest size is that level's, so sensitivities are known: no
        more than with all sizes. A part that is measured again under the same seed gets the same noise. Nothing is
        charged.

        Args:
            truth: the counts.
            source: of the noise.
            name: of the data set.
            first_level: the level in the whole hierarchy of the root of `truth`.
            max_sizes: of the levels of the whole hierarchy; those of `truth` if None.

        Raises:
            BudgetError: the shares do not fit the levels, or a level would get nothing.
            ProblemError: the noise is of another view, it is to pay for totals, or it is made for other quantities,
                groups or sizes than were counted.

        Example:
            >>> from pgsr.noise import Geometric
            >>> from pgsr.privacy import Seeded
            >>> tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
            >>> truth = CountOfCounts(tree, ([[0, 3, 1, 2]], [[0, 2, 1], [0, 1, 2]]))
            >>> noisy = Geometric(View.COUNTS, 2).noisy_tables(truth, Seeded("demo"), "demo")
            >>> [table.tolist() for table in noisy]
            [[[2, 7, 0, 0]], [[-9, 7, -2], [0, 2, 2]]]

        Shown by `test_noise_spending.py::test_all_levels_together_spend_at_most_the_budget`.
        """
        require_source(source)
        sizes = truth.max_sizes if max_sizes is None else tuple(max_sizes)
        laws, counted = self.laws_of_sizes(sizes), truth.max_sizes
        self._require_counted(truth, by_level=True)
        here = sizes[first_level : first_level + len(counted)]
        if here != counted:
            ours, theirs = (", ".join(f"0..{k:,}" for k in given) for given in (counted, here))
            raise ProblemError(f"these levels have the sizes {ours}, and the noise is for {theirs}; give the same")
        return noisy_tables(self.one_view(sizes), laws, truth.hierarchy, truth.tables, source, name, first_level)

    def one_view(self, max_sizes: Sequence[int]) -> View:
        """Give the view of which tables are made, one per level, where levels have these largest sizes.

        Raises:
            ProblemError: there is none, as some region would have another.
        """
        views = self._possible(max_sizes)
        if len(views) == 1 and views[0] in CELLS:
            return views[0]
        raise ProblemError(
            f"tables with sizes per level are those of counts and cumulative counts, not of {self.view!r}; give "
            "View.COUNTS or View.CUMULATIVE"
        )

    def _view_of_tables(self, truth: CountOfCounts) -> View | None:
        """Give the view of all regions where levels have sizes of their own and one table each; else None."""
        if not self._by_level(truth) or any(isinstance(rule, SplitByRoot) for rule in self.rules):
            return None
        found = self.views_on(truth.hierarchy, self._sizes(truth), np.zeros(0, np.int64))
        return found[0] if len(found) == 1 and found[0] in CELLS else None

    def _possible(self, max_sizes: Sequence[int]) -> tuple[AnyView, ...]:
        """List the views that regions may get where levels have these largest sizes."""
        levels = zip(self._rules_on_levels(len(max_sizes)), max_sizes, strict=True)
        return tuple(dict.fromkeys(view for rules, k in levels for view in possible_views(rules, k)))

    def laws_of_sizes(self, max_sizes: Sequence[int]) -> list[Law]:
        """Find the law of the noise of every level where levels have these largest sizes, root first.

        Raises:
            BudgetError, ProblemError: as `noisy_tables`.
        """
        view = self.one_view(max_sizes)
        pairs = zip(self._noise_of_all(max_sizes), max_sizes, strict=True)
        return [level.law(self.sensitivity(view, max_size)) for level, max_size in pairs]

    def _noise_of_all(self, max_sizes: Sequence[int]) -> list[LevelNoise]:
        """Give the noise of levels with sizes of their own, which are all measured and have public totals.

        Raises:
            BudgetError, ProblemError: they are not, or have not.
        """
        if self.totals is Totals.NOISY:
            raise ProblemError("totals by level are public here; give totals='root' or 'regions'")
        found = [level for level in self.levels(len(max_sizes), max_sizes) if level is not None]
        if len(found) < len(max_sizes):
            raise BudgetError("a level has a share of 0; give every level a part, as all are to be measured")
        return found

    def check(self, truth: CountOfCounts, source: Source) -> None:
        """Refuse what `measure` would refuse; nothing is charged or drawn."""
        require_kind(truth, CountOfCounts, "truth", "give CountOfCounts(hierarchy, counts)")
        require_source(source)
        self._require_counted(truth, self._by_level(truth))
        tree, sizes = truth.hierarchy, self._sizes(truth)
        if self._by_level(truth):
            self._noise_of_all(sizes)
            if self._view_of_tables(truth) is not None:
                return
            if View.COUNTS in self._possible(sizes):
                self.one_view(sizes)
        laws, rules = self._laws(tree.n_levels, sizes), self._rules_of_regions(tree)
        if self._by_root and not (laws[0] and isinstance(rules[0], SplitByRoot)):
            raise ProblemError(
                "SplitByRoot takes thresholds from the noisy root, and the root has another view or no part of the "
                "budget; give SplitByRoot() for it too and a share such as '1/20', or thresholds, Split(5)"
            )
        if self.totals is Totals.NOISY:
            self._totals_law(tree.n_levels, truth.max_size)
        largest = np.array(sizes)[truth.hierarchy.level_of].tolist()
        regions = zip(rules, truth.totals.tolist(), largest, strict=True)
        n_cells = sum(rule.n_values(groups, max_size) for rule, groups, max_size in regions)
        memory.require(8 * n_cells, f"a measurement of {n_cells:,} values")

    def blank(self, truth: CountOfCounts) -> Measurement:
        """Make a measurement of zeros with the public facts of a real one, to ask if post-processing can use it."""
        totals = public_totals(truth, Totals.parse(self.totals))
        return self._measurement(truth, self.views_on(truth.hierarchy, self._sizes(truth), totals), totals, False)

    def _measurement(
        self,
        truth: CountOfCounts,
        views: tuple[AnyView, ...],
        totals: np.ndarray,
        secure: bool,
        tables: Sequence[np.ndarray] = (),
    ) -> Measurement:
        """Make the measurement of these views from public facts and noisy tables, one per level; of zeros without."""
        tree, sizes = truth.hierarchy, self._sizes(truth)
        about, noise = Sizes(tree, sizes), self.levels(tree.n_levels, sizes)
        if tables:
            cells = np.concatenate([table.ravel() for table in tables], dtype=np.int64)
        else:
            measured = measured_regions(tree, noise)
            cells = np.broadcast_to(np.int64(0), int(first_cells(about, views, totals, measured)[-1]))
        return Measurement(
            about,
            views,
            cells,
            noise,
            Totals.parse(self.totals),
            totals,
            secure,
            data_set=truth.name,
            totals_noise=self.totals_noise(tree.n_levels, truth.max_size),
            max_quantity=self.max_quantity,
            unit=self.unit,
            relation=self.relation,
        )

    def _require_counted(self, truth: CountOfCounts, by_level: bool) -> None:
        """Raise `ProblemError` unless the noise is made for what was counted: quantities and groups."""
        if truth.max_quantity > self.max_quantity:
            raise ProblemError(
                f"one entity adds up to {truth.max_quantity} to a size here, and this noise hides {self.max_quantity}; "
                f"give {type(self).__name__}(..., max_quantity={truth.max_quantity})"
            )
        if truth.private_groups and by_level:
            raise ProblemError(
                "the table of groups is private, and totals by level are public; measure counts of one max_size for "
                "all levels with totals='noisy'"
            )
        if truth.private_groups and self.totals is not Totals.NOISY:
            raise ProblemError("the table of groups is private; pay for the totals with totals='noisy'")

    def _by_level(self, truth: CountOfCounts) -> bool:
        """Say whether levels are measured with sizes of their own."""
        return self.max_sizes is not None or not truth.sizes.equal

    def _sizes(self, truth: CountOfCounts) -> tuple[int, ...]:
        """The largest sizes that are measured, refused where they do not fit what was counted."""
        if self.max_sizes is None:
            return truth.max_sizes
        sizes = Sizes(truth.hierarchy, tuple(self.max_sizes)).max_sizes
        for level, (k, counted) in enumerate(zip(sizes, truth.max_sizes, strict=True)):
            if k > counted:
                raise ProblemError(
                    f"max_sizes say {k:,} for level {level}, counted are sizes up to {counted:,}; give less"
                )
        return sizes

    def views_on(
        self, tree: Hierarchy, max_size: int | Sequence[int], totals: np.ndarray, root: np.ndarray | None = None
    ) -> tuple[AnyView, ...]:
        """Choose the view of every region from public facts and the noisy root, in the form of `Measurement.views`.

        That is one view, one per level where levels differ, or one per region where they were given so. With
        `SplitByRoot` it is one per region even where all are the same: what may be asked of a measurement should not
        hang on noise.

        Args:
            tree: the regions.
            max_size: K, or one per level where levels have sizes of their own.
            totals: public numbers of groups, of the root or of every region as `totals` says; noisy ones if they are.
            root: the root's noisy cumulative counts, which `SplitByRoot` asks for; without them every region below it
                gets the threshold 0, which methods may refuse that take other thresholds.

        Raises:
            ProblemError: as many views as levels or regions are needed, or one.
        """
        rules, sizes = self._rules_of_regions(tree), np.array(_per_level(max_size, tree.n_levels))
        largest = sizes[tree.level_of].tolist()
        if not any(isinstance(rule, SplitByRoot) for rule in rules):
            by_region = isinstance(self.view, tuple) and len(self.view) != tree.n_levels
            places = range(tree.n_regions) if by_region else tree.level_start[:-1].tolist()
            views = tuple(rules[region].on(largest[region]) for region in places)
            return views[:1] if len(set(views)) == 1 else views
        places = zip(rules, largest, totals.tolist(), strict=True)
        shape = np.zeros(1) if root is None else shape_of_noisy(root, int(totals[0]))
        return tuple(
            rule.view_at(region, shape, groups).on(k) if isinstance(rule, SplitByRoot) else rule.on(k)
            for region, (rule, k, groups) in enumerate(places)
        )

    @property
    def label(self) -> str:
        """The view in words, or the views from the root down."""
        return _named(self.rules)

    @property
    def rules(self) -> tuple[ViewRule, ...]:
        """The rules that say how regions are measured: one for all, one per level or one per region."""
        return self.view if isinstance(self.view, tuple) else (self.view,)

    @property
    def _by_root(self) -> bool:
        """Say whether the noisy root decides about the views of other regions."""
        return any(isinstance(rule, SplitByRoot) for rule in self.rules)

    def _laws(self, n_levels: int, max_size: int | Sequence[int]) -> list[dict[AnyView, Law]]:
        """Make the law of the noise of every view that a level may have; none where nothing is measured."""
        sizes = _per_level(max_size, n_levels)
        levels = zip(self._rules_on_levels(n_levels), self.levels(n_levels, max_size), sizes, strict=True)
        return [
            {view: noise.law(self.sensitivity(view, k)) for view in possible_views(rules, k) if noise}
            for rules, noise, k in levels
        ]

    def _totals_law(self, n_levels: int, max_size: int) -> Law:
        noise = self.totals_noise(n_levels, max_size)
        assert noise is not None, "asked where totals are noisy alone"
        return noise.law(sensitivity_of_totals(self.unit, self.relation))

    def _rules_on_levels(self, n_levels: int) -> tuple[tuple[ViewRule, ...], ...]:
        """List the rules that the regions of every level may be under; all of them, where every region has its own."""
        if len(self.rules) == n_levels:
            return tuple((rule,) for rule in self.rules)
        return (tuple(dict.fromkeys(self.rules)),) * n_levels

    def _rules_of_regions(self, tree: Hierarchy) -> tuple[ViewRule, ...]:
        """Give every region its rule.

        Raises:
            ProblemError: there are neither as many rules as levels nor as regions, nor one for all.
        """
        rules = self.rules
        if not isinstance(self.view, tuple):
            return rules * tree.n_regions
        if len(rules) == tree.n_levels:
            return tuple(rules[level] for level in tree.level_of.tolist())
        if len(rules) != tree.n_regions:
            raise ProblemError(
                f"{len(rules)} views for {tree.n_levels} levels; give one view per level or per region, or one for all"
            )
        return rules


def public_totals(truth: CountOfCounts, public: Totals) -> np.ndarray:
    """Give the public numbers of groups: of every region, of the root, or zeros for every region where none is."""
    if public is Totals.NOISY:
        return np.zeros(truth.hierarchy.n_regions, np.int64)
    return (truth.totals if public is Totals.REGIONS else truth.totals[:1]).copy()


def _per_level(max_size: int | Sequence[int], n_levels: int) -> tuple[int, ...]:
    return (max_size,) * n_levels if isinstance(max_size, int) else tuple(max_size)


def _named(rules: Iterable[ViewRule]) -> str:
    names = [rule.value if isinstance(rule, View) else repr(rule) for rule in rules]
    more = [] if len(names) <= _NAMED else [f"{len(names) - _NAMED:,} more"]
    return " x ".join([*names[:_NAMED], *more])


MANY_CELLS = 1 << 22
"""The number of cells from which on regions get their noise on all cores."""

CELLS = (View.COUNTS, View.CUMULATIVE)
"""The views of which tables with sizes per level are made."""

_NAMED = 8
"""Views that a label or a ledger names; levels are fewer, regions many."""
