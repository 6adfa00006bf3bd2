"""The standings of arms over all places: multiples of the smallest error, mean ranks, and how sure they are.

A block is a data set at an epsilon. In a block an arm's score is the geometric mean over levels of its mean error over
the smallest one of the level; its rank is by score, and an arm without results is last. Replicates share their noise
between arms that measure alike, so a bootstrap draws replicates of a block anew, the same ones for all arms.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pgsr.experiments.engine.summary import LevelErrors

RESAMPLES = 2_000


@dataclass(frozen=True, eq=False)
class BudgetErrors:
    """The errors of a data set at an epsilon.

    Attributes:
        data, epsilon: which.
        values: errors, shape (arms, levels, replicates), NaN for an arm without results.
    """

    data: str
    epsilon: float
    values: np.ndarray

    def scores(self, replicates: np.ndarray) -> np.ndarray:
        """Compute the scores of arms from replicates drawn anew.

        Args:
            replicates: indices, shape (resamples, replicates).

        Returns:
            Shape (resamples, arms); infinite for an arm without results.
        """
        means = np.moveaxis(self.values[:, :, replicates].mean(axis=3), 2, 0)
        least = np.nanmin(means, axis=1, keepdims=True)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = np.where(means == least, 1.0, means / least)
            scores = np.exp(np.log(ratios).mean(axis=2))
        return np.where(np.isnan(scores), np.inf, scores)

    @cached_property
    def own_scores(self) -> np.ndarray:
        """The scores of arms from all replicates, once each; shape (arms,)."""
        return self.scores(np.arange(self.values.shape[2])[None])[0]


@dataclass(frozen=True, eq=False)
class Standings:
    """The standings of arms over blocks.

    Attributes:
        arms: labels.
        blocks: with values in the order of the arms.
    """

    arms: tuple[str, ...]
    blocks: tuple[BudgetErrors, ...]

    @classmethod
    def of(cls, errors: LevelErrors, arms: Sequence[str]) -> "Standings":
        """Collect the blocks of these arms; replicates that an arm lacks are left out for all.

        An arm that lacks more than half of the replicates has no results. Where nothing is left there is no block.

        Example:
            >>> from pgsr.experiments.engine.summary import LevelError
            >>> rows = [LevelError("d", True, 1.0, arm, (), 0, {0: e, 1: e}) for arm, e in (("a", 2.0), ("b", 3.0))]
            >>> found = Standings.of(LevelErrors(rows), ("a", "b", "c"))
            >>> found.blocks[0].own_scores, found.ranks
            (array([1. , 1.5, inf]), array([1., 2., 3.]))
        """
        blocks = []
        for data, epsilon in errors.values_of("data", "epsilon"):
            here = errors.where(data=data, epsilon=epsilon)
            rows = {(row.arm, row.level): row.values for row in here if row.arm in arms}
            values = _values(rows, arms, here.n_levels)
            if values.size and not np.isnan(values).all():
                blocks.append(BudgetErrors(data, epsilon, values))
        return cls(tuple(arms), tuple(blocks))

    @cached_property
    def scores(self) -> np.ndarray:
        """The scores; shape (blocks, arms)."""
        return np.array([block.own_scores for block in self.blocks])

    @cached_property
    def ranks(self) -> np.ndarray:
        """The mean ranks over blocks, from 1; shape (arms,)."""
        return ranked(self.scores).mean(axis=0)

    @cached_property
    def rank_bars(self) -> np.ndarray:
        """The 2.5 and 97.5 % quantiles of mean ranks when replicates are drawn anew; shape (2, arms).

        They say how sure the ranks on these data sets are. What they would be on others `critical_difference` says.
        """
        generator = np.random.default_rng(1)
        drawn = np.zeros((RESAMPLES, len(self.arms)))
        for block in self.blocks:
            n = block.values.shape[2]
            drawn += ranked(block.scores(generator.integers(0, n, (RESAMPLES, n))))
        return np.quantile(drawn / len(self.blocks), (0.025, 0.975), axis=0)

    @property
    def critical_difference(self) -> float:
        """The least difference of mean ranks that Nemenyi's test at 5 % finds, with blocks drawn independently.

        Blocks of one data set are alike, so it is smaller than it should be.

        Source: Demsar 2006, "Statistical comparisons of classifiers over multiple data sets", JMLR 7.
        """
        return critical_difference(len(self.arms), len(self.blocks))


def critical_difference(arms: int, blocks: int) -> float:
    """Compute Nemenyi's critical difference of mean ranks at 5 %.

    Example:
        >>> round(critical_difference(5, 10), 3)
        1.929
    """
    from scipy.stats import studentized_range

    quantile = float(studentized_range.ppf(0.95, arms, np.inf)) / 2**0.5
    return quantile * (arms * (arms + 1) / (6 * blocks)) ** 0.5


def ranked(scores: np.ndarray) -> np.ndarray:
    """Rank along the last axis, from 1; equal scores share the mean of their ranks.

    Example:
        >>> ranked(np.array([[3.0, 1.0, 3.0, np.inf]]))
        array([[2.5, 1. , 2.5, 4. ]])
    """
    from scipy.stats import rankdata

    return rankdata(scores, axis=-1)


def _values(rows: Mapping[tuple[str, int], Mapping[int, float]], arms: Sequence[str], n_levels: int) -> np.ndarray:
    most = max((len(values) for values in rows.values()), default=0)
    kept = {at: values for at, values in rows.items() if 2 * len(values) >= most}
    shared = sorted(set.intersection(*(set(values) for values in kept.values()))) if kept else []
    lacking = [float("nan")] * len(shared)
    return np.array(
        [
            [[kept[arm, level][r] for r in shared] if (arm, level) in kept else lacking for level in range(n_levels)]
            for arm in arms
        ]
    )
