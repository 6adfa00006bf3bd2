"""The mechanisms of Fioretto and Van Hentenryck 2019 as arms, and the counts of violations in their tables."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from pgsr import Hierarchy, Problem, Result, Status, View
from pgsr.algorithms import CumulativeProjection, TreeProjection
from pgsr.certificates import certify
from pgsr.comparison.side_by_side import ANSWERED, errors_by_level
from pgsr.data import Estimate
from pgsr.data.rounding import nearest
from pgsr.estimators import IsotonicTreeProjection
from pgsr.experiments.engine.experiment import Arm
from pgsr.experiments.engine.release_record import Record, released, result_record
from pgsr.methods import Method, metrics
from pgsr.models.adapter import SolverModel
from pgsr.noise import Geometric

if TYPE_CHECKING:
    from pgsr.experiments.engine.experiment import Trial

SMALL_SIZES = 10
"""A tenth of all sizes, the smallest, counts as small."""


def counts(epsilon: Fraction, levels: int) -> Geometric:
    """Measure counts of every size with epsilon / L per level; only the number of groups of the root is public."""
    del levels
    return Geometric(View.COUNTS, epsilon, totals="root")


def cumulative(epsilon: Fraction, levels: int) -> Geometric:
    """Measure cumulative counts with epsilon / L per level; only the number of groups of the root is public."""
    del levels
    return Geometric(View.CUMULATIVE, epsilon, totals="root")


def halved(noise: Callable[[Fraction, int], Geometric], epsilon: Fraction, levels: int) -> Geometric:
    """Measure with noise of half the scale that the paper states for this epsilon, which loses 2 epsilon."""
    return noise(2 * epsilon, levels)


@dataclass(frozen=True)
class Rounded:
    """The mechanism M_H^r: the exact optimum of the relaxation, then every cell to the nearest integer.

    Regions and totals may then be off, which is what the paper's #CV counts.
    """

    relaxation: Method

    def supports(self, problem: Problem) -> str | None:
        return self.relaxation.supports(problem.relaxed())

    def solve(self, problem: Problem, time_limit: float | None = None) -> Result:
        result = self.relaxation.solve(problem.relaxed(), time_limit)
        if result.answer is None:
            return result
        answer = Estimate(problem.hierarchy, problem.view, nearest(_dense(result.answer.values)))
        return replace(
            result, status=Status.RELAXED, answer=answer, certificate=certify(problem, answer), multipliers=None
        )


def by_general_solver(post: object) -> bool:
    """Tell whether a post-processing step is a general solver's, whose answer may be rounded here."""
    return isinstance(post.relaxation if isinstance(post, Rounded) else post, SolverModel)


M_H_R = Arm("M_H^r", counts, Rounded(TreeProjection()), Problem.m_h)
M_H_DP = Arm("M_H^dp", counts, TreeProjection(), Problem.m_h)
M_C_R = Arm("M_c^r", cumulative, CumulativeProjection(), Problem.m_c)
M_C_DP = Arm("M_c^dp", cumulative, IsotonicTreeProjection())
FOUR = (M_H_R, M_H_DP, M_C_R, M_C_DP)
"""The mechanisms of figures 9 and 10 and table 1: relaxations and dynamic programs, all by our exact algorithms."""

_TWICE = "noise of half the stated scale, so it loses 2 epsilon: it explains printed errors and competes with no arm"
M_H_DP_HALF, M_C_DP_HALF = (
    replace(arm, label=f"{arm.label}, half the noise", noise=partial(halved, noise), note=_TWICE)
    for arm, noise in ((M_H_DP, counts), (M_C_DP, cumulative))
)
HALF = {M_H_DP.label: M_H_DP_HALF, M_C_DP.label: M_C_DP_HALF}
"""The dynamic programs with half the stated noise, by the label of the one with all of it."""


def release_and_violations(trial: "Trial") -> Record:
    """Measure as `release_record` does, and count the violations that table 1 and figure 10 show.

    In "levels" besides: "l1_total", the L1 error of all regions; "cv_levels" and "cv_regions" of `violated`;
    "small_share", the part of a level's L1 error at the smallest tenth of the sizes. The first three are one number.
    """
    result = released(trial)
    levels = errors_by_level(trial.truth, result)
    if result.answer is not None and result.status in ANSWERED:
        pairs, regions = violated(result.answer)
        levels |= {
            "l1_total": [float(sum(levels["l1"]))],
            "cv_levels": [float(pairs)],
            "cv_regions": [float(regions)],
            "small_share": _small_share(trial, result.answer),
        }
    return result_record(result) | {"levels": levels}


def violated(estimate: Estimate) -> tuple[int, int]:
    """Count where counts are not the sum of those below: pairs (size, parent level) and pairs (size, parent region).

    The paper does not say which it counts; its numbers stay below the largest possible of the first.

    Source: Fioretto and Van Hentenryck 2019, table 1, #CV.
    """
    tree, table = estimate.hierarchy, estimate.as_counts
    return sum(_per_level(tree, table, np.any)), sum(_per_level(tree, table, np.sum))


def _per_level(tree: Hierarchy, table: Any, count: Callable) -> list[int]:
    """Add up over sizes, for every level but the last, `count` of the regions whose counts are not the sum below."""
    dense = _dense(table)
    return [
        int(count(dense[tree.level(level)] != tree.sum_children(dense, level), axis=0).sum())
        for level in range(tree.n_levels - 1)
    ]


def _dense(table: Any) -> np.ndarray:
    """Convert to a dense array, because estimates may be SciPy sparse arrays."""
    return table.toarray() if sparse.issparse(table) else table


def _small_share(trial: "Trial", answer: Estimate) -> list[float]:
    truth, table = trial.truth, answer.as_counts
    off = np.abs(_dense(table) - truth.counts)
    few = -(-off.shape[1] // SMALL_SIZES)
    small, whole = (metrics.level_sums(truth, part.sum(axis=1)) for part in (off[:, :few], off))
    return [a / b if b else 0.0 for a, b in zip(small, whole, strict=True)]
