"""The post-processing of every mechanism of a release: what makes its counts of the noisy values."""

from functools import partial

from pgsr.algorithms import (
    BottomUp,
    IsotonicFit,
    IsotonicTreeProjection,
    Matching,
    Merge,
    Posterior,
    TreeProjection,
    TwoStage,
)
from pgsr.algorithms.m_c_levels import LevelTwoStage
from pgsr.algorithms.m_h_levels import LevelIsotonicTreeProjection, LevelTreeProjection
from pgsr.algorithms.m_h_levels.mechanism import LevelPostProcess
from pgsr.algorithms.matching_levels import LevelMatching
from pgsr.algorithms.posterior_levels import LevelPosterior
from pgsr.methods.method import Method, PostProcess
from pgsr.release.kinds import Kind


def post_of(kind: Kind, merge: Merge, norm: int, intervals: bool) -> Method | PostProcess:
    """Choose the method or post-process of a mechanism where all levels have the same sizes.

    Args:
        kind: the mechanism.
        merge, norm: how `KUO` merges two sizes, and the norm of isotonic fits.
        intervals: whether intervals are published, which a posterior keeps several numbers per cell for.

    Example:
        >>> post_of(Kind.POSTERIOR, Merge.WEIGHTED, 1, intervals=False)
        Posterior(intervals=False)
    """
    fit = partial(IsotonicFit, cumulative_norm=norm)
    made = {
        Kind.M_H: TreeProjection,
        Kind.M_C_DP: IsotonicTreeProjection,
        Kind.KUO: lambda: Matching(fit(), merge),
        Kind.BOTTOM_UP: lambda: BottomUp(fit()),
        Kind.POSTERIOR: lambda: Posterior(intervals=intervals),
        Kind.TWO_STAGE: TwoStage,
    }
    return made[kind]()


def post_by_level(kind: Kind) -> LevelPostProcess:
    """Choose the post-process of a mechanism where levels have sizes of their own.

    Example:
        >>> post_by_level(Kind.M_H)
        LevelTreeProjection()
    """
    made = {
        Kind.M_H: LevelTreeProjection,
        Kind.M_C_DP: LevelIsotonicTreeProjection,
        Kind.KUO: LevelMatching,
        Kind.POSTERIOR: LevelPosterior,
        Kind.TWO_STAGE: LevelTwoStage,
    }
    return made[kind]()
