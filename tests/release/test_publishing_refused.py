"""What would spoil a file, be computed by a spreadsheet, or be read in two ways, is refused in a sentence."""

import json
import os
import shutil
import stat
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from made_tables import config, left, make_ledger, write_tables
from typer.testing import CliRunner

from pgsr import PgsrError, cli
from pgsr.errors import BudgetError, TableError
from pgsr.privacy.accounting import PureEpsilon, Rho
from pgsr.privacy.accounting.zcdp import exact_delta
from pgsr.privacy.budget import exact
from pgsr.release import check, outline, publish
from pgsr.release.ledger import LedgerFile
from pgsr.release.ledger.charge import LedgerError
from pgsr.release.publishing.errors import ConfigError

FORMULAS = ('=HYPERLINK("http://a.example","x")', "+1+1", "-2+3", "@SUM(A1)", " =1", "\uff1d1")


@pytest.mark.parametrize("name", FORMULAS)
def test_no_region_and_no_level_is_a_formula(tmp_path, name):
    write_tables(tmp_path, leaves=[("US", "GA"), ("US", "MI")])
    groups = pq.read_table(tmp_path / "groups.parquet")
    region = pa.array([name if r == "US/GA" else r for r in groups["region"].to_pylist()])
    pq.write_table(pa.table({"group": groups["group"], "region": region}), tmp_path / "groups.parquet")
    quoted = '"' + name.replace('"', '""') + '"'
    (tmp_path / "regions.csv").write_text(f"region,parent\nUS,\n{quoted},US\nUS/MI,US\n")
    for made in (outline, publish):
        with pytest.raises(ConfigError, match=r"the region .* begins as a formula does.*write another name"):
            made(config(tmp_path))
    assert left(tmp_path) == 100


def test_no_level_is_a_formula(place):
    with pytest.raises(ConfigError, match="the level '=a' begins as a formula"):
        publish(config(place, level_names='["=a", "b", "c"]'))
    assert left(place) == 100


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
def test_a_log_that_was_left_open_to_others_is_closed_to_them(place):
    log = place / "release-private.log"
    log.write_text("earlier\n")
    log.chmod(0o644)
    publish(config(place), rehearse=True)
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    assert log.read_text().startswith("earlier\n")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
def test_a_log_that_nobody_reads_is_not_waited_for(place):
    os.mkfifo(place / "pipe")
    with pytest.raises(PgsrError, match="the private log cannot be written"):
        publish(config(place, log='"pipe"'))
    assert left(place) == 100


@pytest.mark.parametrize("key", ["log", "output"])
@pytest.mark.parametrize(
    "name", ["ledger.jsonl", "ledger.jsonl.head", "ledger.jsonl.lock", "ledger.jsonl.head.new", "release.toml", "p.pub"]
)
def test_no_file_of_the_ledger_or_the_key_is_written_over(place, key, name):
    with pytest.raises(ConfigError, match=rf"the {key} '{name}' is the .*, which it would spoil"):
        config(place, sign='"p.key"', **{key: f'"{name}"'})


@pytest.mark.parametrize("key", ["output", "ledger", "log", "sign"])
def test_no_path_holds_nul_or_nothing(place, key):
    with pytest.raises(ConfigError, match=f"the path of the {key}, .* holds a NUL character"):
        config(place, **{key: '"a\\u0000b"'})
    with pytest.raises(ConfigError, match=f"the {key} .* has no name of its own"):
        config(place, **{key: '".."'})


def test_a_ledger_has_no_path_with_nul():
    with pytest.raises(LedgerError, match="holds a NUL character; write another"):
        LedgerFile(Path("\0x"))
    with pytest.raises(LedgerError, match="holds a NUL character; write another"):
        LedgerFile.create("\0x", "made", PureEpsilon(1))


@pytest.mark.parametrize(
    "text", ["1_000", "\uff11", "1/\uff12", "\u0661", " 1", "1\n", "1 /2", "1_0/3", "1/2_0", "0x1"]
)
def test_amounts_are_in_plain_digits(place, text):
    for read in (exact, exact_delta, PureEpsilon, Rho):
        with pytest.raises(BudgetError):
            read(text)
    with pytest.raises(PgsrError):
        config(place, epsilon=json.dumps(text, ensure_ascii=False))
    with pytest.raises(PgsrError):
        CliRunner().invoke(
            cli.app, ["ledger", "init", str(place / "l"), "--data-set", "d", "--total", text], catch_exceptions=False
        )
    assert not (place / "l").exists()


ODD = {
    "pipe": getattr(os, "mkfifo", None),
    "endless": lambda path: path.symlink_to("/dev/zero"),
    "link": lambda path: path.symlink_to(path.with_name("SHA256SUMS")),
    "folder": lambda path: path.mkdir(),
    "socket": lambda path: os.mknod(path, stat.S_IFSOCK | 0o600),
}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
@pytest.mark.parametrize("name", ["README.txt", "manifest.json", "SHA256SUMS", "SHA256SUMS.sig", "counts.parquet", "x"])
@pytest.mark.parametrize("kind", ODD)
def test_a_check_opens_nothing_that_is_no_plain_file(made, tmp_path, name, kind):
    """A pipe would be waited for, a device never ends; the check says so and looks at nothing else."""
    copy = tmp_path / "copy"
    shutil.copytree(made, copy)
    (copy / name).unlink(missing_ok=True)
    ODD[kind](copy / name)
    report = check(copy)
    assert not report.passed
    assert report.findings[0].sentence == f"not plain files: {name!r}; nothing else was looked at"
    assert {str(finding.outcome) for finding in report.findings[1:]} == {"skipped"}


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    write_tables(folder)
    make_ledger(folder)
    return publish(config(folder), rehearse=True).folder


def test_rows_without_region_of_private_groups_are_named_in_the_log(place):
    groups = pq.read_table(place / "groups.parquet")
    region = pa.array([None if i == 6 else r for i, r in enumerate(groups["region"].to_pylist())], pa.string())
    pq.write_table(pa.table({"group": groups["group"], "region": region}), place / "groups.parquet")
    tables = (
        '[entities]\nfile = "entities.parquet"\n[groups]\nfile = "groups.parquet"\nprivate = true\n'
        '[regions]\nfile = "regions.csv"\n'
    )
    with pytest.raises(TableError, match=r"some rows of the table of groups have no region.*private log"):
        publish(config(place, totals='"noisy"', tables=tables))
    assert (
        "1 rows of the table of groups have no region (first in row 7)" in (place / "release-private.log").read_text()
    )
