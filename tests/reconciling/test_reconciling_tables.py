"""Many tables in one call, against a loop over them; and controlled rounding, against all multiples that add up."""

import numpy as np
import pandas as pd
import pytest
from instances import rng_of

import pgsr
from pgsr import PgsrError, reconcile

PLACES = ["nation", "state"]
KEYS = [("2020", "a"), ("2021", "a"), ("2021", "b")]


def tables_of(seed: int) -> pd.DataFrame:
    """Noisy tables of one nation and two states, whose variances differ from table to table."""
    rng = rng_of(seed)
    rows = [(*key, "US", state, size) for key in KEYS for state in (None, "GA", "MI") for size in (1, 2)]
    frame = pd.DataFrame(rows, columns=["period", "kind", *PLACES, "size"])
    frame["n"] = rng.normal(3, 3, len(frame)).round(1)
    frame["v"] = rng.uniform(1, 5, len(frame)) * 10.0 ** (3 * frame.period.astype(int) - 6060)
    frame["sure"] = (frame.kind == "b") & (frame.state == "GA")
    frame.loc[frame.sure, "n"] = 2
    return frame.sample(frac=1, random_state=seed)


OPTIONS = [
    {"size": "size", "variance": "v", "fixed": "sure"},
    {"size": "size", "variance": "v", "integer": False, "level": 0.5},
    {"size": "size", "variance": "v", "noise": "gaussian", "estimate": "median"},
    {"size": "size", "base": 2},
    {"size": "size", "integer": False, "nonnegative": False, "method": "pgsr"},
]


@pytest.mark.parametrize("options", OPTIONS)
def test_equal_a_loop_over_the_tables(options):
    frame = tables_of(1)
    done = reconcile(frame, PLACES, "n", by=["period", "kind"], **options)
    each = {key: reconcile(part, PLACES, "n", **options) for key, part in frame.groupby(["period", "kind"])}
    wanted = pd.concat([one.table for one in each.values()]).loc[frame.index]
    assert list(done.table.columns) == list(wanted.columns)
    for column in done.table.columns[len(frame.columns) :]:
        np.testing.assert_allclose(done.table[column], wanted[column], rtol=1e-9, atol=1e-9)
    assert done.objective == pytest.approx(sum(one.objective for one in each.values()))
    for (period, kind), one in each.items():
        here = done.diagnostics.loc[int(period), kind].reset_index(drop=True).drop(columns="largest_at")
        pd.testing.assert_frame_equal(here, one.diagnostics.drop(columns="largest_at"), rtol=1e-9)
        cells = done.cells.loc[int(period), kind].sort_values(["region", "size"])
        assert cells.reconciled.to_numpy() == pytest.approx(one.cells.sort_values(["region", "size"]).reconciled)


def test_one_size_and_other_sizes_per_table():
    frame = tables_of(2).query("size == 1 or period == '2020'")
    done = reconcile(frame.query("size == 1 and kind == 'a'"), PLACES, "n", by="period")
    assert (len(done.cells), "2 tables" in repr(done)) == (6, True)
    assert len(reconcile(frame, PLACES, "n", size="size", by=["period", "kind"]).cells) == 3 * 4
    assert done.cells.index.names == ["period"]


BASE = pd.DataFrame({"t": [1] * 3 + [2] * 3, "nation": "US", "state": [None, "GA", "MI"] * 2, "n": [9, 7, 2, 8, 4, 4]})


@pytest.mark.parametrize(
    ("frame", "options", "sentence"),
    [
        (BASE, {"by": ["period"]}, "no column 'period'; its columns are 't'"),
        (BASE, {"by": BASE.t}, "by=.*; give a list of names of columns"),
        (BASE, {"by": [0]}, "give a list of names of columns"),
        (BASE, {"by": []}, "give one column or more"),
        (BASE, {"by": "state"}, "by= names 'state', which says something else of the rows"),
        (BASE, {"by": "t", "size": "t"}, "by= names 't', which says something else"),
        (BASE, {"by": "t", "totals": 9}, "leave out totals=, .* or reconcile every table alone"),
        (BASE, {"by": "t", "monotone": True}, "leave out totals="),
        (
            BASE.assign(t=[1, 1, 1, 2, None, 2]),
            {"by": "t"},
            "row 4 has nothing in 't'; fill it in, or leave the row out",
        ),
        (BASE[:5], {"by": "t"}, "the table of t 2 has no row of 'US/MI', which others have; add it"),
        (BASE.assign(n=[9, 7, 2, None, None, None]), {"by": "t"}, "no row of t 2 has a value"),
        (BASE.assign(n=[9, 7, 2, 0.4, 0.2, 0.2]), {"by": "t"}, "the largest value of t 2 is 0.4"),
        (
            BASE.assign(n=[9, 7, 2, 4e-9, 0, 0]),
            {"by": "t", "integer": False},
            "4e-09 in t 2 and 9 in t 1, .* scale them",
        ),
        (
            BASE.assign(f=True),
            {"by": "t", "fixed": "f", "n": [9, 7, 2, 8, 4, 5]},
            r"row 3 \('US' at t 2\) has to be at",
        ),
    ],
)
def test_what_is_no_table_of_many_is_said(frame, options, sentence):
    frame = frame.assign(n=options.pop("n", frame.n))
    with pytest.raises(PgsrError, match=sentence):
        reconcile(frame, PLACES, "n", **options)


def test_methods_have_the_names_of_solve():
    done = reconcile(BASE, PLACES, "n", by="t", method="highs")
    assert (done.status.name, done.table.reconciled.tolist()) == ("OPTIMAL", BASE.n.tolist())
    with pytest.raises(PgsrError, match="did you mean 'highs'"):
        reconcile(BASE, PLACES, "n", by="t", method="highz")
    assert pgsr.solve(done.stated.problem, "highs").status is done.status


LEVELS = ["nation", "state", "county"]
REGIONS = [(None, None), ("GA", None), ("MI", None), ("GA", "a"), ("GA", "b"), ("MI", "c"), ("MI", "d")]
BELOW = [[0, 1, 2, 3], [0, 1], [2, 3], [0], [1], [2], [3]]


def rounded(rng, noise) -> pd.DataFrame:
    leaves = rng.integers(0, 23, 4)
    frame = pd.DataFrame([("US", *region) for region in REGIONS], columns=LEVELS)
    n = np.array([leaves[below].sum() for below in BELOW]) + rng.normal(0, noise, 7)
    return frame.assign(n=n, w=rng.integers(1, 4, 7))


def least(frame, base, restricted) -> float:
    leaves = np.stack(np.meshgrid(*[np.arange(0, 26 + base, base)] * 4, indexing="ij"), axis=-1).reshape(-1, 4)
    x = np.stack([leaves[:, below].sum(axis=1) for below in BELOW], axis=1)
    off = x - frame.n.to_numpy()
    allowed = (np.abs(off) < base).all(axis=1) | (not restricted)
    return float((np.square(off) @ frame.w.to_numpy())[allowed].min(initial=np.inf))


@pytest.mark.parametrize("restricted", [False, True])
@pytest.mark.parametrize("base", [3, 5])
@pytest.mark.parametrize("noise", [0, 1])
def test_equals_all_multiples(base, restricted, noise):
    rng, solved = rng_of(base, restricted, noise), 0
    for _ in range(6):
        frame = rounded(rng, noise)
        best = least(frame, base, restricted)
        if np.isinf(best):
            with pytest.raises(PgsrError):
                reconcile(frame, LEVELS, "n", weights="w", base=base, zero_restricted=restricted)
            continue
        done = reconcile(frame, LEVELS, "n", weights="w", base=base, zero_restricted=restricted)
        assert done.status.name == "OPTIMAL"
        assert (done.table.reconciled % base == 0).all()
        assert done.objective == pytest.approx(best, rel=1e-6)
        assert done.rounding["value"] < 1e-6
        solved += 1
    assert solved >= 3
    assert solved == 6 or noise
