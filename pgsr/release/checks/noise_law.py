"""Test whether the noise in a folder has the laws that its manifest states.

Some numbers of a release are known twice, and what remains of them is noise alone: a region less those below it,
R[r, s] = y[r, s] - sum over children c of y[c, s], and a region's last cumulative count, or sum of counts, less its
number of groups G[r]. Ranked sizes have no such numbers. `noise_residuals` finds them.

Under the stated laws the law P0 of every R is known exactly. |R| is sorted into bins, and for other scales with bin
probabilities P1 the product over independent residuals of P1(bin) / P0(bin) has expectation 1 if the statement is true.
So has its mean over many alternatives and families of residuals. By Markov's inequality this evidence is 10^9 or more
with chance 10^-9 at most if the statement is true; approximate alternatives only cost power. Residuals of split views
are noise alone but for a chance of 10^-13 (`DOUBT`), which is kept off the 10^-9.

Where thresholds follow from the noisy root, residuals without its noise are independent of what it chose; the product
of those with it is divided by the number of sets that it may choose (`Family.choices`). Where it chose shares, too, its
first values less the last ones are noise alone, of a law of their own (`root_steps_refuted`).

Source: the likelihood ratio as evidence, Wald 1945 (sequential tests); its mean over dependent families, Vovk and Wang
2021 (E-values: calibration, combination and applications).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import product

import numpy as np

from pgsr.noise.measurement import Measurement
from pgsr.noise.shares_by_root import candidates, log_pmf_of_rest
from pgsr.privacy.laws import DoubleGeometric, Law
from pgsr.privacy.laws.shapes import Shape
from pgsr.release.checks.noise_residuals import DOUBT, ResidualFamily, Sum, families

FALSE_ALARM = 1e-9
"""The largest chance that noise of the stated law is called wrong."""

FACTORS = (
    *(0.001, 0.03, 0.1, 0.2, 1 / 3, 0.5, 0.6, 0.7, 0.8, 0.87, 0.93, 0.96, 0.98, 0.99),
    *(1.01, 1.02, 1.04, 1.07, 1.15, 1.25, 1.4, 1.6, 2.0, 3.0, 5.0, 10.0, 30.0, 1000.0),
)
"""The alternatives that are tried: the true scale of the noise divided by the stated one."""

EXACT_BELOW = 12.0
"""The standard deviation of a residual below which alternatives are computed exactly."""

_TAILS = (1, 0.98, 0.95, *(q / 10 for q in range(9, 0, -1)), 0.05, 0.02, 0.01, 1e-3, 1e-4, 1e-6, 1e-9, 1e-13, 1e-18)
"""The chances P(|R| > m) at which bins end."""

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)


@dataclass(frozen=True)
class NoiseVerdict:
    """The answer of the residuals on the stated scales.

    Attributes:
        n_values: residuals looked at, in all families.
        evidence: natural logarithm of E.
        most: an epsilon this many times the stated one, or more, would be found (chance of missing it about 1 in 1,000,
            by the normal approximation); None if none would.
        least: the same for epsilons this many times the stated one, or less.
    """

    n_values: int
    evidence: float
    most: float | None
    least: float | None

    @property
    def refuted(self) -> bool:
        """Tell whether the stated scales are wrong; a false alarm has a chance of 10^-9 at most."""
        return bool(self.evidence >= -np.log(FALSE_ALARM - DOUBT))

    @property
    def can_tell(self) -> bool:
        """Tell whether any wrong scale would be found."""
        return self.most is not None or self.least is not None


def judge(measurement: Measurement, stated: Sequence[Law | None], by_root: bool = False) -> NoiseVerdict:
    """Test the residuals of a measurement against the stated laws of noise per level (None where none was drawn).

    `by_root` says that thresholds of split views follow from the noisy root.

    Complexity: O(regions x sizes), and some 0.1 s per level for the laws, the first time that a process needs them.

    Example:
        >>> from fractions import Fraction
        >>> from pgsr import CountOfCounts, Hierarchy, View
        >>> from pgsr.noise import Geometric
        >>> from pgsr.privacy import Seeded
        >>> from pgsr.privacy.laws import DoubleGeometric
        >>> tree = Hierarchy.from_paths([("US", f"county {i}") for i in range(40)])
        >>> truth = CountOfCounts(tree, np.ones((40, 21), np.int64))
        >>> noisy = Geometric(View.CUMULATIVE, epsilon=1).measure(truth, Seeded("demo"))  # scale 2 on both levels
        >>> right, wrong = DoubleGeometric(Fraction(2)), DoubleGeometric(Fraction(8))
        >>> judge(noisy, (right, right)).refuted, judge(noisy, (wrong, wrong)).refuted
        (False, True)

    The false alarm is shown by `test_release_noise_law.py`.
    """
    found = [family for family in families(measurement, by_root) if family.size]
    if not found:
        return NoiseVerdict(0, 0.0, None, None)
    laws: dict[Sum, SumLaw] = {}
    for family in found:
        for kind in family.residuals:
            laws.setdefault(kind, _sum_law(kind, tuple(stated)))
    alternatives = list(_alternatives(len(stated)))
    prior = np.log(len(found) * len(alternatives))
    evidence = np.array([_log_ratios(family, laws, alternatives) - np.log(family.choices) for family in found])
    total = float(np.logaddexp.reduce(evidence.ravel()) - prior)
    told = {f for f in FACTORS if any(_is_found(family, laws, f, prior) for family in found)}
    small = [f for f in FACTORS if f < 1 and all(g in told for g in FACTORS if g <= f)]
    large = [f for f in FACTORS if f > 1 and all(g in told for g in FACTORS if g >= f)]
    return NoiseVerdict(
        sum(family.size for family in found),
        total,
        1 / max(small) if small else None,
        1 / min(large) if large else None,
    )


def root_steps_refuted(measurement: Measurement, first_scale: Fraction) -> bool:
    """Tell whether the root's first values, of this scale, cannot have become its last ones in one noise step.

    Alternatives to the law of their difference, `log_pmf_of_rest`, are that some part of the sizes has 0 with another
    chance or noise of another scale. The false alarm is below `DOUBT`.
    """
    first, law, found = measurement.first_root, measurement.law(0), []
    assert first is not None, "shares follow from it"
    assert isinstance(law, DoubleGeometric), "of a pure epsilon"
    rest = first - measurement.row(0)
    if law.scale == first_scale:
        return bool(rest.any())
    stated = log_pmf_of_rest(rest, first_scale, law.scale)
    for factor, zero, part in product(FACTORS, (1e-9, 0.3, 0.6, 0.9, 1 - 1e-9), (1 / len(rest), 0.5, 1 - 1e-9)):
        scale = float(first_scale) * factor
        other = np.log((1 - zero) * np.tanh(0.5 / scale)) - np.abs(rest) / scale
        other = np.logaddexp(other, np.where(rest == 0, np.log(zero), -np.inf))
        found.append(float((np.logaddexp(np.log(1 - part) + stated, np.log(part) + other) - stated).sum()))
    choices = len(found) * len(candidates(measurement.hierarchy.n_levels))
    return bool(np.logaddexp.reduce(found) - np.log(choices) >= -np.log(DOUBT))


class SumLaw:
    """The law of |R| under the stated laws, in bins."""

    def __init__(self, kind: Sum, stated: Sequence[Law | None]) -> None:
        pairs = enumerate(zip(stated, kind, strict=True))
        self._stated = [(law, n, level) for level, (law, n) in pairs if n and law is not None]
        assert sum(n for _, n, _ in self._stated) == sum(kind), "noise was drawn on a level that states none"
        parts = self.parts(np.ones(len(stated)))
        sd = self.deviation(np.ones(len(stated)))
        top = max(60, int(35 * sd))
        self.points = np.unique(np.concatenate([np.arange(min(top, 40)), np.geomspace(1, top, 200).astype(np.int64)]))
        self.beyond = np.minimum.accumulate(np.clip(probability_beyond(self.points, parts), 0, 1))
        wanted = np.searchsorted(-self.beyond, -np.array(_TAILS)).clip(0, len(self.points) - 1)
        exact = sum(n for _, n in parts) == 1
        wanted = np.unique(wanted[self.beyond[wanted] > (0 if exact else 1e-10)])
        self.edges = self.points[wanted]
        self.null = -np.diff(self.beyond[wanted], prepend=1, append=0)
        self._found: dict[tuple[float, ...], np.ndarray] = {}

    def deviation(self, factors: np.ndarray) -> float:
        """Compute the standard deviation of R if every level's scale were `factors` times the stated one."""
        return float(np.sqrt(sum(n * shape.variance for shape, n in self.parts(factors))))

    def parts(self, factors: np.ndarray) -> list[tuple[Shape, int]]:
        """List the shapes of the draws that R is the sum of, each with their number, at `factors` times the scales."""
        return [(law.shape(float(factors[level])), n) for law, n, level in self._stated]

    @cached_property
    def _nominal(self) -> float:
        return self.deviation(np.ones(1 + max(level for _, _, level in self._stated)))

    def count(self, residuals: np.ndarray) -> np.ndarray:
        """Count the residuals in every bin."""
        bins = np.searchsorted(self.edges, np.abs(residuals), side="left")
        return np.bincount(bins, minlength=len(self.null))

    def alternative(self, factors: np.ndarray) -> np.ndarray:
        """Compute the chances of the bins if every level's scale were `factors` times the stated one.

        A millionth of the stated law is mixed in, so that no residual is impossible.
        """
        return (1 - 1e-6) * self.law(factors) + 1e-6 * self.null

    def law(self, factors: np.ndarray) -> np.ndarray:
        """Compute these chances without the mixture: exactly where the noise is small and whole numbers matter.

        Elsewhere the stated law is stretched to the other standard deviation, which is quicker. Factors of levels that
        have no draw in R make no difference, so what was found for others is found again.
        """
        own = tuple(float(factors[level]) for _, _, level in self._stated)
        if own not in self._found:
            self._found[own] = self._law(factors)
        return self._found[own]

    def _law(self, factors: np.ndarray) -> np.ndarray:
        if self._nominal < EXACT_BELOW:
            beyond = np.clip(probability_beyond(self.edges, self.parts(factors)), 0, 1)
        else:
            stretch = max(self.deviation(factors), 1e-9) / self._nominal
            beyond = np.interp((self.edges + 0.5) / stretch, self.points + 0.5, self.beyond, right=0.0)
        found = np.maximum(-np.diff(np.minimum.accumulate(beyond), prepend=1, append=0), 0)
        return found / found.sum()


_sum_law = lru_cache(maxsize=64)(SumLaw)


def probability_beyond(sizes: np.ndarray, parts: list[tuple[Shape, int]]) -> np.ndarray:
    """Compute P(|R| > m), R a sum of n independent draws of each law.

    With f(t) the characteristic function of one draw,

        P(|R| <= m) = (1 / pi) integral from 0 to pi of prod f(t)^n sin((m + 1/2) t) / sin(t / 2) dt

    by summing exp(i k t) over |k| <= m. One draw has its law's own probabilities. Otherwise the integral is taken by
    Gauss-Legendre in panels of at most two oscillations, up to where prod f is below 1e-13; the error is some 1e-12, so
    bins end where less than 1e-10 would be left.
    """
    if sum(n for _, n in parts) == 1:
        return parts[0][0].probability_beyond(sizes)
    end = np.pi
    while _characteristic(np.array([end / 2]), parts)[0] < 1e-13:
        end /= 2
    # Between the halvings of the range f changes little; within each, panels are short enough for the sine.
    width = min(4 * np.pi / (float(sizes.max()) + 1), end)
    breaks = [0.0]
    for high in end / 2.0 ** np.arange(24, -1, -1):
        breaks.extend(np.linspace(breaks[-1], high, 1 + max(1, int(np.ceil((high - breaks[-1]) / width))))[1:])
    low, high = np.array(breaks[:-1]), np.array(breaks[1:])
    t = ((high + low)[:, None] / 2 + (high - low)[:, None] / 2 * _NODES).ravel()
    weight = ((high - low)[:, None] / 2 * _WEIGHTS).ravel() * _characteristic(t, parts) / np.sin(t / 2) / np.pi
    return 1 - np.array([np.sin((size + 0.5) * t) @ weight for size in sizes])


def _characteristic(t: np.ndarray, parts: list[tuple[Shape, int]]) -> np.ndarray:
    found = np.zeros(len(t))
    for shape, n in parts:
        found += n * shape.log_characteristic(t)
    return np.exp(found)


def _alternatives(n_levels: int) -> Iterator[np.ndarray]:
    """List factors per level: all levels wrong by the same one, or one level alone."""
    for factor in FACTORS:
        yield np.full(n_levels, factor)
        for level in range(n_levels if n_levels > 1 else 0):
            factors = np.ones(n_levels)
            factors[level] = factor
            yield factors


def _log_ratios(family: ResidualFamily, laws: dict[Sum, SumLaw], alternatives: list[np.ndarray]) -> np.ndarray:
    """Compute the log of the product of P1 / P0 over the family's residuals, for every alternative."""
    found = np.zeros(len(alternatives))
    for kind, values in family.residuals.items():
        law = laws[kind]
        counted = law.count(values)
        found += [float(counted @ np.log(law.alternative(factors) / law.null)) for factors in alternatives]
    return found


def _is_found(family: ResidualFamily, laws: dict[Sum, SumLaw], factor: float, prior: float) -> bool:
    """Tell whether evidence three standard deviations below its mean would do, were all scales wrong by `factor`."""
    mean = spread = 0.0
    for kind, values in family.residuals.items():
        law = laws[kind]
        ratio = np.log(law.alternative(np.full(len(kind), factor)) / law.null)
        true = law.law(np.full(len(kind), factor))
        each = float(true @ ratio)
        mean += len(values) * each
        # The difference of squares would be the same, and below 0 after rounding where one bin has all the chance.
        spread += len(values) * float(true @ (ratio - each) ** 2)
    return bool(mean - 3 * np.sqrt(spread) - prior - np.log(family.choices) >= -np.log(FALSE_ALARM))
