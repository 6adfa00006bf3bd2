"""The student of operations research: an own CSV with quirks, five solvers, own condition, method, solver and view."""

import importlib
from pathlib import Path

import cvxpy as cp
import numpy as np
import pandas as pd
import pytest
from parsed import ROOT
from test_house_docs import blocks
from waiting import step

import pgsr
from pgsr.problems.conditions import cells, total

SIZE, PLACES = "household size", ["state", "county"]


@pytest.fixture
def homes(tmp_path, monkeypatch) -> pd.DataFrame:
    """A folder of one's own with a CSV as it came: blanks, sizes as text, missing cells; and its right rows."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    rng, places = np.random.default_rng(3), ["New York/Kings", "New York/St. Lawrence", "Rhode Island/Kent"]
    rows = [(*rng.choice(places).split("/"), str(rng.poisson(1.5) + 1)) for _ in range(300)]
    quirks = [(f"{state} ", county, f"{size} persons") for state, county, size in rows[:40]]
    missing = [("", "Kings", "2"), ("New York", "", "1"), ("Rhode Island", "Kent", "")]
    lines = ["state, county,household size", *(",".join(row) for row in (*quirks, *missing, *rows[40:]))]
    Path("homes.csv").write_text("\n".join(lines))
    return pd.DataFrame(rows, columns=[*PLACES, SIZE]).astype({SIZE: int})


def read() -> pgsr.CountOfCounts:
    """Read the file, cleaned as its refusals say."""
    frame = pd.read_csv("homes.csv", skipinitialspace=True).dropna()
    frame[SIZE] = frame[SIZE].str.extract(r"(\d+)", expand=False).astype(int)
    return pgsr.read(frame, PLACES, size=SIZE, max_size=5, name="homes")


def test_own_rows_are_refused_in_words_until_they_are_right(homes):
    for regions, said in (
        (PLACES, "the table has no column 'county', only 'state', ' county', 'household size'"),
        (["state", " county"], "some rows name no region in column 'state'; fill them in, or leave the rows out"),
    ):
        with step("reads the file as it came"), pytest.raises(pgsr.PgsrError, match=said):
            pgsr.read("homes.csv", regions, size=SIZE, max_size=5)
    frame = pd.read_csv("homes.csv", skipinitialspace=True).dropna()
    with pytest.raises(pgsr.PgsrError, match="holds string, no numbers; convert it"):
        pgsr.read(frame, PLACES, size=SIZE, max_size=5)
    frame[PLACES].assign(s=frame[SIZE]).to_csv("whole.csv", index=False)
    with pytest.raises(pgsr.PgsrError, match=r"holds text, .*; give whole numbers from 0 up, or leave") as refused:
        pgsr.read("whole.csv", PLACES, size="s", max_size=5)
    assert "persons" not in str(refused.value), "no message quotes rows"
    with step("reads the rows that are left"):
        truth = read()
    for path, row in zip(truth.hierarchy.paths, truth.counts, strict=True):
        inside = homes[(homes[PLACES[: len(path) - 1]] == list(path[1:])).all(axis=1)]
        sizes = np.minimum(inside[SIZE], 5)
        assert row.tolist() == [int((sizes == size).sum()) for size in range(6)], path
    assert "regions by state (2) and county (3)" in truth.about


def test_own_conditions_are_solved_without_a_name_and_by_several(homes):
    del homes
    truth = read()
    problem = pgsr.Problem.m_h(pgsr.measure(truth, "counts", epsilon=1, seed="demo"))
    with pytest.raises(pgsr.PgsrError, match=r"no region 'New York'; the nearest name is '\(all\)/New York'"):
        problem.where(total(("New York",)) >= 150)
    least = int(problem.target[1].sum()) + 5
    asked = problem.where(total(("(all)", "New York")) >= least, cells(size=0) == 0)
    with step("solves with conditions"):
        result = pgsr.solve(asked)
    assert (result.status, result.certificate.gap) == (pgsr.Status.OPTIMAL, 0)
    counts = result.estimate.counts()
    assert counts.row(1).sum() >= least
    assert not counts.counts[:, 0].any()
    assert counts.totals[0] == truth.totals[0]
    with step("asks two more by name"):
        for name in ("gurobi", "scip"):
            assert pgsr.solve(asked, name).certificate.objective == result.certificate.objective
    assert "pgsr.solvers(problem) lists who takes it here: highs, " in pgsr.solve(asked, "pgsr").reason


@pytest.mark.slow
def test_own_method_solver_view_and_model_stand_beside_five_solvers(homes):
    """Classes are those of the pages, copied into files of one's own, and work on one's own table."""
    del homes
    truth = read()
    problem = pgsr.Problem.m_h(pgsr.measure(truth, "counts", epsilon=1, seed="demo"))
    own = {}
    for page, name in (("method", "ScaledLeaves"), ("solver", "InteriorPoint"), ("view", "SmallSizes")):
        text = (ROOT / "docs" / "extend" / f"add_a_{page}.md").read_text("utf-8")
        Path(f"my_{page}.py").write_text(blocks(text)[0].source)
        own[page] = getattr(importlib.import_module(f"my_{page}"), name)
    x = cp.Variable(problem.target.shape, integer=True)
    rows = [x >= 0, x[0] == x[1] + x[2], x[1] == x[3] + x[4], x[2] == x[5], cp.sum(x[0]) == truth.totals[0]]
    raw = cp.Problem(cp.Minimize(cp.sum_squares(x - problem.target)), rows)
    with step("solves in raw CVXPY"):
        raw.solve(solver="SCIP")
    others = [own["method"](), own["solver"](), raw, ("array", problem, x.value)]
    with step("compares nine"):
        table = pgsr.compare(problem, ["pgsr", "gurobi", "highs", "cp-sat", "scip", *others], progress=False)
    found = {row.method: row for row in table.rows}
    scaled = found.pop("ScaledLeaves()")
    assert {row.status for row in found.values()} == {pgsr.Status.OPTIMAL}, str(table)
    assert len({row.result.certificate.objective for row in found.values()}) == 1
    assert (scaled.status, scaled.result.certificate.gap > 0) == (pgsr.Status.FEASIBLE, True)
    with step("measures a view of one's own, and releases"):
        noisy = pgsr.measure(truth, own["view"](3), epsilon=1, seed="demo")
        released = pgsr.estimate(noisy)
    assert released.counts.totals.tolist() == truth.totals.tolist()
