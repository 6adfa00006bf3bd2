"""What privacy needs and knows without any data: neighbours, sensitivities, budgets, randomness, laws and accounting.

| file          | what it does                                                           |
|---------------|------------------------------------------------------------------------|
| `neighbours`  | which changes of the data a release hides                                |
| `sensitivity` | by how much a view changes then                                          |
| `budget`      | exact shares of epsilon and rho                                          |
| `random`      | `Secure` for releases, `Seeded` for research: different types             |
| `enclosure`   | real numbers between two fractions                                       |
| `laws`        | exact laws of integer noise and their sampler                            |
| `accounting`  | what noise of known law costs, alone and composed                        |
"""

from pgsr.privacy.accounting import Approximate, PureEpsilon, Rho
from pgsr.privacy.accounting.memory_ledger import Ledger
from pgsr.privacy.neighbours import Relation, Unit
from pgsr.privacy.random import Secure, Seeded

__all__ = [
    "Approximate",
    "Ledger",
    "PureEpsilon",
    "Relation",
    "Rho",
    "Secure",
    "Seeded",
    "Unit",
]
