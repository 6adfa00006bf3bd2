"""Inputs on which others, or an earlier version, gave a wrong answer get the right one here."""

import re
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from cases_from_others import CASES, Case

import pgsr
from pgsr.errors import PgsrError


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.source)
def test_the_answer_is_right(case: Case) -> None:
    if case.words is None:
        assert case.answer() == case.right
        return
    with pytest.raises((ValueError, TypeError, RuntimeError), match=re.escape(case.words)):
        case.answer()


UNSURE = {"pandas float64", "DuckDB sum as a frame", "beside a fraction", "beside an empty value"}
"""Columns that are refused for large numbers: these are rounded already, or would be."""


def columns_of(number: int, path: Path) -> dict[str, Any]:
    """A table of one region and size for every kind of column that holds a whole number."""
    import duckdb
    import pyarrow as pa

    kept, text = {"n": ["US"], "k": [1]}, pd.DataFrame({"n": ["US"] * 2, "k": [1, 2], "v": [str(number), "5.0"]})
    text.to_csv(path, index=False)
    select = f"SELECT 'US' AS n, 1 AS k, {{}}(v) AS v FROM (SELECT CAST({number} AS BIGINT) AS v)"
    series = {kind: pd.Series([number], dtype=kind) for kind in ("int64", "uint64", "Int64", "object", "float64")}
    series["decimal"] = pd.Series([Decimal(number)], dtype=object)
    tables = {f"pandas {kind}": pd.DataFrame({**kept, "v": column}) for kind, column in series.items()}
    tables |= {f"NumPy {kind}": {**kept, "v": np.array([number], kind)} for kind in ("int64", "uint64", "object")}
    tables |= {f"DuckDB {kind}": duckdb.sql(select.format(kind)) for kind in ("sum", "max")}
    tables["DuckDB sum as a frame"] = duckdb.sql(select.format("sum")).df()
    tables["beside a fraction"] = {"n": ["US"] * 2, "k": [1, 2], "v": [Decimal(number), Decimal("0.5")]}
    tables["beside an empty value"] = pd.DataFrame(
        {"n": ["US"] * 2, "k": [1, 2], "v": pd.array([number, None], "Int64")}
    )
    tables["Arrow decimal"] = pa.table({**kept, "v": pa.array([Decimal(number)], pa.decimal128(38, 0))})
    tables["CSV beside 5.0"] = str(path)
    return tables


def answer(call: Callable[[], Any]) -> int | str:
    """The number that a call gives, or the sentence that refuses it."""
    try:
        return int(call())
    except PgsrError as error:
        return str(error)


def test_no_whole_number_is_rounded_without_a_word(tmp_path: Path) -> None:
    refused, path = set(), tmp_path / "counts.csv"
    for number in (2**47 + 1, 2**53 + 1, 2**61 + 1):
        for kind, table in columns_of(number, path).items():
            read = answer(lambda table=table: pgsr.read(table, ["n"], size="k", count="v", max_size=2).counts[0, 1])
            assert read == number or "rounded" in read or "beside" in kind, kind
            refused |= {kind} if read != number else set()
            if not isinstance(table, str):
                near = answer(lambda table=table: pgsr.reconcile(table, ["n"], "v", size="k").answer[0, 0])
                assert near == number or "rounded" in near or kind in UNSURE, kind
                assert (near == number) is (number < 2**53) or "empty" in kind
    assert refused == UNSURE
