"""The reading of a solver's duals as prices."""

import numpy as np

from pgsr.certificates import Multipliers
from pgsr.measurement import Totals
from pgsr.problem import Problem
from pgsr.programs.formulate import regions_with_entities, regions_with_total
from pgsr.views import View


def multipliers(problem: Problem, duals: np.ndarray) -> Multipliers:
    """Read prices from the duals v of `matrix z = right` in the Lagrangian objective + v (matrix z - right)."""
    tree, n_sizes = problem.hierarchy, problem.target.shape[1]
    n_rows = tree.n_inner * n_sizes if problem.consistent else 0
    consistency = duals[:n_rows].reshape(-1, n_sizes) if problem.consistent else np.zeros((tree.n_inner, n_sizes))
    with_total = regions_with_total(problem)
    totals = np.zeros({None: 0, Totals.ROOT: 1, Totals.REGIONS: tree.n_regions}[problem.totals])
    if problem.view is View.COUNTS:  # in the cumulative view totals are fixed cells
        totals[with_total] = -duals[n_rows : n_rows + len(with_total)]
    if problem.entities is None:
        return Multipliers(consistency, totals)
    entities = np.zeros(len(problem.entities))
    entities[regions_with_entities(problem)] = -duals[n_rows + len(with_total) :]
    return Multipliers(consistency, totals, entities)
