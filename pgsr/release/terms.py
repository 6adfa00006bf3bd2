"""The public terms of a release: all that its mechanism depends on besides the tables."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction

import numpy as np

from pgsr.algorithms import Merge
from pgsr.algorithms.m_h_levels import LevelMechanism
from pgsr.data.counts_by_level import CountsByLevel
from pgsr.data.hierarchy import Hierarchy
from pgsr.data.views import View
from pgsr.errors import ArgumentError, ProblemError
from pgsr.methods.mechanism import AnyMechanism, Mechanism
from pgsr.noise import Geometric, Noise, require_by_level
from pgsr.noise.by_groups import ByGroups
from pgsr.noise.measurement import Measurement, Totals, pure_epsilons
from pgsr.noise.measurement_by_level import MeasurementByLevel
from pgsr.privacy.accounting import Approximate, Loss, PureEpsilon, Rho
from pgsr.privacy.accounting.choosing import Laws
from pgsr.privacy.accounting.zcdp import exact_delta
from pgsr.privacy.budget import Budget, exact
from pgsr.privacy.laws import Law
from pgsr.privacy.laws.per_level import LevelNoise
from pgsr.privacy.neighbours import Relation, Unit
from pgsr.privacy.sensitivity import Sensitivity, require_totals, sensitivity_of, sensitivity_of_totals
from pgsr.problems.problem import Problem
from pgsr.publishing.errors import ConfigError
from pgsr.release.facts import Fact, fact_bounds, require_possible
from pgsr.release.keeping_facts import StatedFacts, keeping
from pgsr.release.kinds import Construction, Kind, Measured
from pgsr.release.levels import require_level_names, sizes_and_names
from pgsr.release.post_processing import post_by_level, post_of
from pgsr.release.publication import MOST_ROWS, USUAL, Publication

LARGEST_PROBABILITY = Fraction(9999, 10_000)
"""The largest probability that published intervals aim at."""


@dataclass(frozen=True)
class Terms:
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
            `pgsr.release.excess`.
        facts: public facts about counts, which the released counts keep.
        publication: the words of the publisher, and the form of the tables.

    Raises:
        ConfigError: a term is unknown or out of range, or contradicts another.
        BudgetError: epsilon or a share is malformed.

    Example:
        >>> terms = Terms("demo", 5, "1", "m_h", level_names=("nation", "state"))
        >>> terms.budget(2), terms.scales(2)
        (Budget(1/2 + 1/2 = 1), (Fraction(4, 1), Fraction(4, 1)))
        >>> Terms("demo", 5, None, "m_h", rho="1/5").noise_laws(2)[0]
        DiscreteGaussian(sigma_squared=Fraction(10, 1))
        >>> terms.mechanism(2).post
        TreeProjection()
    """

    data_set: str
    max_size: int
    epsilon: Fraction | None
    kind: Kind
    shares: tuple[Fraction, ...] | None = None
    totals: Totals = None  # pyright: ignore[reportAssignmentType]
    totals_share: Fraction = None  # pyright: ignore[reportAssignmentType]
    max_quantity: int = 1
    merge: Merge = Merge.WEIGHTED
    norm: int = 1
    level_names: tuple[str, ...] | None = None
    view: Measured = None  # pyright: ignore[reportAssignmentType]
    intervals: Fraction | None = None
    delta: Fraction | None = None
    rho: Fraction | None = None
    laws: Laws = None  # pyright: ignore[reportAssignmentType]
    unit: Unit = Unit.ENTITY
    relation: Relation = None  # pyright: ignore[reportAssignmentType]
    max_sizes: tuple[int, ...] | None = None
    min_size: int = 0
    facts: tuple[Fact, ...] = ()
    publication: Publication = USUAL

    def __post_init__(self) -> None:
        self._convert()
        if self.view is None:
            object.__setattr__(self, "view", self.kind.views[0])
        if self.totals is None:
            object.__setattr__(self, "totals", self.kind.totals[0])
        if self.totals_share is None:
            object.__setattr__(self, "totals_share", Fraction(1, 10) if self.totals is Totals.NOISY else Fraction(0))
        if self.totals not in self.kind.totals:
            usual = " or ".join(f'"{t}"' for t in self.kind.totals)
            raise ConfigError(f'mechanism {self.kind} does not keep totals = "{self.totals}"; write totals = {usual}')
        if self.view not in self.kind.views:
            usual = " or ".join(f'"{view}"' for view in self.kind.views)
            raise ConfigError(f'mechanism {self.kind} does not work on view = "{self.view}"; write view = {usual}')
        if self.view is Measured.BY_GROUPS and self.totals is not Totals.REGIONS:
            raise ConfigError(
                f'view = "by_groups" tells every region\'s number of groups, and totals = "{self.totals}" publishes no '
                'exact ones; write view = "cumulative"'
            )
        self._check_min_size()
        if type(self.norm) is not int or self.norm not in (1, 2):
            raise ConfigError(f"norm is {self.norm}; write 1 or 2")
        noisy = self.totals is Totals.NOISY
        if noisy != (0 < self.totals_share < 1) or self.totals_share < 0:
            raise ConfigError(
                f'totals_share is {self.totals_share} with totals = "{self.totals}"; only noisy totals have a share, '
                "between 0 and 1"
            )
        if type(self.max_quantity) is not int or self.max_quantity < 1:
            raise ConfigError("max_size and max_quantity are public whole numbers from 1 up")
        if self.shares is not None and sum(self.shares) != 1:
            raise ConfigError(f'the shares add up to {sum(self.shares)}, not 1; write fractions, such as "1/3"')
        if self.shares is not None and self.kind is Kind.BOTTOM_UP and any(self.shares[:-1]):
            raise ConfigError(
                "mechanism bottom_up adds up the last level and uses no other, so shares of the levels above it are "
                "spent for nothing; leave shares out"
            )
        if not isinstance(self.data_set, str) or not self.data_set or not self.data_set.isprintable():
            raise ConfigError("data_set is empty or holds control characters; write a plain public name")
        if self.level_names is not None:
            require_level_names(self.level_names)
        if self.intervals is not None:
            self._check_intervals(self.intervals)
        self._check_currency()
        if self.max_sizes is not None:
            self._check_sizes()
        for number, fact in enumerate(self.facts, 1):
            self._check_fact(fact, f"[[facts]] number {number}")

    @property
    def total(self) -> Loss:
        """The whole budget."""
        if self.rho is not None:
            return Rho(self.rho)
        assert self.epsilon is not None, "checked"
        return PureEpsilon(self.epsilon) if self.delta is None else Approximate(self.epsilon, self.delta)

    @property
    def plain(self) -> bool:
        """Whether the noise is double geometric for a pure epsilon of entities, which a manifest states by scales."""
        usual = Relation.ADD_REMOVE_OR_EMPTY_GROUP if self.totals is Totals.NOISY else Relation.ADD_REMOVE
        pure = self.rho is None and self.delta is None
        return pure and self.unit == Unit.ENTITY and self.relation is usual

    @property
    def ranks_alike(self) -> bool:
        """Whether noise for cumulative counts has the law of that for ranked sizes, so that a level may have both.

        What one entity adds to m groups changes a cumulative count by m and m ranked sizes by one: alike to geometric
        noise, which is made for the sum of changes, and not to Gaussian noise.
        """
        if self.plain:
            return True
        alike = self.unit == Unit.ENTITY or self.laws is Laws.GEOMETRIC
        return alike and self.max_quantity == 1 and not self.unit.is_group

    @property
    def ranked_up_to(self) -> int | None:
        """The largest number of groups of a region that is measured by ranked sizes; None if none is."""
        rule = self.view.rule
        return rule.ranked_up_to(self.max_excess) if isinstance(rule, ByGroups) else None

    @property
    def max_excess(self) -> int:
        """The most members beyond `min_size` that are told apart, K - m: the largest size that a mechanism knows."""
        return self.max_size - self.min_size

    @property
    def kept(self) -> Totals:
        """The regions whose public number of groups the released counts have: the root, or every region."""
        root_alone = self.kind.totals[0] is Totals.ROOT or self.totals is Totals.ROOT
        return Totals.ROOT if root_alone else Totals.REGIONS

    @property
    def sensitivity(self) -> Sensitivity:
        """How far the values of one level differ between neighbouring data sets."""
        return sensitivity_of(
            self._view, self.unit, max_quantity=self.max_quantity, max_size=self.max_excess, relation=self.relation
        )

    def sensitivities(self, n_levels: int) -> tuple[Sensitivity, ...]:
        """How far the values of every level differ between neighbouring data sets, root first.

        A level with sizes of its own holds the counts of the same data with that largest size.
        """
        if self.max_sizes is None:
            return (self.sensitivity,) * n_levels
        return tuple(self.noise(n_levels).sensitivity(self._view, size) for size in self.excesses(n_levels))

    @property
    def totals_sensitivity(self) -> Sensitivity:
        """How far the numbers of groups of one level differ between neighbouring data sets."""
        return sensitivity_of_totals(self.unit, self.relation)

    @property
    def construction(self) -> Construction | None:
        """The way in which published intervals are made; None without intervals.

        With sizes per level a posterior of noisy counts knows none of its own, see `pgsr.algorithms.posterior_levels`.
        """
        if self.intervals is None:
            return None
        own = self.kind is Kind.POSTERIOR and (self.view is not Measured.COUNTS or self.max_sizes is None)
        return Construction.POSTERIOR if own else Construction.BAND

    @property
    def options(self) -> dict[str, str | int]:
        """The values of the mechanism's options."""
        return {name: {"merge": str(self.merge), "norm": self.norm}[name] for name in self.kind.options}

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
            raise ConfigError(
                f"there are {len(self.level_names)} names of levels ({', '.join(self.level_names)}), and the regions "
                f"have {n_levels} levels; write level_names with one name per level, root first"
            )
        return self.level_names

    def shares_of(self, n_levels: int) -> tuple[Fraction, ...]:
        """The share of every level in the values' epsilon; they add up to 1."""
        if self.shares is not None:
            return self.shares
        if self.kind is Kind.BOTTOM_UP:
            return (*(Fraction(0),) * (n_levels - 1), Fraction(1))
        return (Fraction(1, n_levels),) * n_levels

    def budget(self, n_levels: int) -> Budget:
        """The epsilon of the noisy values, per level, of a pure epsilon.

        Raises:
            BudgetError: there is not one share per level; or the noise has no pure epsilon.
        """
        return Budget(pure_epsilons(self.levels(n_levels)))

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

    def scales(self, n_levels: int) -> tuple[Fraction, ...]:
        """The scale of the noise per level, sensitivity / epsilon, of a pure epsilon; 0 where nothing is measured."""
        pairs = zip(self.budget(n_levels).levels, self.sensitivities(n_levels), strict=True)
        return tuple(size.l1 / level if level else Fraction(0) for level, size in pairs)

    def mechanism(self, n_levels: int) -> AnyMechanism:
        """The mechanism on a hierarchy with this many levels."""
        if self.max_sizes is not None:
            about = self.noise(n_levels), self.excesses(n_levels), self.data_set
            return LevelMechanism(*about, post_by_level(self.kind))
        post = post_of(self.kind, self.merge, self.norm, self.construction is Construction.POSTERIOR)
        stated = StatedFacts(self.facts, self.names(n_levels), self.min_size) if self.facts else None
        if self.kind is Kind.M_H:
            return Mechanism(self.noise(n_levels), post, Problem.m_h if stated is None else stated.m_h)
        return Mechanism(self.noise(n_levels), keeping(post, stated, self.kept))

    def fact_bounds(self, tree: Hierarchy) -> tuple[np.ndarray, np.ndarray]:
        """The least and the most that every count by excess can be, as the facts say; shape (regions, K - m + 1)."""
        return fact_bounds(self.facts, self.names(tree.n_levels), self.min_size, tree, self.max_excess + 1)

    def require_possible_facts(self, tree: Hierarchy, totals: np.ndarray) -> None:
        """Raise `ConfigError` unless some counts satisfy all facts and have the public numbers of groups.

        Args:
            tree: the regions.
            totals: numbers of groups of all regions; those that are not public are not looked at.
        """
        if self.facts:
            public = totals[:1] if self.kept is Totals.ROOT else totals
            require_possible(self.facts, self.names(tree.n_levels), self.min_size, tree, self.max_excess + 1, public)

    def measured(
        self,
        tree: Hierarchy,
        values: np.ndarray | tuple[np.ndarray, ...] | CountsByLevel,
        totals: np.ndarray,
        secure: bool,
    ) -> Measurement | MeasurementByLevel:
        """The measurement that these noisy values are under these terms."""
        noise = self.noise(tree.n_levels)
        if isinstance(values, CountsByLevel):
            laws = tuple(require_by_level(noise, values.max_sizes))
            of_leaves = totals[tree.leaves] if self.totals is Totals.REGIONS else None
            return MeasurementByLevel(values, self._view, laws, int(totals[0]), of_leaves, secure, self.data_set)
        return Measurement(
            hierarchy=tree,
            view=noise.views_on(tree, self.max_excess, totals),
            values=values,
            max_size=self.max_excess,
            noise=noise.levels(tree.n_levels, self.max_excess),
            public=self.totals,
            totals=totals,
            secure=secure,
            data_set=self.data_set,
            totals_noise=noise.totals_noise(tree.n_levels, self.max_excess),
            max_quantity=self.max_quantity,
            unit=self.unit,
            relation=self.relation,
        )

    def noise(self, n_levels: int) -> Geometric | Noise:
        """The noise step on a hierarchy with this many levels."""
        share = self.totals_share if self.totals is Totals.NOISY else Fraction(1, 10)
        rule, parts = self.view.rule, self.shares_of(n_levels)
        if self.plain:
            assert self.epsilon is not None
            return Geometric(rule, self.epsilon, parts, self.totals, share, self.max_quantity)
        about = (self.totals, share, self.max_quantity, self.unit, self.relation)
        return Noise(rule, self.total, parts, self.laws or Laws.BEST, *about)

    def _convert(self) -> None:
        """Convert texts to what they stand for."""
        keep = object.__setattr__
        keep(self, "facts", tuple(self.facts))
        for name in ("epsilon", "delta", "rho"):
            value = getattr(self, name)
            if value is not None:
                keep(self, name, exact(value, name) if name != "delta" else exact_delta(value))
        keep(self, "unit", _unit(self.unit))
        if self.laws is not None:
            keep(self, "laws", _one_of(Laws, self.laws, "laws"))
        if self.relation is not None:
            keep(self, "relation", _one_of(Relation, self.relation, "relation"))
        keep(self, "kind", Kind(self.kind))
        keep(self, "merge", _one_of(Merge, self.merge, "merge"))
        if self.view is not None:
            keep(self, "view", _one_of(Measured, self.view, "view"))
        if self.totals is not None:
            keep(self, "totals", _one_of(Totals, self.totals, "totals"))
        if self.totals_share is not None:
            keep(self, "totals_share", exact(self.totals_share, "totals_share", zero=True))
        if self.shares is not None:
            keep(self, "shares", tuple(exact(share, "a share", zero=True) for share in self.shares))
        if self.level_names is not None:
            keep(self, "level_names", tuple(self.level_names))
        found = sizes_and_names(self.max_size, self.max_sizes, self.level_names)
        for name, value in zip(("max_size", "max_sizes", "level_names"), found, strict=True):
            keep(self, name, value)
        if self.intervals is not None:
            keep(self, "intervals", exact(self.intervals, "intervals"))

    def _check_currency(self) -> None:
        """Fill in the relation and the laws, and refuse budgets, units and relations that do not go together."""
        keep, noisy = object.__setattr__, self.totals is Totals.NOISY
        if (self.epsilon is None) == (self.rho is None):
            raise ConfigError('the budget is epsilon = "1", epsilon with delta, or rho = "1/10"; write one of them')
        if self.rho is not None and self.delta is not None:
            raise ConfigError("delta goes with epsilon, and rho has none; leave delta out")
        if self.relation is None:
            replaced = self.unit.is_group and not noisy
            keep(self, "relation", Relation.REPLACE if replaced else Relation.ADD_REMOVE)
        if noisy and self.relation is Relation.ADD_REMOVE and not self.unit.is_group:
            keep(self, "relation", Relation.ADD_REMOVE_OR_EMPTY_GROUP)
        try:
            require_totals(str(self.totals), self.unit, self.relation)
            _ = self.sensitivity
        except ProblemError as error:
            raise ConfigError(str(error)) from None
        pure = self.rho is None and self.delta is None
        if self.laws is None:
            keep(self, "laws", Laws.GEOMETRIC if pure else Laws.BEST)
        elif pure and self.laws is not Laws.GEOMETRIC:
            raise ConfigError(
                f'laws = "{self.laws}" with a pure epsilon, which has no Gaussian noise; leave laws out, or write '
                "delta or rho"
            )
        if self.view is Measured.BY_GROUPS and not self.ranks_alike:
            raise ConfigError(
                'view = "by_groups" measures ranked sizes and cumulative counts, which differ in sensitivity here; '
                'write view = "cumulative"'
            )

    def _check_min_size(self) -> None:
        """Raise `ConfigError` unless at least two sizes are left on every level."""
        if type(self.min_size) is not int or self.min_size < 0:
            raise ConfigError(f"min_size is {self.min_size!r}; write a public whole number from 0 up")
        least = min(self.max_sizes or (self.max_size,))
        if self.min_size and self.min_size >= least:
            where = "the smallest max_size of a level" if self.max_sizes else "max_size"
            raise ConfigError(f"min_size is {self.min_size:,}, and {where} {least:,}; write a smaller min_size")

    def _check_fact(self, fact: Fact, where: str) -> None:
        """Raise `ConfigError` unless a release under the other terms can keep this fact."""
        if self.totals is Totals.NOISY:
            raise ConfigError(
                f'{where}: with totals = "noisy" numbers of groups are not public, and may turn out to contradict '
                "facts; leave the facts out, or say with min_size that small groups do not exist"
            )
        if self.max_sizes is not None:
            raise ConfigError(f"{where}: facts want one max_size for all levels; leave them out, or write one max_size")
        if fact.sizes is None:
            if self.kept is not Totals.REGIONS:
                raise ConfigError(
                    f"{where}: numbers of groups of all sizes are kept where they are public for every region, and "
                    f"mechanism {self.kind} keeps the root's alone; name a size, or take kuo, posterior or two_stage"
                )
            return
        first, last = fact.sizes
        if first < self.min_size:
            raise ConfigError(
                f"{where}: the size {first:,} is below min_size = {self.min_size:,}, where all counts are 0; leave it "
                "out"
            )
        if last > self.max_size:
            raise ConfigError(
                f"{where}: the size {last:,} is above max_size = {self.max_size:,}, in which larger groups count; name "
                "sizes up to that"
            )

    def _check_sizes(self) -> None:
        """Raise `ConfigError` unless a release can have sizes per level under the other terms."""
        wanted = self.kind.totals_by_level
        if wanted is None:
            usual = " or ".join(f'"{kind}"' for kind in Kind if kind.totals_by_level)
            raise ConfigError(
                f"mechanism {self.kind} has the same sizes on all levels; write mechanism = {usual}, or one max_size"
            )
        if self.kind is Kind.KUO and (self.merge is not Merge.WEIGHTED or self.norm != 1):
            raise ConfigError(
                f'merge = "{self.merge}" with norm = {self.norm} wants the same sizes on all levels; leave [options] '
                "out, or write one max_size"
            )
        if self.view is Measured.BY_GROUPS:
            raise ConfigError(
                'view = "by_groups" has the same sizes on all levels; write view = "cumulative", or one max_size'
            )
        if self.totals is not wanted:
            whose = "the root's public number" if wanted is Totals.ROOT else "every region's public number"
            raise ConfigError(
                f'mechanism {self.kind} with sizes per level needs {whose} of groups, and totals = "{self.totals}" '
                f'does not publish it; write totals = "{wanted}", or one max_size for all levels'
            )
        if self.shares is not None and not all(self.shares):
            raise ConfigError(
                "a level has a share of 0, and with sizes per level all of them are measured; give every level a share"
            )
        if self.construction is Construction.BAND:
            raise ConfigError(
                "with sizes per level only mechanism posterior of cumulative counts publishes intervals, and this is "
                f'{self.kind} with view = "{self.view}"; write mechanism = "posterior" with view = "cumulative", '
                "or leave the key out and use `pgsr intervals FOLDER` on the release"
            )

    def _check_intervals(self, probability: Fraction) -> None:
        """Raise `ConfigError` unless intervals of this probability follow from what is published."""
        if probability > LARGEST_PROBABILITY:
            raise ConfigError(
                f'intervals is {probability}; write a probability of at most {LARGEST_PROBABILITY}, such as "9/10"'
            )
        if self.totals is Totals.NOISY:
            raise ConfigError(
                'intervals are published with public numbers of groups only, and totals = "noisy" publishes none; '
                "leave the key out, and use `pgsr intervals FOLDER` on the release"
            )

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

    @property
    def _view(self) -> View:
        """The view whose sensitivity counts: ranked sizes have that of cumulative counts."""
        return View.COUNTS if self.view is Measured.COUNTS else View.CUMULATIVE


def _unit(value: Unit | str) -> Unit:
    try:
        return Unit.parse(value)
    except ArgumentError as error:
        raise ConfigError(str(error)) from None


def _one_of(kind: type[StrEnum], value: str, name: str) -> StrEnum:
    try:
        return kind(value)
    except ValueError:
        raise ConfigError(f"{name} is {value!r}; write one of {', '.join(kind)}") from None
