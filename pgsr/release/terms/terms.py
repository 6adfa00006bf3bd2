"""What a publisher states of a release: every term, converted and checked, and what follows from the terms alone."""

from dataclasses import dataclass, field, replace
from enum import StrEnum
from fractions import Fraction

from pgsr.errors import ArgumentError, ProblemError
from pgsr.noise.measurement import Totals
from pgsr.noise.shares_by_root import BY_ROOT
from pgsr.privacy.accounting import Approximate, PureEpsilon, Rho
from pgsr.privacy.accounting.law_choice import Laws
from pgsr.privacy.accounting.loss import Loss
from pgsr.privacy.accounting.zcdp import exact_delta
from pgsr.privacy.budget import exact
from pgsr.privacy.neighbours import Relation, Unit
from pgsr.privacy.sensitivity import Sensitivity, require_totals, sensitivity_of, sensitivity_of_totals
from pgsr.release.publishing.errors import ConfigError
from pgsr.release.terms.kinds import Kind, MeasuredView
from pgsr.release.terms.levels import require_level_names, sizes_and_names
from pgsr.release.terms.publication import USUAL, Publication

LARGEST_PROBABILITY = Fraction(9999, 10_000)
"""The largest probability that published intervals aim at."""


def _one_of(kind: type[StrEnum], value: str, name: str) -> StrEnum:
    try:
        return kind(value)
    except ValueError:
        raise ConfigError(f"{name} is {value!r}; write one of {', '.join(kind)}") from None


@dataclass(frozen=True)
class Terms:
    """The terms of a release, checked. What is left out, None, is the usual one once the terms are made.

    Numbers may be given as text ("1/3"), and choices by their name ("m_h", "noisy").

    Attributes:
        data_set: a public name.
        max_size: K, public; larger groups count as K. Or one per level, root first, or by name, {"nation": 50, "block":
            7}.
        epsilon: the total, exact; None where the budget is stated in rho.
        kind: of the mechanism.
        shares: of epsilon per level, root first; "root" where they follow from the noisy root, as the threshold does;
            None for the mechanism's usual ones.
        totals: whose number of groups is public; the mechanism's usual ones if None.
        max_quantity: public bound on what one entity adds to a size.
        level_names: public names of the levels, root first; None for level_0, level_1, ...
        intervals: the probability aimed at by the intervals of released counts; None for tables without them.
        delta: of approximate differential privacy, beside epsilon; None for a pure epsilon.
        rho: the total of zCDP, instead of epsilon.
        unit: whose presence or values are hidden: "entity", "entity in 5 groups" or "group".
        relation: what may become of one unit: "add_remove" of entities, "replace" of groups whose numbers are public.
        min_size: the public least size, below K: smaller groups count as `min_size`. All that is computed is about the
            members beyond it (`pgsr.release.terms.excess`).
        publication: the words of the publisher.
        threshold: of a split view, measured by cumulative counts below it and rank by rank from it on; or "root":
            thresholds follow from the noisy root (`Plan.completed`). None for a view that is not split.
        view, totals_share, laws: what is measured of a region, the budget's part for noisy totals, the laws of noise.
        largest, max_sizes: K of all levels, and K of every level, None where all are equal.
        total, max_excess: the whole budget; the most members beyond `min_size` that are told apart.
        plain: whether the noise is double geometric for a pure epsilon of entities, which a manifest states by scales.
        ranks_alike: whether noise for cumulative counts has the law of that for ranked sizes, so a level may have both.
        kept: the regions whose public number of groups the released counts have: the root, or every region.
        sensitivity, totals_sensitivity: of the values of one level, and of its numbers of groups.

    Raises:
        ConfigError, BudgetError: a term is unknown, malformed or out of range, or contradicts another.

    Example:
        >>> Terms("demo", {"nation": 50, "block": 7}, "1", "m_h").max_sizes
        (50, 7)
    """

    data_set: str
    max_size: int | tuple[int, ...]
    epsilon: Fraction | None
    kind: Kind
    shares: tuple[Fraction, ...] | str | None = None
    totals: Totals = None  # pyright: ignore[reportAssignmentType]
    max_quantity: int = 1
    level_names: tuple[str, ...] | None = None
    intervals: Fraction | None = None
    delta: Fraction | None = None
    rho: Fraction | None = None
    unit: Unit = Unit.ENTITY
    relation: Relation = None  # pyright: ignore[reportAssignmentType]
    min_size: int = 0
    publication: Publication = USUAL
    threshold: int | str | None = None
    view: MeasuredView = field(init=False, repr=False, compare=False)
    totals_share: Fraction = field(init=False, repr=False, compare=False)
    laws: Laws = field(init=False, repr=False, compare=False)
    largest: int = field(init=False, repr=False, compare=False)
    max_sizes: tuple[int, ...] | None = field(init=False, repr=False, compare=False)
    total: Loss = field(init=False, repr=False, compare=False)
    max_excess: int = field(init=False, repr=False, compare=False)
    plain: bool = field(init=False, repr=False, compare=False)
    ranks_alike: bool = field(init=False, repr=False, compare=False)
    kept: Totals = field(init=False, repr=False, compare=False)
    sensitivity: Sensitivity = field(init=False, repr=False, compare=False)
    totals_sensitivity: Sensitivity = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        self._convert()
        if self.totals is None:
            object.__setattr__(self, "totals", self.kind.totals[0])
        if self.totals not in self.kind.totals:
            usual = " or ".join(f'"{t}"' for t in self.kind.totals)
            raise ConfigError(f'mechanism {self.kind} does not keep totals = "{self.totals}"; write totals = {usual}')
        self._derive_view()
        if type(self.min_size) is not int or self.min_size < 0:
            raise ConfigError(f"min_size is {self.min_size!r}; write a public whole number from 0 up")
        least = min(self.max_sizes or (self.largest,))
        if self.min_size and self.min_size >= least:
            where = "the smallest max_size of a level" if self.max_sizes else "max_size"
            raise ConfigError(f"min_size is {self.min_size:,}, and {where} {least:,}; write a smaller min_size")
        if self.threshold is not None:
            self._check_threshold()
        if type(self.max_quantity) is not int or self.max_quantity < 1:
            raise ConfigError("max_size and max_quantity are public whole numbers from 1 up")
        if isinstance(self.shares, tuple) and sum(self.shares) != 1:
            raise ConfigError(f'the shares add up to {sum(self.shares)}, not 1; write fractions, such as "1/3"')
        if isinstance(self.shares, tuple) and self.kind is Kind.BOTTOM_UP and any(self.shares[:-1]):
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

    def _convert(self) -> None:
        """Convert texts to what they stand for."""
        keep = object.__setattr__
        for name in ("epsilon", "delta", "rho"):
            value = getattr(self, name)
            if value is not None:
                keep(self, name, exact(value, name) if name != "delta" else exact_delta(value))
        keep(self, "unit", _unit(self.unit))
        if self.relation is not None:
            keep(self, "relation", _one_of(Relation, self.relation, "relation"))
        keep(self, "kind", Kind(self.kind))
        if self.totals is not None:
            keep(self, "totals", _one_of(Totals, self.totals, "totals"))
        if isinstance(self.shares, str) and not self.shares_by_root:
            raise ConfigError(f'shares is {self.shares!r}; write one share per level, root first, or "{BY_ROOT}"')
        if self.shares is not None and not self.shares_by_root:
            keep(self, "shares", tuple(exact(share, "a share", zero=True) for share in self.shares))
        if self.level_names is not None:
            keep(self, "level_names", tuple(self.level_names))
        sizes, names = sizes_and_names(self.max_size, self.level_names)
        keep(self, "max_size", sizes)
        keep(self, "level_names", names)
        keep(self, "max_sizes", sizes if isinstance(sizes, tuple) else None)
        keep(self, "largest", sizes[0] if isinstance(sizes, tuple) else sizes)
        if self.intervals is not None:
            keep(self, "intervals", exact(self.intervals, "intervals"))

    def _check_currency(self) -> None:
        """Fill in the relation, and refuse budgets, units and relations that do not go together."""
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
            self._derive()
        except ProblemError as error:
            raise ConfigError(str(error)) from None
        if self.by_root and not self.ranks_alike:
            raise ConfigError(
                'threshold = "root" measures views that differ in sensitivity here; write one size as threshold, or '
                "leave threshold out"
            )
        if self.shares_by_root and not (self.by_root and self.plain):
            wanted = "a budget of epsilon alone that hides entities" if self.by_root else 'threshold = "root"'
            raise ConfigError(
                f'shares = "root" lets the noisy root choose the shares, and wants {wanted}; write this, or one share '
                "per level"
            )

    @property
    def shares_by_root(self) -> bool:
        """Whether shares of epsilon follow from the noisy root."""
        return self.shares == BY_ROOT

    @property
    def by_root(self) -> bool:
        """Whether thresholds follow from the noisy root."""
        return self.threshold == BY_ROOT

    def _derive_view(self) -> None:
        """Set what is measured of a region."""
        of_counts = self.kind is Kind.POSTERIOR and self.unit.is_group and self.totals is not Totals.ROOT
        view = MeasuredView.COUNTS if of_counts or self.kind is Kind.M_H else MeasuredView.CUMULATIVE
        object.__setattr__(self, "view", view if self.threshold is None else MeasuredView.SPLIT)

    def _check_threshold(self) -> None:
        """Raise `ConfigError` unless a release under the other terms can have this threshold."""
        if not self.kind.takes_thresholds:
            raise ConfigError(f"mechanism {self.kind} does not work on split views; leave threshold out")
        if self.by_root:
            self._check_root()
        else:
            require_threshold(self.threshold, self.min_size)
        if self.kind is Kind.TWO_STAGE and self.threshold == self.min_size:
            raise ConfigError(
                f"mechanism two_stage needs some cumulative counts of every region, and threshold is "
                f"{self.min_size:,}, the least size; write a larger one"
            )
        if self.totals is Totals.ROOT:
            raise ConfigError(
                'a split view tells every region\'s number of groups, and totals = "root" publishes that of the root '
                'alone; write totals = "regions", or leave threshold out'
            )
        if self.intervals is not None and self.threshold == self.min_size:
            raise ConfigError(
                f"threshold = {self.threshold:,} measures every region by the ranks of its groups alone, from which "
                "mechanism posterior knows no intervals; leave intervals or threshold out"
            )

    def _check_root(self) -> None:
        """Raise `ConfigError` unless thresholds can follow from the noisy root under the other terms."""
        why = {
            Kind.BOTTOM_UP: "measures the last level alone",
            Kind.TWO_STAGE: "needs counts that a region may not get",
        }
        if self.kind in why:
            raise ConfigError(
                f'threshold = "root" takes thresholds from the noisy root, and mechanism {self.kind} '
                f"{why[self.kind]}; write kuo or posterior, or threshold = 12"
            )
        if self.shares is None or not self.shares[0]:
            has = "no share is stated" if self.shares is None else "the root has a share of 0"
            raise ConfigError(
                f'threshold = "root" takes thresholds from the noisy root, and {has}; write shares = "root" with a '
                'budget of epsilon, or shares with a small one for the root, such as shares = ["1/20", "19/20"] for '
                "two levels, or threshold = 12"
            )

    def _check_sizes(self) -> None:
        """Raise `ConfigError` unless a release can have sizes per level under the other terms."""
        wanted = self.kind.totals_by_level
        if wanted is None:
            usual = " or ".join(f'"{kind}"' for kind in Kind if kind.totals_by_level)
            raise ConfigError(
                f"mechanism {self.kind} has the same sizes on all levels; write mechanism = {usual}, or one max_size"
            )
        if self.threshold is not None:
            raise ConfigError(
                "a split view has the same sizes on all levels; leave threshold out, or write one max_size"
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

    def _check_intervals(self, probability: Fraction) -> None:
        """Raise `ConfigError` unless intervals of this probability follow from what is published."""
        if probability > LARGEST_PROBABILITY:
            raise ConfigError(
                f'intervals is {probability}; write a probability of at most {LARGEST_PROBABILITY}, such as "9/10"'
            )
        if self.kind is not Kind.POSTERIOR:
            raise ConfigError(
                f"only mechanism posterior publishes intervals, and this is {self.kind}; write mechanism = "
                '"posterior", or leave the key out and use `pgsr intervals FOLDER` on the release'
            )
        if self.totals is Totals.NOISY:
            raise ConfigError(
                'intervals are published with public numbers of groups only, and totals = "noisy" publishes none; '
                "leave the key out, and use `pgsr intervals FOLDER` on the release"
            )

    def _derive(self) -> None:
        """Set what follows from the terms.

        Raises:
            ProblemError: a unit and a relation do not go together, or with the public numbers of groups.
        """
        keep, pure = object.__setattr__, self.rho is None and self.delta is None
        require_totals(str(self.totals), self.unit, self.relation)
        keep(self, "laws", Laws.GEOMETRIC if pure else Laws.BEST)
        keep(self, "totals_share", Fraction(1, 10) if self.totals is Totals.NOISY else Fraction(0))
        if self.rho is not None:
            keep(self, "total", Rho(self.rho))
        else:
            assert self.epsilon is not None, "checked"
            keep(self, "total", PureEpsilon(self.epsilon) if pure else Approximate(self.epsilon, self.delta or 0))
        usual = Relation.ADD_REMOVE_OR_EMPTY_GROUP if self.totals is Totals.NOISY else Relation.ADD_REMOVE
        keep(self, "plain", pure and self.unit == Unit.ENTITY and self.relation is usual)
        alike = (self.unit == Unit.ENTITY or self.laws is Laws.GEOMETRIC) and not self.unit.is_group
        keep(self, "ranks_alike", self.plain or (alike and self.max_quantity == 1))
        most = self.largest - self.min_size
        keep(self, "max_excess", most)
        root_alone = Totals.ROOT in (self.kind.totals[0], self.totals)
        keep(self, "kept", Totals.ROOT if root_alone else Totals.REGIONS)
        about = {"max_quantity": self.max_quantity, "max_size": most, "relation": self.relation}
        keep(self, "sensitivity", sensitivity_of(self.view.sensitive, self.unit, **about))
        keep(self, "totals_sensitivity", sensitivity_of_totals(self.unit, self.relation))

    @property
    def may_have_intervals(self) -> bool:
        """Whether such a release can publish intervals, whether it asks for them or not.

        Example:
            >>> Terms("demo", 5, "1", "posterior").may_have_intervals
            True
        """
        try:
            replace(self, intervals="9/10")
        except ConfigError:
            return False
        return True


def _unit(value: Unit | str) -> Unit:
    try:
        return Unit.parse(value)
    except ArgumentError as error:
        raise ConfigError(str(error)) from None


def require_threshold(given: object, min_size: int) -> None:
    """Raise `ConfigError` unless this is a size from `min_size` up."""
    if type(given) is not int or given < 0:
        raise ConfigError(f'threshold is {given!r}; write a public size, a whole number from 0 up, or "{BY_ROOT}"')
    if given < min_size:
        raise ConfigError(
            f"threshold is {given:,}, and min_size = {min_size:,} says that no group is smaller; write min_size or more"
        )
