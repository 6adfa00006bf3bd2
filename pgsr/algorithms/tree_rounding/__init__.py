"""Integer cumulative counts near real ones, consistent and monotone, from the root down; without a solver.

Given are real cumulative counts v[r, s] of all regions that are consistent and non-decreasing up to rounding errors,
and possibly every region's public total G[r]. Wanted are integers c with

    c[r, s] = sum over children j of c[j, s],    0 <= c[r, 0] <= ... <= c[r, K],    c[r, K] = G[r] where public.

**Ties.** Values that a method computes have many exact ties: a sum of fitted halves is k + 1/2, and siblings with equal
noisy values are due the same. Their computed values differ in the last digits, differently with another number of
threads, and those digits would decide who gets a group. So values are first rounded to multiples of 1/1024. A tie is
then a tie, and goes to the even integer or to the first child. Means over 2, 4, 8, ... cells may lie exactly in the
middle between two multiples, so the border is moved a little aside, to 0.486 of the way, where no fraction with a
denominator below 512,000 lies. Only a value that happens to lie within an error of a border still changes, by 1/1024.
`pgsr.release.checks.near_replay` says what was measured.

**Root.** c[root, s] is v[root, s] rounded to the nearest integer, which keeps it non-decreasing.

**A parent's integers C, its children j.** The children's values add up to u[s] = sum over j of v[j, s], which differs
from C[s]. So the children are first read at another place: with v[j] as a piecewise linear function of u, which never
falls and adds up to u over j, let

    t[j, s] = v[j] at u = C[s].

Then sum over j of t[j, s] = C[s] exactly, t[j] never falls, and since no v[j] grows faster than u,

    |t[j, s] - v[j, s]| <= |C[s] - u[s]|.

From size s - 1 to s the parent gains X = C[s] - C[s-1] groups, and the child j is due d[j] = t[j, s] - c[j, s-1]. The
dues add up to X. Every child gets the whole part of its due, if positive, and what is left goes one each to the largest
remaining parts; where whole parts add up to more than X (a child that was rounded up before cannot give back), the
smallest remaining parts wait.

**Bounds.** Every child is below t[j, s] + 1, and the leads and lags of the children of one parent cancel. So the sum of
errors against t over the children of one parent is below twice their number, and it is 0 at s = K, where t is integer.
No statement about one child's lag is proved; it is measured in `test_tree_rounding.py`, which also compares the
sum of squares with the least of all ways to share.

Complexity: O(cells), and O(children log children) where a parent gains groups.

Files: `rounding` is `integers_near`, `kernel` the loop over the sizes of one parent.
"""
