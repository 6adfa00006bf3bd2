"""Files of units of the Privacy-Protected Microdata Files are counted by block, and read from the nation to blocks."""

import gzip
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from pgsr import CountOfCounts, Geometric, Hierarchy, Seeded, View
from pgsr.datasets.ppmf_blocks import PpmfBlocks
from pgsr.datasets.ppmf_units import FILE, UnitFields, convert
from pgsr.errors import CountError, DataError
from pgsr.machine.partitions import Engine, ParquetFolder
from pgsr.nation import StreamedLevelTreeProjection, measure

COLUMNS = ["RTYPE", "GQTYPE", "VACS", "HHSIZE", "HH_STATUS", "TABBLKST", "TABBLKCOU", "TABTRACTCE", "TABBLK"]
COLUMNS += ["TABBLKGRPCE", "PUMA"]
"""Some columns in the order of the file of 2020, others than those that are read among them."""

Unit = tuple[str, str, str, str, str, str, int]
"""State, county, tract, block group, block, record type and household size."""


def row(unit: Unit) -> str:
    state, county, tract, group, block, kind, size = unit
    quarters = "501" if kind == "4" else "000"
    vacancy, status = ("1", "2") if kind == "2" and not size else ("0", "0" if kind == "4" else "1")
    return ",".join([kind, quarters, vacancy, str(size), status, state, county, tract, block, group, "00100"])


def write(path: Path, units: list[Unit]) -> Path:
    text = "\n".join([",".join(COLUMNS), *map(row, units), ""])
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


def made_units(seed: int, n: int = 3_000) -> list[Unit]:
    """Units in random order, in states whose codes begin with 0 and without, most of them in few blocks."""
    rng = np.random.default_rng(seed)
    units: list[Unit] = []
    for _ in range(n):
        state = ("01", "10", "06")[rng.integers(3)]
        county, tract, group = f"{rng.integers(1, 4):03d}", f"{100 * rng.integers(1, 4):06d}", str(rng.integers(0, 3))
        block = f"{group}{rng.integers(4):03d}"
        kind = "4" if rng.random() < 0.05 else "2"
        units.append((state, county, tract, group, block, kind, 0 if kind == "4" else int(rng.integers(8))))
    return units


def slowly_counted(units: list[Unit], max_sizes: tuple[int, ...], vacant: bool) -> dict[tuple[str, ...], Counter]:
    """Count the groups of every region by class of sizes, unit by unit; regions without a group have an empty count."""
    found: dict[tuple[str, ...], Counter] = {}
    for state, county, tract, group, block, kind, size in units:
        names = ["United States", state, state + county, state + county + tract, state + county + tract + group]
        names.append(state + county + tract + block)
        for level in range(6):
            counts = found.setdefault(tuple(names[: level + 1]), Counter())
            if kind == "2" and (size or vacant):
                counts[min(size, max_sizes[level])] += 1
    return found


SIZES = (7, 7, 6, 5, 5, 3)


@pytest.mark.parametrize("vacant", [False, True])
def test_equals_a_loop_over_units(tmp_path, vacant):
    units = made_units(1)
    write(tmp_path / "a.csv.gz", units[:1_200])
    write(tmp_path / "b.csv.gz", units[1_200:])
    convert(str(tmp_path / "*.csv.gz"), tmp_path)
    data = PpmfBlocks(tmp_path, SIZES, vacant)
    expected = slowly_counted(units, SIZES, vacant)
    whole = data.whole()
    assert whole.max_sizes == SIZES
    assert isinstance(whole, CountOfCounts), "which adds up, or is refused"
    assert set(whole.hierarchy.paths) == set(expected)
    for level, table in enumerate(whole.tables):
        assert table.dtype == np.int32
        here = whole.hierarchy.level(level)
        for path, counts in zip(whole.hierarchy.paths[here], table, strict=True):
            assert counts.tolist() == [expected[path][size] for size in range(SIZES[level] + 1)], path
    kinds = Counter("group quarters" if u[5] == "4" else "occupied" if u[6] else "vacant" for u in units)
    assert data.n_units() == kinds


def test_parts_are_those_of_the_whole(tmp_path):
    convert(write(tmp_path / "units.csv", made_units(2)), tmp_path)
    data = PpmfBlocks(tmp_path, SIZES)
    whole, above = data.whole(), data.above()
    assert data.keys == ("01", "06", "10")
    assert above.max_sizes == SIZES[:2]
    for level in (0, 1):
        assert np.array_equal(above.tables[level], whole.tables[level])
    parts = [data.part(key) for key in data.keys]
    for level in range(5):
        assert np.array_equal(np.concatenate([part.tables[level] for part in parts]), whole.tables[level + 1])
    state = data.tree("06")
    listed = [path[1:] for path in whole.hierarchy.paths if path[1:2] == ("06",)]
    assert list(state.paths) == listed
    assert sum(data.n_units(key)["occupied"] for key in data.keys) == whole.tables[0].sum()


@pytest.mark.parametrize("named", [True, False])
def test_hierarchies_are_what_their_parents_say(tmp_path, named):
    convert(write(tmp_path / "units.csv", made_units(3, 200)), tmp_path)
    data = PpmfBlocks(tmp_path, named=named)
    for tree in (data.tree("10"), data.whole().hierarchy):
        listed = Hierarchy.from_parents([str(region) for region in range(tree.n_regions)], tree.parent.tolist())
        for field in ("parent", "first_child", "level_start", "order", "padded"):
            assert np.array_equal(getattr(listed, field), getattr(tree, field))
        assert len(set(tree.paths)) == (tree.n_regions if named else 1)
    if named:
        assert Hierarchy.from_paths(tree.paths).paths == tree.paths


@pytest.mark.drawn(2, pool="a nation in parts, resumed and by threads")
def test_solved_state_by_state(tmp_path):
    """What takes a generated nation in parts takes these households in its place."""
    convert(write(tmp_path / "units.csv", made_units(4)), tmp_path)
    data, folder = PpmfBlocks(tmp_path, SIZES, named=False), ParquetFolder(str(tmp_path / "parts"), "state")
    measure(data, folder, Geometric(View.COUNTS, 600), Seeded("ppmf"))
    result = StreamedLevelTreeProjection(Engine.named("here")).solve(data, folder)
    assert result.optimal
    # At epsilon 100 per level no noise is to be expected in a lifetime, so the answer is the truth.
    assert np.array_equal(folder.read("10", "counts-5"), data.part("10").tables[-1])


def test_the_table_of_blocks_is_for_other_programs_too(tmp_path):
    units: list[Unit] = [("02", "013", "000100", "1", "1004", "2", size) for size in (0, 7, 7, 2)]
    units += [("02", "013", "000100", "1", "1004", "4", 0), ("01", "001", "020100", "2", "2000", "4", 0)]
    frame = pd.read_parquet(convert(write(tmp_path / "units.csv", units), tmp_path))
    assert frame.iloc[0].tolist() == ["01", "001", "020100", "2", "2000", *[0] * 8, 1]
    assert frame.iloc[1].tolist() == ["02", "013", "000100", "1", "1004", 1, 0, 1, 0, 0, 0, 0, 2, 1]
    assert list(frame.columns[5:]) == ["vacant", *(f"size_{size}" for size in range(1, 8)), "group_quarters"]


def test_other_names_signs_and_lost_zeros(tmp_path):
    file = tmp_path / "units.txt"
    file.write_text(
        "STATE|TABBLKCOU|TRACT|TABBLKGRPCE|TABBLK|RTYPE|HHSIZE\n1|1|20100|1|1000|2|4\n01|001|020100|1|1000|4|\n"
    )
    convert(file, tmp_path, fields=UnitFields(state="STATE", tract="TRACT"), delimiter="|")
    data = PpmfBlocks(tmp_path)
    assert data.n_units("01") == {"occupied": 1, "vacant": 0, "group quarters": 1}
    assert data.part("01").hierarchy.paths[-1][-1] == "010010201001000"


def test_blocks_of_rows_are_merged(tmp_path, monkeypatch):
    """A file of many blocks of rows is counted as one."""
    from pgsr.tables import csv_files

    units, told = made_units(5), []
    monkeypatch.setattr(csv_files, "BLOCK", 700)
    convert(write(tmp_path / "units.csv", units), tmp_path, progress=told.append)
    assert len(told) > 100
    assert told == sorted(told)
    assert told[-1] == len(units)
    table = PpmfBlocks(tmp_path).whole().tables[0]
    assert table[0].tolist() == [0, *(sum(u[5] == "2" and u[6] == size for u in units) for size in range(1, 8))]


GOOD = ("01", "001", "020100", "1", "1000", "2", 3)


@pytest.mark.parametrize(
    ("place", "value", "says"),
    [
        (0, "AL", r"line 1,203 of .*units.csv has TABBLKST 'AL', not a number of 2 digits"),
        (1, "", "has TABBLKCOU None, not a number of 3 digits"),
        (2, "0201001", "has TABTRACTCE '0201001', not a number of 6 digits"),
        (3, "-", "has TABBLKGRPCE '-', not a number of 1 digit;"),
        (4, "1٣", "has TABBLK '1٣', not a number of 4 digits"),
        (5, "3", "has RTYPE '3', not 2, a housing unit, or 4, group quarters"),
        (5, "", "has RTYPE None, not 2"),
        (6, 8, "has HHSIZE '8', not a size from 0 to 7"),
        (6, "", "has HHSIZE None, not a size"),
    ],
)
def test_a_wrong_value_is_named_with_its_line(tmp_path, monkeypatch, place, value, says):
    from pgsr.tables import csv_files

    monkeypatch.setattr(csv_files, "BLOCK", 10_000)
    bad = (*GOOD[:place], value, *GOOD[place + 1 :])
    file = write(tmp_path / "units.csv", [GOOD] * 1_201 + [bad] + [GOOD] * 5)
    with pytest.raises(DataError, match=says) as told:
        convert(file, tmp_path)
    assert "line 1,203 of" in str(told.value)
    assert not (tmp_path / FILE.file).exists()


def test_what_is_no_file_of_units_is_told(tmp_path):
    with pytest.raises(DataError, match="there is no file"):
        convert(tmp_path / "units.csv", tmp_path)
    (tmp_path / "units.zip").write_bytes(b"PK")
    with pytest.raises(DataError, match=r"units.zip is a zip archive; unpack it"):
        convert(tmp_path / "units.zip", tmp_path)
    (tmp_path / "persons.csv").write_text("EPNUM,RTYPE,TABBLKST\n1,3,01\n")
    with pytest.raises(DataError, match=r"no column TABBLKCOU, .*HHSIZE, only EPNUM, RTYPE, TABBLKST; is it the file"):
        convert(tmp_path / "persons.csv", tmp_path)
    with pytest.raises(DataError, match="has no units"):
        convert(write(tmp_path / "none.csv", []), tmp_path)
    (tmp_path / "cut.csv").write_text(",".join(COLUMNS) + "\n" + row(GOOD) + "\n2,000,0\n")
    with pytest.raises(
        DataError, match=r"the file of units has a line with more or fewer fields .*line 3 of .*cut.csv"
    ):
        convert(tmp_path / "cut.csv", tmp_path)


def test_what_cannot_be_read_is_told(tmp_path):
    with pytest.raises(DataError, match=r"does not exist; put ppmf_block_units.parquet there"):
        PpmfBlocks(tmp_path)
    (tmp_path / FILE.file).write_bytes(b"PAR1")
    with pytest.raises(DataError, match=r"cannot be read .* write it again with convert"):
        PpmfBlocks(tmp_path)
    pd.DataFrame({"state": ["01"]}).to_parquet(tmp_path / FILE.file)
    with pytest.raises(DataError, match=r"is not what .*convert writes"):
        PpmfBlocks(tmp_path)
    path = convert(write(tmp_path / "units.csv", [GOOD, (*GOOD[:4], "1001", "2", 1)]), tmp_path)
    with pytest.raises(DataError, match="2 largest sizes for 6 levels; give one per level"):
        PpmfBlocks(tmp_path, (7, 7))
    with pytest.raises(DataError, match="the file ends at 7"):
        PpmfBlocks(tmp_path, (8,) * 6)
    with pytest.raises(DataError, match="a whole number from 1 up"):
        PpmfBlocks(tmp_path, (7,) * 5 + (0,))
    with pytest.raises(CountError, match="merged from the root down"):
        PpmfBlocks(tmp_path, (6,) * 5 + (7,))
    with pytest.raises(DataError, match=r"state 'Alabama' is not in .* use a code such as '01'"):
        PpmfBlocks(tmp_path).part("Alabama")
    pq.write_table(pq.read_table(path).take([1, 0]), path)
    with pytest.raises(DataError, match="not in order; write it again"):
        PpmfBlocks(tmp_path).part("01")
