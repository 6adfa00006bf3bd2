"""Cheapest integer flows of convex costs between bounds: arrays in, arrays out.

    minimise    sum over arcs a  of  w[a] f(x[a] - y[a])
    subject to  inflow = outflow at every vertex,   lower[a] <= x[a] <= upper[a],   x integer,

where f is the square or the magnitude. A flow that answers one set of bounds is a start for others, so that a tree of
problems that differ in a few bounds is searched quickly. What is found is proved by itself in exact integers: an
optimum by prices of the vertices, at which no arc alone could do better, and that there is none by a cut, into which
more has to flow than can flow out.

Files: `sets` finds out whether sums of unknowns are the arcs of a network, `network` is the input and what is proved,
`kernel` has the loops. `pgsr.engines.quadratic_flow` is for squares without upper bounds, and is faster on millions.
"""
