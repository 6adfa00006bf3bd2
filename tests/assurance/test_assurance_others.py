"""Inputs on which others, or an earlier version, gave a wrong answer get the right one here."""

import copy
import io
import pickle
import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from cases_from_others import CASES, Case

import pgsr
from pgsr.errors import PgsrError
from pgsr.problems.conditions import cells


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.source)
def test_the_answer_is_right(case: Case) -> None:
    if case.words is None:
        assert case.answer() == case.right
        return
    with pytest.raises((ValueError, TypeError, RuntimeError), match=re.escape(case.words)):
        case.answer()


UNSURE = {"float64", "DuckDB's sum as a frame", "beside a fraction", "beside an empty value"}
"""Columns that are refused for large numbers: these are rounded already, or would be."""


def tables_of(number: int, path: Path) -> dict[str, Any]:
    """A table of one region and size for every kind of column that holds a whole number."""
    kept, two = {"n": ["US"], "k": [1]}, {"n": ["US"] * 2, "k": [1, 2]}
    pd.DataFrame({**two, "v": [str(number), "5.0"]}).to_csv(path, index=False)
    total = duckdb.sql(f"SELECT 'US' AS n, 1 AS k, sum(v) AS v FROM (SELECT CAST({number} AS BIGINT) AS v)")
    kinds = "int64", "uint64", "object", "float64", "Int64"
    found = {kind: pd.DataFrame({**kept, "v": pd.Series([number], dtype=kind)}) for kind in kinds}
    found |= {f"NumPy's {kind}": {**kept, "v": np.array([number], kind)} for kind in kinds[:3]}
    return found | {
        "DuckDB's sum": total,
        "DuckDB's sum as a frame": total.df(),
        "decimal": pd.DataFrame({**kept, "v": pd.Series([Decimal(number)], dtype=object)}),
        "Arrow's decimal": pa.table({**kept, "v": pa.array([Decimal(number)], pa.decimal128(38, 0))}),
        "beside a fraction": {**two, "v": [Decimal(number), Decimal("0.5")]},
        "beside an empty value": {**two, "v": [number, None]},
        "a CSV file with 5.0": str(path),
    }


def answer(call: Callable[[], Any]) -> int | str:
    """The number that a call gives, or the sentence that refuses it."""
    try:
        return int(call())
    except PgsrError as error:
        return str(error)


def test_no_whole_number_is_rounded_without_a_word(tmp_path: Path) -> None:
    refused, path = set(), tmp_path / "counts.csv"
    for number in (2**47 + 1, 2**53 + 1, 2**61 + 1):
        for kind, table in tables_of(number, path).items():
            read = answer(lambda table=table: pgsr.read(table, ["n"], size="k", count="v", max_size=2).counts[0, 1])
            assert read == number or "rounded" in read or "beside" in kind, kind
            refused |= {kind} if read != number else set()
            if not isinstance(table, str):
                near = answer(lambda table=table: pgsr.reconcile(table, ["n"], "v", size="k").answer[0, 0])
                assert near == number or "rounded" in near or kind in UNSURE, kind
                assert (near == number) is (number < 2**53) or "empty" in kind
    assert refused == UNSURE


def results() -> Iterator[Any]:
    """What calls give, of regions whose names Matplotlib and LaTeX would read as commands."""
    truth = pgsr.read({"s": ["$_$", "5%\\"], "k": [1, 2]}, ["s"], size="k", max_size=2)
    noisy = pgsr.measure(truth, "counts", epsilon=1, seed="d")
    problem = pgsr.Problem.m_h(noisy).where(cells(("(all)", "5%\\"), size=0) >= 0)
    assert r"5\%\textbackslash{}, 0" in problem.latex
    solved, released = pgsr.solve(problem), pgsr.estimate(noisy, "posterior")
    yield from (truth, truth.hierarchy, noisy, problem, solved, solved.estimate, solved.certificate, released)
    yield pgsr.reconcile(duckdb.from_arrow(pa.table({"n": ["US"], "v": [5]})), ["n"], "v")
    laws = ({"noise": law, "scale": 2.0, "draws": 5} for law in ("geometric", "laplace", "gaussian"))
    for options in ({}, {"variance": [1.0, 2.0]}, *laws):
        done = pgsr.reconcile({"n": ["US"] * 2, "s": [None, "$_$"], "v": [5, 4]}, ["n", "s"], "v", **options)
        yield from (done, done.table, done.cells, done.diagnostics, done.plausibility, done.levels)


def test_every_public_result_travels_and_is_drawn() -> None:
    for result in results():
        for there in (pickle.loads(pickle.dumps(result)), copy.deepcopy(result), copy.copy(result)):
            assert repr(there) == repr(result)
        for region in (0, 1, 2) if isinstance(result, pgsr.CountOfCounts) else ():
            result.plot(region).savefig(io.BytesIO())
        if type(result).__name__ in ("Measurement", "Estimate"):
            result.plot(("(all)", "$_$")).savefig(io.BytesIO())
