"""The plan of a release: what its terms come to, level by level, made once and read by all that follows.

Thresholds are sizes, and a mechanism knows excesses over `Terms.min_size`: a threshold T of sizes is T - min_size.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from pgsr import own_methods
from pgsr.algorithms import IsotonicFit
from pgsr.algorithms.isotonic.regression import Optimum
from pgsr.data.hierarchy import Hierarchy
from pgsr.data.sizes import Sizes
from pgsr.data.split_view import Split
from pgsr.data.views import AnyView, View
from pgsr.methods.mechanism import Mechanism
from pgsr.methods.method import Method, PostProcess
from pgsr.noise import Geometric, Noise
from pgsr.noise.measurement import Measurement, pure_epsilons
from pgsr.noise.shares_by_root import BY_ROOT, least_shares
from pgsr.noise.split_by_root import SplitByRoot, ViewRule
from pgsr.privacy.laws import DoubleGeometric, Law
from pgsr.privacy.laws.per_level import LevelNoise
from pgsr.privacy.sensitivity import Sensitivity
from pgsr.problems.problem import Problem
from pgsr.release.publishing.errors import ConfigError
from pgsr.release.terms.kinds import Kind, MeasuredView
from pgsr.release.terms.terms import Terms, require_threshold

MOST_ROWS = 1_000_000
"""The number of cells, regions x sizes, up to which all of them have a row in the table of counts."""


@dataclass(frozen=True)
class FromRoot:
    """What followed from the noisy root of a release.

    Attributes:
        thresholds: of every region.
        shares: of epsilon per level, root first; None where they were stated.
        first: the root's first noisy values, by excess, which chose the shares; None where these were stated.
    """

    thresholds: tuple[int, ...]
    shares: tuple[Fraction, ...] | None
    first: tuple[int, ...] | None


@dataclass(frozen=True)
class LevelPlan:
    """The plan of one level.

    Attributes:
        name: of the level, public.
        regions: their number, with the copies that padding makes.
        max_size: the largest size; larger groups count as it.
        max_excess: the most members beyond `Terms.min_size` that are told apart.
        share: of the level in the budget of the values; the shares of all levels add up to 1. Before a root is drawn
            that chooses them, the least that the level may get, with its noise and law.
        noise: of the values; None where nothing is measured.
        sensitivity: how far the values differ between neighbouring data sets. Sizes of its own make them the counts of
            the same data with that largest size.
        law: of the noise of every value; None where nothing is measured.
        threshold: the size at which the views of its regions are split, or one per region where they follow from the
            noisy root; None without split views, and before the root is drawn.
    """

    name: str
    regions: int
    max_size: int
    max_excess: int
    share: Fraction
    noise: LevelNoise | None
    sensitivity: Sensitivity
    law: Law | None
    threshold: int | tuple[int, ...] | None


@dataclass(frozen=True, eq=False)
class Plan:
    """The plan of a release, level by level. Only public numbers decide it, and the noisy root where terms say so.

    Attributes:
        terms: what was stated.
        levels: one plan per level, root first.
        mechanism: the noise step and what follows it.
        totals_noise, totals_law: the noise of the numbers of groups of every level; None where these are public.
        from_root: the thresholds and shares that followed from the noisy root; None before, or where none do.
        names: of the levels, root first.
        n_cells: the cells of all regions that are measured and computed, those of sizes from `Terms.min_size` on.
        first_root: the root's first noisy values, which chose the shares; None where none did.
        zeros: whether tables have rows for sizes of which a region has no group, as they have up to `MOST_ROWS`.

    Example:
        >>> plan = Plan.of(Terms("demo", (5, 2), "1", "m_h"), [1, 50])
        >>> plan.names, plan.n_cells, plan.mechanism.post
        (('level_0', 'level_1'), 156, TreeProjection())
        >>> plan.levels[1].max_size, plan.levels[1].law
        (2, DoubleGeometric(scale=Fraction(4, 1)))
    """

    terms: Terms
    levels: tuple[LevelPlan, ...]
    mechanism: Mechanism
    totals_noise: LevelNoise | None
    totals_law: Law | None
    from_root: FromRoot | None
    names: tuple[str, ...] = field(init=False)
    n_cells: int = field(init=False)
    first_root: np.ndarray | None = field(init=False)
    zeros: bool = field(init=False)

    def __post_init__(self) -> None:
        keep, first = object.__setattr__, None if self.from_root is None else self.from_root.first
        rows = sum(level.regions * (level.max_size + 1) for level in self.levels)
        keep(self, "names", tuple(level.name for level in self.levels))
        keep(self, "n_cells", sum(level.regions * (level.max_excess + 1) for level in self.levels))
        keep(self, "first_root", None if first is None else np.array(first))
        keep(self, "zeros", rows <= MOST_ROWS)

    @classmethod
    def of(cls, terms: Terms, regions: Sequence[int], from_root: FromRoot | None = None) -> "Plan":
        """Plan a release.

        Args:
            terms: what was stated.
            regions: their number by level, root first.
            from_root: what followed from a noisy root that was drawn.

        Raises:
            ConfigError: there is not one name, share or largest size per level, or first noisy value per size.
            BudgetError: there is not one share per level, or the budget is too small for noise that can be drawn.
        """
        n, thresholds = len(regions), from_root and from_root.thresholds
        for threshold in thresholds or ():
            require_threshold(threshold, terms.min_size)
        first, n_sizes = from_root and from_root.first, terms.max_excess + 1
        if first is not None and (len(first) != n_sizes or any(type(value) is not int for value in first)):
            raise ConfigError(f"the root's first noisy values are not one whole number for each of {n_sizes:,} sizes")
        sizes, names, shares = _sizes(terms, n), _names(terms, n), _shares(terms, n, from_root)
        excesses = tuple(size - terms.min_size for size in sizes)
        to_come = terms.shares_by_root and from_root is None
        step = _noise_step(terms, BY_ROOT if to_come else shares, excesses, thresholds)
        noises, totals_noise = step.levels(n, excesses), step.totals_noise(n, terms.max_excess)
        if terms.view is MeasuredView.SPLIT and not terms.ranks_alike:
            [view] = set(step.rules)  # one for all regions, as others would differ in sensitivity
            sensitivities = (step.sensitivity(view.on(terms.max_excess), terms.max_excess),) * n
        elif terms.max_sizes is None:
            sensitivities = (terms.sensitivity,) * n
        else:
            sensitivities = tuple(step.sensitivity(terms.view.sensitive, excess) for excess in excesses)
        laws = [noise and noise.law(size) for noise, size in zip(noises, sensitivities, strict=True)]
        at: Sequence[int | tuple[int, ...] | None] = (
            terms.threshold if isinstance(terms.threshold, int) else None,
        ) * n
        if thresholds is not None:
            at = [thresholds[first:end] for first, end in pairwise(np.cumsum([0, *regions]))]
        parts = names, regions, sizes, excesses, shares, noises, sensitivities, laws, at
        levels = tuple(LevelPlan(*level) for level in zip(*parts, strict=True))
        mechanism = Mechanism(step, post_of(terms), Problem.m_h if terms.kind is Kind.M_H else None)
        totals_law = totals_noise and totals_noise.law(terms.totals_sensitivity)
        return cls(terms, levels, mechanism, totals_noise, totals_law, from_root)

    def completed(self, measurement: Measurement) -> "Plan":
        """Plan the same release with the thresholds and shares that the noisy root gave."""
        views = map(measurement.view_of, range(measurement.hierarchy.n_regions))
        chosen = self._chosen(views, measurement.noise, measurement.first_root)
        return Plan.of(self.terms, measurement.hierarchy.regions_per_level, chosen)

    def following(self, tree: Hierarchy, totals: np.ndarray, root: np.ndarray) -> FromRoot:
        """Compute the thresholds, and the shares unless stated, that follow from the root's noisy cumulative counts.

        Args:
            tree, totals: the regions, and their public or noisy numbers of groups.
            root: the last values of the root, by excess; shape (K - m + 1,).
        """
        step, first = Plan.of(self.terms, tree.regions_per_level).mechanism.noise, self.first_root
        step, most = step if first is None else step.after_root(tree, totals, first), self.terms.max_excess
        return self._chosen(step.views_on(tree, most, totals, root), step.levels(tree.n_levels, most), first)

    def _chosen(
        self, views: Iterable[AnyView], noises: tuple[LevelNoise | None, ...], first: np.ndarray | None
    ) -> FromRoot:
        """Say what a noisy root chose by the views of all regions, the noise of the levels and its first values.

        A view that is not split has one of its ends as threshold.
        """
        least, most = self.terms.min_size, self.terms.max_excess
        thresholds = tuple(least + min(view.ranked_from(most), most) for view in views)
        if first is None:
            return FromRoot(thresholds, None, None)
        assert self.terms.epsilon is not None, "of a pure epsilon"
        values = self.terms.epsilon * (1 - self.terms.totals_share)
        return FromRoot(thresholds, tuple(level / values for level in pure_epsilons(noises)), tuple(first.tolist()))

    @property
    def first_scale(self) -> Fraction:
        """The scale of the noise of the root's first values, where these choose its share."""
        root = self.levels[0]
        assert isinstance(root.law, DoubleGeometric), "of a pure epsilon"
        return root.law.scale * root.share / least_shares(len(self.levels))[0]

    def views_on(self, tree: Hierarchy, totals: np.ndarray) -> tuple[AnyView, ...]:
        """Give the views of the regions as the noise step gives them: region by region where noise chose them.

        Args:
            tree, totals: the regions, and their public or noisy numbers of groups.
        """
        found = self.mechanism.noise.views_on(tree, self.terms.max_excess, totals)
        return found * tree.n_regions if self.terms.by_root and len(found) == 1 else found

    def sizes_on(self, tree: Hierarchy) -> Sizes:
        """Give the sizes by excess that are measured on every level."""
        return Sizes(tree, tuple(level.max_excess for level in self.levels))

    def measured(self, tree: Hierarchy, cells: np.ndarray, totals: np.ndarray, secure: bool) -> Measurement:
        """Give the measurement that these noisy values of all regions, one after the other, are under this plan."""
        terms = self.terms
        return Measurement(
            sizes=self.sizes_on(tree),
            views=self.views_on(tree, totals),
            cells=cells,
            noise=tuple(level.noise for level in self.levels),
            public=terms.totals,
            totals=totals,
            secure=secure,
            data_set=terms.data_set,
            totals_noise=self.totals_noise,
            max_quantity=terms.max_quantity,
            unit=terms.unit,
            relation=terms.relation,
            first_root=self.first_root,
        )


def _names(terms: Terms, n_levels: int) -> tuple[str, ...]:
    """Name the levels, root first."""
    if terms.level_names is None:
        return tuple(f"level_{level}" for level in range(n_levels))
    if len(terms.level_names) != n_levels:
        named = ", ".join(map(repr, terms.level_names))
        raise ConfigError(
            f"there are {len(terms.level_names)} names of levels ({named}), and the regions have {n_levels} levels; "
            "write level_names with one name per level, root first"
        )
    return terms.level_names


def _sizes(terms: Terms, n_levels: int) -> tuple[int, ...]:
    """Give the largest size of every level, root first."""
    if terms.max_sizes is None:
        return (terms.largest,) * n_levels
    if len(terms.max_sizes) != n_levels:
        raise ConfigError(
            f"max_size gives {len(terms.max_sizes)} largest sizes, and the regions have {n_levels} levels; write "
            "one per level, root first"
        )
    return terms.max_sizes


def _shares(terms: Terms, n_levels: int, from_root: FromRoot | None) -> tuple[Fraction, ...]:
    """Give the share of every level, root first; the least ones before the root is drawn that chooses them."""
    if from_root is not None and from_root.shares is not None:
        return from_root.shares
    if isinstance(terms.shares, tuple):
        return terms.shares
    if terms.shares_by_root:
        return least_shares(n_levels)
    leaves = (*(Fraction(0),) * (n_levels - 1), Fraction(1))
    return leaves if terms.kind is Kind.BOTTOM_UP else (Fraction(1, n_levels),) * n_levels


def _noise_step(
    terms: Terms, shares: tuple[Fraction, ...] | str, excesses: tuple[int, ...], thresholds: tuple[int, ...] | None
) -> Geometric | Noise:
    """Make the noise step; thresholds are those of every region, where they followed from a noisy root."""
    rule: ViewRule | tuple[ViewRule, ...] = View.COUNTS if terms.view is MeasuredView.COUNTS else View.CUMULATIVE
    if thresholds is not None:
        rule = tuple(Split(threshold - terms.min_size) for threshold in thresholds)
    elif terms.by_root:
        rule = SplitByRoot()
    elif isinstance(terms.threshold, int):
        rule = Split(terms.threshold - terms.min_size)
    totals_share = terms.totals_share or Fraction(1, 10)
    sizes = None if terms.max_sizes is None else excesses
    if terms.plain:
        assert terms.epsilon is not None
        return Geometric(rule, terms.epsilon, shares, terms.totals, totals_share, terms.max_quantity, sizes)
    about = (terms.totals, totals_share, terms.max_quantity, terms.unit, terms.relation, sizes)
    return Noise(rule, terms.total, shares, terms.laws, *about)


def post_of(terms: Terms) -> Method | PostProcess:
    """Choose the method or post-process of the mechanism, which makes its counts of the noisy values.

    Where levels have sizes of their own, `KUO` takes the middle of all best fits.

    Example:
        >>> post_of(Terms("demo", 5, "1", "posterior"))
        Posterior()
    """
    method: Any = next(entry.method for entry in own_methods.METHODS if entry.release == terms.kind)
    if terms.kind is Kind.KUO and terms.max_sizes is not None:
        return replace(method, fit=IsotonicFit(optimum=Optimum.MIDPOINT))
    return method


def terms_facts(terms: Terms) -> dict[str, str]:
    """Describe the data set, the mechanism, the sizes and the budget of terms.

    Example:
        >>> terms_facts(Terms("demo", 5, "1", "m_h"))["mechanism"]
        'm_h: noise on counts, then TreeProjection()'
    """
    return {
        "data set": terms.data_set,
        "mechanism": f"{terms.kind}: noise on {_measures(terms)}, then {post_of(terms)!r}",
        "sizes": _sizes_said(terms),
        "budget": f"{terms.total} in all" + (", in shares by the noisy root" if terms.shares_by_root else ""),
    }


def _measures(terms: Terms) -> str:
    if terms.view is not MeasuredView.SPLIT:
        return "counts" if terms.view is MeasuredView.COUNTS else "cumulative counts"
    by_root = "a threshold per region, by the noisy root,"
    at = f"the threshold {terms.threshold:,}" if isinstance(terms.threshold, int) else by_root
    return f"cumulative counts below {at} and, beyond it, what all groups have by rank"


def _sizes_said(terms: Terms) -> str:
    least = f"{terms.min_size:,}"
    if terms.max_sizes is None:
        return f"{least} to {terms.largest:,}; larger groups count as {terms.largest:,}"
    names = terms.level_names or [f"level_{level}" for level in range(len(terms.max_sizes))]
    last = ", ".join(f"{name} {k:,} or more" for name, k in zip(names, terms.max_sizes, strict=True))
    return f"{least} to a last class of all larger groups: {last}"
