"""The proofs about an answer, made from problem and answer alone, whatever method computed it.

`certify` recomputes the objective, counts violated conditions, and looks for a proof or at least a bound:

| problem                                  | proof of an optimal answer                              | file            |
|------------------------------------------|---------------------------------------------------------|-----------------|
| M_H in integers, root's total or none    | no exchange of units pays                               | `exchange`      |
| M_H in integers, other totals or sizes   | node potentials: no cycle of the residual flow pays     | `potentials`    |
| naive in integers                        | exchanges inside every region                           | `regions_alone` |
| isotonic in integers, or norm 1          | the subgradients of every region close a chain          | `regions_alone` |
| every problem of counts or cumulative    | a Lagrangian bound, from any multipliers                | `lagrangian`    |

The first four are exact, in 64-bit integers, and decide. Bounds come from weak duality (docs/derivations/m_c.md): any
`Multipliers` of the conditions that couple regions give one, and every rounding is subtracted.

Conditions of `Problem.where` are priced in bounds (`condition_prices`); the exchange test and the subgradient chain
know bounds of cells. Choices have the bound of `pgsr.algorithms.choice_tree.bound.choices_bound`. Where order meets
weights of cells there is no bound.

Files besides: `certificate` is the entry, `conditions` counts violations, `duals` are prices by the names of rows,
which `row_prices` reads; loops are in `chain_kernel`, `priced_chain_kernel` and `potentials_kernel`.
"""

from pgsr.certificates.certificate import Certificate, certify
from pgsr.certificates.multipliers import Multipliers

__all__ = ["Certificate", "Multipliers", "certify"]
