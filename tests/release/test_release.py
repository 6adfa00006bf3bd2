"""Releases end to end: complete, checked and charged; and nothing private in what is published."""

import json
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from made_tables import TABLES, config, contents, left, release, write_config, write_tables
from release_checks import PUBLISHED, assert_files_follow_from_noisy_values

from pgsr.noise import Totals
from pgsr.release import check, publish, read_release
from pgsr.release.folder.artefact import FILES
from pgsr.release.publishing.digests import SIGNATURE
from pgsr.release.publishing.errors import ConfigError
from pgsr.release.publishing.signature import new_key
from pgsr.release.terms.kinds import Kind
from pgsr.tables.long import read_long

BY_LEVEL = "{nation = 6, state = 3, county = 2}"
"""The largest sizes of levels that have sizes of their own."""

RAGGED = [("US", "GA", "GA0"), ("US", "DC"), ("US", "MI", "MI0"), ("US", "MI", "MI1")]


@pytest.mark.few(1)
@pytest.mark.parametrize("mechanism", Kind)
def test_every_mechanism_end_to_end(place, mechanism):
    asked = config(place, mechanism, epsilon='"1/3"')
    folder = release(asked)
    assert folder == place / "release"
    assert sorted(contents(folder)) == list(FILES)
    assert left(place) == 100 - Fraction(1, 3)
    assert check(folder).passed, check(folder)
    manifest = json.loads((folder / "manifest.json").read_text())
    assert tuple(manifest) == tuple(PUBLISHED)
    assert manifest["epsilon"] == "1/3"
    counts = read_long(folder / "counts.parquet").counts()
    truth = asked.count()
    assert counts.totals[0] == truth.totals[0]
    if asked.terms.kept is Totals.REGIONS:
        assert counts.totals.tolist() == truth.totals.tolist()
    assert not [path for path in place.iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize("mechanism", ["posterior", "two_stage"])
@pytest.mark.parametrize("shares", ['["0", "1/4", "3/4"]', '["0", "0", "1"]', '["1/1000", "1/1000", "499/500"]'])
@pytest.mark.parametrize("totals", ["root", "regions"])
@pytest.mark.few(1)
def test_joint_mechanisms_with_any_shares_and_totals(place, mechanism, shares, totals):
    asked = config(place, mechanism, shares=shares, totals=f'"{totals}"')
    folder = release(asked)
    assert check(folder).passed, check(folder)
    have, wanted = read_long(folder / "counts.parquet").counts().totals, asked.count().totals
    assert have[0] == wanted[0]
    if totals == "regions":
        assert have.tolist() == wanted.tolist()
    published = (folder / "regions.csv").read_text().splitlines()[1:]
    assert sum(not line.endswith(",") for line in published) == (1 if totals == "root" else 7)


@pytest.mark.few(1)
@pytest.mark.parametrize("mechanism", Kind)
def test_private_groups_pay_for_their_totals(place, mechanism):
    tables = TABLES.replace('"groups.parquet"', '"groups.parquet"\nprivate = true')
    folder = release(config(place, mechanism, totals='"noisy"', tables=tables))
    assert check(folder).passed, check(folder)
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["totals"]["epsilon"] == "1/10"
    assert "empty group" in manifest["neighbours"]


@pytest.mark.few(1)
@pytest.mark.parametrize("mechanism", Kind)
def test_branches_of_different_depth(tmp_path, mechanism):
    write_tables(tmp_path, leaves=RAGGED)
    folder = release(config(tmp_path, mechanism, tables=TABLES + "pad_ragged = true\n"))
    assert check(folder).passed, check(folder)
    measured = pq.read_table(folder / "measurement.parquet")
    rows = [row for row in measured.to_pylist() if row["region_id"] == "US/US%2FDC"]
    assert len(rows) == 4, "a padded region is measured once"


def test_shares_and_tuples(place):
    people = pq.read_table(place / "entities.parquet").to_pydict()
    quantity = (np.arange(len(people["group"])) % 3).tolist()
    pq.write_table(pa.table({"unit": people["group"], "quantity": quantity}), place / "tuples.parquet")
    tables = TABLES.replace(
        '[entities]\nfile = "entities.parquet"',
        '[tuples]\nfile = "tuples.parquet"\nuser = ""\nmax_quantity = 2',
    )
    folder = release(config(place, "kuo", shares='["1/4", "1/4", "1/2"]', tables=tables))
    assert check(folder).passed, check(folder)
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["max_quantity"] == 2
    assert [level["noise_scale"] for level in manifest["levels"]] == ["8", "8", "4"]


def test_shares_that_a_mechanism_does_not_use_are_refused(place):
    """Bottom-up adds up the last level; what the levels above it are given would be spent for nothing."""
    with pytest.raises(ConfigError, match="leave shares out"):
        release(config(place, "bottom_up", shares='["1/4", "1/4", "1/2"]'))
    assert left(place) == 100
    assert check(release(config(place, "bottom_up", shares='["0", "0", "1"]'))).passed


def test_a_rehearsal_needs_no_ledger_and_is_not_signed(place):
    """That it says so in every file is shown by `release_checks.rehearsals_say_so`."""
    new_key(place / "publisher")
    folder = release(config(place, ledger='"absent.jsonl"', sign='"publisher.key"'), rehearse=True)
    assert not list(place.glob("absent.jsonl*"))
    assert not (folder / SIGNATURE).exists()
    assert not read_release(folder).secure
    assert "NOT PRIVATE" in repr(check(folder))


def test_a_release_by_the_name_of_its_configuration_fills_an_empty_folder(place):
    (place / "release").mkdir()
    made = publish(str(write_config(place)))
    assert made.folder == place / "release"
    assert check(str(made.folder)).passed


FOLLOWING = [
    *((mechanism, {}) for mechanism in Kind),
    *((mechanism, {"max_size": BY_LEVEL}) for mechanism in Kind if mechanism.totals_by_level),
    ("kuo", {"max_size": "60", "threshold": "2"}),
    ("posterior", {"max_size": "3", "intervals": '"9/10"'}),
]


@pytest.mark.few(1)
@pytest.mark.slow
@pytest.mark.parametrize(("mechanism", "keys"), FOLLOWING)
def test_files_follow_from_noisy_values(mechanism, keys):
    """Nothing that is published depends on the data but through the noisy values; there are no time stamps."""
    assert_files_follow_from_noisy_values(mechanism, **keys)


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
