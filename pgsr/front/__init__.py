"""The front door: from a table of one's own to answers side by side, in nine functions and with names for methods.

| file         | what it does                                                                          |
|--------------|---------------------------------------------------------------------------------------|
| `tables`    | `read`: a table of members, of groups or of counts as a `CountOfCounts`                 |
| `measurement`  | `measure`: the noise step, the only one that sees the truth                            |
| `solution`    | `solve`: a problem by our exact algorithm, or by any method                            |
| `candidates`     | `solvers`: who takes a problem here and now, and why others do not                     |
| `judgement`    | `certify`: an answer from anywhere, judged and bounded                                |
| `comparison`  | `compare`: methods side by side, of one problem or of one measurement                  |
| `estimation` | `estimate`: a release from a measurement, with intervals                               |
| `trade_off`  | `plan`: the error of an epsilon beforehand, or the epsilon of an error                  |
| `names`      | the names of methods, those of the one catalogue                                      |

`pgsr.read` and its siblings are these, loaded when they are called, so that `import pgsr` stays light. Nothing here
computes: rooms below do, and whatever they can do besides is asked of them.
"""

from pgsr.front.candidates import solvers
from pgsr.front.comparison import compare
from pgsr.front.estimation import Released, estimate
from pgsr.front.judgement import certify
from pgsr.front.measurement import measure
from pgsr.front.solution import solve
from pgsr.front.tables import read
from pgsr.front.trade_off import plan

__all__ = ["Released", "certify", "compare", "estimate", "measure", "plan", "read", "solve", "solvers"]
