"""The general noise step: any budget, law per level and unit of privacy."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from pgsr.checks import require_kind
from pgsr.noise.measurement import Totals
from pgsr.noise.split_by_root import ViewRule, possible_views
from pgsr.noise.step import NoiseStep
from pgsr.privacy.accounting.law_choice import Laws, best_noise
from pgsr.privacy.accounting.loss import Loss
from pgsr.privacy.budget import Budget, Number, exact
from pgsr.privacy.laws.per_level import LevelNoise
from pgsr.privacy.neighbours import Relation, Unit
from pgsr.privacy.sensitivity import Sensitivity, require_totals, sensitivity_of_totals


@dataclass(frozen=True)
class Noise(NoiseStep):
    """The noise step for a budget in any currency, with the law of every level that has the least variance.

    Levels, and noisy totals if there are any, share the budget: a level with share p of a pure epsilon gets epsilon p,
    of rho it gets rho p. (epsilon, delta) is spent as `pgsr.privacy.accounting.best_noise` says.

    Args:
        view: the vector to measure, as in `Geometric`.
        budget: `PureEpsilon("1")`, `Approximate("1", "1e-8")` or `Rho("1/10")`.
        shares: part of the values' budget per level, root first, adding up to exactly 1; equal parts if None.
        laws: "best", "geometric" or "gaussian": the noise of every level; "best" takes the one of less variance.
        totals, totals_share, max_quantity, max_sizes: as in `Geometric`.
        unit: whose presence or values are hidden: `Unit.ENTITY`, `Unit.entity_in_groups(5)`, or `Unit.GROUP`.
        relation: of neighbouring data sets. Of groups, REPLACE keeps public numbers of groups possible; under
            ADD_REMOVE they have to be noisy.

    Raises:
        BudgetError: the budget cannot be had from the laws: there is no pure epsilon of Gaussian noise.
        ProblemError: the unit, the relation, the view and the totals do not go together.

    Example:
        >>> from pgsr import CountOfCounts, Hierarchy, View
        >>> from pgsr.privacy import Rho, Seeded
        >>> truth = CountOfCounts(Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0]), [[0, 2, 0, 1], [0, 1, 1, 1]])
        >>> Noise(View.CUMULATIVE, Rho("1/5")).measure(truth, Seeded("demo"))
        Measurement(View.CUMULATIVE, Hierarchy(3 regions, levels 1 / 2), sizes 0..3, rho=1/5)
    """

    view: ViewRule | tuple[ViewRule, ...]
    budget: Loss
    shares: Sequence[Number] | None = None
    laws: Laws | str = Laws.BEST
    totals: Totals | str = Totals.REGIONS
    totals_share: Number = "1/10"
    max_quantity: int = 1
    unit: Unit = Unit.ENTITY
    relation: Relation = Relation.ADD_REMOVE
    max_sizes: Sequence[int] | None = None

    def __post_init__(self) -> None:
        require_kind(self.budget, Loss, "budget", "give PureEpsilon('1'), Approximate('1', '1e-8') or Rho('1/10')")
        require_kind(self.unit, Unit, "unit", "give Unit.ENTITY, Unit.entity_in_groups(5) or Unit.GROUP")
        object.__setattr__(self, "laws", Laws.parse(self.laws))
        self._check_what_is_measured()
        relation = Relation(self.relation)
        if self.totals is Totals.NOISY and relation is Relation.ADD_REMOVE and not self.unit.is_group:
            relation = Relation.ADD_REMOVE_OR_EMPTY_GROUP
        object.__setattr__(self, "relation", relation)
        require_totals(str(self.totals), self.unit, relation)

    @property
    def cost(self) -> Loss:
        """The total privacy loss, the budget."""
        return self.budget

    def levels(self, n_levels: int, max_size: int | Sequence[int]) -> tuple[LevelNoise | None, ...]:
        """Give the noise of the values of every level, root first; None where nothing is measured.

        `max_size` is K, or one per level where levels have sizes of their own.
        """
        return self._noises(n_levels, max_size)[:n_levels]

    def totals_noise(self, n_levels: int, max_size: int) -> LevelNoise | None:
        """Give the noise of the numbers of groups of every level; None where these are public."""
        return self._noises(n_levels, max_size)[n_levels] if self.totals is Totals.NOISY else None

    def _noises(self, n_levels: int, max_size: int | Sequence[int]) -> tuple[LevelNoise | None, ...]:
        """Give the noise of the values of every level, then that of the totals of every level if they are noisy."""
        part = exact(self.totals_share) if self.totals is Totals.NOISY else Fraction(0)
        shares = tuple((1 - part) * share for share in Budget.split(1, n_levels, self.shares).levels)
        largest = (max_size,) * n_levels if isinstance(max_size, int) else max_size
        sizes = [self._worst(*pair) for pair in zip(self._rules_on_levels(n_levels), largest, strict=True)]
        if part:
            shares += (part / n_levels,) * n_levels
            sizes += [sensitivity_of_totals(self.unit, Relation(self.relation))] * n_levels
        return _best(self.budget, tuple(sizes), shares, Laws.parse(self.laws))

    def _worst(self, rules: Sequence[ViewRule], max_size: int) -> Sensitivity:
        """Give the sensitivity of a level on which regions may have different views: that of the worst."""
        found = [self.sensitivity(view, max_size) for view in possible_views(rules, max_size)]
        return Sensitivity(tuple(dict.fromkeys(change for one in found for change in one.changes)))


@lru_cache(maxsize=16)
def _best(
    budget: Loss, sizes: tuple[Sensitivity, ...], shares: tuple[Fraction, ...], laws: Laws
) -> tuple[LevelNoise | None, ...]:
    """Choose once: epsilon with delta is searched for seconds on many levels."""
    return best_noise(budget, sizes, shares, laws)
