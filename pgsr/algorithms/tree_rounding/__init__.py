"""Integer cumulative counts near real ones, consistent and monotone, from the root down; without a solver.

Given are real cumulative counts v[r, s] of all regions that are consistent and non-decreasing up to rounding errors,
and possibly every region's public total G[r]. Wanted are integers c with

    c[r, s] = sum over children j of c[j, s],    0 <= c[r, 0] <= ... <= c[r, K],    c[r, K] = G[r] where public.

**Ties.** Computed values have many exact ties, whose last digits differ with the number of threads. So values are first
rounded to multiples of 1/1024, with the border between two moved to 0.486 of the way, where no fraction with a
denominator below 512,000 lies. A tie is then a tie, and goes to the even integer or to the first child.

**Root.** c[root, s] is v[root, s] rounded to the nearest integer, which keeps it non-decreasing.

**A parent's integers C, its children j.** Let u[s] = sum over j of v[j, s], and v[j] a piecewise linear function of u.
Then t[j, s] = v[j] at u = C[s] never falls, adds up to C[s], and |t[j, s] - v[j, s]| <= |C[s] - u[s]|. From size s - 1
to s the parent gains C[s] - C[s - 1] groups, and child j is due t[j, s] - c[j, s - 1]. Every child gets the whole part
of its due, and what is left goes one each to the largest remaining parts; where whole parts add up to more, the
smallest remaining parts wait. So every child is below t[j, s] + 1, and equal to it at s = K.

Complexity: O(cells), and O(children log children) where a parent gains groups.

Files: `integers` is `integers_near`, `kernel` the loop over the sizes of one parent.
"""
