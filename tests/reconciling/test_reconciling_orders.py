"""Tables whose cells are compared and not added up: orders of cells, and numbers that fall with their size."""

import numpy as np
import pandas as pd
import pytest

from pgsr import read, reconcile
from pgsr.problems.conditions import cells
from pgsr.tables.long import read_long


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


PLACES = ["nation", "state"]
ROWS = pd.DataFrame([("US", state, k) for state in (None, "GA", "MI") for k in range(4)], columns=[*PLACES, "k"])
ROWS["n"] = [1, 7, 5, 9, 2, 1, 4, 3, 0, 5, 4, 6]
SIZES = {
    "numbers": lambda k: k,
    "falling": lambda k: -k,
    "open end": lambda k: k.map({0: "1", 1: "2", 2: "3", 3: "3+"}),
    "times": lambda k: pd.Timestamp("2020-01-01") + pd.to_timedelta(40 * k, "D"),
    "categories": lambda k: pd.Categorical.from_codes(k, ["none", "few", "many", "most"], ordered=True),
}


def answer(rows, **options):
    """What `reconcile` gives, by the rows as they were made."""
    return reconcile(rows, PLACES, "n", size="k", **options).table.reconciled.sort_index().tolist()


def counts(found):
    """Counts by region."""
    return dict(zip(found.hierarchy.paths, found.counts.tolist(), strict=True))


def long(rows):
    leaves = rows.dropna().assign(region_id=lambda f: f.nation + "/" + f.state)
    every = pd.concat([leaves, leaves.groupby("k", as_index=False).n.sum().assign(region_id="US")])
    return counts(read_long(every.rename(columns={"k": "group_size", "n": "n_groups"})).counts())


READERS = {
    **{name: lambda rows, of=of: answer(rows.assign(k=of(rows.k)), monotone=True) for name, of in SIZES.items()},
    "reals": lambda rows: np.round(answer(rows.assign(k=-rows.k), monotone=True, integer=False), 5).tolist(),
    "names": lambda rows: answer(rows.assign(k=rows.k.map("dcba".__getitem__)), where=cells(("US",), size=2) >= 9),
    "ties": lambda rows: answer(rows.assign(n=rows.n // 2 * 2 + rows.state.isna())),
    "draws": lambda rows: reconcile(rows, PLACES, "n", size="k", noise="geometric", scale=2.0, draws=9).draws.tolist(),
    "members": lambda rows: counts(read(rows.dropna(), PLACES, group=["state", "k"], max_size=2)),
    "groups": lambda rows: counts(read(rows.dropna(), PLACES, size="k", max_size=2)),
    "counts": lambda rows: counts(read(rows.dropna(), PLACES, size="k", count="n", max_size=2)),
    "long": long,
}


@pytest.mark.parametrize("reader", READERS)
def test_the_order_of_rows_says_nothing(reader):
    first = READERS[reader](ROWS)
    for seed in range(3):
        assert READERS[reader](ROWS.sample(frac=1, random_state=seed)) == first
