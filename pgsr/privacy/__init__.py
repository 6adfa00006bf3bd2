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
