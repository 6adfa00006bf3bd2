"""The form of all methods: how one is called, limited, judged and measured, whatever it computes.

| file         | what it does                                                              |
|--------------|---------------------------------------------------------------------------|
| `method`     | `Method`, `PostProcess`, `Result`, `Status`                                 |
| `gate`       | `GatedMethod`: refuses, limits and certifies before and after a solve       |
| `mechanism`  | `Mechanism`: a noise step, then a method                                    |
| `metrics`    | distances between a release and the truth                                   |
| `expected_errors` | of a mechanism on public counts, and the epsilon that they are small enough at |
| `zero_sizes` | a problem without the sizes that are 0 everywhere                           |
| `toys`       | tiny problems that methods are warmed up with                               |
"""

from pgsr.methods.mechanism import Mechanism
from pgsr.methods.method import Method, PostProcess, Result, Status

__all__ = [
    "Mechanism",
    "Method",
    "PostProcess",
    "Result",
    "Status",
]
