"""The problems of post-processing, stated once for every algorithm and solver.

| file         | what it does                                                                  |
|--------------|-------------------------------------------------------------------------------|
| `problem`    | `Problem.m_h`, `Problem.m_c` and their siblings; `fields` are its parts          |
| `conditions` | what a modeller states over cells besides: `where(...)`                          |
| `programs`   | the same problem as a linear or quadratic program, with names and files          |
| `tolerances` | how far a sum or a bound may be off                                              |
"""

from pgsr.problems.problem import Problem

__all__ = [
    "Problem",
]
