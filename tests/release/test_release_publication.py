"""The words of a publisher, and the rows of the published tables."""

import json
import shutil
from functools import partial
from html import unescape
from pathlib import Path

import pandas as pd
import pytest
from forging import Target
from made_tables import TABLES, write_config, write_tables

from pgsr.errors import PgsrError
from pgsr.release import ReleaseConfig, Terms, check, publish, read_release
from pgsr.release.folder import artefact, manifest
from pgsr.release.publishing.errors import ConfigError
from pgsr.release.terms.plan import MOST_ROWS, Plan
from pgsr.release.terms.publication import LONGEST_TEXT, LONGEST_WORD, Publication

WORDS = {
    "group_name": "households <&>",
    "entity_name": 'persons "and" pets',
    "publisher": "Office, of <script>alert(1)</script>",
    "contact": "data@office.example",
    "licence": "https://licence.example/by",
}
LEAVES = [("US", "GA", "GA 1"), ("US", "GA", "GA 2"), ("US", "D/C"), ("US", "MI", "MI 1")]
BY_LEVEL = "{nation = 9, state = 4, county = 2}"
NAMES = '["nation", "state", "county"]'


def section(**keys: object) -> str:
    lines = [f"{name} = {json.dumps(value)}" for name, value in keys.items()]
    return TABLES + "\n".join(["[publication]", *lines]) + "\n"


def made(folder: Path, publication: dict, mechanism: str = "m_h", **keys: str) -> Path:
    write_tables(folder)
    config = write_config(folder, mechanism, level_names=NAMES, tables=section(**publication), **keys)
    return publish(ReleaseConfig.read(config)).folder


@pytest.fixture(scope="module")
def worded(tmp_path_factory) -> Path:
    return made(tmp_path_factory.mktemp("worded"), WORDS)


def test_words_stand_in_every_description(worded):
    page = (worded / "summary.html").read_text()
    readme = " ".join((worded / "README.txt").read_text().split())
    package = json.loads((worded / "datapackage.json").read_text())
    assert "<script>alert" not in page
    for text in WORDS.values():
        assert text in unescape(page), text
        assert text in readme, text
    assert package["contributors"] == [
        {"title": WORDS["publisher"], "role": "publisher", "email": "data@office.example"},
    ]
    assert package["licenses"] == [{"path": WORDS["licence"], "title": WORDS["licence"]}]
    assert WORDS["group_name"] in package["title"]
    for resource in package["resources"]:
        described = " ".join(field["description"] for field in resource["schema"]["fields"])
        assert WORDS["group_name"] in described
        assert "number of groups" not in described.lower(), resource["path"]
    assert "number of groups" not in readme.lower()
    assert "number of groups" not in page.lower()
    assert check(worded).passed, check(worded)


def test_a_licence_by_name_and_a_contact_in_words(tmp_path):
    folder = made(tmp_path, {"contact": "ask at the desk", "licence": "Open Licence, version 2"})
    package = json.loads((folder / "datapackage.json").read_text())
    assert package["licenses"] == [{"name": "Open-Licence-version-2", "title": "Open Licence, version 2"}]
    assert package["contributors"] == [{"title": "ask at the desk", "role": "publisher"}]


@pytest.mark.parametrize("name", ["group_name", "publisher", "contact", "licence"])
@pytest.mark.parametrize("text", ["", " ", "two\nlines", "a\u202eb", "a\u2028b", "tab\t", 7, "x" * (LONGEST_TEXT + 1)])
def test_texts_that_are_refused(name, text):
    with pytest.raises(ConfigError, match=name):
        Publication(**{name: text})


def test_a_word_is_shorter_than_a_text():
    assert Publication(group_name="x" * LONGEST_WORD)
    with pytest.raises(ConfigError, match=f"at most {LONGEST_WORD}"):
        Publication(entity_name="x" * (LONGEST_WORD + 1))


@pytest.mark.parametrize(
    ("mechanism", "max_size", "intervals"),
    [("m_h", "30", None), ("posterior", "30", '"9/10"'), ("m_h", BY_LEVEL, None)],
)
@pytest.mark.few(1)
def test_rows_of_zeros(tmp_path, monkeypatch, mechanism, max_size, intervals):
    """Every region has rows of all its sizes, unless these are too many; the counts are read alike."""
    write_tables(tmp_path, n_groups=12)  # so few that some sizes have none
    found = {}
    for zeros in (True, False):
        monkeypatch.setattr("pgsr.release.terms.plan.MOST_ROWS", MOST_ROWS if zeros else 0)
        name = f"release-{zeros}"
        keys = {"level_names": NAMES, "max_size": max_size, "intervals": intervals}
        folder = publish(ReleaseConfig.read(write_config(tmp_path, mechanism, name, **keys)), rehearse=True).folder
        report = check(folder)
        assert report.passed, report
        found[zeros] = pd.read_parquet(folder / "counts.parquet")
    sizes = [31] * 3 if max_size == "30" else [10, 5, 3]
    per_region = found[True].groupby("region_id").size()
    level = found[True].groupby("region_id")["level"].first()
    assert (per_region == [sizes[n] for n in level]).all()
    assert len(per_region) == 7
    assert len(found[False]) < len(found[True])
    values = ["n_groups"] if intervals is None else ["n_groups", "lower", "upper"]
    kept = found[True].merge(found[False], how="left", on=["region_id", "group_size"], suffixes=("", "_y"))
    left_out = kept[kept.n_groups_y.isna()]
    assert len(left_out) == len(found[True]) - len(found[False])
    assert not left_out[values].to_numpy().any(), "only zeros are left out"


def test_public_numbers_decide_on_zeros():
    """A million rows are the limit; neither the data nor the number of groups enters."""
    terms = partial(Terms, "demo", epsilon="1", kind="m_h")
    for regions, max_size, zeros in (([1], MOST_ROWS - 1, True), ([1], MOST_ROWS, False), ([1, 9_999], 99, True)):
        assert Plan.of(terms(max_size=max_size), regions).zeros is zeros
    assert Plan.of(terms(max_size=99), [1, 10_000]).zeros is False


# Releases of another format


def test_a_release_of_another_format_is_named(worded, tmp_path):
    """It is not read as one of this version's: its files and fields may be others."""
    shutil.copytree(worded, tmp_path / "other")
    target = Target(tmp_path / "other", None)
    (target / artefact.MANIFEST).write_text(manifest.written(target.fields | {"format": "pgsr release 2"}))
    said = next(finding.sentence for finding in check(target.folder).findings if finding.name == "manifest")
    assert said == (
        f"the format of the manifest is not {manifest.FORMAT!r}; use the version of pgsr that made the release"
    )
    target.fix_digests()
    with pytest.raises(PgsrError, match="the format of the manifest"):
        read_release(target.folder)
