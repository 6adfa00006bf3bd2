"""What notebooks show of releases, their configurations and ledgers: short tables, with every name escaped."""

import re
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from instances import rng_of

from pgsr.privacy.accounting import PureEpsilon
from pgsr.release import (
    Release,
    ReleaseConfig,
    Terms,
    forecast,
    publish,
    read_release,
)
from pgsr.release.ledger import LedgerFile
from pgsr.release.ledger.charge import Charge
from pgsr.tables import Entities, Groups

HOSTILE = "<b>town</b> & co"
ESCAPED = "&lt;b&gt;town&lt;/b&gt; &amp; co"
LEVEL = "<i>state</i>"


def shown(thing: object, *words: str) -> str:
    """The table of a thing, which is short, holds these words and no tag but its own."""
    text = thing._repr_html_()  # pyright: ignore[reportAttributeAccessIssue]
    assert text.startswith(f"<table><caption>{type(thing).__name__}</caption>")
    assert set(re.findall(r"</?(\w+)", text)) == {"table", "caption", "tr", "th", "td"}
    assert "None" not in text
    assert len(re.sub("<[^>]*>", "", text)) < 1_100, "short"
    for word in words:
        assert word in text, (word, text)
    return text


@pytest.fixture(scope="module")
def config(tmp_path_factory) -> ReleaseConfig:
    folder = tmp_path_factory.mktemp("<u>place") / "<u>"
    folder.mkdir()
    homes = pd.DataFrame({"group": range(40), "nation": "US", LEVEL: ["GA", "MI"] * 20})
    people = pd.DataFrame({"group": rng_of(1).integers(0, 40, 90)})
    return ReleaseConfig(
        terms=Terms(HOSTILE, max_size=3, epsilon="1/2", kind="m_h"),  # pyright: ignore[reportArgumentType]
        entities=Entities(people, entity=None),
        groups=Groups(homes, region=("nation", LEVEL)),
        output=folder / "release",
        ledger=folder / "ledger.jsonl",
    )


@pytest.fixture(scope="module")
def made(config) -> Release:
    return publish(config, rehearse=True)


def test_a_configuration(config):
    shown(config, ESCAPED, "m_h: noise on counts", "epsilon 1/2 in all", "&lt;i&gt;state&lt;/i&gt;", "signed with")


def test_a_configuration_opens_nothing(config):
    """Neither the ledger, which is absent here, nor a private table."""
    assert not config.ledger.exists()
    closed = replace(config, entities=Entities("no such file.parquet", entity=None))
    assert shown(closed) == shown(config)


def test_a_release_and_where_it_went(made, tmp_path):
    shown(made, "&lt;u&gt;", "passed", made.digest)
    shown(Release(tmp_path / "gone", made.report), "not there any more")


def test_a_published_folder(made):
    found = read_release(made.folder)
    shown(found, ESCAPED, "nation 1 / &lt;i&gt;state&lt;/i&gt; 2", "0 to 3", "as secret as the data")
    assert "secure<" in shown(replace(found, secure=True))


def test_a_forecast(config):
    found = forecast(config, mean_size=1.5, replicates=2)
    shown(found, "&lt;i&gt;state&lt;/i&gt;", f"{found.errors.mean[1]:,.3g}")


def test_a_ledger_with_its_balance(tmp_path):
    ledger = LedgerFile.create(tmp_path / "<u>.jsonl", HOSTILE, PureEpsilon(1))
    ledger.charge(Charge(PureEpsilon("3/4"), "first"), HOSTILE)
    shown(ledger, ESCAPED, "&lt;u&gt;.jsonl", "epsilon 1/4 left of epsilon 1", ledger.head, "add_remove")


def test_a_ledger_that_cannot_be_read_says_so(tmp_path):
    shown(LedgerFile(tmp_path / "none.jsonl"), "balance", "unknown: there is no ledger")
    ledger = LedgerFile.create(tmp_path / "torn.jsonl", HOSTILE, PureEpsilon(1))
    Path(ledger.path).write_text("")
    shown(ledger, "unknown: ")
