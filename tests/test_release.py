"""Releases end to end: complete and charged, or absent and not; and nothing private in what is published."""

import json
import os
import shutil
import signal
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from exact_law import noise_by
from made_tables import TABLES, make_ledger, release, write_config, write_tables

from pgsr import Geometric, PgsrError
from pgsr.double_geometric import DoubleGeometric
from pgsr.errors import BudgetError, HierarchyError, MemoryNeededError, TableError
from pgsr.ledger import Loss
from pgsr.release import (
    EXAMPLE,
    ConfigError,
    Kind,
    LedgerError,
    LedgerFile,
    ReleaseConfig,
    ReleaseError,
    Terms,
    check,
    publish,
)
from pgsr.release.folder.artefact import FILES
from pgsr.release.folder.manifest import FIELDS
from pgsr.tables import Entities, Groups, Parents, Quantities, read_long

RAGGED = [("US", "GA", "GA0"), ("US", "DC"), ("US", "MI", "MI0"), ("US", "MI", "MI1")]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    write_tables(tmp_path)
    return tmp_path


def config(place: Path, mechanism: str = "m_h", name: str = "release", **keys: str) -> ReleaseConfig:
    return ReleaseConfig.read(write_config(place, mechanism, name, **keys))


def left(place: Path) -> Fraction:
    return LedgerFile(place / "ledger.jsonl").left.parts[0]


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("mechanism", Kind)
def test_every_mechanism_end_to_end(place, mechanism):
    asked = config(place, mechanism, epsilon='"1/3"')
    folder = release(asked)
    assert folder == place / "release"
    assert sorted(contents(folder)) == sorted(FILES)
    assert left(place) == 100 - Fraction(1, 3)
    assert check(folder).passed, check(folder)
    manifest = json.loads((folder / "manifest.json").read_text())
    assert tuple(manifest) == FIELDS
    assert manifest["epsilon"] == "1/3"
    counts = read_long(folder / "counts.parquet").counts()
    truth = asked.count()
    assert counts.totals[0] == truth.totals[0]
    if mechanism in (Kind.KUO, Kind.BOTTOM_UP):
        assert counts.totals.tolist() == truth.totals.tolist()
    assert not [path for path in place.iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize("mechanism", Kind)
def test_private_groups_pay_for_their_totals(place, mechanism):
    tables = TABLES.replace('"groups.parquet"', '"groups.parquet"\nprivate = true')
    folder = release(config(place, mechanism, totals='"noisy"', totals_share='"1/5"', tables=tables))
    assert check(folder).passed, check(folder)
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["totals"]["epsilon"] == "1/5"
    assert "empty group" in manifest["neighbours"]


@pytest.mark.parametrize("mechanism", Kind)
def test_branches_of_different_depth(tmp_path, mechanism):
    write_tables(tmp_path, leaves=RAGGED)
    folder = release(config(tmp_path, mechanism, tables=TABLES + "pad_ragged = true\n"))
    assert check(folder).passed, check(folder)
    measured = pq.read_table(folder / "measurement.parquet")
    rows = [row for row in measured.to_pylist() if row["region_id"] == "US/US%2FDC"]
    assert len(rows) == 4, "a padded region is measured once"


def test_options_shares_and_tuples(place):
    people = pq.read_table(place / "entities.parquet").to_pydict()
    quantity = (np.arange(len(people["group"])) % 3).tolist()
    pq.write_table(pa.table({"unit": people["group"], "quantity": quantity}), place / "tuples.parquet")
    tables = TABLES.replace(
        '[entities]\nfile = "entities.parquet"',
        '[options]\nmerge = "average"\nnorm = 2\n[tuples]\nfile = "tuples.parquet"\nuser = ""\nmax_quantity = 2',
    )
    folder = release(config(place, "kuo", shares='["1/4", "1/4", "1/2"]', tables=tables))
    assert check(folder).passed, check(folder)
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["max_quantity"] == 2
    assert [level["noise_scale"] for level in manifest["levels"]] == ["8", "8", "4"]
    assert manifest["options"] == {"merge": "average", "norm": 2}


def test_secure_releases_differ_and_seeded_rehearsals_do_not(place):
    first, second = release(config(place)), release(config(place, name="again"))
    assert contents(first)["measurement.parquet"] != contents(second)["measurement.parquet"]
    rehearsal = contents(release(config(place), rehearse=True))
    shutil.rmtree(place / "release-rehearsal")
    assert rehearsal == contents(release(config(place), rehearse=True))


def test_a_rehearsal_charges_nothing_and_says_what_it_is(place):
    folder = release(config(place, ledger='"absent.jsonl"'), rehearse=True)
    assert folder.name == "release-rehearsal"
    assert not list(place.glob("absent.jsonl*")), "a rehearsal needs no ledger"
    assert left(place) == 100
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["privacy_claim"] == "none (seeded)"
    for table in ("counts.parquet", "measurement.parquet"):
        assert pq.read_schema(folder / table).metadata[b"privacy_claim"] == b"none (seeded)"
    assert "NOT PRIVATE" in (folder / "README.txt").read_text()
    assert "NOT PRIVATE" in repr(check(folder))


@pytest.mark.parametrize("mechanism", Kind)
def test_neighbours_with_the_same_noisy_values_are_published_byte_for_byte(place, mechanism, monkeypatch):
    """The truth changes by one entity, the noisy arrays are replayed: no file may differ. There are no time stamps."""
    monkeypatch.setattr("pgsr.release.making.Secure", lambda: __import__("pgsr").Seeded("frozen"))
    drawn: list[np.ndarray] = []
    add_to = DoubleGeometric.add_to

    def record(law, values, stream):
        add_to(law, values, stream)
        drawn.append(values.copy())

    def replay(law, values, stream):
        del law, stream
        values[:] = drawn.pop(0)

    with noise_by(record):
        first = contents(release(config(place, mechanism)))
    shutil.rmtree(place / "release")
    people = pq.read_table(place / "entities.parquet")
    pq.write_table(people.slice(1), place / "entities.parquet")
    with noise_by(replay):
        second = contents(release(config(place, mechanism)))
    assert not drawn
    assert first == second


def test_the_manifest_holds_nothing_of_the_data(place):
    """Numbers that only the data tell go to the private log, outside the folder."""
    folder = release(config(place))
    log = (place / "release-private.log").read_text()
    rows = pq.read_metadata(place / "entities.parquet").num_rows
    assert f"{rows} rows of entities" in log
    assert "after" in log
    assert (place / "release-private.log").stat().st_mode & 0o077 == 0
    published = b"".join(contents(folder)[name] for name in ("manifest.json", "README.txt"))
    for word in (
        b"seed",
        b"error",
        b"rows of entities",
        b"clipped",
        b"seconds",
        b"entities.parquet",
        str(place).encode(),
    ):
        assert word not in published, word


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["measure", "_write", "_publish"])
def test_killed_after_the_charge(place, moment):
    """The budget stays spent, and there is no folder that could be taken for a release."""
    target = "pgsr.noise.Geometric.measure" if moment == "measure" else f"pgsr.release.making.{moment}"
    path = write_config(place)
    code = f"""
import os, signal, unittest.mock
from pgsr.release import ReleaseConfig, publish
with unittest.mock.patch({target!r}, lambda *_a, **_k: os.kill(os.getpid(), signal.SIGKILL)):
    publish(ReleaseConfig.read({str(path)!r}))
"""
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert left(place) == 99
    assert not (place / "release").exists()
    release(config(place))
    assert left(place) == 98


def test_the_ledger_is_charged_before_noise_is_drawn(place, monkeypatch):
    seen = []
    measure = Geometric.measure

    def watch(*arguments, **options):
        seen.append(left(place))
        return measure(*arguments, **options)

    monkeypatch.setattr(Geometric, "measure", watch)
    release(config(place))
    assert seen == [99]


def test_a_failure_after_the_charge_says_so_and_keeps_what_was_bought(place, monkeypatch):
    def fail(_hidden, _folder, _key):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pgsr.release.making._publish", fail)
    with pytest.raises(ReleaseError, match="epsilon 1 is spent; the noisy values lie in"):
        release(config(place))
    assert left(place) == 99
    [kept] = [path for path in place.iterdir() if path.name.startswith(".release.")]
    assert {"measurement.parquet", "unfinished.json"} <= set(contents(kept))


@pytest.mark.parametrize("error", [MemoryError, AssertionError, KeyboardInterrupt])
def test_noisy_values_outlive_a_failing_post_process(place, monkeypatch, error):
    """What epsilon has bought is on the disk before anything else is done with it."""

    def fail(_terms, _measurement):
        raise error

    monkeypatch.setattr("pgsr.release.making.replayed", fail)
    with pytest.raises((ReleaseError, error)):
        release(config(place))
    [kept] = [path for path in place.iterdir() if path.name.startswith(".release.")]
    assert sorted(contents(kept)) == ["measurement.parquet", "regions.csv", "unfinished.json"]
    assert not (place / "release").exists()


def full_folder(place):
    (place / "release").mkdir()
    (place / "release" / "kept.txt").touch()


def orphan(place):
    with (place / "regions.csv").open("a") as file:
        file.write("US/XX/XX1,US/XX\n")


@pytest.mark.parametrize(
    ("keys", "error", "word"),
    [
        ({"epsilon": '"101"'}, LedgerError, "100 of epsilon 100 is left"),
        ({"data_set": '"other"'}, LedgerError, "is of the data set 'made'"),
        ({"shares": '["1/2", "1/2"]'}, BudgetError, "2 shares for 3 levels"),
        ({"epsilon": '"1e-6"'}, BudgetError, "larger epsilon"),
        ({"max_size": "1000000000"}, MemoryNeededError, "GiB"),
        ({"ledger": '"nowhere/ledger.jsonl"'}, LedgerError, "nothing was charged"),
        ({"ledger": '"absent.jsonl"'}, LedgerError, "pgsr ledger init absent.jsonl"),
        ({"output": '"nowhere/release"'}, ReleaseError, "does not exist"),
        ({"output": '"release.toml"'}, ReleaseError, "no folder"),
        ({"log": '"nowhere/log"'}, ReleaseError, "private log"),
        ({"tables": TABLES.replace("groups.parquet", "absent.parquet")}, TableError, "absent.parquet"),
        ({"tables": TABLES.replace('"regions.csv"', '"regions.csv"\nparent = "above"')}, TableError, "above"),
    ],
)
def test_refusals_charge_nothing(place, keys, error, word):
    with pytest.raises(error, match=word):
        release(config(place, **keys))
    assert left(place) == 100
    assert not [path for path in place.iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize(
    ("spoil", "error", "word"), [(full_folder, ReleaseError, "not empty"), (orphan, HierarchyError, "orphan")]
)
def test_spoiled_places_charge_nothing(place, spoil, error, word):
    spoil(place)
    with pytest.raises(error, match=word):
        release(config(place))
    assert left(place) == 100


def test_a_full_disk_is_refused_beforehand(place, monkeypatch):
    usage = shutil.disk_usage(place)._replace(free=1000)
    monkeypatch.setattr("shutil.disk_usage", lambda _path: usage)
    with pytest.raises(ReleaseError, match="make room"):
        release(config(place))
    assert left(place) == 100


def test_an_empty_folder_is_filled_in_one_step(place):
    (place / "release").mkdir()
    assert check(release(config(place))).passed


@pytest.mark.parametrize(
    ("keys", "word"),
    [
        ({"epsilon": None}, "'epsilon' is missing"),
        ({"epsilon": None, "epsilom": '"1"'}, "'epsilom' is unknown; did you mean 'epsilon', which is missing"),
        ({"colour": '"red"'}, "'colour' is unknown"),
        ({"epsilon": "0.1"}, "in quotes"),
        ({"epsilon": "true"}, "in quotes"),
        ({"epsilon": '"-1"'}, "greater than 0"),
        ({"epsilon": '"inf"'}, 'is "inf"; write an exact number'),
        ({"epsilon": '""'}, "is empty; write an exact number"),
        ({"max_size": '"3"'}, 'is "3", a string; write an integer'),
        ({"max_size": "3.0"}, "is 3.0, a float; write an integer"),
        ({"max_size": "true"}, "is true; write an integer"),
        ({"max_size": "0"}, "from 1 up"),
        ({"mechanism": "M_H"}, 'write one of "m_h", "m_c_dp", "kuo", "bottom_up", perhaps "m_h"'),
        ({"mechanism": "m_c"}, 'names the exact integer program, which no release solves.*mechanism = "m_c_dp"'),
        ({"mechanism": "mean_consistency"}, "write one of"),
        ({"totals": '"regions"'}, "does not keep"),
        ({"totals": '"noisy"'}, 'needs totals = "noisy"'),
        ({"totals_share": '"1/10"'}, "only noisy totals"),
        ({"shares": '["1/2", "1/3"]'}, "add up to 5/6"),
        ({"shares": "[0.5, 0.5]"}, "in quotes"),
        ({"shares": '"1"'}, "an array"),
        ({"delta": '"1e-6"'}, "'delta' is above 0"),
        ({"data_set": '""'}, "is empty"),
        ({"data_set": '"a\\u0007"'}, "control characters"),
        ({"data_set": "7"}, "is 7, an integer; write a string"),
        ({"ledger": '"release/ledger.jsonl"'}, "inside the output folder"),
        ({"log": '"release/log"'}, "inside the output folder"),
        ({"ledger_total": '"1"'}, "pgsr ledger init"),
        ({"sign": '"release/key"'}, "private key lies inside the output folder"),
        ({"level_names": '["a", "A", "b"]'}, "two levels are called 'a' and 'A'"),
        ({"level_names": '["a", "a", "b"]'}, "array of different strings"),
        ({"level_names": '["a", "level", "b"]'}, "none of them region_id, level, "),
        ({"level_names": '["a", "Level", "b"]'}, "called 'Level', as another column"),
        ({"level_names": '["a", "", "b"]'}, "array of different strings"),
        ({"level_names": '["a", " ", "b"]'}, "empty or no printable text"),
        ({"level_names": '["a", "\\u2028", "b"]'}, "empty or no printable text"),
        ({"tables": ""}, r"write either \[entities\] or \[tuples\]; none is there"),
        ({"tables": TABLES + '[tuples]\nfile = "x.csv"\nmax_quantity = 1\n'}, r"\[entities\] and \[tuples\]"),
        ({"tables": TABLES.replace("[groups]", "[group]")}, "unknown"),
        (
            {"tables": TABLES.replace('file = "groups.parquet"', "")},
            r"write either file = .* in \[groups\]; none is there",
        ),
        ({"tables": TABLES.replace('"groups.parquet"', '"groups.parquet"\nkind = "xls"')}, 'one of "csv", "parquet"'),
        ({"tables": TABLES.replace('"groups.parquet"', '"groups.parquet"\ndelimiter = ";"')}, "Parquet"),
        ({"tables": TABLES.replace('"groups.parquet"', '"groups.parquet"\nprivate = 1')}, "true or false"),
        ({"tables": TABLES + "levels = []\n"}, "array of strings"),
        ({"tables": TABLES + 'levels = ["a", 1]\n'}, "array of strings"),
        ({"tables": TABLES + "[options]\nmerge = 'average'\n"}, "mechanism m_h has no option 'merge'"),
        ({"tables": TABLES + "[limits]\nthreads = 'two'\n"}, 'is "two", a string; write an integer'),
        ({"mechanism": "kuo", "tables": TABLES + "[options]\nmerge = 'mean'\n"}, '"weighted", "average"'),
        ({"mechanism": "kuo", "tables": TABLES + "[options]\nnorm = 3\n"}, "1 or 2"),
        (
            {"groups": '"groups.parquet"', "tables": TABLES.replace("[groups]\nfile", "[groupz]\nfile")},
            r"write a table",
        ),
    ],
)
def test_every_error_of_a_configuration_names_its_key(place, keys, word):
    with pytest.raises((ConfigError, BudgetError), match=word):
        config(place, **keys)


def test_all_errors_of_the_keys_are_listed_at_once(place):
    tables = TABLES.replace("[groups]", "clip = true\ncolor = 1\n[groups]\nepsilon = 2")
    with pytest.raises(ConfigError) as caught:
        config(place, "m_c", max_size="3.5", epsilon=None, tables=tables)
    first, *lines = str(caught.value).splitlines()
    assert first == "6 errors in the configuration:"
    for line, word in zip(
        lines,
        [
            "'max_size' is 3.5, a float",
            "'mechanism' is \"m_c\": m_c names",
            "'clip' of [entities] is unknown there; it is a key of [tuples]",
            "'color' of [entities] is unknown; known are file,",
            "'epsilon' of [groups] is unknown there; move it up",
            "'epsilon' is missing; write epsilon = ...",
        ],
        strict=True,
    ):
        assert line.startswith("  - ")
        assert word in line


def test_level_names(place):
    """Written, else the columns of the levels, else none; as many as there are levels."""
    assert config(place).terms.level_names is None
    names = ("nation", "state", "county")
    assert config(place, level_names='["nation", "state", "county"]').terms.level_names == names
    few = config(place, level_names='["nation", "state"]')
    with pytest.raises(ConfigError, match=r"2 names of levels .nation, state., and the regions have 3 levels"):
        few.tree()
    with pytest.raises(ConfigError, match="2 names"):
        release(few)
    assert not LedgerFile(place / "ledger.jsonl").entries
    columns = TABLES.replace('"regions.csv"', '"regions.csv"\nregion = "id"\nlevels = ["land", "kreis"]')
    assert config(place, tables=columns).terms.level_names == ("land", "kreis")
    assert config(place, tables=columns, level_names='["a", "b"]').terms.level_names == ("a", "b")
    groups = TABLES.replace('"groups.parquet"', '"groups.parquet"\nregion = ["land", "kreis"]')
    alone = groups[: groups.index("[regions]")]
    assert config(place, tables=alone).terms.level_names == ("land", "kreis")
    with pytest.raises(ConfigError, match=r"called 'level'.*level_names ="):
        config(place, tables=alone.replace("kreis", "level"))


def test_the_key_that_signs_is_passed_on(place):
    assert config(place).sign is None
    path = write_config(place, sign='"keys/publisher.key"')
    assert ReleaseConfig.read(path).sign == place / "keys" / "publisher.key"
    assert ReleaseConfig.read(path, {"sign": "other.key"}).sign == Path("other.key")


def test_from_python_values(place):
    """Names of files and numbers as text; what contradicts the tables is refused."""
    given: dict[str, Any] = {
        "terms": Terms("made", 3, "1", "m_h"),
        "entities": Entities(pq.read_table(place / "entities.parquet").to_pandas()),
        "groups": Groups(pq.read_table(place / "groups.parquet").to_pandas()),
        "regions": Parents(str(place / "regions.csv")),
        "output": str(place / "release"),
        "ledger": str(place / "ledger.jsonl"),
    }
    make_ledger(place)
    asked = ReleaseConfig(**given)
    assert asked.log == place / "release-private.log"
    made = publish(asked)
    assert check(made.folder, made.digest).passed
    tuples = Quantities(pa.table({"unit": [1], "quantity": [1]}), 4, user=None, region=None)
    assert ReleaseConfig(**given | {"entities": tuples}).terms.max_quantity == 4
    with pytest.raises(ConfigError, match="max_quantity 2 and the tables 1"):
        ReleaseConfig(**given | {"terms": Terms("made", 3, "1", "m_h", max_quantity=2)})


@pytest.mark.parametrize(
    ("wrong", "error", "word"),
    [
        ({"kind": "m_c"}, ConfigError, "exact integer program"),
        ({"kind": "best"}, ConfigError, "m_h, m_c_dp, kuo, bottom_up"),
        ({"epsilon": "many"}, BudgetError, "finite"),
        ({"totals": "some"}, ConfigError, "root, regions, noisy"),
        ({"max_size": 2.5}, ConfigError, "whole numbers"),
        ({"level_names": ()}, ConfigError, "is empty"),
    ],
)
def test_terms_from_python_are_judged_like_those_of_a_file(wrong, error, word):
    with pytest.raises(error, match=word):
        Terms(**{"data_set": "made", "max_size": 3, "epsilon": "1", "kind": "m_h"} | wrong)


def test_a_file_is_released_by_its_name(place):
    made = publish(str(write_config(place)))
    assert made.folder == place / "release"
    assert check(str(made.folder)).passed


def test_configurations_that_are_no_files(tmp_path):
    with pytest.raises(ConfigError, match="--example"):
        ReleaseConfig.read(tmp_path / "absent.toml")
    (tmp_path / "bad.toml").write_text("epsilon = = 1")
    with pytest.raises(ConfigError, match="not TOML"):
        ReleaseConfig.read(tmp_path / "bad.toml")
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="line 1 is not in UTF-8"):
        ReleaseConfig.read(tmp_path / "bytes.toml")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a = 1\nepsilon = = 1", 'not TOML at line 2, column 11, "epsilon = = 1": invalid value; strings stand in'),
        ("a = 1\na = 2\n", "line 2, column 6.*: cannot overwrite a value; write every key"),
        ('a = "x', "not TOML at .*: "),
        ("a = 1 b = 2", "line 1, column 7.*one key a line"),
        ("a = 1\nmax_size", "not TOML at its end: expected"),
        ("[a]\n\n[a]", "line 3.*write every key and every table once"),
    ],
)
def test_syntax_errors_name_the_line(tmp_path, text, said):
    (tmp_path / "bad.toml").write_text(text)
    with pytest.raises(ConfigError, match=said):
        ReleaseConfig.read(tmp_path / "bad.toml")


def test_a_mark_at_the_start_of_the_file_is_no_error(place):
    path = write_config(place)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert ReleaseConfig.read(path).terms.max_size == 3


def test_the_example_is_a_configuration(place):
    (place / "example.toml").write_text(EXAMPLE)
    LedgerFile.create(place / "ledger.jsonl", "households 2026", Loss(epsilon=2))
    assert check(release(ReleaseConfig.read(place / "example.toml"))).passed


def test_the_example_names_every_key(place):
    """Uncommented, every line is a known key; those that exclude each other are tried one by one."""
    known = {
        "shares",
        "totals_share",
        "log",
        "merge",
        "norm",
        "connection",
        "query",
        "cast",
        "kind",
        "delimiter",
        "quote",
        "escape",
        "encoding",
        "header",
        "columns",
        "nulls",
        "private",
        "levels",
        "pad_ragged",
    }
    for key in known:
        assert f"# {key} = " in EXAMPLE
    (place / "example.toml").write_text(EXAMPLE.replace("# shares", "shares").replace("# [limits]", "[limits]"))
    assert ReleaseConfig.read(place / "example.toml").terms.shares is not None


def test_overrides_replace_keys(place):
    path = write_config(place)
    asked = ReleaseConfig.read(path, {"epsilon": "1/7", "mechanism": "kuo", "max_size": None})
    assert asked.terms.epsilon == Fraction(1, 7)
    assert asked.terms.kind is Kind.KUO
    assert asked.terms.max_size == 3


def test_a_read_only_folder_is_refused(place, monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_a: False)
    with pytest.raises(PgsrError, match="cannot be written to"):
        release(config(place))
    assert left(place) == 100
