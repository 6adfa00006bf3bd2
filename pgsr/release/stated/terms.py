"""The public terms of a release: all that its mechanism depends on besides the tables."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from pgsr.data.hierarchy import Hierarchy
from pgsr.data.split_view import AnyView, Split
from pgsr.data.views import View
from pgsr.methods.mechanism import Mechanism
from pgsr.methods.method import Method, PostProcess
from pgsr.noise import Geometric, Noise
from pgsr.noise.measurement import Measurement, Totals
from pgsr.noise.split_by_root import SplitByRoot
from pgsr.noise.view_rules import ViewRule
from pgsr.privacy.accounting import Approximate, PureEpsilon, Rho
from pgsr.privacy.accounting.choosing import Laws
from pgsr.privacy.accounting.loss import Loss
from pgsr.privacy.laws import Law
from pgsr.privacy.laws.per_level import LevelNoise
from pgsr.privacy.sensitivity import Sensitivity
from pgsr.problems.problem import Problem
from pgsr.release.publishing.errors import ConfigError
from pgsr.release.stated.facts import fact_bounds, require_possible
from pgsr.release.stated.keeping_facts import StatedFacts, keeping
from pgsr.release.stated.kinds import Construction, Kind, MeasuredView
from pgsr.release.stated.post_processing import post_of
from pgsr.release.stated.publication import MOST_ROWS
from pgsr.release.stated.stated_terms import StatedTerms
from pgsr.release.stated.thresholds import split_rule, thresholds_of


class Terms(StatedTerms):
    """The terms of a release, checked.

    Numbers may be given as text ("1/3"), and choices by their name ("m_h", "noisy"). What is left out, None, is the
    usual one once the terms are made.

    Attributes:
        data_set: a public name.
        max_size: K, public; larger groups count as K. Levels with sizes of their own have one each, given root first,
            (1_000, 100, 7), or by name, {"nation": 1_000, "county": 100, "block": 7}; it is the largest then.
        epsilon: the total, exact; None where the budget is stated in rho.
        kind: of the mechanism.
        shares: of epsilon per level, root first; None for the mechanism's usual ones.
        totals: whose number of groups is public; the mechanism's usual ones if None.
        totals_share: part of epsilon for noisy totals, 1/10 if None; else 0.
        max_quantity: public bound on what one entity adds to a size.
        merge, norm: how `KUO` merges two sizes, and the norm of isotonic fits.
        level_names: public names of the levels, root first; None for level_0, level_1, ...
        view: what is measured of a region; the mechanism's usual view if None.
        intervals: the probability aimed at by the intervals in the columns `lower` and `upper` of the released counts;
            None for tables without these columns.
        delta: of approximate differential privacy, beside epsilon; None for a pure epsilon.
        rho: the total of zCDP, instead of epsilon.
        laws: of the noise: "best" takes the law of less variance level by level, the usual one beside rho or delta; a
            pure epsilon has "geometric".
        unit: whose presence or values are hidden: "entity", "entity in 5 groups" or "group".
        relation: what may become of one unit; None for the usual one: "add_remove" of entities, "replace" of groups
            whose numbers are public.
        max_sizes: the largest size of every level, root first; None where all levels have the sizes 0..K. It follows
            from what `max_size` is given.
        min_size: the public least size, below K of every level: no group has fewer members. A group that has counts as
            `min_size` all the same. All that is computed is about the members that groups have beyond it, see
            `pgsr.release.stated.excess`.
        facts: public facts about counts, which the released counts keep.
        publication: the words of the publisher, and the form of the tables.
        threshold: of a split view, a size: below it cumulative counts are measured, from it on what groups have beyond
            it, rank by rank. One, or one per level, root first; one per region once they follow from the noisy root.
        ranks: of a split view, how many of a region's largest groups are measured by their ranks; None for all.
        by_root: of a split view, the factor of `SplitByRoot`, exact: the root is measured first, in cumulative counts,
            and thresholds follow from its noisy values, see `as_measured`.

    Raises:
        ConfigError: a term is unknown or out of range, or contradicts another.
        BudgetError: epsilon or a share is malformed.

    Example:
        >>> terms = Terms("demo", 5, "1", "m_h", level_names=("nation", "state"))
        >>> terms.noise_laws(2)
        (DoubleGeometric(scale=Fraction(4, 1)), DoubleGeometric(scale=Fraction(4, 1)))
        >>> Terms("demo", 5, None, "m_h", rho="1/5").noise_laws(2)[0]
        DiscreteGaussian(sigma_squared=Fraction(10, 1))
        >>> terms.mechanism(2).post
        TreeProjection()
    """

    def sizes(self, n_levels: int) -> tuple[int, ...]:
        """The largest size of every level, root first.

        Raises:
            ConfigError: there is not one per level.

        Example:
            >>> Terms("demo", (50, 7), "1", "m_h").sizes(2), Terms("demo", 5, "1", "m_h").sizes(2)
            ((50, 7), (5, 5))
        """
        if self.max_sizes is None:
            return (self.max_size,) * n_levels
        if len(self.max_sizes) != n_levels:
            raise ConfigError(
                f"max_size gives {len(self.max_sizes)} largest sizes, and the regions have {n_levels} levels; write "
                "one per level, root first"
            )
        return self.max_sizes

    def excesses(self, n_levels: int) -> tuple[int, ...]:
        """The largest excess over `min_size` of every level, root first: the largest sizes that a mechanism knows.

        Example:
            >>> Terms("demo", (50, 7), "1", "m_h", min_size=1).excesses(2)
            (49, 6)
        """
        return tuple(size - self.min_size for size in self.sizes(n_levels))

    def settled(self, regions: Sequence[int]) -> "Terms":
        """The same terms with the choice made whether tables have rows of zeros; only public numbers decide it.

        Args:
            regions: their number by level, root first.

        Example:
            >>> Terms("demo", 5, "1", "m_h").settled([1, 50]).publication.zeros
            True
        """
        if self.publication.zeros is not None:
            return self
        rows = sum(n * (k + 1) for n, k in zip(regions, self.sizes(len(regions)), strict=True))
        return replace(self, publication=replace(self.publication, zeros=rows <= MOST_ROWS))

    def as_measured(self, measurement: Measurement) -> "Terms":
        """The same terms with the threshold of every region that the noisy root gave; others stay as they are."""
        if self.by_root is None or self.threshold is not None:
            return self
        views = map(measurement.view_of, range(measurement.hierarchy.n_regions))
        return replace(self, threshold=thresholds_of(views, self.max_excess, self.min_size))

    def thresholds_by_root(self, tree: Hierarchy, totals: np.ndarray, root: np.ndarray) -> tuple[int, ...]:
        """The threshold of every region that follows from the root's noisy cumulative counts.

        Args:
            tree, totals: the regions, and their public or noisy numbers of groups.
            root: the values of the root, by excess; shape (K - m + 1,).
        """
        assert self.by_root is not None, "terms with other thresholds"
        step = self._step(tree.n_levels, SplitByRoot(self.by_root, self.ranks))
        views = step.views_on(tree, self.max_excess, totals, root)
        assert isinstance(views, tuple), "one per region"
        return thresholds_of(views, self.max_excess, self.min_size)

    def n_cells(self, tree: Hierarchy) -> int:
        """The number of cells of all regions that are measured and computed, those of sizes from `min_size` on."""
        pairs = zip(tree.regions_per_level, self.excesses(tree.n_levels), strict=True)
        return sum(n * (k + 1) for n, k in pairs)

    def names(self, n_levels: int) -> tuple[str, ...]:
        """The name of every level, root first.

        Raises:
            ConfigError: there is not one name, or with sizes per level one largest size, per level.

        Example:
            >>> Terms("demo", 5, "1", "m_h").names(2)
            ('level_0', 'level_1')
        """
        self.sizes(n_levels)
        if self.level_names is None:
            return tuple(f"level_{level}" for level in range(n_levels))
        if len(self.level_names) != n_levels:
            named = ", ".join(map(repr, self.level_names))
            raise ConfigError(
                f"there are {len(self.level_names)} names of levels ({named}), and the regions have {n_levels} levels; "
                "write level_names with one name per level, root first"
            )
        return self.level_names

    def sensitivities(self, n_levels: int) -> tuple[Sensitivity, ...]:
        """How far the values of every level differ between neighbouring data sets, root first.

        A level with sizes of its own holds the counts of the same data with that largest size.
        """
        if self.view is MeasuredView.SPLIT and not self.ranks_alike:
            step = self.noise(n_levels)
            view = step.view[0] if isinstance(step.view, tuple) else step.view
            assert isinstance(view, Split), "one for all regions, as others would differ in sensitivity"
            return (step.sensitivity(view.on(self.max_excess), self.max_excess),) * n_levels
        if self.max_sizes is None:
            return (self.sensitivity,) * n_levels
        return tuple(self.noise(n_levels).sensitivity(self.view.sensitive, size) for size in self.excesses(n_levels))

    def shares_of(self, n_levels: int) -> tuple[Fraction, ...]:
        """The share of every level in the values' epsilon; they add up to 1."""
        if self.shares is not None:
            return self.shares
        if self.kind is Kind.BOTTOM_UP:
            return (*(Fraction(0),) * (n_levels - 1), Fraction(1))
        return (Fraction(1, n_levels),) * n_levels

    @property
    def spending(self) -> tuple[tuple[str, Loss], ...]:
        """What is spent one after another, each part after its name; all at once, after "", where there is no order.

        Thresholds by the root are adaptive sequential composition: noisy numbers of groups first, where they are paid
        for, then the root, then the other regions, in views that hang on it. Epsilon and rho add up over these parts
        (Dwork and Roth 2014, section 3.5; Bun and Steinke 2016, lemma 1.7); of epsilon with delta the levels have no
        parts of their own.

        Example:
            >>> Terms("demo", 5, "1", "kuo", view="split", by_root="1/2", shares=("1/20", "19/20")).spending
            (('the root', PureEpsilon(epsilon 1/20)), ('the other levels', PureEpsilon(epsilon 19/20)))
        """
        if self.by_root is None or isinstance(self.total, Approximate):
            return (("", self.total),)
        assert self.shares is not None, "thresholds by the root want shares"
        rest, (epsilon, _, rho) = 1 - self.totals_share, self.total.parts
        root = rest * self.shares[0]
        named = (("numbers of groups", self.totals_share), ("the root", root), ("the other levels", rest - root))
        currency = PureEpsilon if epsilon else Rho
        return tuple((name, currency(part * (epsilon or rho))) for name, part in named if part)

    def levels(self, n_levels: int) -> tuple[LevelNoise | None, ...]:
        """The noise of the values of every level, root first; None where nothing is measured.

        Raises:
            BudgetError: there is not one share per level, or the budget is too small for noise that can be drawn.
        """
        return self.noise(n_levels).levels(n_levels, self.excesses(n_levels))

    def noise_laws(self, n_levels: int) -> tuple[Law | None, ...]:
        """The law of the noise of every level, root first; None where nothing is measured."""
        pairs = zip(self.levels(n_levels), self.sensitivities(n_levels), strict=True)
        return tuple(level and level.law(size) for level, size in pairs)

    def totals_law(self, n_levels: int) -> Law | None:
        """The law of the noise of the numbers of groups; None where these are public."""
        found = self.noise(n_levels).totals_noise(n_levels, self.max_excess)
        return found and found.law(self.totals_sensitivity)

    def mechanism(self, n_levels: int) -> Mechanism:
        """The mechanism on a hierarchy with this many levels."""
        if self.kind is Kind.M_H:
            problem = self._stated(n_levels).m_h if self.facts else Problem.m_h
            return Mechanism(self.noise(n_levels), self.post(n_levels), problem)
        return Mechanism(self.noise(n_levels), self.post(n_levels))

    def post(self, n_levels: int) -> Method | PostProcess:
        """The method or post-process of the mechanism, which keeps the facts; of `M_H` its problem does."""
        about = self.merge, self.norm, self.construction is Construction.POSTERIOR, self.max_sizes is not None
        found = post_of(self.kind, *about)
        kept = None if self.kind is Kind.M_H or not self.facts else self._stated(n_levels)
        return keeping(found, kept, self.kept)

    def _stated(self, n_levels: int) -> StatedFacts:
        return StatedFacts(self.facts, self.names(n_levels), self.min_size)

    def fact_bounds(self, tree: Hierarchy) -> tuple[np.ndarray, np.ndarray]:
        """The least and the most that every count by excess can be, as the facts say; shape (regions, K - m + 1)."""
        return fact_bounds(self.facts, self.names(tree.n_levels), self.min_size, tree, self.max_excess + 1)

    def require_possible_facts(self, tree: Hierarchy, totals: np.ndarray) -> None:
        """Raise `ConfigError` unless some counts satisfy all facts and have the public numbers of groups.

        Args:
            tree: the regions.
            totals: numbers of groups of all regions; those that are not public are not looked at.
        """
        public = totals[:1] if self.kept is Totals.ROOT else totals
        require_possible(self.facts, self.names(tree.n_levels), self.min_size, tree, self.max_excess + 1, public)

    def measured(
        self,
        tree: Hierarchy,
        values: np.ndarray | tuple[np.ndarray, ...],
        totals: np.ndarray,
        secure: bool,
    ) -> Measurement:
        """The measurement that these noisy values are under these terms."""
        noise = self.noise(tree.n_levels)
        return Measurement(
            hierarchy=tree,
            view=self.views_on(tree, totals),
            values=values,
            max_size=self.max_excess,
            noise=self.levels(tree.n_levels),
            public=self.totals,
            totals=totals,
            secure=secure,
            data_set=self.data_set,
            totals_noise=noise.totals_noise(tree.n_levels, self.max_excess),
            max_quantity=self.max_quantity,
            unit=self.unit,
            relation=self.relation,
        )

    def views_on(self, tree: Hierarchy, totals: np.ndarray) -> AnyView | tuple[AnyView, ...]:
        """The view of every region, in the form that the noise step gives it: one by one where noise chose them.

        Args:
            tree, totals: the regions, and their public or noisy numbers of groups.
        """
        found = self.noise(tree.n_levels).views_on(tree, self.max_excess, totals)
        if self.by_root is None or isinstance(found, tuple):
            return found
        return (found,) * tree.n_regions

    def noise(self, n_levels: int) -> Geometric | Noise:
        """The noise step on a hierarchy with this many levels.

        Raises:
            ConfigError: thresholds are stated, and there are not as many as levels.
        """
        rule = self.view.plain
        if self.threshold is not None:
            self._require_thresholds(n_levels)
            rule = split_rule(self.threshold, self.ranks, self.min_size)
        elif self.by_root is not None:
            rule = SplitByRoot(self.by_root, self.ranks)
        return self._step(n_levels, rule or View.CUMULATIVE)

    def _require_thresholds(self, n_levels: int) -> None:
        if isinstance(self.threshold, tuple) and self.by_root is None and len(self.threshold) != n_levels:
            raise ConfigError(
                f"threshold gives {len(self.threshold)} sizes, and the regions have {n_levels} levels; write one "
                "per level, root first, or one for all"
            )

    def _step(self, n_levels: int, rule: ViewRule | tuple[ViewRule, ...]) -> Geometric | Noise:
        """The noise step that measures by this rule, or by one per level or region."""
        share = self.totals_share if self.totals is Totals.NOISY else Fraction(1, 10)
        parts = self.shares_of(n_levels)
        sizes = None if self.max_sizes is None else self.excesses(n_levels)
        if self.plain:
            assert self.epsilon is not None
            return Geometric(rule, self.epsilon, parts, self.totals, share, self.max_quantity, sizes)
        about = (self.totals, share, self.max_quantity, self.unit, self.relation, sizes)
        return Noise(rule, self.total, parts, self.laws or Laws.BEST, *about)

    @property
    def possible_construction(self) -> Construction | None:
        """The way in which intervals of such a release are published, whether it asks for them; None if they cannot be.

        Example:
            >>> Terms("demo", 5, "1", "posterior").possible_construction
            <Construction.POSTERIOR: 'posterior'>
        """
        try:
            return replace(self, intervals=self.intervals or "9/10").construction
        except ConfigError:
            return None
