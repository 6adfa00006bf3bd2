"""The noise step of today's papers: double-geometric noise for a pure epsilon."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from pgsr.data.counts import CountOfCounts
from pgsr.data.hierarchy import Hierarchy
from pgsr.data.views import View
from pgsr.errors import ProblemError
from pgsr.noise.measurement import Totals
from pgsr.noise.shares_by_root import BY_ROOT, ROOT_SHARES, least_shares, shares_by_root
from pgsr.noise.split_by_root import SplitByRoot, ViewRule, shape_of_noisy
from pgsr.noise.step import NoiseStep
from pgsr.privacy.accounting import PureEpsilon
from pgsr.privacy.budget import Budget, Number, exact
from pgsr.privacy.laws.per_level import GeometricNoise
from pgsr.privacy.neighbours import Relation, Unit
from pgsr.privacy.random import Source


@dataclass(frozen=True)
class Geometric(NoiseStep):
    """The noise step that adds double-geometric noise to one view of every region: epsilon-differentially private.

    Neighbouring data sets differ by one entity joining or leaving a group; with `totals="noisy"` also by one empty
    group. Region r of level l gets noise of scale sensitivity(view) / epsilon_l on every cell, and sum_l epsilon_l =
    epsilon exactly. Noisy totals have sensitivity 1 per level and get `totals_share` of epsilon
    (`pgsr.noise.group_totals`).

    Args:
        view: the vector to measure; its sensitivity is 2 (`View.COUNTS`) or 1. One per level, root first, is possible:
            `(View.CUMULATIVE, View.RANKED, View.CUMULATIVE)` is the paper's "Hc x Hg x Hc". `Split(T)` measures small
            sizes by cumulative counts and large groups by ranks. A tuple may also have one per region, by public facts.
        epsilon: the total, as text, int, Fraction, Decimal or float (read through its shortest text).
        shares: part of the values' epsilon per level, root first, adding up to exactly 1; equal parts if None. "root"
            lets the noisy root choose them, with the view `SplitByRoot()`: see `pgsr.noise.shares_by_root`.
        totals: whose number of groups is public, "regions" (a public table of groups), "root", or nobody's: "noisy".
        totals_share: part of epsilon for noisy totals.
        max_quantity: public bound M on what one entity adds to its group's size: up to M cumulative counts change by
            one, or one ranked size by M. Noisy totals are not affected.
        max_sizes: largest sizes of the levels, root first, which do not rise; larger groups are measured in the last
            class, "K or more". The truth's own everywhere if None. Numbers of groups are public then. Counts are of all
            levels or of none; cumulative counts, ranked sizes and split views may be of some.

    Example:
        >>> from pgsr import CountOfCounts, Hierarchy, View
        >>> from pgsr.privacy import Seeded
        >>> truth = CountOfCounts(Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0]), [[0, 2, 0, 1], [0, 1, 1, 1]])
        >>> Geometric(View.COUNTS, epsilon="1").measure(truth, Seeded("demo"))
        Measurement(View.COUNTS, Hierarchy(3 regions, levels 1 / 2), sizes 0..3, epsilon=1)

    Source: Kuo et al. 2018, section 4; Fioretto and Van Hentenryck 2019, section 4. Sensitivities by enumeration:
    `test_privacy_sensitivity.py::test_every_neighbour_of_small_worlds`.
    """

    view: ViewRule | tuple[ViewRule, ...]
    epsilon: Number
    shares: Sequence[Number] | str | None = None
    totals: Totals | str = Totals.REGIONS
    totals_share: Number = "1/10"
    max_quantity: int = 1
    max_sizes: Sequence[int] | None = None
    unit: Unit = field(default=Unit.ENTITY, init=False, repr=False)
    relation: Relation = field(default=Relation.ADD_REMOVE, init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", exact(self.epsilon))
        self._check_what_is_measured()
        if self.shares_by_root and not (self.shares == BY_ROOT and isinstance(self.view, SplitByRoot)):
            raise ProblemError(
                f"shares={self.shares!r} with {self.label}; give a sequence with one share per level, root first, or "
                'shares="root" with SplitByRoot()'
            )
        if self.totals is Totals.NOISY:
            object.__setattr__(self, "relation", Relation.ADD_REMOVE_OR_EMPTY_GROUP)

    def budget(self, n_levels: int) -> Budget:
        """Split the epsilon of the values over the levels of a hierarchy with this many.

        Of shares that the noisy root chooses it has the least of every level: what noise may be at most.
        """
        values = exact(self.epsilon) - self.totals_epsilon
        if self.shares_by_root:
            return Budget(tuple(values * share for share in least_shares(n_levels)))
        return Budget.split(values, n_levels, self.shares)

    def check(self, truth: CountOfCounts, source: Source) -> None:
        """Refuse what `measure` would refuse, noise that could not be drawn after the root's, too."""
        super().check(truth, source)
        if self.shares_by_root and truth.hierarchy.n_levels > 1:  # the widest of `finer_noise`
            least = GeometricNoise((exact(self.epsilon) - self.totals_epsilon) * (ROOT_SHARES[1] - ROOT_SHARES[0]))
            least.law(self.sensitivity(View.CUMULATIVE, truth.max_size))

    @property
    def shares_by_root(self) -> bool:
        """Whether the noisy root chooses the shares."""
        return isinstance(self.shares, str)

    def after_root(self, tree: Hierarchy, totals: np.ndarray, root: np.ndarray) -> "Geometric":
        """Give the step that measures the rest, and makes the root more precise; see `NoiseStep.after_root`."""
        if not self.shares_by_root:
            return self
        scale = self.max_quantity / float(exact(self.epsilon) - self.totals_epsilon)
        shape = shape_of_noisy(root, int(totals[0]))
        return replace(self, shares=shares_by_root(tree, totals, shape, np.full(tree.n_levels, scale)))

    @property
    def totals_epsilon(self) -> Fraction:
        """The epsilon of all noisy totals together; 0 where totals are public."""
        return exact(self.epsilon) * exact(self.totals_share) if self.totals is Totals.NOISY else Fraction(0)

    @property
    def cost(self) -> PureEpsilon:
        """The total privacy loss, epsilon."""
        return PureEpsilon(self.epsilon)

    def levels(self, n_levels: int, max_size: int | Sequence[int] = 0) -> tuple[GeometricNoise | None, ...]:
        """Give the noise of the values of every level, root first; None where nothing is measured."""
        return tuple(GeometricNoise(level) if level else None for level in self.budget(n_levels).levels)

    def totals_noise(self, n_levels: int, max_size: int) -> GeometricNoise | None:
        """Give the noise of the numbers of groups of every level; None where these are public."""
        return GeometricNoise(self.totals_epsilon / n_levels) if self.totals_epsilon else None
