"""A path is never a pattern: folders and files whose names hold the signs of patterns are read, written and checked."""

import os
import shutil
from pathlib import Path

import pytest
from made_tables import config, left, release, write_config, write_tables

from pgsr import PgsrError
from pgsr.release import ReleaseConfig, check, publish, read_release
from pgsr.release.publishing.errors import ReleaseError
from pgsr.tables import Csv, Parquet
from pgsr.tables.long import read_long
from pgsr.tables.source import files

NAMES = ("of [2026]", "a*b?", "[!a]", "{a,b}~", "year=2026", "back\\slash[", "#1 %20 ü")


@pytest.fixture(params=NAMES)
def odd(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A folder with tables, whose name holds signs of patterns."""
    folder = tmp_path / request.param / "in"
    folder.mkdir(parents=True)
    write_tables(folder)
    return folder


def as_csv(folder: Path) -> str:
    """Tables of the same rows that DuckDB opens no files of."""
    for name in ("entities", "groups"):
        table = Parquet(folder / f"{name}.parquet")
        assert files(table.pattern) == [str(folder / f"{name}.parquet")]
    return "\n".join(
        f'[{name}]\nfile = "{name}.csv"\n' + ('cast = {group = "integer"}' if name != "regions" else "")
        for name in ("entities", "groups", "regions")
    )


def in_csv(folder: Path) -> ReleaseConfig:
    import pandas as pd

    tables = as_csv(folder)
    for name in ("entities", "groups"):
        pd.read_parquet(folder / f"{name}.parquet").to_csv(folder / f"{name}.csv", index=False)
    return ReleaseConfig.read(write_config(folder, name="out [1]*?", tables=tables))


@pytest.mark.few(2)
def test_a_release_is_made_checked_copied_and_read(odd):
    made = release(in_csv(odd))
    assert left(odd) == 99
    assert check(made).passed
    copied = odd / "copy [a]?"
    shutil.copytree(made, copied)
    assert check(copied).passed
    assert (read_release(copied).counts.counts == read_release(made).counts.counts).all()


@pytest.mark.few(2)
@pytest.mark.parametrize("name", [name for name in NAMES if "\\" not in name])
def test_tables_are_read_beside_others_that_the_name_would_match(tmp_path, name):
    """The files of a folder, and not those of its neighbours, which its name would match as a pattern."""
    folder, other = tmp_path / name, tmp_path / "of 2"
    for place, seed in ((folder, 0), (other, 1)):
        place.mkdir()
        write_tables(place, seed)
    write_config(folder)
    wanted = tmp_path / "plain"
    wanted.mkdir()
    write_tables(wanted, 0)
    truth = config(wanted).count()
    assert (config(folder).count().counts == truth.counts).all()
    many = write_config(folder, tables='[entities]\nfile = "ent*.parquet"\n[groups]\nfile = "groups.parquet"\n'
                                       '[regions]\nfile = "regions.csv"\n')  # fmt: skip
    assert (ReleaseConfig.read(many).count().counts == truth.counts).all()


@pytest.mark.skipif(os.name == "nt", reason="names that Windows has not")
def test_a_file_whose_name_looks_like_a_pattern(tmp_path):
    write_tables(tmp_path)
    truth = config(tmp_path).count()
    (tmp_path / "entities.parquet").rename(tmp_path / "e[1]*.parquet")
    tables = '[entities]\nfile = "e[1]*.parquet"\n[groups]\nfile = "groups.parquet"\n[regions]\nfile = "regions.csv"\n'
    assert (config(tmp_path, tables=tables).count().counts == truth.counts).all()


@pytest.mark.parametrize("kind", [Parquet, Csv])
def test_a_path_names_one_file_and_text_may_name_several(tmp_path, kind):
    (tmp_path / "a.csv").write_text("x\n1\n")
    assert files(str(tmp_path / "*.csv")) == [str(tmp_path / "a.csv")]
    with pytest.raises(PgsrError, match="there is no file"):
        files(kind(tmp_path / "*.csv").pattern)


def test_what_duckdb_cannot_name_is_refused_in_a_sentence(tmp_path):
    write_tables(tmp_path)
    odd = tmp_path / "a[b\\c.parquet"
    (tmp_path / "entities.parquet").rename(odd)
    with pytest.raises(PgsrError, match=r"backslash beside .*; rename it"):
        config(tmp_path, tables=f"[entities]\nfile = '{odd.name}'\n[groups]\nfile = 'groups.parquet'\n"
                                "[regions]\nfile = 'regions.csv'\n").count()  # fmt: skip


def test_long_tables_are_read_by_odd_names(tmp_path):
    folder = tmp_path / "in [1]"
    folder.mkdir()
    write_tables(folder)
    made = publish(config(folder, name="out*"), rehearse=True)
    for path in (made.folder / "counts.csv", made.folder / "counts.parquet"):
        assert (read_long(path).counts().counts == made.counts().counts).all()
        assert (read_long(str(path)).counts().counts == made.counts().counts).all()


@pytest.mark.skipif(os.name == "nt", reason="names of files are text there")
def test_a_name_that_is_no_text_is_refused_before_the_charge(tmp_path):
    write_tables(tmp_path)
    made = config(tmp_path)
    odd = Path(os.fsdecode(bytes(tmp_path) + b"/caf\xe9"))
    with pytest.raises(ReleaseError, match="no text in UTF-8; choose another; nothing was charged"):
        publish(ReleaseConfig(**{**vars(made), "output": odd, "log": tmp_path / "log"}))
    assert left(tmp_path) == 100
