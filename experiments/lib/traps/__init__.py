"""Traps of PGSR-LIB: tiny programs on which solvers say optimal, or infeasible, and are wrong; each with its proof.

`problems` says what they are, `proof` builds the proof of an optimum by cases and prices, `verify_trap` checks it from
the file alone, in fractions, and `runs` asks all solvers.
"""
