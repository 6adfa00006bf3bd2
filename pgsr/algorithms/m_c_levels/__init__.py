"""M_c with other sizes on every level, relaxed, and the releases that end with it: two-stage.

    minimise    sum over regions r, sizes s < K of r's level  of  w[r, s] (x[r, s] - y[r, s])^2
    subject to  x[r, s] = sum over children c of x[c, s],  s < k, the largest size of the level below,
                0 <= x[r, 0] <= ... <= x[r, K - 1] <= G[r],     G public for all regions.

**Every size has a tree of its own.** Of counts with sizes per level, the tail of a region and the sizes above it cross
like rows and columns (docs/sizes_per_level.md). Cumulative counts do not: that the tail of a region is its children's
last class says no more than that the numbers of groups add up, which public totals do. What remains is, for every size
s, a tree of the regions whose level tells s from larger sizes; it ends at the last such level.

**The dual.** Only consistency gets prices, p[r, s] for s < k. As in `pgsr.algorithms.m_c` every region then minimises
on its own w |x - y|^2 - (p[parent] - p[r]) . x, where p[r, s] = 0 from k on. A region without a tail of its own, K = k,
is free: its order follows from its children's. A region with a tail, every leaf among them, is an isotonic regression
within 0..G[r]. The dual is concave and piecewise quadratic, its gradient is what a region takes less what its children
take, and Newton's method maximises it: products with the Hessian average over blocks, and the preconditioner puts their
diagonals on the trees of the sizes, which are eliminated exactly.

**Integers.** The relaxed optimum is proved by the gap between objective and dual. Over integers M_c is not a network's
program once it has more than two levels, with or without sizes per level, and no exact method is offered here;
`LevelIsotonicTreeProjection` (M_c^dp) has exact integer steps. Here integers are found next to the relaxed optimum,
from the root down, as in `pgsr.algorithms.tree_rounding`.

Files: `problem`, `projection` (the method), `dual` and `kernel` (Newton's method), `integers`, `release` (together,
then in integers), `two_stage`; `streaming` is for a hierarchy in parts.
"""

from pgsr.algorithms.m_c_levels.integers import counts_near
from pgsr.algorithms.m_c_levels.problem import CumulativeLevelProblem
from pgsr.algorithms.m_c_levels.projection import CumulativeLevelProjection, CumulativeLevelResult
from pgsr.algorithms.m_c_levels.release import LevelRelease
from pgsr.algorithms.m_c_levels.streaming import StreamedLevelRelease, StreamedReleaseResult
from pgsr.algorithms.m_c_levels.two_stage import LevelTwoStage

__all__ = [
    "CumulativeLevelProblem",
    "CumulativeLevelProjection",
    "CumulativeLevelResult",
    "LevelRelease",
    "LevelTwoStage",
    "StreamedLevelRelease",
    "StreamedReleaseResult",
    "counts_near",
]
