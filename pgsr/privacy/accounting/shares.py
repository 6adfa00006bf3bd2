"""A starting point for the shares of the levels, from the variances of generalised least squares on the tree."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import product

import numpy as np

from pgsr.data.hierarchy import Hierarchy
from pgsr.errors import BudgetError
from pgsr.privacy.accounting.noise_rho import require_change
from pgsr.privacy.laws import GeometricNoise
from pgsr.privacy.laws.per_level import GaussianNoise
from pgsr.privacy.sensitivity import Sensitivity

PARTS = 1_000
"""Shares are multiples of one part in so many."""

_MOST_LEVELS = 8
"""Most levels of which every choice of measured ones is tried."""

_STEPS = 200


def starting_shares(
    tree: Hierarchy, sensitivities: Sequence[Sensitivity], law: type[GeometricNoise] | type[GaussianNoise]
) -> tuple[Fraction, ...]:
    """Find shares of the levels, root first, with which consistent estimates have small variances on all levels.

    They make the sum over levels of ln V_l small, V_l the mean over the level's regions of the variance of a cell's
    generalised least squares estimate from all levels (`consistent_variances`): no level is worth more for having
    larger variances. The noise of a level with share s is taken to have the variance 2 (l1 / (epsilon s))^2
    (geometric) or l2^2 / (2 rho s) (Gaussian), which it has where there is much noise; the total cancels.

    Where the sum is smallest, the share of a level is proportional to its elasticity, minus the derivative of the sum
    by ln s. With Gaussian noise the elasticities add up to the number of levels, as every V_l is homogeneous of degree
    -1 in the shares. They are found by repeating share = elasticity, from equal shares, for every choice of measured
    levels that contains the leaves (up to eight levels); the least sum wins.

    Where the leaves alone are measured, V_l = n_l V_leaf with n_l leaves in a region. A first little share s of
    Gaussian noise for level l lowers ln V_j by s n_l for j up to l and by s n_j for the levels j below, and raises
    every level's by s, as the leaves get less (at equal sensitivities). As no n_j is below 1, every level whose regions
    have several leaves is worth a share. With geometric noise the gain is of order s^2 and the loss of order s: a
    little share never pays, and a large one pays where regions have many leaves.

    This is no optimum for non-linear estimates, nor for the measure of a user; `pgsr.release.plan.planning` compares by
    simulation.

    Raises:
        BudgetError: as many sensitivities as levels are needed, the law has none of these families, or nothing changes
            on a level.

    Example:
        >>> tree = Hierarchy.from_paths([("US", str(state), str(county)) for state in range(5) for county in range(20)])
        >>> for law in (GaussianNoise, GeometricNoise):
        ...     print(*starting_shares(tree, [Sensitivity(((1,),))] * 3, law))
        34/125 189/500 7/20
        0 329/500 171/500

    Shown by `tests/test_accounting_shares.py`.
    """
    if len(sensitivities) != tree.n_levels:
        raise BudgetError(f"{len(sensitivities)} sensitivities for {tree.n_levels} levels; give one per level")
    for sensitivity in sensitivities:
        require_change(sensitivity)
    if law is GaussianNoise:
        scale, power = np.array([s.l2_squared for s in sensitivities], float), 1
    elif law is GeometricNoise:
        scale, power = np.array([s.l1 for s in sensitivities], float) ** 2, 2
    else:
        raise BudgetError(f"shares for {law!r} are not known; ask for GaussianNoise or GeometricNoise")

    def sum_of_logs(shares: np.ndarray) -> float:
        with np.errstate(divide="ignore"):
            return float(np.log(consistent_variances(tree, scale / shares**power)).sum())

    found = [_fixed_point(sum_of_logs, np.array(choice, float)) for choice in _choices(tree.n_levels)]
    return _in_parts(min(found, key=sum_of_logs))


def consistent_variances(tree: Hierarchy, variances: Sequence[float] | np.ndarray) -> np.ndarray:
    """Compute the mean variance of a cell on every level, root first, in generalised least squares on the tree.

    The cell of a region is the sum of its children's; each region measures it with independent noise of its level's
    variance v. Let u be the variance of the best estimate of a region from its subtree, o that from everything else:

        leaf: u = v;  inner region: 1 / u = 1 / v + 1 / sum over children of u;
        root: o infinite;  child c of r: o_c = 1 / (1 / o_r + 1 / v_r) + sum over siblings of u;
        variance of the estimate from everything:  1 / (1 / u + 1 / o).

    All parts are independent, as a tree has no cycles. O(regions). Padded regions stand for their copy.

    Args:
        tree: the regions.
        variances: of the noise of every level, root first; infinite where nothing is measured, the leaves excepted.

    Raises:
        BudgetError: the leaves are not measured, or a variance is not positive.

    Example:
        >>> tree = Hierarchy.from_paths([("US", str(state)) for state in range(50)])
        >>> consistent_variances(tree, [np.inf, 1.0]), consistent_variances(tree, [2.0, 2.0]).round(3)
        (array([50.,  1.]), array([1.961, 1.961]))

    Source: Hay, Rastogi, Miklau & Suciu 2010, section 4, for equal variances and fan-outs.
    """
    noise = np.asarray(variances, float)
    if noise.shape != (tree.n_levels,) or not (noise > 0).all() or not np.isfinite(noise[-1]):
        raise BudgetError("give a positive variance per level, root first, finite for the leaves")
    with np.errstate(divide="ignore"):
        information = np.where(tree.padded, 0.0, (1 / noise)[tree.level_of])
        below, sums = np.empty(tree.n_regions), np.zeros(tree.n_regions)
        for level in range(tree.n_levels - 1, -1, -1):
            here = tree.level(level)
            if level < tree.n_levels - 1:
                sums[here] = tree.sum_children(below, level)
                below[here] = 1 / (information[here] + 1 / sums[here])
            else:
                below[here] = 1 / information[here]
        beside = np.full(tree.n_regions, np.inf)
        for level in range(1, tree.n_levels):
            here = tree.level(level)
            parent = tree.parent[here]
            beside[here] = 1 / (1 / beside[parent] + information[parent]) + sums[parent] - below[here]
        whole = 1 / (1 / below + 1 / beside)
    return np.array([whole[tree.level(level)].mean() for level in range(tree.n_levels)])


def _choices(n_levels: int) -> list[tuple[bool, ...]]:
    """List which levels may be measured, the leaves always; above eight levels all of them, or the leaves alone."""
    above = product((True, False), repeat=n_levels - 1) if n_levels <= _MOST_LEVELS else [(True,), (False,)]
    return [(*(choice * (n_levels - 1) if len(choice) == 1 else choice), True) for choice in above]


def _fixed_point(sum_of_logs, measured: np.ndarray) -> np.ndarray:
    """Repeat share = elasticity from equal shares of the measured levels."""
    shares, bump = measured / measured.sum(), 1e-4
    for _ in range(_STEPS):
        elasticities = np.zeros(len(shares))
        for level in np.flatnonzero(shares > 1e-6):
            up, down = shares.copy(), shares.copy()
            up[level] *= 1 + bump
            down[level] /= 1 + bump
            elasticities[level] = (sum_of_logs(down) - sum_of_logs(up)) / 2
        new = np.maximum(elasticities, 0)
        new /= new.sum()
        if np.abs(new - shares).max() < 1e-5:
            return new
        shares = np.where(new > 1e-6, new, 0.0)
        shares /= shares.sum()
    return shares


def _in_parts(shares: np.ndarray) -> tuple[Fraction, ...]:
    """Round to multiples of 1 / PARTS that add up to 1, those that were cut most first."""
    scaled = shares * PARTS
    parts = np.floor(scaled).astype(int)
    for level in np.argsort(parts - scaled, kind="stable")[: PARTS - parts.sum()]:
        parts[level] += 1
    return tuple(Fraction(int(part), PARTS) for part in parts)
