"""Noisy tables of others made consistent: against exhaustive search, in every kind of frame."""

import numpy as np
import pandas as pd
import pytest
from instances import rng_of

from pgsr import reconcile
from pgsr.errors import MethodError, ProblemError, TableError
from pgsr.problems.conditions import cells, total, zero_or_at_least

LEVELS = ["nation", "state", "county"]
COUNTIES = [("GA", "a"), ("GA", "b"), ("MI", "c")]
NOISY = {"nation": ["US"] * 3, "state": [None, "GA", "MI"], "n": [9, 7, -1]}


def table_of(rng, sizes, *, fractions, repeated=False) -> pd.DataFrame:
    """A noisy table of one nation, two states and three counties, in any order."""
    regions = [(None, None), ("GA", None), ("MI", None), *COUNTIES]
    rows = [("US", *region, size) for region in regions for size in sizes]
    if repeated:
        rows += [rows[int(i)] for i in rng.integers(len(rows), size=2)]
    frame = pd.DataFrame(rows, columns=[*LEVELS, "size"])
    frame["n"] = rng.normal(1.2, 2, len(frame))
    if not fractions:
        frame["n"] = frame["n"].round().astype(int)
    frame["w"] = rng.integers(1, 5, len(frame)) if not fractions else rng.uniform(0.2, 3, len(frame))
    return frame.sample(frac=1, random_state=int(rng.integers(2**31)))


def least_objective(frame: pd.DataFrame, sizes, most: int, total: int | None, norm: int = 2) -> float:
    """The least weighted distance of the rows from any whole numbers 0..most of the counties, by trying all."""
    axes = [np.arange(most + 1)] * (len(COUNTIES) * len(sizes))
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(COUNTIES), len(sizes))
    if total is not None:
        points = points[points.sum(axis=(1, 2)) == total]
    return float(np.min(distance(frame, points, sizes, norm)))


def distance(frame: pd.DataFrame, x: np.ndarray, sizes, norm: int = 2):
    """Sum w |x - n|^norm over the rows, with cells added up from the counties row by row; of one x or of many."""
    found = 0.0
    for row in frame.itertuples():
        inside = [
            x[..., i, sizes.index(row.size)]
            for i, (state, county) in enumerate(COUNTIES)
            if (pd.isna(row.state) or row.state == state) and (pd.isna(row.county) or row.county == county)
        ]
        found += row.w * abs(sum(inside) - row.n) ** norm
    return found


@pytest.mark.parametrize("fractions", [False, True])
@pytest.mark.parametrize(("sizes", "most", "total"), [([7], 6, None), ([0, 1], 3, None), ([1, 5], 3, 4)])
def test_equals_brute_force(fractions, sizes, most, total):
    rng = rng_of(len(sizes) + 10 * fractions + 100 * (total or 0))
    for _ in range(4):
        frame = table_of(rng, sizes, fractions=fractions, repeated=True)
        done = reconcile(frame, LEVELS, "n", size="size", weights="w", totals=total)
        assert done.status.name == "OPTIMAL"
        assert done.certificate.optimal, "in exact integers"
        best = least_objective(frame, sizes, most, total)
        assert done.objective == pytest.approx(best, rel=1e-5)
        assert done.levels[0].sums_off_after == done.levels[1].sums_off_after == 0
        leaves = done.table.dropna(subset="county").drop_duplicates(["county", "size"])
        leaves = leaves.pivot(index="county", columns="size", values="reconciled").loc[["a", "b", "c"]].to_numpy()
        assert distance(frame, leaves, sizes) == pytest.approx(best, rel=1e-5)
        assert total is None or leaves.sum() == total


def test_a_hole_is_filled_with_what_is_left():
    frame = {"nation": ["US"] * 3, "state": [None, "GA", "MI"], "n": [9, 7, None]}
    done = reconcile(frame, ["nation", "state"], "n")
    assert done.table["reconciled"].tolist() == [9, 7, 2]
    assert done.cells.measured.tolist() == [True, True, False]


def test_levels_and_parents_without_rows_are_unknowns():
    frame = {"county": ["a", "b", "c"], "state": ["GA", "GA", "MI"], "n": [3, -2, 4]}
    done = reconcile(frame, ["state", "county"], "n")
    assert done.table["reconciled"].tolist() == [3, 0, 4]
    assert done.cells.region.tolist() == ["(all)", "GA", "MI", "GA/a", "GA/b", "MI/c"]
    assert done.cells.reconciled.tolist() == [7, 3, 4, 3, 0, 4]


def test_ids_and_parents_give_the_same_as_levels():
    rng = rng_of(2)
    frame = table_of(rng, [3], fractions=True).sort_values(LEVELS)
    frame["id"] = frame.county.fillna(frame.state).fillna("US")
    frame["up"] = np.where(frame.county.notna(), frame.state, np.where(frame.state.notna(), "US", None))
    by_level = reconcile(frame, LEVELS, "n", weights="w")
    by_parent = reconcile(frame, {"id": "up"}, "n", weights="w")
    assert by_level.objective == pytest.approx(by_parent.objective)
    assert by_level.table["reconciled"].sum() == by_parent.table["reconciled"].sum()


def test_branches_that_end_early():
    frame = {
        "nation": ["US"] * 5,
        "state": [None, "GA", "GA", "GA", "DC"],
        "county": [None, None, "a", "b", None],
        "n": [20, 8, 4, 5, 9],
    }
    done = reconcile(frame, LEVELS, "n")
    found = done.table["reconciled"]
    assert found[0] == found[1] + found[4]
    assert found[1] == found[2] + found[3]
    assert [level.cells for level in done.levels] == [1, 2, 2]
    assert [level.sums_off for level in done.levels] == [1, 1, 0]


def test_fixed_cells_and_conditions_hold():
    frame = pd.DataFrame({**NOISY, "exact": [True, False, False]})
    done = reconcile(frame, ["nation", "state"], "n", fixed="exact")
    assert (done.table["reconciled"][0], done.objective) == (9, 5)
    done = reconcile(frame, ["nation", "state"], "n", where=cells(("US", "MI")) >= 3)
    assert done.table["reconciled"].tolist() == [9, 6, 3]
    assert reconcile(frame, ["nation", "state"], "n", totals=4).table["reconciled"].tolist() == [4, 4, 0]
    halves = frame.assign(n=[9.5, 7.25, -1])
    done = reconcile(halves, ["nation", "state"], "n", where=cells(("US", "MI")) >= 3)
    assert done.certificate.violations["conditions"] == 0
    assert done.table["reconciled"].tolist()[2] == 3


def test_known_totals_of_regions():
    rows = [("US", None, s, n) for s, n in [(1, 5), (2, 4)]] + [("US", "GA", s, n) for s, n in [(1, 3), (2, -1)]]
    rows += [("US", "MI", 1, 2), ("US", "MI", 2, 4)]
    frame = pd.DataFrame(rows, columns=["nation", "state", "size", "n"])
    known = {("US",): 10, ("US", "GA"): 4, ("US", "MI"): 6}
    done = reconcile(frame, ["nation", "state"], "n", size="size", totals=known)
    assert done.status.name == "OPTIMAL"
    assert done.table.groupby("state", dropna=False).reconciled.sum().tolist() == [4, 6, 10]
    one = reconcile(frame, ["nation", "state"], "n", size="size", totals={("US", "GA"): 4}, integer=False)
    assert one.table[one.table.state == "GA"].reconciled.sum() == pytest.approx(4, abs=1e-5)
    with pytest.raises(MethodError, match="give method="):
        reconcile(frame, ["nation", "state"], "n", size="size", where=total(("US", "GA")) >= 4)


def test_known_totals_of_regions_beside_fractions_are_conditions():
    rows = [("US", state, size) for state in (None, "GA", "MI") for size in (1, 2)]
    frame = pd.DataFrame(rows, columns=["nation", "state", "size"]).assign(n=[5.5, 4.2, 3.1, -1.3, 2.2, 4.8])
    known = {("US",): 10, ("US", "GA"): 4, ("US", "MI"): 6}
    models = pytest.importorskip("pgsr.models")
    with pytest.raises(MethodError, match="ties several together"):
        reconcile(frame, ["nation", "state"], "n", size="size", totals=known)
    done = reconcile(frame, ["nation", "state"], "n", size="size", totals=known, method=models.MathOpt("GSCIP"))
    assert done.table.groupby("state", dropna=False).reconciled.sum().tolist() == [4, 6, 10]


def test_conditions_speak_of_the_sizes_of_the_table():
    """Whole numbers are themselves, names have places; sizes that no row has hold nothing."""
    rows = [("US", state, size) for state in (None, "GA", "MI") for size in (1, 2, 5)]
    frame = pd.DataFrame(rows, columns=["nation", "state", "size"]).assign(n=[5.5, 3, -1] * 3)

    def asked(condition, frame=frame):
        return reconcile(frame, ["nation", "state"], "n", size="size", where=condition).table.reconciled.tolist()

    plain = asked([])
    assert asked(cells(("US",), size=0) == 0) == plain
    assert asked(cells(("US",), size=5) >= 4)[2] == 4
    assert asked(cells(("US",), size=2) >= 4, frame.replace({"size": {1: "a", 2: "b", 5: "c"}}))[2] == 4
    with pytest.raises(ProblemError, match="needs cells of size 3, which no row of the table has"):
        asked(cells(("US",), size=3) >= 1)
    with pytest.raises(ProblemError, match=r"row 0 \('US' at size 1\) has to be at most 2, and .* at least 3; correct"):
        asked([cells(("US",), size=1) <= 2, cells(("US", "GA"), size=1) >= 3])
    chosen = asked(zero_or_at_least(cells(level=1), 5))
    assert chosen != plain
    assert all(number == 0 or number >= 5 for number in chosen[3:])


def test_cumulative_counts_do_not_fall():
    rows = [("US", state, size) for state in (None, "GA", "MI") for size in range(4)]
    frame = pd.DataFrame(rows, columns=["nation", "state", "size"]).assign(n=[1, 7, 5, 9, 2, 1, 4, 3, 0, 5, 4, 6])
    done = reconcile(frame, ["nation", "state"], "n", size="size", monotone=True)
    assert done.certificate.feasible
    assert done.certificate.gap < 0.1
    found = done.table.reconciled.to_numpy().reshape(3, 4)
    assert (np.diff(found) >= 0).all()
    assert (found[0] == found[1] + found[2]).all()
    real = reconcile(frame, ["nation", "state"], "n", size="size", monotone=True, integer=False)
    assert real.objective <= done.objective + 1e-9


def test_magnitudes_by_a_solver_equal_brute_force():
    """A fraction is two whole measurements of absolute values, too."""
    models = pytest.importorskip("pgsr.models")
    rng = rng_of(21)
    frame = table_of(rng, [0], fractions=True)
    done = reconcile(frame, LEVELS, "n", weights="w", norm=1, method=models.MathOpt("HIGHS"))
    assert done.certificate.feasible
    assert done.objective == pytest.approx(least_objective(frame, [0], 6, None, norm=1), rel=1e-5)
    with pytest.raises(ProblemError, match="has several values, which are taken together for norm=2 alone"):
        reconcile(pd.concat([frame, frame[:1]]), LEVELS, "n", norm=1, method=models.MathOpt("HIGHS"))
    with pytest.raises(ProblemError, match="norm inf is unknown"):
        reconcile(frame, LEVELS, "n", norm=np.inf, method=models.MathOpt("HIGHS"))


BAD = [
    ({"state": [None, None, "MI"]}, {}, "row 0 names no region in 'state'"),
    ({"nation": ["US", None, "US"]}, {}, "row 1 names 'GA' in 'state' and nothing in 'nation'"),
    ({"n": [1.0, np.inf, 2]}, {}, "row 1 has an infinite 'n'"),
    ({"n": ["1", "2", "3"]}, {}, "'n' holds .*string, no numbers"),
    ({"w": [1, np.inf, 2]}, {"weights": "w"}, "row 1 has the weight inf; give a finite number"),
    ({"w": [1, 1, -2]}, {"weights": "w"}, "row 2 has the weight -2"),
    ({"w": [1, 0, 2]}, {"variance": "w"}, "row 1 has the variance 0; .* hold a number that is known exactly by fixed="),
    ({"w": [1, 1, 1]}, {"weights": "w", "variance": "w"}, "give one of them"),
    ({"f": [1, 1, 1]}, {"fixed": "f"}, "row 2 is fixed and 'n' is -1; .*not negative"),
    ({"f": [1, 1, 1], "n": [9, 7, 1]}, {"fixed": "f"}, r"row 0 \('US'\) has to be at least 9, and .* up to at most 8"),
    ({"f": [1, 1, 0], "n": [5, 7, 1]}, {"fixed": "f"}, r"row 0 \('US'\) has to be at most 5, and .* up to at least 7"),
    ({"reconciled": [1, 1, 0]}, {}, "column 'reconciled' already; rename it"),
    ({}, {"value": "m"}, "no column 'm'; its columns are"),
    ({"n": [None, None, None]}, {}, "nothing to be near to|no numbers"),
    ({"kind": ["a", "a", None]}, {"size": "kind"}, "row 2 has nothing in 'kind'; .* make sizes the last"),
]


@pytest.mark.parametrize(("columns", "options", "sentence"), BAD)
def test_bad_rows_are_named(columns, options, sentence):
    frame = pd.DataFrame({**NOISY, **columns})
    hierarchy = ["state"] if "state" in columns else ["nation", "state"]
    with pytest.raises((TableError, ProblemError), match=sentence):
        _ = reconcile(frame, hierarchy, **{"value": "n", **options}).table


@pytest.mark.parametrize(
    ("ids", "parents", "sentence"),
    [
        (["US", "GA", "MI"], [None, "US", "USA"], "row 2, 'MI', lies below 'USA', which no row has in 'id'; add a row"),
        (["US", "GA", "MI"], [None, "MI", "GA"], "row 1, 'GA', lies below itself; its parents form a cycle"),
        (["US", None, "MI"], [None, "US", "US"], "row 1 has nothing in 'id'"),
        (["US", "GA", "MI", "GA"], [None, "US", "US", "MI"], "row 3, 'GA', has another parent than an earlier row"),
    ],
)
def test_bad_parents_are_named(ids, parents, sentence):
    with pytest.raises(TableError, match=sentence):
        reconcile({"id": ids, "up": parents, "n": [*range(len(ids))]}, {"id": "up"}, "n")


def test_frames_come_back_as_what_they_were():
    import duckdb
    import pyarrow as pa

    for frame in (NOISY, pd.DataFrame(NOISY), pa.table(NOISY), duckdb.from_arrow(pa.table(NOISY))):
        table = reconcile(frame, ["nation", "state"], "n").table
        assert type(table) is type(frame)
        columns = table.df() if hasattr(table, "df") else table
        columns = columns.to_pandas() if isinstance(columns, pa.Table) else columns
        assert list(columns["reconciled"]) == [8, 8, 0]


def test_polars_frames_come_back_as_polars():
    polars = pytest.importorskip("polars", reason="Polars is not installed")
    frame = polars.DataFrame(NOISY)
    table = reconcile(frame, ["nation", "state"], "n").table
    assert isinstance(table, polars.DataFrame)
    assert table["reconciled"].to_list() == [8, 8, 0]
    with pytest.raises(TableError, match=r"collect\(\) it first"):
        reconcile(frame.lazy(), ["nation", "state"], "n")


def test_relations_whose_types_duckdb_guesses_are_refused(tmp_path):
    """It takes types from the first 20,480 lines, and would round 1.75 to 2."""
    duckdb = pytest.importorskip("duckdb")
    path = tmp_path / "noisy.csv"
    rows = [f"US,s{i},1" for i in range(25_000)] + ["US,last,1.75"]
    path.write_text("\n".join(["nation,state,n", *rows]))
    connection = duckdb.connect()
    connection.sql(f"CREATE VIEW seen AS SELECT * FROM '{path}'")
    declared = f"read_csv('{path}', header = true, columns = {{nation: 'TEXT', state: 'TEXT', n: 'DOUBLE'}})"
    connection.sql(f"CREATE TABLE stored AS SELECT * FROM {declared}")
    guessing = [
        connection.read_csv(str(path)),
        connection.sql(f"SELECT * FROM '{path}'").filter("n > 0"),
        connection.table("seen"),
        connection.from_df(pd.DataFrame({"nation": ["US"], "state": ["x"], "n": [1]})),
    ]
    for relation in guessing:
        with pytest.raises(TableError, match="DuckDB guesses from its rows how to read it; give the frame itself"):
            reconcile(relation, ["nation", "state"], "n")
    done = reconcile(connection.table("stored"), ["nation", "state"], "n", integer=False)
    assert 1.75 in done.answer


def test_a_level_without_a_cell_of_its_own_is_told():
    frame = {"nation": ["US"] * 3, "state": ["Total", "A", "B"], "n": [9, 4, 5]}
    done = reconcile(frame, ["nation", "state"], "n")
    [note] = done.notes
    assert "no row has a value of the level 'nation' itself" in note
    assert note in repr(done)
    assert "no row has a value" in done._repr_html_()
    known = reconcile({**frame, "state": [None, "A", "B"]}, ["nation", "state"], "n")
    assert known.notes == []


@pytest.mark.parametrize("name", ["it's", "n/a"])
def test_names_in_sentences_are_quoted(name):
    frame = {"nation": ["US"] * 2, "state": [name, name], "n": [4, 5], "sure": [True, True]}
    written = repr("US/" + name.replace("/", "%2F"))
    with pytest.raises(TableError, match=f"row 0 \\({written}\\) is fixed at two values"):
        reconcile(frame, ["nation", "state"], "n", fixed="sure")
