"""The method of mean consistency: weighted least squares under consistency alone."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import splu

from pgsr.certificates import Multipliers, certify
from pgsr.certificates.multipliers import of_levels
from pgsr.certificates.rounded_reals import is_proved
from pgsr.data.estimate import Estimate
from pgsr.engines.nearest_tree.variance_passes import passes
from pgsr.machine.blocks import row_blocks
from pgsr.methods.gate import Deadline, GatedMethod
from pgsr.methods.method import Result, Seconds, Status
from pgsr.problems.problem import Problem
from pgsr.problems.programs.rows import consistency_rows

Tables = np.ndarray | tuple[np.ndarray, ...]


@dataclass(frozen=True)
class MeanConsistency(GatedMethod):
    """Finds the consistent values nearest to the noisy ones, with any signs and fractions.

        minimise    sum over regions r, cells s of  w[r] (x[r, s] - y[r, s])^2
        subject to  x[r, s] = sum over children c of x[c, s]        at every inner region r.

    With w = 1 / variance of the noise this is the best linear unbiased estimate. Two passes solve it: upwards a region
    combines its own value with its children's sum, by inverse variance; downwards the difference is shared among the
    children in proportion to their variances. A region of weight 0 is its children's sum. Where levels have sizes of
    their own, sparse elimination solves d = x - y = W^-1 A' m, (A W^-1 A') m = -A y, A the rows of consistency.

    The result is no release: it has fractions, and small regions get negative counts. That is why Kuo et al. rejected
    it; it is here as their baseline.

    Shapes: counts or cumulative counts, any depth, any number of sizes. Complexity: O(regions x sizes). Memory: 16
    bytes per unknown.

    Status: OPTIMAL if the Lagrangian bound of its own prices leaves a relative gap of at most 1e-9, else FEASIBLE.

    Example:
        >>> from pgsr import CountOfCounts, Hierarchy, Problem, View
        >>> from pgsr.noise import Geometric
        >>> from pgsr.privacy import Seeded
        >>> truth = CountOfCounts(Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0]), [[0, 2, 0, 1], [0, 1, 1, 1]])
        >>> problem = Problem.mean_consistency(Geometric(View.COUNTS, epsilon=1).measure(truth, Seeded("demo")))
        >>> result = MeanConsistency().solve(problem)
        >>> result.status
        <Status.OPTIMAL: 'proved optimal'>
        >>> bool((result.estimate.values % 1 != 0).any())
        True

    Source: Hay et al. 2010, section 4; as a baseline Kuo et al. 2018, section 5. Shown equal to a dense solution by
    `test_algorithms_mean_consistency.py::test_equals_least_squares`.
    """

    sizes_per_level: ClassVar[bool] = True

    def supports(self, problem: Problem) -> str | None:
        if problem.norm != 2:
            return f"MeanConsistency minimises squares, {problem.label} absolute values"
        if not problem.consistent:
            return f"MeanConsistency makes regions add up, which {problem.label} does not ask for"
        public = problem.totals is not None
        if problem.integer or problem.nonnegative or problem.monotone or public:
            return f"MeanConsistency knows consistency alone; {problem.label} has conditions beyond it"
        return None

    def exceeds(self, problem: Problem) -> str | None:
        del problem  # floating point throughout; the gap tells what was lost
        return None

    def bytes_needed(self, problem: Problem) -> int:
        return (16 if problem.sizes.equal else 64) * problem.n_unknowns

    def answer(self, problem: Problem, deadline: Deadline) -> Result:
        x, prices = _two_passes(problem) if problem.sizes.equal else _by_elimination(problem)
        seconds = Seconds(solve=deadline.spent)
        estimate = Estimate(problem.hierarchy, problem.view, x)
        multipliers = Multipliers(prices, np.zeros(0))
        certificate = certify(problem, estimate, multipliers)
        if certificate.gap is None:
            reason = f"the answer misses our tolerances: {certificate!r}"
            return Result(Status.FAILED, reason, None, certificate, seconds)
        if is_proved(problem, estimate, certificate):
            return Result(Status.OPTIMAL, "", estimate, certificate, seconds, multipliers=multipliers)
        return Result(Status.FEASIBLE, f"relative gap {certificate.gap:.1e}", estimate, certificate, seconds)


def _by_elimination(problem: Problem) -> tuple[Tables, Tables]:
    """Solve with sizes per level; the values of all levels, and the multipliers of their sums."""
    sizes, w = problem.sizes, problem.w
    rows, missing = consistency_rows(problem)
    inverse = np.repeat(1.0 / w, np.diff(sizes.first_cell))
    normal = sparse.csc_array((rows * inverse) @ rows.T)
    prices = splu(normal, permc_spec="MMD_AT_PLUS_A").solve(missing.astype(float)) if len(missing) else missing
    x = sizes.shaped(problem.cells + inverse * (rows.T @ prices))
    tree, levels, start = problem.hierarchy, [], 0
    for level in range(tree.n_levels - 1):
        shape = tree.level(level).stop - tree.level(level).start, sizes.max_sizes[level + 1] + 1
        levels.append(-2.0 * prices[start : start + shape[0] * shape[1]].reshape(shape))
        start += shape[0] * shape[1]
    return x, of_levels(levels, sizes)


def _two_passes(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """Solve with the same sizes on all levels, a block of sizes at a time; the values, and the multipliers."""
    tree, y = problem.hierarchy, problem.target
    x, prices = np.empty(y.shape), np.empty((tree.n_inner, y.shape[1]))
    for block in row_blocks(slice(0, y.shape[1]), tree.n_regions):
        everywhere = np.ones(y[tree.leaves, block].shape, bool)
        change, prices[:, block] = passes(tree, y[:, block], problem.w, everywhere, 0.0)
        np.add(y[:, block], change, out=x[:, block])
    return x, prices
