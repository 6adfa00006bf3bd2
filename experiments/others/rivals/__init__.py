"""Other authors' mechanisms for counts of groups by size, beside which the releases of this toolkit are set.

All hide one member of a group, keep the public numbers of groups, are epsilon-DP, and release every leaf alone; regions
above are sums (`leaves` says why). A mechanism is one file, whose docstring has its source, its privacy argument and
what it assumes, and which ends in its `ARM`.

Files: `leaves` is what all mechanisms share. The mechanisms: `cyclic_laplace`, `dyadic_ranges`,
`james_stein`, `labelled_groups`, `partitions`, `priv_hist`, `privelet`.
"""
