"""The post-processing problems: one fit of one view, and the papers' variants of it."""

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import lcm

import numpy as np

from pgsr.checks import as_array, require_kind
from pgsr.entities import checked_entities, contradicting_entities
from pgsr.errors import ProblemError
from pgsr.hierarchy import Hierarchy
from pgsr.html import facts_table
from pgsr.measurement import Measurement, Totals
from pgsr.views import View

LARGEST_WEIGHT = 2**40
"""Largest weight, so that weights times counts stay within 64 bits."""


@dataclass(frozen=True, eq=False)
class Problem:
    """Minimise the distance to noisy values y over all x that satisfy the stated conditions:

        minimise    sum over regions r, cells i of  w[r] |x[r, i] - y[r, i]|^norm
        subject to  integer:      x[r, i] integer
                    nonnegative:  x[r, i] >= 0
                    monotone:     x[r, i] <= x[r, i + 1]
                    consistent:   x[r, i] = sum over children c of r of x[c, i]
                    totals:       the (last cumulative, or summed) cell of the root, or of every region, is its public
                                  number of groups
                    entities:     sum_s s x[r, s] = E[r] at the root or at every region, in counts only

    Every variant of the papers is one of the constructors below. Objectives include the constant: they are distances.

    Attributes:
        label: the papers' name.
        measurement: y and the public facts.
        norm: 1 or 2.
        integer, nonnegative, monotone, consistent: which conditions hold.
        totals: whose public total holds, or None.
        weights: non-negative integers w[r], shape (regions,); 0 where a region is not measured.
        entities: numbers of entities E of groups truncated at K, int64 of shape (regions,), or (1,) for the root's; or
            None. See `pgsr.entities`.
    """

    label: str
    measurement: Measurement
    norm: int = 2
    integer: bool = True
    nonnegative: bool = True
    monotone: bool = False
    consistent: bool = True
    totals: Totals | None = Totals.ROOT
    weights: np.ndarray | None = None
    entities: np.ndarray | None = None

    def __post_init__(self) -> None:
        require_kind(
            self.measurement, Measurement, f"{self.label} is about", "give what Geometric(...).measure returned"
        )
        if not isinstance(self.norm, int) or self.norm not in (1, 2):
            raise ProblemError(f"norm {self.norm!r} is unknown; use 1 or 2")
        tree, measured = self.hierarchy, self.measurement.measured
        weights = measured.astype(np.int64) if self.weights is None else as_array(self.weights)
        if weights.shape != (tree.n_regions,) or weights.dtype.kind not in "iu" or (weights < 0).any():
            raise ProblemError("weights are one non-negative integer per region; scale fractions up to integers")
        if int(weights.max()) > LARGEST_WEIGHT:
            raise ProblemError(f"weights exceed {LARGEST_WEIGHT:,}; scale them down")
        weights = np.where(measured, weights, 0).astype(np.int64)
        if (weights[tree.leaves] == 0).any():
            raise ProblemError("a leaf has weight 0, so its values would be arbitrary; measure the last level")
        object.__setattr__(self, "weights", weights)
        if self.totals is Totals.NOISY:
            raise ProblemError("a problem is about the totals of 'root' or 'regions'; noisy ones count as public there")
        if self.totals is Totals.REGIONS:
            _ = self.measurement.region_totals
        if self.entities is not None:
            if self.measurement.view is not View.COUNTS or self.monotone or not self.consistent:
                raise ProblemError(f"entities are a condition of consistent counts; {self.label} is another problem")
            object.__setattr__(self, "entities", checked_entities(self.entities, tree.n_regions))

    @classmethod
    def naive(cls, measurement: Measurement) -> "Problem":
        """Every region alone: counts projected onto {x >= 0 integer, sum x = G}. Kuo et al. 2018, section 4.1."""
        _require(measurement, "naive", View.COUNTS)
        return cls("naive", measurement, consistent=False, totals=Totals.REGIONS)

    @classmethod
    def isotonic(cls, measurement: Measurement, norm: int = 2) -> "Problem":
        """Every region alone: the nearest non-decreasing vector (H_c, H_g). Kuo et al. 2018, sections 4.2 and 4.3."""
        _require(measurement, "isotonic", View.CUMULATIVE, View.RANKED)
        label = ("H_c" if measurement.view is View.CUMULATIVE else "H_g") + f" L{norm}"
        totals = None if measurement.public is Totals.ROOT else Totals.REGIONS
        return cls(label, measurement, norm=norm, monotone=True, consistent=False, totals=totals)

    @classmethod
    def mean_consistency(cls, measurement: Measurement) -> "Problem":
        """Least squares under consistency alone, weights 1 / variance, signs and fractions free. Hay et al. 2010."""
        _require(measurement, "mean consistency", View.COUNTS, View.CUMULATIVE)
        return cls(
            "mean consistency",
            measurement,
            integer=False,
            nonnegative=False,
            totals=None,
            weights=precision_weights(measurement),
        )

    @classmethod
    def m_h(
        cls, measurement: Measurement, totals: Totals | str = Totals.ROOT, entities: np.ndarray | None = None
    ) -> "Problem":
        """M_H: the nearest consistent non-negative integer counts. Fioretto and Van Hentenryck 2019, section 5.

        Args:
            measurement: of counts.
            totals: whose number of groups holds, "root" or "regions".
            entities: numbers of entities that hold besides, shape (regions,), or (1,) for the root's alone. Sizes stop
                at K, so they must be those of the truncated groups: `pgsr.entities.entity_totals` where they are
                public, `noisy_entities`, which costs budget, where they are not.
        """
        _require(measurement, "M_H", View.COUNTS)
        label = "M_H" if entities is None else "M_H with entities"
        return cls(label, measurement, totals=Totals.parse(totals), entities=entities)

    @classmethod
    def m_c(cls, measurement: Measurement, norm: int = 2, totals: Totals | str = Totals.ROOT) -> "Problem":
        """M_c: the nearest consistent monotone cumulative counts. Fioretto and Van Hentenryck 2019, section 8."""
        _require(measurement, "M_c", View.CUMULATIVE)
        label = "M_c L1" if isinstance(norm, int) and norm == 1 else "M_c"
        return cls(label, measurement, norm=norm, monotone=True, totals=Totals.parse(totals))

    def relaxed(self) -> "Problem":
        """The same problem without integrality (the papers' M^r before its rounding)."""
        return self if not self.integer else replace(self, label=f"{self.label}^r", integer=False)

    @property
    def hierarchy(self) -> Hierarchy:
        return self.measurement.hierarchy

    @property
    def view(self) -> View:
        assert isinstance(self.measurement.view, View), "constructors refuse mixed views"
        return self.measurement.view

    @property
    def target(self) -> np.ndarray:
        """y; shape (regions, K + 1), int64."""
        return self.measurement.matrix

    @property
    def w(self) -> np.ndarray:
        """The weights, never None; shape (regions,), int64."""
        assert self.weights is not None
        return self.weights

    @property
    def n_unknowns(self) -> int:
        if self.measurement.view is View.RANKED:
            return sum(len(values) for values in self.measurement.values)
        return self.hierarchy.n_regions * (self.measurement.max_size + 1)

    @property
    def exceeds_arithmetic(self) -> str | None:
        """Why sums along the trees and exact proofs in 64-bit integers are not possible, or None."""
        values = [self.target] if isinstance(self.measurement.values, np.ndarray) else list(self.measurement.values)
        largest = max((int(np.abs(part).max(initial=0)) for part in values), default=0)
        largest = max(largest, int(np.abs(self.measurement.totals).max(initial=0)))
        if largest * int(self.w.max()) * self.hierarchy.n_levels > 2**50:
            return "counts times weights exceed 2^50; scale the weights down"
        return None

    @property
    def contradiction(self) -> str | None:
        """Why no point satisfies the conditions, or None if some point does."""
        if self.nonnegative and self.totals is not None and int(self.measurement.totals.min()) < 0:
            return "no non-negative counts add up to a negative public total"
        if self.consistent and self.totals is Totals.REGIONS:
            reason = _contradicting_totals(self.hierarchy, self.measurement.region_totals)
            if reason is not None:
                return reason
        if self.entities is not None:
            totals = {None: None, Totals.ROOT: self.measurement.totals[:1]}.get(self.totals, self.measurement.totals)
            conditions = self.measurement.max_size, self.nonnegative, self.integer
            return contradicting_entities(self.hierarchy, self.entities, totals, *conditions)
        return None

    @cached_property
    def _text(self) -> str:
        totals = f", totals={str(self.totals)!r}" if self.totals else ""
        return f"Problem({self.label}{totals}, {self.n_unknowns:,} unknowns)"

    def __repr__(self) -> str:
        return self._text

    def _repr_html_(self) -> str:
        stated = ("integer", "nonnegative", "monotone", "consistent")
        totals = {None: None, Totals.ROOT: "the root's", Totals.REGIONS: "every region's"}[self.totals]
        return facts_table(
            "Problem",
            {
                "label": self.label,
                "distance": "sum of squares" if self.norm == 2 else "sum of magnitudes",
                "conditions": ", ".join(name for name in stated if getattr(self, name)) or "none",
                "public numbers of groups that hold": totals,
                "numbers of entities": None if self.entities is None else f"of {len(self.entities):,} regions",
                "measured view": self.measurement.label,
                "regions by level, root first": self.hierarchy.levels_text,
                "sizes": f"0..{self.measurement.max_size:,}",
                "unknowns": self.n_unknowns,
                "epsilon": str(sum(self.measurement.epsilon, self.measurement.totals_epsilon)),
                "no point satisfies it": self.contradiction,
            },
        )


def precision_weights(measurement: Measurement) -> np.ndarray:
    """Integers proportional to epsilon_level^2, so to 1 / variance of the noise; shape (regions,)."""
    squares = [epsilon**2 for epsilon in measurement.epsilon]
    scale = lcm(*(square.denominator for square in squares))
    integers = [int(square * scale) for square in squares]
    common = int(np.gcd.reduce([i for i in integers if i], dtype=object)) if any(integers) else 1
    weights = [Fraction(i, common).numerator for i in integers]
    if max(weights) > LARGEST_WEIGHT:
        raise ProblemError("the shares need integer weights beyond 2^40; use shares with smaller denominators")
    return np.array(weights, np.int64)[measurement.hierarchy.level_of]


def _contradicting_totals(tree: Hierarchy, totals: np.ndarray) -> str | None:
    """Why no consistent counts have these public totals, or None if some do."""
    for level in range(tree.n_levels - 1):
        below = tree.sum_children(totals, level)
        here = totals[tree.level(level)]
        if (here != below).any():
            first = int(np.argmax(here != below))
            name = " / ".join(tree.paths[tree.level(level).start + first])
            return (
                f"the public total of {name} is {int(here[first]):,}, those of the regions below it add up to "
                f"{int(below[first]):,}, so no consistent counts have both"
            )
    return None


def _require(measurement: Measurement, problem: str, *views: View) -> None:
    require_kind(measurement, Measurement, f"{problem} is about", "give what Geometric(...).measure returned")
    if measurement.view not in views:
        wanted = " or ".join(map(repr, views))
        raise ProblemError(f"{problem} needs {wanted}, this measurement is of {measurement.view!r}; measure that view")
