"""Forgeries of a release with sizes per level: found from the folder alone, or with the publisher's key."""

import shutil
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path

import numpy as np
import pytest
from forging import LEAVES, Forgery, Target, unsigned, write_counts
from made_measurements import cells_of
from made_tables import write_config, write_tables
from planned import planned
from test_release_forgeries import (
    ALONE,
    COUNTS,
    in_manifest,
    in_table,
    rehearsed,
    relabelled,
    shares_swapped,
    versions_everywhere,
)

from pgsr import View
from pgsr.data.estimate import Estimate
from pgsr.release import ReleaseConfig, check, publish
from pgsr.release.checks.judging import certificate_of
from pgsr.release.folder import artefact, manifest
from pgsr.release.folder.datapackage import package_text
from pgsr.release.folder.readme import readme
from pgsr.release.folder.summary import summary
from pgsr.release.make.writing import _write_text
from pgsr.release.publishing.findings import Outcome
from pgsr.release.publishing.signature import new_key

KINDS = ("m_h", "m_c_dp", "kuo")

NOT_HERE = {"noisy counts called cumulative", "a number of the CSV file"}
"""Changes of columns that stand elsewhere here."""


def called_larger(values: np.ndarray) -> np.ndarray:
    values[values == "2 or more"] = "3 or more"
    return values


def without_k(level: int, target: Target) -> None:
    fields = target.fields
    del fields["levels"][level]["max_size"]
    (target / artefact.MANIFEST).write_text(manifest.written(fields))


MORE: dict[str, Forgery] = {
    "K of the nation": partial(in_manifest, ("levels", 0, "max_size"), 10),
    "K of a level": partial(in_manifest, ("levels", 1, "max_size"), 5),
    "K of the leaves": partial(in_manifest, ("levels", 2, "max_size"), 1),
    "K of a level dropped": partial(without_k, 1),
    "K of the first level dropped": partial(without_k, 0),
    "the largest K": partial(in_manifest, ("max_size",), 8),
    "the name of a class": partial(in_table, COUNTS, "size_class", called_larger),
}
SINGLE = {name: forge for name, forge in ALONE.items() if name not in NOT_HERE} | MORE


def rewritten(target: Target, change: Callable[[list[np.ndarray]], None]) -> None:
    """The released counts, changed, and all that follows from them written anew: tables, certificate, descriptions."""
    terms, tree, totals, values = target.known()
    plan = planned(terms, tree)
    measurement = plan.measured(tree, cells_of(values), totals, True)
    result = plan.mechanism.post_process(measurement)
    tables = [table.copy() for table in Estimate(tree, View.COUNTS, result.estimate.as_counts).tables]
    change(tables)
    counts = Estimate(tree, View.COUNTS, tuple(tables))
    write_counts(target, counts, terms)
    certificate = certificate_of(plan, measurement, counts, result)
    fields = target.fields | manifest.answer_fields(measurement, result.status.name, certificate, counts)
    _write_text(target / artefact.PACKAGE, package_text(target.folder, fields))
    _write_text(target / artefact.README, readme(fields))
    _write_text(target / artefact.SUMMARY, summary(fields, tree, counts))
    (target / artefact.MANIFEST).write_text(manifest.written(fields))


def moved(tables: list[np.ndarray]) -> None:
    """Two groups of another class in a leaf and in all above it, so that sums and totals hold.

    One might cost nothing. Costs of more grow quadratically, so two do not.
    """
    leaf, size = np.unravel_index(tables[2][:, :2].argmax(), (len(tables[2]), 2))
    for table, place in zip(tables, (0, leaf // 3, leaf), strict=True):
        table[place, size] -= 2
        table[place, 1 - size] += 2


def moved_within_a_tail(tables: list[np.ndarray]) -> None:
    """Two groups of another size in the nation alone, where the states tell no sizes apart."""
    size = 4 + int(tables[0][0, 4:].argmax())
    tables[0][0, size] -= 2
    tables[0][0, 4 if size > 4 else 5] += 2


def longer_tail(tables: list[np.ndarray]) -> None:
    """One group more in the last class of a leaf."""
    tables[2][0, 2] += 1


def longer_tail_above(tables: list[np.ndarray]) -> None:
    """One group of a size that is a tail for the level below is moved to a size that is not."""
    tables[0][0, int(tables[0][0, 5:].argmax()) + 5] -= 1
    tables[0][0, 0] += 1


def one_noisy_value(target: Target) -> None:
    terms, tree, totals, values = target.known()
    values[2][0, 0] += 1
    target.remake(planned(terms, tree).measured(tree, cells_of(values), totals, True), terms)


CONSISTENT: dict[str, tuple[Forgery, str | None]] = {
    "groups in another class, sums kept": (partial(rewritten, change=moved), "replay"),
    "groups of another size in a tail, sums kept": (partial(rewritten, change=moved_within_a_tail), "replay"),
    "a tail that does not add up": (partial(rewritten, change=longer_tail), "consistency"),
    "a tail that does not add up from above": (partial(rewritten, change=longer_tail_above), "consistency"),
    "noise of epsilon 10 said to be of 1/10": (partial(relabelled, "1/10", "10"), "noise"),
    "no noise said to be of 1": (partial(relabelled, "1", "1000000"), "noise"),
    "noise of epsilon 1/10 said to be of 1": (partial(relabelled, "1", "1/10"), "noise"),
    "a rehearsal said to be private": (rehearsed, "privacy claim"),
    "shares of other levels": (shares_swapped, "noise"),
    "one noisy value by one, and all that follows": (one_noisy_value, None),
    "another version of Python": (versions_everywhere, None),
}
"""Everything that follows is written anew; which check finds it without the publisher's key."""


Made = tuple[Path, ReleaseConfig, Path]


def made_by(kind: str, folder: Path) -> Made:
    """A signed release on three levels: its folder, its configuration and the publisher's public key."""
    write_tables(folder, n_groups=400, leaves=LEAVES)
    _, public = new_key(folder / "publisher")
    keys = {"max_size": "{nation = 9, state = 4, county = 2}", "sign": '"publisher.key"'}
    config = ReleaseConfig.read(write_config(folder, kind, **keys))
    return publish(config).folder, config, public


@pytest.fixture(scope="module")
def of_kind(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Made]:
    """One release of every mechanism, made when it is first asked for."""
    return cache(lambda kind: made_by(kind, tmp_path_factory.mktemp(kind)))


@pytest.fixture
def copied(of_kind: Callable[[str], Made], tmp_path: Path) -> Callable[[str], Target]:
    """A copy of the release of a mechanism."""

    def copy(kind: str) -> Target:
        shutil.copytree(of_kind(kind)[0], tmp_path / "copy")
        return Target(tmp_path / "copy", of_kind(kind)[1])

    return copy


@pytest.mark.parametrize("name", SINGLE)
@pytest.mark.few(4)
def test_one_change_is_found(copied: Callable[[str], Target], name: str) -> None:
    target = copied("m_h")
    SINGLE[name](target)
    assert not check(target.folder).passed
    try:
        target.fix_digests()
    except OSError:
        return  # a file is gone
    assert not check(target.folder).passed


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", CONSISTENT)
@pytest.mark.few(3)
def test_a_consistent_forgery_is_found(
    of_kind: Callable[[str], Made], copied: Callable[[str], Target], name: str, kind: str
) -> None:
    target = copied(kind)
    forge, tells = CONSISTENT[name]
    forge(target)
    target.fix_digests()
    assert not check(target.folder, key=of_kind(kind)[2]).passed, "the publisher's signature was left in place"
    unsigned(target)
    report = check(target.folder)
    failed = [finding.name for finding in report.findings if finding.outcome is Outcome.FAILED]
    assert tells in failed if tells else report.passed, report


def test_other_counts_that_cost_as_little_pass(tmp_path: Path) -> None:
    """Where two optima are equally near, which one is released is the method's choice, and either is proved."""
    write_tables(tmp_path, n_groups=6, leaves=[("US", "GA"), ("US", "MI")])
    config = ReleaseConfig.read(write_config(tmp_path, "m_h", max_size="{nation = 3, state = 1}"))
    target = Target(publish(config).folder, config)
    terms, tree, _, _ = target.known()
    noisy = np.array([[1, 0, 0, 1]]), np.array([[0, 0], [0, 0]])
    target.remake(planned(terms, tree).measured(tree, cells_of(noisy), np.array([2]), True), terms)

    def other(tables: list[np.ndarray]) -> None:
        tables[1][:] = tables[1][::-1].copy()

    rewritten(target, other)
    target.fix_digests()
    found = {finding.name: finding for finding in check(target.folder).findings}
    assert found["certificate"].passed
    assert found["replay"].passed
    assert "equally near" in found["replay"].sentence, found["replay"]


def exchanged(by: int, tables: list[np.ndarray]) -> None:
    """Two leaves of one state exchange groups of neighbouring sizes, so that a cumulative count of each changes."""
    a, b = tables[2][:2]
    size = int(np.flatnonzero((a[1:] >= by) & (b[:-1] >= by))[0])
    a[size : size + 2] += (by, -by)
    b[size : size + 2] += (-by, by)


def test_a_joint_replay_differs_by_a_few_roundings_at_most(tmp_path: Path) -> None:
    """Of 25 x 1,001 cumulative counts on three levels two may differ, by one."""
    write_tables(tmp_path, n_groups=4_000, leaves=LEAVES)
    config = ReleaseConfig.read(write_config(tmp_path, "two_stage", max_size="1000"))
    target = Target(publish(config).folder, config)
    for by, said in (
        (1, "up to rounding: 2 of 25,025 cumulative counts differ, by up to 1; up to 2 may"),
        (2, "2 of 25,025 cumulative counts differ, by up to 2; up to 2 may"),
    ):
        rewritten(target, partial(exchanged, by))
        target.fix_digests()
        report = check(target.folder)
        assert [finding.name for finding in report.findings if not finding.passed] == ["replay"] * (by - 1)
        [replay] = [finding.sentence for finding in report.findings if finding.name == "replay"]
        assert said in replay, replay
