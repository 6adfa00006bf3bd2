"""Tables beyond one tree: cross tables, a second hierarchy, orders, and relations of cells that form no tree."""

import itertools

import numpy as np
import pandas as pd
import pytest
from instances import scale

from pgsr import reconcile
from pgsr.errors import MethodError, TableError
from pgsr.problems.conditions import cells

COUNTIES = {"a": ("GA", "east"), "b": ("GA", "west"), "c": ("MI", "west")}


def two_tables(rng, fractions: bool) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Counties by states, and by areas that no state contains, with noise of their own."""
    states = [("US", None, None), ("US", "GA", None), ("US", "MI", None)]
    states += [("US", state, county) for county, (state, _) in COUNTIES.items()]
    areas = [("US", None, None), ("US", "east", None), ("US", "west", None)]
    areas += [("US", area, county) for county, (_, area) in COUNTIES.items()]
    made = []
    for rows, middle in ((states, "state"), (areas, "area")):
        frame = pd.DataFrame(rows, columns=["nation", middle, "county"])
        frame["n"] = rng.normal(2, 3, len(frame)) if fractions else rng.integers(-3, 8, len(frame))
        frame["w"] = rng.integers(1, 4, len(frame))
        made.append(frame)
    return made[0], made[1]


def distances(frame: pd.DataFrame, middle: str, every: np.ndarray) -> np.ndarray:
    """Of every row of numbers, one per county."""
    place = 0 if middle == "state" else 1
    found = np.zeros(len(every))
    for row in frame.itertuples():
        group = getattr(row, middle)
        inside = [
            (pd.isna(row.county) or row.county == county) and (pd.isna(group) or at[place] == group)
            for county, at in COUNTIES.items()
        ]
        found += row.w * (every[:, inside].sum(axis=1) - row.n) ** 2
    return found


@pytest.mark.parametrize("fractions", [False, True])
def test_two_hierarchies_equal_brute_force(fractions):
    rng = np.random.default_rng(3 + fractions)
    for _ in range(scale(1, 4)):
        states, areas = two_tables(rng, fractions)
        done = reconcile(
            states, ["nation", "state", "county"], "n", weights="w", also=[(areas, ["nation", "area", "county"])]
        )
        assert done.certificate.optimal
        assert done.certificate.bound_by == "Lagrangian bound"
        every = np.array(list(itertools.product(range(10), repeat=3)))
        best = (distances(states, "state", every) + distances(areas, "area", every)).min()
        assert done.objective == pytest.approx(best, rel=1e-5)
        (other,) = done.other_tables
        assert other.reconciled.tolist()[0] == done.table.reconciled.tolist()[0]
        assert other[other.county.notna()].set_index("county").reconciled.to_dict() == (
            done.table[done.table.county.notna()].set_index("county").reconciled.to_dict()
        )


def test_a_cross_table_with_totals_over_its_kinds():
    """Counts by county and race, and those of all races together, which are rows without a race."""
    rng = np.random.default_rng(9)
    for _ in range(scale(1, 4)):
        rows = [
            (region, race) for region in [("US", None), ("US", "a"), ("US", "b")] for race in ("white", "black", None)
        ]
        frame = pd.DataFrame([(*region, race) for region, race in rows], columns=["nation", "county", "race"])
        frame["n"] = rng.integers(-2, 6, len(frame))
        done = reconcile(frame, ["nation", "county"], "n", size="race")
        assert done.certificate.optimal
        best = np.inf
        for x in itertools.product(range(8), repeat=4):
            leaves = np.reshape(x, (2, 2))
            cells_of = {("a", race): leaves[0, i] for i, race in enumerate(("white", "black"))}
            cells_of |= {("b", race): leaves[1, i] for i, race in enumerate(("white", "black"))}
            total = 0
            for row in frame.itertuples():
                inside = [
                    n
                    for (county, race), n in cells_of.items()
                    if row.county in (county, None) or pd.isna(row.county)
                    if pd.isna(row.race) or race == row.race
                ]
                total += (sum(inside) - row.n) ** 2
            best = min(best, total)
        assert done.objective == best
        table = done.table.pivot_table(index="county", columns="race", values="reconciled", dropna=False)
        assert (table["white"] + table["black"] == table.iloc[:, -1]).all()


def test_what_is_no_network_needs_a_solver_and_is_judged():
    """A third hierarchy across both."""
    models = pytest.importorskip("pgsr.models")
    states, areas = two_tables(np.random.default_rng(1), False)
    third = areas.assign(area=[None, "x", "y", "x", "y", "x"])
    hierarchies = [(areas, ["nation", "area", "county"]), (third, ["nation", "area", "county"])]
    with pytest.raises(MethodError, match=r"are no network.*give method="):
        reconcile(states, ["nation", "state", "county"], "n", weights="w", also=hierarchies)
    solver = models.Cvxpy("CLARABEL")
    done = reconcile(
        states, ["nation", "state", "county"], "n", weights="w", also=hierarchies, integer=False, method=solver
    )
    assert done.certificate.feasible
    assert done.certificate.gap < 1e-6


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


def test_other_tables_that_do_not_fit_are_named():
    states, areas = two_tables(np.random.default_rng(1), False)
    strange = areas.assign(county=[None, None, None, "a", "b", "d"])
    with pytest.raises(
        TableError, match="row 5 of the other table, 'US/west/d', is no lowest region of the first table"
    ):
        reconcile(states, ["nation", "state", "county"], "n", also=[(strange, ["nation", "area", "county"])])
