"""Releases with sizes per level: made, read, checked, and their forgeries found."""

import json
from pathlib import Path

import pandas as pd
from made_tables import config, left, release, write_tables

from pgsr.release import check, read_release_by_level

SIZES = "{nation = 6, state = 3, county = 2}"


def made(folder: Path, rehearse: bool = False, **keys: str) -> Path:
    """A release of small confidential tables on three levels."""
    write_tables(folder)
    return release(config(folder, max_size=SIZES, **keys), rehearse)


def test_a_release_is_made_checked_and_charged_once(tmp_path: Path) -> None:
    folder = made(tmp_path)
    report = check(folder)
    assert report.passed, report
    assert left(tmp_path) == 99
    fields = json.loads((folder / "manifest.json").read_text())
    assert [(level["name"], level["max_size"]) for level in fields["levels"]] == [
        ("nation", 6),
        ("state", 3),
        ("county", 2),
    ]
    assert [level["sensitivity"] for level in fields["levels"]] == [2, 2, 2]
    assert [level["noise_scale"] for level in fields["levels"]] == ["6", "6", "6"]
    assert fields["certificate"]["objective"] == fields["certificate"]["bound"]


def test_tables_name_the_last_class_of_every_level(tmp_path: Path) -> None:
    folder = made(tmp_path)
    counts = pd.read_csv(folder / "counts.csv")
    last = counts[counts["size_class"].str.endswith("or more")].groupby("level")["size_class"].unique()
    assert [list(names) for names in last] == [["6 or more"], ["3 or more"], ["2 or more"]]
    read = read_release_by_level(folder)
    assert read.counts.max_sizes == read.measurement.noisy.max_sizes == (6, 3, 2)
    assert not any(part.any() for part in read.counts.missing())
    assert read.counts.tables[0].sum() == 60
