"""Precisions of runs: near in floats, and exact where a rounding depends on them.

Sizes that are merged by inverse variance are quotients of sums of precisions. In floats a half may come out a little
above or below itself, and is then not rounded to even. Precisions are ratios of whole numbers. So each is kept as a
float, which decides most roundings, beside what it was made of, from which `exact` computes it as a fraction.

Both kinds have `near`, the precisions as floats, 0 where nothing was measured, shape (runs,); `error`, the bound on
their relative errors; `exact(run)`, one as a fraction; and `given(runs)`, some in this order, to be kept by themselves.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from pgsr.data.rounding import nearest

UNIT_ROUNDING = 2.0**-53
"""The largest relative error of one operation in floats."""

SPARE_ROUNDINGS = 16
"""More operations than any one precision or merged size takes, besides the sums over parts."""


@dataclass(frozen=True, eq=False)
class GivenPrecisions:
    """Precisions that are whole numbers of some few units, as those of fits: groups times the precision of one.

    Attributes:
        count: how many units, int64.
        which: of which unit, by its place.
        units: the different units.
    """

    count: np.ndarray
    which: np.ndarray
    units: tuple[Fraction, ...]

    error = SPARE_ROUNDINGS * UNIT_ROUNDING

    @classmethod
    def of(cls, values: Sequence[Fraction]) -> "GivenPrecisions":
        """Make precisions of fractions."""
        return cls(np.ones(len(values), np.int64), np.arange(len(values)), tuple(values))

    @classmethod
    def none(cls, n: int) -> "GivenPrecisions":
        """Make n precisions of 0."""
        return cls(np.zeros(n, np.int64), np.zeros(n, np.int64), (Fraction(0),))

    @classmethod
    def joined(cls, parts: "Sequence[GivenPrecisions]") -> "GivenPrecisions":
        """Put precisions one after the other."""
        places: dict[Fraction, int] = {}
        count, which = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        for part in parts:
            place = np.array([places.setdefault(unit, len(places)) for unit in part.units], np.int64)
            count.append(part.count)
            which.append(place[part.which])
        return cls(np.concatenate(count), np.concatenate(which), tuple(places))

    def given(self, runs: np.ndarray) -> "GivenPrecisions":
        return GivenPrecisions(self.count[runs], self.which[runs], self.units)

    @property
    def near(self) -> np.ndarray:
        return self.count * np.array([float(unit) for unit in self.units])[self.which]

    def exact(self, run: int) -> Fraction:
        return int(self.count[run]) * self.units[self.which[run]]


@dataclass(frozen=True, eq=False)
class MatchedPrecisions:
    """The precisions of matched pairs, above and below, of which sizes are merged.

    Attributes:
        above, below: of the runs that were matched.
        top, bottom: the run above and the run below of every pair.
        silent: pairs whose run below says nothing of the size; bool.
    """

    above: "Precisions"
    below: "Precisions"
    top: np.ndarray
    bottom: np.ndarray
    silent: np.ndarray

    @property
    def near(self) -> tuple[np.ndarray, np.ndarray]:
        """The precisions of both sides as floats, relatively off by `error` at most."""
        return self.above.near[self.top], np.where(self.silent, 0.0, self.below.near[self.bottom])

    @property
    def error(self) -> float:
        return max(self.above.error, self.below.error)

    def exact(self, pair: int) -> tuple[Fraction, Fraction]:
        """Compute the precisions of one pair as fractions."""
        below = Fraction(0) if self.silent[pair] else self.below.exact(int(self.bottom[pair]))
        return self.above.exact(int(self.top[pair])), below

    def weighted(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Average the sizes x above and y below by precision, and round, halves to even; y where there is none.

        No term is negative, so a mean in floats is relatively off by little more than twice as much as precisions are.
        """
        px, py = self.near
        with np.errstate(invalid="ignore"):
            z = np.where(px + py > 0, (px * x + py * y) / (px + py), y)
        out = nearest(z)
        unsure = np.abs(z - np.floor(z) - 0.5) <= (3 * self.error + SPARE_ROUNDINGS * UNIT_ROUNDING) * z
        for pair in np.flatnonzero(unsure & (x != y) & (px > 0) & (py > 0)).tolist():
            own, other = self.exact(pair)
            out[pair] = round((own * int(x[pair]) + other * int(y[pair])) / (own + other))
        return out

    def averaged(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Average the sizes of pairs whose precisions are above 0, and round, halves to even; else the known one."""
        px, py = self.near
        return nearest(np.where(px > 0, np.where(py > 0, (x + y) / 2, x), y))


@dataclass(frozen=True, eq=False)
class MergedPrecisions:
    """Precisions of groups with merged sizes: a run has the mean variance of its pairs, each 1 / (1 / Vx + 1 / Vy).

    Attributes:
        pairs: their precisions, those of a run together.
        count: the groups of every pair.
        first: the pairs of run i are first[i] .. first[i + 1] - 1; shape (runs + 1,).
        averaged: whether sizes were averaged whatever their precisions, so that the variance is (Vx + Vy) / 4.
    """

    pairs: MatchedPrecisions
    count: np.ndarray
    first: np.ndarray
    averaged: bool

    @cached_property
    def near(self) -> np.ndarray:
        px, py = self.pairs.near
        with np.errstate(divide="ignore"):
            variance = 1 / (px + py)
            if self.averaged:
                variance = np.where((px > 0) & (py > 0), (1 / px + 1 / py) / 4, variance)
            if not len(variance):
                return variance
            groups, total = (np.add.reduceat(part, self.first[:-1]) for part in (self.count, variance * self.count))
            return 1 / (total / groups)

    @property
    def error(self) -> float:
        return self.pairs.error + (int(np.diff(self.first).max(initial=0)) + SPARE_ROUNDINGS) * UNIT_ROUNDING

    @cached_property
    def _known(self) -> dict[int, Fraction]:
        return {}

    def exact(self, run: int) -> Fraction:
        if run not in self._known:
            self._known[run] = self._exact(range(self.first[run], self.first[run + 1]))
        return self._known[run]

    def given(self, runs: np.ndarray) -> GivenPrecisions:
        return GivenPrecisions.of([self.exact(run) for run in runs.tolist()])

    def _exact(self, pairs: range) -> Fraction:
        groups, variance = 0, Fraction(0)
        for pair in pairs:
            px, py = self.pairs.exact(pair)
            if px + py == 0:
                return Fraction(0)
            one = (1 / px + 1 / py) / 4 if self.averaged and px and py else 1 / (px + py)
            n = int(self.count[pair])
            groups, variance = groups + n, variance + n * one
        return groups / variance


Precisions = GivenPrecisions | MergedPrecisions
