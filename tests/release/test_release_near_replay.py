"""A replay in floating point may differ by a few roundings, and a forger who hides behind that is found.

Forgeries rewrite everything that follows from the counts, and all digests, as those of `test_release_forgeries` do.
"""

import shutil
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from forging import LEAVES, Forgery, Target, reordered, rows, unsigned
from made_measurements import cells_of
from made_tables import write_config, write_tables
from planned import planned

from pgsr import View
from pgsr.data import Estimate
from pgsr.noise import Measurement
from pgsr.release import ReleaseConfig, Terms, check, publish
from pgsr.release.checks.judging import certificate_of
from pgsr.release.folder import artefact, released_tables
from pgsr.release.folder.datapackage import package_text
from pgsr.release.make.writing import _write
from pgsr.release.publishing.signature import new_key

COUNTS = artefact.COUNTS


def exchanged(times: int, by: int, target: Target) -> None:
    """Children of one region exchange `by` groups of neighbouring sizes, so that cumulative counts of two change."""
    terms, tree, totals, values = target.known()
    measurement = planned(terms, tree).measured(tree, cells_of(values), totals, True)
    result = planned(terms, measurement).mechanism.post_process(measurement)
    leaves = result.answer.counts().counts[tree.leaves].copy()
    places = [(a, a + 1, s) for a in (0, 3, 6, 9, 12, 15) for s in range(0, terms.largest, 2)]
    places = [(a, b, s) for a, b, s in places if leaves[a, s + 1] >= by <= leaves[b, s]]
    assert len(places) >= times
    for a, b, s in places[:times]:
        leaves[a, s : s + 2] += (by, -by)
        leaves[b, s : s + 2] += (-by, by)
    write_counts(target, terms, measurement, tree.sum_up(leaves))


def moved_alone(target: Target) -> None:
    """One group has another size in a leaf, and so in the regions above it."""
    terms, tree, totals, values = target.known()
    measurement = planned(terms, tree).measured(tree, cells_of(values), totals, True)
    leaves = planned(terms, measurement).mechanism.post_process(measurement).answer.counts().counts[tree.leaves].copy()
    size = int(leaves[0, :-1].argmax())
    leaves[0, size : size + 2] += (-1, 1)
    write_counts(target, terms, measurement, tree.sum_up(leaves))


def write_counts(target: Target, terms: Terms, measurement: Measurement, counts: np.ndarray) -> None:
    """Write a release of these counts, with all that follows from them."""
    estimate = Estimate(measurement.hierarchy, View.COUNTS, counts)
    plan = planned(terms, measurement)
    result = replace(plan.mechanism.post_process(measurement), answer=estimate)
    assert not any(certificate_of(plan, measurement, estimate, result).violations.values())
    _write(target.folder, plan, measurement, result)


def rows_of_a_rounding_reordered(target: Target) -> None:
    """Counts that the rule would allow, in tables that no release writes."""
    exchanged(1, 1, target)
    rows(COUNTS, reordered, target)
    (target / artefact.COUNTS_CSV).write_bytes(released_tables.csv_bytes(pq.read_table(target / COUNTS)))
    (target / artefact.PACKAGE).write_text(package_text(target.folder, target.fields), newline="")


ROUNDINGS: dict[str, tuple[Forgery, bool]] = {
    "two cumulative counts by one": (partial(exchanged, 1, 1), False),
    "two cumulative counts by two": (partial(exchanged, 1, 2), True),
    "four cumulative counts by one": (partial(exchanged, 2, 1), True),
    "sixteen cumulative counts by one": (partial(exchanged, 8, 1), True),
    "one group of another size, in three regions": (moved_alone, True),
    "two cumulative counts by one, and rows reordered": (rows_of_a_rounding_reordered, True),
}
"""Changes of 25 x 1,001 cumulative counts, of which the rule allows two to differ; whether they are found."""


@pytest.fixture(scope="module", params=["posterior", "two_stage"])
def joint(request, tmp_path_factory) -> tuple[Path, ReleaseConfig, Path]:
    """A release of a kind whose replay is in floating point."""
    folder = tmp_path_factory.mktemp(request.param)
    write_tables(folder, n_groups=4_000, leaves=LEAVES)
    _, public = new_key(folder / "publisher")
    config = ReleaseConfig.read(write_config(folder, request.param, max_size="1000", sign='"publisher.key"'))
    return publish(config).folder, config, public


@pytest.mark.slow
@pytest.mark.parametrize("name", ROUNDINGS)
def test_more_than_a_few_roundings_are_found(joint, tmp_path, name):
    """The replay alone finds them without the key; with it every change of a published file is found anyway."""
    folder, config, public = joint
    shutil.copytree(folder, tmp_path / "copy")
    target = Target(tmp_path / "copy", config)
    forge, tells = ROUNDINGS[name]
    forge(target)
    target.fix_digests()
    assert not check(target.folder, key=public).passed
    unsigned(target)
    report = check(target.folder)
    assert [finding.name for finding in report.findings if not finding.passed] == ["replay"] * tells
    [replay] = [finding.sentence for finding in report.findings if finding.name == "replay"]
    if not tells:
        assert "up to rounding: 2 of 25,025 cumulative counts differ, by up to 1; up to 2 may" in replay


@pytest.mark.few(1)
def test_an_unchanged_replay_is_equal(joint):
    """The same machine gives the same counts, every one: the tolerance is for others."""
    [replay] = [finding.sentence for finding in check(joint[0]).findings if finding.name == "replay"]
    assert replay.endswith("gives the same counts from the noisy values, every one")
