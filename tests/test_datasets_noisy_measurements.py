"""A generated file of the layout of the Census Bureau's noisy measurement files, read and made consistent."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pgsr import reconcile
from pgsr.datasets.noisy_measurements import noisy_measurements
from pgsr.errors import DataError

UNITS = [("0", "0", "US"), ("010", "0", "State"), ("020", "0", "State"), ("010001", "010", "County")]
UNITS += [("010003", "010", "County"), ("020001", "020", "County")]

QUERY = pa.struct(
    [
        ("array_dims", pa.list_(pa.int32())),
        ("groupings", pa.map_(pa.int16(), pa.list_(pa.list_(pa.int32())))),
        ("add_over_margins", pa.list_(pa.int16())),
        ("shape", pa.list_(pa.int16())),
        ("name", pa.string()),
    ]
)
RECORD = pa.struct(
    [
        ("query", QUERY),
        ("DPanswer", pa.binary()),
        ("plb", pa.float64()),
        ("plb_num", pa.int64()),
        ("plb_denom", pa.int64()),
        ("DPMechanism", pa.string()),
        ("Var", pa.float64()),
        ("name", pa.string()),
        ("mechanism_sensitivity", pa.int16()),
        ("budget_id", pa.string()),
    ]
)


def record(name: str, values: np.ndarray | None, variance: float) -> dict:
    query = {"array_dims": [8, 2], "groupings": None, "add_over_margins": [0], "shape": [2], "name": name}
    answer = None if values is None else values.astype("<i8").tobytes()
    return {"query": query, "DPanswer": answer, "plb": 0.1, "Var": variance, "name": name, "budget_id": "x"}


def written(path, units=UNITS, nested=False, unanswered=()):
    rng = np.random.default_rng(1)
    queries, values = [], {}
    for code, _, level in units:
        variance = {"US": 1.0, "State": 4.0, "County": 2.0}[level]
        values[code] = rng.integers(-3, 30, 2)
        other = record("total_dpq", rng.integers(0, 9, 2), 9.0)
        answer = None if code in unanswered else values[code]
        queries.append([("total_dpq", other), ("sex_dpq", record("sex_dpq", answer, variance))])
    columns = [pa.array(column) for column in zip(*units, strict=True)]
    table = pa.table(
        [*columns, pa.array(queries, pa.map_(pa.string(), RECORD))],
        ["geocode", "parentGeocode", "geolevel", "dp_queries"],
    )
    if nested:
        table = pa.table({"GeounitNode": table.to_struct_array()})
    pq.write_table(table, path)
    return values


@pytest.mark.parametrize("nested", [False, True])
def test_a_query_is_read_and_made_consistent(tmp_path, nested):
    values = written(tmp_path / "nmf.parquet", nested=nested, unanswered=("020",))
    frame = noisy_measurements(tmp_path / "nmf.parquet", "sex_dpq")
    assert frame.n[frame.geocode == "010003"].tolist() == values["010003"].tolist()
    assert frame.n[frame.geocode == "020"].isna().all()
    assert frame.variance[frame.geolevel == "State"].unique().tolist() == [4.0]
    done = reconcile(frame, {"geocode": "parent"}, "n", size="cell", variance="variance")
    assert done.certificate.optimal
    x = {code: part.reconciled.to_numpy() for code, part in done.table.groupby("geocode")}
    assert (x["0"] == x["010"] + x["020"]).all()
    assert (x["010"] == x["010001"] + x["010003"]).all()
    assert (x["020"] == x["020001"]).all()


def test_a_part_of_the_nation_has_its_own_top(tmp_path):
    written(tmp_path / "part.parquet", units=[unit for unit in UNITS if unit[0].startswith("01")])
    assert noisy_measurements(tmp_path / "part.parquet", "sex_dpq").parent.isna().sum() == 2


def test_other_files_are_refused_in_sentences(tmp_path):
    written(tmp_path / "nmf.parquet")
    with pytest.raises(DataError, match="no query 'age_dpq'; it has sex_dpq, total_dpq"):
        noisy_measurements(tmp_path / "nmf.parquet", "age_dpq")
    with pytest.raises(DataError, match="does not exist"):
        noisy_measurements(tmp_path / "none.parquet", "sex_dpq")
    pq.write_table(pa.table({"geocode": ["0"]}), tmp_path / "other.parquet")
    with pytest.raises(DataError, match="no column 'parentGeocode'"):
        noisy_measurements(tmp_path / "other.parquet", "sex_dpq")
    written(tmp_path / "holes.parquet", units=[unit for unit in UNITS if unit[0] != "020"])
    with pytest.raises(DataError, match="units of County and US have no parent in the file, such as 020001"):
        noisy_measurements(tmp_path / "holes.parquet", "sex_dpq")
