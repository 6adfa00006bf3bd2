"""The least error that any release can be expected to have, in a release's summary: from what is published alone."""

import re
from pathlib import Path

import numpy as np
import pytest
from made_tables import config, write_tables

from pgsr.bounds import lower_bound
from pgsr.methods import metrics
from pgsr.release import publish, read_release
from pgsr.release.terms import least_error
from pgsr.tables.long import read_long

HEADED = "How near any release can be"


def said(folder: Path) -> str:
    """The paragraph of the bound in a summary; empty if there is none."""
    found = re.search(rf"<h2>{HEADED}</h2>\n<p>(.*?)</p>", (folder / "summary.html").read_text(), re.DOTALL)
    return found[1] if found else ""


def test_it_is_computed_at_the_published_counts_and_nothing_else(tmp_path, monkeypatch):
    """Whoever has the table of counts computes it again, and the true counts are others."""
    write_tables(tmp_path, n_groups=4_000)
    wanted, seen = config(tmp_path, "kuo", max_size="12", level_names='["US", "state", "county"]'), []
    bound = least_error.lower_bound
    monkeypatch.setattr(
        least_error, "lower_bound", lambda counts, epsilon: seen.append(counts) or bound(counts, epsilon)
    )
    folder = publish(wanted).folder
    published = read_long(folder / "counts.parquet")
    order = [published.hierarchy.index(path) for path in seen[0].hierarchy.paths]
    for counts in seen:
        assert np.array_equal(counts.counts, published.values[order])
    numbers = metrics.level_means(seen[0], lower_bound(published.values[order], 1).emd)
    named = ", ".join(f"{name} {error:,.3g}" for name, error in zip(("US", "state", "county"), numbers, strict=True))
    assert f"no release of epsilon 1, by whatever mechanism, has a smaller error than {named}, even" in said(folder)
    assert "computed at the published counts, which hold noise, and from nothing else" in said(folder)
    assert not np.array_equal(wanted.count().counts, seen[0].counts)


def test_sizes_per_level_and_a_least_size(tmp_path):
    """By excess over the least size, and by the sizes of every level."""
    write_tables(tmp_path)
    for name, keys in (
        ("least", {"max_size": "9", "min_size": "1"}),
        ("levels", {"max_size": "{a = 9, b = 5, c = 3}"}),
    ):
        folder = publish(config(tmp_path, name=name, **keys)).folder
        counts = read_release(folder).by_excess
        expected = least_error.least_errors(counts, 1)
        assert all(f" {error:,.3g}" in said(folder) for error in expected)


@pytest.mark.parametrize(
    "keys",
    [
        {"epsilon": None, "rho": '"1/2"'},
        {"epsilon": '"9/1000"'},
    ],
    ids=["rho", "little epsilon"],
)
def test_nothing_is_said_where_nothing_is_known(tmp_path, keys):
    """Rho is no epsilon, and at little epsilon the bound takes long."""
    write_tables(tmp_path)
    folder = publish(config(tmp_path, **keys), rehearse=True).folder
    assert not said(folder)
    assert HEADED not in (folder / "summary.html").read_text()
