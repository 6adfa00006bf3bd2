"""The method of matching: fit every region alone, then match and merge groups from the root down.

The step in the middle: a parent has G groups of sizes a, its children together G of sizes b.

    minimise    sum over matched pairs of  |a - b|    over all ways to match every group once.

**Sorted matching is optimal.** For a <= a' and b <= b',

    |a - b| + |a' - b'|  <=  |a - b'| + |a' - b|,

whichever way the four lie on the line: so two pairs that cross can be uncrossed at no cost, and uncrossing ends at
smallest with smallest, next with next. Between sizes s and s + 1 the sorted matching sends |A(s) - B(s)| groups, with
A(s) and B(s) the numbers of groups of size at most s, and none can send fewer, so that its cost is

    sum over s of |A(s) - B(s)|,    the earth mover's distance between the parent and the sum of its children.

Ties decide which child gets which size. Where groups of one size meet fewer places, the children share these in
proportion to their groups of the size, by largest remainders. Groups are kept as runs (size, count), so a nation of
10^8 groups is a few thousand numbers.

Files: `top_down` is `Matching`, `levels` its step from a level to the next, on `runs` of equal sizes with their
`precisions`, `sorted_matching` the matching and who else may find one, `alone` the fits of regions and the baselines
that stop there, `kernel` the loop over runs.
"""

from pgsr.estimators.matching.alone import BottomUp, NoConsistency
from pgsr.estimators.matching.levels import Merge
from pgsr.estimators.matching.sorted_matching import match_groups
from pgsr.estimators.matching.top_down import Matching

__all__ = ["BottomUp", "Matching", "Merge", "NoConsistency", "match_groups"]
