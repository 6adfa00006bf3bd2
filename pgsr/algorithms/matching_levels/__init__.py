"""Matching with other sizes on every level: Kuo's method where "7 or more" below is 7, 8, 9, ... above.

Every region is fitted alone, and from the root down its groups are matched to its children's, as in
`pgsr.algorithms.matching`. A child's groups of its last class say only that they are at least that large. What they are
matched to says more, if that is larger: they take over its size, and keep it on the way down. So in the end every group
of a leaf has a size that goes up to the root's K, though the leaf's own table says "7 or more".

Every table is then counted from the leaves' groups: a group of size z in region r is in the class min(z, K) of r and of
every region around it, K their own. So tables add up between any two levels, whatever their sizes.

Files: `runs` (the groups of a level, and one level matched to the next), `method` (`LevelMatching`), `streaming` (for a
hierarchy in parts).
"""

from pgsr.algorithms.matching_levels.method import LevelMatching
from pgsr.algorithms.matching_levels.streaming import StreamedLevelMatching

__all__ = ["LevelMatching", "StreamedLevelMatching"]
