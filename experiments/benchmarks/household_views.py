"""What to measure when whole groups are hidden: errors of complete releases, by what is measured, at equal budgets.

Neighbours differ by the size of one group, and every region's number of groups is public. Every level has the same
share of the budget. All releases are integer, non-negative and add up, but for the first two rows of a budget, which
show what noise costs before any post-processing. The noise repeats and is no secure noise: normal draws, rounded where
integers are measured, stand for the discrete Gaussian law.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import sqrt, tanh
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import root_scalar

from pgsr import CountOfCounts, Geometric, Hierarchy, Problem, Seeded, View, metrics
from pgsr.algorithms import CumulativeProjection, Posterior, RegionTotalsProjection
from pgsr.algorithms.tree_rounding import integers_near
from pgsr.datasets import census_like, taxi_like
from pgsr.experiments.benchmarks.prefix_sums import coefficients, square_root
from pgsr.experiments.benchmarks.size_tree import SizeTree
from pgsr.models import Flow
from pgsr.privacy.neighbours import Relation, Unit
from pgsr.privacy.sensitivity import Sensitivity, sensitivity_of

if TYPE_CHECKING:
    import pandas as pd

PARTS = 64
"""Real cumulative counts are handed to M_c in multiples of 1 / PARTS."""


@dataclass(frozen=True)
class Budget:
    """A budget of a whole release: rho of zero-concentrated privacy, or epsilon of pure privacy."""

    kind: str
    amount: float

    def __str__(self) -> str:
        return f"{self.kind} {self.amount:g}"


BUDGETS = (Budget("rho", 0.02), Budget("rho", 0.2), Budget("rho", 2), Budget("epsilon", 0.2), Budget("epsilon", 2))


def populations() -> dict[str, Callable[[], CountOfCounts]]:
    """The populations by name: households by state, and taxis by borough with many more sizes than groups per size."""
    return {
        "households, 51 states, K = 20": lambda: census_like("states", 20, 1_000_000),
        "households, 51 states, K = 100": lambda: census_like("states", 100, 1_000_000),
        "taxis, 6 boroughs, K = 1,000": _boroughs,
    }


def measured(truth: CountOfCounts, budget: Budget, seed: int) -> Iterator[tuple[str, list[float]]]:
    """Yield, for every way, its name and the earth mover's distance by level (mean over a level's regions)."""
    noisy = _Noise(truth, budget, np.random.default_rng([seed, int(1000 * budget.amount)]))
    change = sensitivity_of(View.COUNTS, Unit.GROUP, max_size=truth.max_size, relation=Relation.REPLACE)
    counts = noisy.added(truth.counts, change)
    missing = (truth.totals - counts.sum(axis=1)) / counts.shape[1]
    yield "counts, added up", noisy.errors(np.cumsum(counts + missing[:, None], axis=1))
    yield "counts, M_H", noisy.errors(noisy.nearest_counts(counts))
    yield "counts, posterior", noisy.errors(noisy.posterior_of_counts(seed))
    for branching in (2,) if budget.kind == "rho" else (4, 16):
        tree = SizeTree(truth.max_size, branching)
        change = tree.sensitivity(Unit.GROUP, Relation.REPLACE)
        found = np.cumsum(tree.counts(noisy.added(tree.of(truth.counts), change), truth.totals), axis=1)
        variance = noisy.variance(change) * tree.cumulative_variances().mean()
        yield f"tree of {branching}, added up", noisy.errors(found)
        yield f"tree of {branching}, M_c", noisy.errors(noisy.nearest_cumulative(found))
        yield f"tree of {branching}, posterior", noisy.errors(noisy.posterior_of_cumulative(found, variance))
    if budget.kind == "rho":
        found = noisy.by_square_root()
        yield "square root, added up", noisy.errors(found)
        yield "square root, M_c", noisy.errors(noisy.nearest_cumulative(found))


def frame(names: Sequence[str], budgets: Sequence[Budget], seeds: int, say: Callable[[], None]) -> "pd.DataFrame":
    """Measure with this many seeds, a row per population, budget and way: mean distance and standard error by level."""
    import pandas as pd

    rows = []
    for name in names:
        truth = populations()[name]()
        for budget in budgets:
            found: dict[str, list[list[float]]] = {}
            for seed in range(seeds):
                for way, errors in measured(truth, budget, seed):
                    found.setdefault(way, []).append(errors)
                say()
            for way, errors in found.items():
                row: dict[str, object] = {"population": name, "budget": str(budget), "measured": way}
                for level in range(truth.hierarchy.n_levels):
                    at_level = np.array([one[level] for one in errors])
                    row[f"level {level}"] = at_level.mean()
                    row[f"level {level}, standard error"] = at_level.std(ddof=1) / sqrt(seeds) if seeds > 1 else None
                rows.append(row)
    return pd.DataFrame(rows)


@dataclass
class _Noise:
    """The noise of one release, and the post-processing that needs to know it."""

    truth: CountOfCounts
    budget: Budget
    generator: np.random.Generator

    @property
    def share(self) -> float:
        return self.budget.amount / self.truth.hierarchy.n_levels

    def variance(self, change: Sensitivity) -> float:
        """The variance of the noise on one number."""
        if self.budget.kind == "rho":
            return change.l2_squared / (2 * self.share)
        return 2 * (change.l1 / self.share) ** 2

    def added(self, values: np.ndarray, change: Sensitivity) -> np.ndarray:
        """Add noise to integers that change by this sensitivity."""
        if self.budget.kind == "rho":
            return values + np.rint(self.generator.normal(0, sqrt(self.variance(change)), values.shape))
        success = -np.expm1(-self.share / change.l1)
        first, second = self.generator.geometric(success, (2, *values.shape))
        return values + first - second

    def by_square_root(self) -> np.ndarray:
        """Measure through the square root of the triangle of ones, and estimate the cumulative counts."""
        truth, n = self.truth, self.truth.max_size + 1
        variance = square_root(truth.max_size).l2_squared[Relation.REPLACE] / (2 * self.share)
        f = coefficients(n)
        root = np.array([np.concatenate([np.zeros(j), f[: n - j]]) for j in range(n)]).T
        noise = self.generator.normal(0, sqrt(variance), (len(truth.counts), n)) @ root.T
        covariance_with_last = root @ root[-1]
        found = np.cumsum(truth.counts, axis=1) + noise
        missing = truth.totals - found[:, -1]
        return found + missing[:, None] * covariance_with_last / covariance_with_last[-1]

    def nearest_cumulative(self, cumulative: np.ndarray) -> np.ndarray:
        """Find the nearest cumulative counts that do not fall, add up and have the public totals, then integers."""
        tree = self.truth.hierarchy
        values = np.rint(PARTS * cumulative).astype(np.int64)
        problem = Problem.of(values, tree, View.CUMULATIVE, groups=PARTS * self.truth.totals, integer=False)
        near = CumulativeProjection().solve(problem).estimate.values / PARTS
        return integers_near(tree, near, int(self.truth.totals[0]), self.truth.totals)

    def nearest_counts(self, noisy: np.ndarray) -> np.ndarray:
        """Solve M_H with every region's total."""
        measurement = replace(Geometric(View.COUNTS, 1).blank(self.truth), values=noisy.astype(np.int64))
        solved = Flow(around=RegionTotalsProjection()).solve(Problem.m_h(measurement, totals="regions"))
        return np.cumsum(solved.estimate.counts().counts, axis=1)

    def posterior_of_counts(self, seed: int) -> np.ndarray:
        """Release by `Posterior` from counts with double-geometric noise, for rho of the epsilon that spends it.

        A replaced group moves two counts by one, each of which spends e tanh(e / 2) of rho at epsilon e.
        """
        epsilon = self.share
        if self.budget.kind == "rho":
            found = root_scalar(lambda e: 2 * e * tanh(e / 2) - self.share, bracket=(1e-9, 1e3))
            epsilon = 2 * found.root
        whole = Fraction(epsilon).limit_denominator(10**6) * self.truth.hierarchy.n_levels
        release = Posterior().apply(Geometric(View.COUNTS, whole).measure(self.truth, Seeded("units", seed)))
        return np.cumsum(release.estimate.counts().counts, axis=1)

    def posterior_of_cumulative(self, cumulative: np.ndarray, variance: float) -> np.ndarray:
        """Release by `Posterior` as if cumulative counts had independent double-geometric noise of this variance.

        They have not: their noise is that of sums, and neighbours share most of it. So the posterior's own variances
        would be wrong, and only its means are used.
        """
        scale = Fraction(sqrt(variance / 2)).limit_denominator(1_000)
        blank = Geometric(View.CUMULATIVE, self.truth.hierarchy.n_levels / scale).blank(self.truth)
        release = Posterior().apply(replace(blank, values=np.rint(cumulative).astype(np.int64)))
        return np.cumsum(release.estimate.counts().counts, axis=1)

    def errors(self, cumulative: np.ndarray) -> list[float]:
        distances = np.abs(cumulative - np.cumsum(self.truth.counts, axis=1)).sum(axis=1)
        return metrics.level_means(self.truth, distances)


def _boroughs() -> CountOfCounts:
    whole = taxi_like(1_000, pickups=2_000_000)
    rows = whole.hierarchy.level(1)
    return CountOfCounts(Hierarchy.from_paths(whole.hierarchy.paths[rows]), whole.counts[rows], name="taxi boroughs")
