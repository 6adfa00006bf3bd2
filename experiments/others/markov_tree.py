"""A baseline for tables without households: a tree of two-way marginals (MST), fitted by the package mbi."""

from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np

from pgsr.experiments.others.graphical_model import Columns, GraphicalModel
from pgsr.experiments.others.single_table import TableMechanism, single_shares
from pgsr.synthesis.marginals.marginal_curator import MarginalCurator, MeasuredMarginal


@dataclass(frozen=True, kw_only=True)
class MarkovTree(TableMechanism):
    """A tree of two-way marginals (MST): a third of rho each for single columns, the choice of the tree, and its edges.

    The tree grows edge by edge, by the exponential mechanism with the L1 distance between a pair's counts and those of
    independent columns. mbi finds the tree distribution nearest to all that was measured.

    Source: McKenna, Miklau and Sheldon 2021, MST; the two tables are ours.
    """

    def candidates(self, model: GraphicalModel) -> list[Columns]:
        columns = range(len(model.lengths))
        return [(column,) for column in columns] + list(combinations(columns, 2))

    def measure(self, curator: MarginalCurator, model: GraphicalModel, rho: Fraction) -> list[MeasuredMarginal]:
        columns = range(len(model.lengths))
        part = rho / 3 if len(columns) > 1 else rho
        measured = curator.measure_all(columns, part)
        if len(columns) > 1:
            measured += curator.measure_all(_tree(curator, measured, model.n_rows, part), part)
        model.fit(measured, self.iterations)
        return measured


def _tree(curator: MarginalCurator, measured: list[MeasuredMarginal], n_rows: int, rho: Fraction) -> list[int]:
    """Select the pairs of a spanning tree; return their numbers among the candidates."""
    shares = single_shares(measured)
    asked = [m.individual for m in curator.candidates]
    estimates = [
        n_rows * (shares[c[0]] if len(c) == 1 else np.outer(shares[c[0]], shares[c[1]]).ravel()) for c in asked
    ]
    part_of, found = list(range(len(shares))), []
    exact = np.zeros(len(asked))  # distances alone, whatever the noise
    for _ in range(len(shares) - 1):
        within = frozenset(n for n, c in enumerate(asked) if len(c) == 1 or part_of[c[0]] == part_of[c[1]])
        number = curator.select(estimates, exact, rho / (len(shares) - 1), within)
        one, other = (part_of[column] for column in asked[number])
        part_of = [one if part == other else part for part in part_of]
        found.append(number)
    return found
