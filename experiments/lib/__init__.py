"""PGSR-LIB: instances of group size release with proved optima, in files that any solver reads.

`instances` declares them, `data` makes what is behind them, `optimum` solves one by the best method there is, `grid`
makes real answers exactly feasible, `prices` proves them, `folder` writes and reads a folder, `verify` checks a folder
from its files alone and is copied into each, `run` puts solvers on them, `score` says how they did and draws it.
`traps` has tiny programs that solvers get wrong, with their proofs. docs/model/pgsr_lib.md is the data sheet.
"""
