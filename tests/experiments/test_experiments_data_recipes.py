"""`python -m pgsr.experiments data` tells, fetches, converts and checks; a row of docs/study/data.md per file."""

import os
import re
from dataclasses import replace
from email.message import Message
from io import BytesIO
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from pgsr.errors import DataError
from pgsr.experiments.data import command, recipes
from pgsr.experiments.data import downloads as fetching
from pgsr.experiments.data.command import app
from pgsr.experiments.data.contents import content_sum, contents
from pgsr.experiments.data.downloads import download
from pgsr.experiments.data.files import DataFile, Total
from pgsr.experiments.data.recipes import RECIPES, recipe_of
from pgsr.experiments.quoted import data_tables
from tests.experiments.test_experiments_data import survey_files

FOLDER = os.environ.get("PGSR_DATA")

CELLS = DataFile(
    "cells.csv",
    text=("half", "area"),
    whole=("size", "n_groups"),
    may_miss=("area", "size"),
    totals=(
        Total("rows", 3),
        Total("halves", 2, distinct="half"),
        Total("groups", 16, of=("n_groups",)),
        Total("members", 25, of=("size", "n_groups")),
        Total("lower members", 20, of=("size", "n_groups"), where=("half", "lower")),
    ),
)
ROWS = "half,area,size,n_groups\nupper,01,5,1\nlower,02,2,10\nlower,,,5\n"


def run(*arguments: str) -> tuple[int, str]:
    """Run the command; its exit code, and what it prints."""
    done = CliRunner().invoke(app, list(arguments))
    if isinstance(done.exception, DataError):
        return 2, str(done.exception)
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.stdout


# What lies in a file


def test_the_checksum_is_of_the_content_alone(tmp_path):
    """Order of rows and columns, further columns, format and compression do not count; any entry does."""
    (tmp_path / "cells.csv").write_text(ROWS)
    known = content_sum(CELLS, tmp_path)
    frame = pd.read_csv(tmp_path / "cells.csv", dtype={"area": str, "size": "Int64"})
    other = frame.iloc[[2, 0, 1]].assign(more=1.5)[["more", "n_groups", "size", "area", "half"]]
    other.to_csv(tmp_path / "cells.csv.gz", index=False)
    other.astype({"size": "Int16", "n_groups": "uint8"}).to_parquet(tmp_path / "cells.parquet")
    for file in ("cells.csv.gz", "cells.parquet"):
        assert content_sum(replace(CELLS, file=file), tmp_path) == known
    for before, after in (("01", "1"), ("upper", "lower"), (",10", ",11"), (",,,5", ",,0,5"), ("lower,,,5\n", "")):
        (tmp_path / "cells.csv").write_text(ROWS.replace(before, after))
        assert content_sum(CELLS, tmp_path) != known, (before, after)


def test_totals_are_counted(tmp_path):
    (tmp_path / "cells.csv").write_text(ROWS)
    found = contents(CELLS, tmp_path)
    assert found.totals == (3, 2, 16, 25, 20)
    assert found.differences == ()
    wrong = replace(CELLS, totals=(Total("rows", 4),), content="0" * 64)
    rows, content = contents(wrong, tmp_path).differences
    assert rows == "rows: 3, and 4 must come out"
    assert re.fullmatch(r"content [0-9a-f]{16}\.\.\., and 0{16}\.\.\. must come out", content)


def test_what_cannot_be_read_is_told(tmp_path):
    (tmp_path / "cells.csv").write_text("half,area,size\nupper,01,5\n")
    with pytest.raises(DataError, match="has no column n_groups, only half, area, size"):
        contents(CELLS, tmp_path)
    (tmp_path / "cells.csv").write_text(ROWS.replace("10", "ten"))
    with pytest.raises(DataError, match=r"cells\.csv cannot be read \(.*fetch or convert the file again"):
        contents(CELLS, tmp_path)
    (tmp_path / "cells.parquet").write_bytes(b"PAR1")
    with pytest.raises(DataError, match=r"cells\.parquet cannot be read"):
        contents(replace(CELLS, file="cells.parquet"), tmp_path)


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.data.name)
def test_real_files_are_those_of_the_published_results(recipe):
    if not FOLDER or not (Path(FOLDER) / recipe.data.file).is_file():
        pytest.skip(f"PGSR_DATA names no folder with {recipe.data.file}")
    assert contents(recipe.data).differences == ()


# Recipes


def test_every_file_that_is_read_has_a_recipe():
    """All values of `DataFile` of readers are in the table, each once, and an absent one is told with its name."""
    folder = Path(recipes.__file__).parent
    stated = {name for path in folder.rglob("*.py") for name in re.findall(r'DataFile\(\s*"([^"]+)"', path.read_text())}
    files = [recipe.data.file for recipe in RECIPES]
    assert stated - {"cells.csv", "cells.csv.gz"} == set(files)
    assert len(set(files)) == len({recipe.data.name for recipe in RECIPES}) == len(RECIPES)
    for recipe in RECIPES:
        with pytest.raises(
            DataError, match=f"python -m pgsr.experiments data fetch {recipe.data.name}, and docs/study/data.md"
        ):
            recipe.data.path("nowhere")
        assert recipe_of(recipe.data.file) is recipe
        assert recipe.downloads, recipe.data.name
        assert all(url.startswith("https://") for url in recipe.downloads)
        assert len({url.rpartition("/")[2] for url in recipe.downloads}) == len(recipe.downloads)
        assert recipe.data.content is None or re.fullmatch("[0-9a-f]{64}", recipe.data.content)
    downloads = recipe_of("census2000_tract_hhsize").downloads
    assert len(downloads) == 102
    assert downloads[17].endswith("/Summary_File_1/District_of_Columbia/dc00037_uf1.zip")
    assert len(recipe_of("census2010_block_race").downloads) == 52


def test_the_page_says_what_the_recipes_say():
    """Every file has a row with its use, source and licence; checksums and totals are in `list` alone."""
    rows = dict(data_tables())["data.files"].splitlines()[2:]
    for recipe, line in zip(RECIPES, rows, strict=True):
        assert line.startswith(f"| `{recipe.data.file}` |")
        licence = recipe.licence.partition(", a work of")[0]
        assert all(text in line for text in (recipe.what, recipe.needed_by, recipe.source, licence))
        told = " ".join(run("list", recipe.data.name)[1].split())
        assert (recipe.data.content or "not known, nobody here has had the file") in told
        assert all(f"{total.what} {total.value:,}" in told for total in recipe.data.totals)
        assert all(text in told for text in (recipe.raw, recipe.unchecked))


# The command


def test_convert_makes_and_checks(tmp_path):
    """Two households are not the survey, and the command says what differs, with exit code 1."""
    survey_files(tmp_path)
    code, told = run("convert", "nhts2001_households", str(tmp_path / "Ascii.zip"), "--out", str(tmp_path))
    assert code == 1
    assert "households: 2, and 60,521 must come out" in told
    assert "and b207b2f902247410... must come out" in told
    code, told = run("check", "--out", str(tmp_path))
    assert code == 1
    assert told.count("absent") == len(RECIPES) - 1
    assert run("convert", "nhts2001_persons", "x", "--out", str(tmp_path / "no"))[1].endswith("name another by --out")


def test_check_says_what_is_absent_and_what_is_wrong(tmp_path, monkeypatch):
    monkeypatch.setenv("PGSR_DATA", str(tmp_path))
    assert run("check")[0] == 0
    name = "kuo2018_hawaiian_national"
    assert run("check", name) == (1, f"absent     {tmp_path}/{name}.csv\n")
    (tmp_path / f"{name}.csv").write_text("size\n1\n")
    code, told = run("check", name)
    assert code == 1
    assert "WRONG" in told
    assert "has no column n_groups" in told
    monkeypatch.delenv("PGSR_DATA")
    assert "and it is not set" in run("check")[1]


def test_list_names_all(monkeypatch):
    monkeypatch.delenv("PGSR_DATA", raising=False)
    code, told = run("list")
    assert code == 0
    assert all(recipe.data.name in told for recipe in RECIPES)
    assert run("list", "nothing")[1].startswith("no file is called 'nothing'; use kuo2018_taxi_nyc2013, ")


def test_fetch_downloads_converts_and_checks(tmp_path, monkeypatch):
    """From files in another folder in place of the publisher's: they are kept, and not downloaded twice."""
    published, home = tmp_path / "published", tmp_path / "home"
    published.mkdir()
    home.mkdir()
    survey_files(published)
    archive = published / "Ascii.zip"
    recipe = recipe_of("nhts2001_households")
    data = replace(recipe.data, totals=(Total("households", 2),), content=None)
    made = replace(recipe, data=data, downloads=(archive.as_uri(),))
    monkeypatch.setattr(command, "recipe_of", lambda name: made)
    code, told = run("fetch", "nhts2001_households", "--out", str(home))
    assert code == 0, told
    assert f"Ascii.zip  {archive.stat().st_size:,} bytes" in told
    assert (home / "raw" / "Ascii.zip").read_bytes() == archive.read_bytes()
    assert re.search("unknown .*its content [0-9a-f]{64} is not compared", " ".join(told.split()))
    archive.unlink()
    assert run("fetch", "nhts2001_households", "--out", str(home))[0] == 0
    assert run("fetch", "nhts2001_households", "--out", str(home), "--raw", str(tmp_path / "other"))[0] == 2


# Downloads


def test_without_a_network_a_sentence_says_so(tmp_path):
    """A port of this machine that nobody listens at refuses at once."""
    with pytest.raises(DataError, match=r"http://127\.0\.0\.1:9/a\.zip cannot be reached \(.*refused\); fetch again"):
        download(["http://127.0.0.1:9/a.zip"], tmp_path / "raw")
    assert list((tmp_path / "raw").iterdir()) == []


class Answer(BytesIO):
    """What a server answers: bytes, and how many it announced."""

    def __init__(self, content: bytes, announced: int) -> None:
        super().__init__(content)
        self.headers = Message()
        self.headers["Content-Length"] = str(announced)


class Silent(Answer):
    """A server that goes silent after it announced something."""

    def read(self, size: int | None = -1) -> bytes:
        raise TimeoutError("timed out")


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (Answer(b"half", 8), "gave 4 of 8 bytes; fetch again, to go on"),
        (Silent(b"half", 8), r"broke off \(timed out\); fetch again where there is a connection"),
    ],
)
def test_what_is_not_the_whole_file_is_not_kept(tmp_path, monkeypatch, answer, says):
    monkeypatch.setattr(fetching.urllib.request, "urlopen", lambda url, timeout: answer)
    with pytest.raises(DataError, match=says):
        download(["https://example.org/a.zip"], tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_downloads_wait_for_no_server_without_end(tmp_path, monkeypatch):
    waited = []

    def urlopen(url, timeout):
        waited.append(timeout)
        return Answer(b"x", 1)

    monkeypatch.setattr(fetching.urllib.request, "urlopen", urlopen)
    download(["https://example.org/a.zip", "https://example.org/b.zip"], tmp_path)
    assert waited == [fetching.SECONDS] * 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.zip", "b.zip"]
    with pytest.raises(DataError, match="cannot be made"):
        download([], tmp_path / "a.zip" / "raw")
