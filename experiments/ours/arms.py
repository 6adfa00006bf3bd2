"""The noise steps and the arms that several experiments of no paper have in common. All epsilons are totals.

Shares are fixed here, before any result, or chosen by the noisy root. Every region's number of groups is public.
"""

from fractions import Fraction
from functools import partial

from pgsr import Problem, View
from pgsr.algorithms import CumulativeIntegers
from pgsr.estimators import Matching
from pgsr.estimators.two_stage import TwoStage
from pgsr.experiments.engine.experiment import Arm
from pgsr.noise import Geometric, SplitByRoot
from pgsr.noise.shares_by_root import BY_ROOT
from pgsr.noise.split_by_root import ViewRule
from pgsr.privacy.budget import recommended_split


def equal_shares(view: ViewRule, epsilon: Fraction, levels: int) -> Geometric:
    """Make the noise step with equal shares for all levels."""
    del levels
    return Geometric(view, epsilon)


def leaf_heavy(view: ViewRule, epsilon: Fraction, levels: int) -> Geometric:
    """Make the noise step with 1/20 (1/10 below epsilon 1) for the root, and all the rest for the leaves."""
    top = Fraction(1, 20) if epsilon >= 1 else Fraction(1, 10)
    return Geometric(view, epsilon, shares=(top, *(0,) * (levels - 2), 1 - top))


def by_root(view: ViewRule, epsilon: Fraction, levels: int) -> Geometric:
    """Make the noise step of the default release, whose shares the noisy root chooses."""
    del levels
    return Geometric(view, epsilon, shares=BY_ROOT)


def fixed_shares(view: ViewRule, epsilon: Fraction, levels: int) -> Geometric:
    """Make the noise step with the same share for all levels above the leaves, and several for these."""
    return Geometric(view, epsilon, shares=recommended_split(levels))


def root_heavy(view: ViewRule, epsilon: Fraction, levels: int) -> Geometric:
    """Make the noise step with 3/5 for the root, and the same share for all other levels."""
    return Geometric(view, epsilon, shares=(Fraction(3, 5), *(Fraction(2, 5 * (levels - 1)),) * (levels - 1)))


def leaves_mostly(view: ViewRule, epsilon: Fraction, levels: int) -> Geometric:
    """Make the noise step with 1/50 for the root, whose noisy values then say how leaves are measured."""
    return Geometric(view, epsilon, shares=(Fraction(1, 50), *(0,) * (levels - 2), Fraction(49, 50)))


def leaves_only(view: ViewRule, epsilon: Fraction, levels: int) -> Geometric:
    """Make the noise step that measures nothing but the leaves."""
    return Geometric(view, epsilon, shares=(*(0,) * (levels - 1), 1))


CUMULATIVE_EQUAL = partial(equal_shares, View.CUMULATIVE)
CUMULATIVE_LEAF_HEAVY = partial(leaf_heavy, View.CUMULATIVE)
CUMULATIVE_LEAVES_ONLY = partial(leaves_only, View.CUMULATIVE)

SPLIT_EQUAL = partial(equal_shares, SplitByRoot())
SPLIT_BY_ROOT = partial(by_root, SplitByRoot())
SPLIT_FIXED = partial(fixed_shares, SplitByRoot())
SPLIT_ROOT_HEAVY = partial(root_heavy, SplitByRoot())
SPLIT_LEAVES_MOSTLY = partial(leaves_mostly, SplitByRoot())

M_C_REGIONS = Arm(
    "M_c, regions' totals", CUMULATIVE_EQUAL, CumulativeIntegers(), partial(Problem.m_c, totals="regions")
)
TWO_STAGE = Arm("two-stage, equal shares", CUMULATIVE_EQUAL, TwoStage())
LEAF_HEAVY = Arm("two-stage, leaf-heavy", CUMULATIVE_LEAF_HEAVY, TwoStage())
KUO = Arm("Hc with matching (Kuo)", CUMULATIVE_EQUAL, Matching())
