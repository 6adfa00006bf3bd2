"""Tables whose cells are compared and not added up: orders of cells, and numbers that fall with their size."""

import numpy as np
import pandas as pd
import pytest

from pgsr import reconcile
from pgsr.problems.conditions import cells


def test_reach_of_platforms_is_no_sum_but_an_order():
    """A person reached on two platforms counts once in both together: cells that are compared, not added up."""
    models = pytest.importorskip("pgsr.models")
    reach = pd.DataFrame({"cell": ["A", "B", "A or B"], "n": [40.0, 70.0, 62.0]})
    said = [cells(("A",)) <= cells(("A or B",)), cells(("B",)) <= cells(("A or B",))]
    said += [cells(("A or B",)) <= cells(("A",)) + cells(("B",))]
    done = reconcile(reach, "cell", "n", where=said, method=models.Cvxpy("CLARABEL"), integer=False)
    assert done.table.reconciled.to_numpy() == pytest.approx([40, 66, 66], abs=1e-4)
    assert done.certificate.gap < 1e-6
    whole = reconcile(reach.assign(n=[40, 70, 61]), "cell", "n", where=said, method=models.MathOpt("GSCIP"))
    assert whole.certificate.feasible
    assert whole.objective == 41  # 65 and 66 are not allowed together, 66 and 66 or 65 and 65 are


def test_reach_of_k_times_and_more_falls_with_k():
    """Numbered from above, from those reached most often on, it is a cumulative count."""
    rows = [(None, 3, 4), (None, 2, 12), (None, 1, 9), ("US", 3, 5), ("US", 2, 3), ("US", 1, 30)]
    frame = pd.DataFrame(rows, columns=["area", "times", "n"]).assign(world="all", order=lambda f: 3 - f.times)
    done = reconcile(frame, ["world", "area"], "n", size="order", monotone=True, integer=False)
    table = done.table.pivot_table(index="world", columns="times", values="reconciled", aggfunc="first")
    assert (np.diff(table.to_numpy()[0]) <= 1e-9).all()
    assert done.certificate.gap < 1e-5
