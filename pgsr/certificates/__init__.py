"""The proofs about an answer, made from problem and answer alone, whatever method computed it.

`certify` recomputes the objective, counts violated conditions, and looks for a proof or at least a bound:

| problem                                  | proof of an optimal answer                              | file            |
|------------------------------------------|---------------------------------------------------------|-----------------|
| M_H in integers, root's total or none    | no exchange of units pays                               | `exchange`      |
| M_H in integers, other totals or sizes   | node potentials: no cycle of the residual flow pays     | `potentials`    |
| naive in integers                        | exchanges inside every region                           | `regions_alone` |
| isotonic in integers, or norm 1          | the subgradients of every region close a chain          | `regions_alone` |
| every problem of counts or cumulative    | a Lagrangian bound, from any multipliers                | `lagrangian`    |

The first four are exact, in 64-bit integers, and decide: an answer that fails them is not optimal. A bound is a number
that no feasible objective is below; an answer that meets it is optimal, and else the relative gap says how far off it
may be.

Choices between conditions are no part of these. `pgsr.algorithms.choice_tree.choices_bound` searches the alternatives
as long as its caller allows, and a certificate takes the bound that is found by `Certificate.with_bound`.

Bounds come from weak duality. Put the conditions that couple regions into the objective with `Multipliers`, whatever
they are: at feasible points nothing changes, so the minimum of the Lagrangian over the remaining conditions is a bound,
and there regions stand alone and have closed forms. Every rounding is bounded and subtracted.

Of conditions that `Problem.where` stated, the exchange test of M_H and the subgradient chain know bounds of cells.
In Lagrangian bounds these are kept or priced, rows are priced (`stated_prices`), and a bound without their prices says
that it ignores them.

Weights of cells are known to the exchange test and to Lagrangian bounds; where order meets weights of cells, there is
no bound, and an answer has that of the solver's program, or the solver's word.

The prices of a continuous optimum by the names of its program's rows are `duals.Duals`; `row_prices` reads them from
multipliers. Both need SciPy, which nothing else here imports.

Files besides: `certificate` is the entry, `conditions` counts what keeps counts from being a release; loops are in
`chain_kernel`, `priced_chain_kernel` and `potentials_kernel`.
"""

from pgsr.certificates.certificate import Certificate, certify
from pgsr.certificates.multipliers import Multipliers

__all__ = ["Certificate", "Multipliers", "certify"]
