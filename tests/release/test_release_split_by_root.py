"""Releases whose thresholds follow from the noisy root: the folder, what is charged, forgeries, and planted bugs."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from forgeries import stated
from forging import Target
from instances import rng_of
from made_tables import write_config, write_tables
from test_release_split_views import config, known
from typer.testing import CliRunner

from pgsr import CountOfCounts, Hierarchy, cli
from pgsr.data import Split
from pgsr.data.views import cumulative
from pgsr.intervals import intervals
from pgsr.noise import Geometric, SplitByRoot, step
from pgsr.noise.shares_by_root import finer_noise, shares_by_root
from pgsr.noise.split_by_root import shape_of_noisy
from pgsr.privacy import Seeded
from pgsr.privacy.accounting import PureEpsilon
from pgsr.release import ReleaseConfig, check, outline, publish, read_release
from pgsr.release.checks.noise_law import judge, root_steps_refuted
from pgsr.release.folder import artefact
from pgsr.release.ledger import LedgerFile
from pgsr.release.publishing.errors import ConfigError, ReleaseError
from pgsr.release.terms.kinds import Kind

ABOUT: dict[str, Any] = {"threshold": "root", "shares": "root", "times": 3}


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    return publish(config(tmp_path_factory.mktemp("made"), Kind.POSTERIOR, "1", intervals="9/10", **ABOUT)).folder


def test_thresholds_and_shares_are_those_of_the_published_root(made):
    """Against the definition: sizes with more than half a group by the last values, the shares of the first ones."""
    plan, measurement = known(made)
    shape, first = (shape_of_noisy(root, 393) for root in (measurement.row(0), measurement.first_root))
    expected = [sum(bool(groups * p > 0.5) for p in shape) for groups in measurement.totals[1:]]
    assert plan.from_root.thresholds == (9, *(min(9, columns) for columns in expected))
    assert len(set(plan.from_root.thresholds)) > 2
    assert plan.from_root.shares == shares_by_root(measurement.hierarchy, measurement.totals, first, np.ones(3))
    fields = json.loads((made / artefact.MANIFEST).read_text())
    assert tuple(size for level in fields["levels"] for size in level["threshold"]) == plan.from_root.thresholds
    assert [level["epsilon"] for level in fields["levels"]] == list(map(str, plan.from_root.shares))
    for said in ("a threshold, which follows from the noisy values of the root, and", "The root was measured first"):
        for name in (artefact.README, artefact.SUMMARY):
            assert said in " ".join((made / name).read_text().split())


@pytest.mark.parametrize(("place", "said"), [(1, "shares of epsilon do not follow"), (9, "do not differ from its")])
def test_first_values_that_were_changed_are_found(tmp_path, place, said):
    """By other shares, or by noise that no second step takes off; of a rehearsal, whose noise is known."""
    wanted = config(tmp_path, Kind.KUO, "1", **ABOUT)
    target = Target(publish(wanted, rehearse=True).folder, wanted)
    stated("first_root", place, to=9_000)(target)
    target.fix_digests()
    assert said in " ".join(finding.sentence for finding in check(target.folder).findings if not finding.passed)


@pytest.mark.parametrize("bug", [lambda noise, *_: noise, lambda noise, *about: finer_noise(noise[::-1], *about)])
def test_a_root_that_was_not_made_more_precise_or_was_drawn_anew_is_found(monkeypatch, bug):
    tree, counts = Hierarchy.from_paths([("US", f"s{i}") for i in range(30)]), np.maximum(9 - np.arange(401), 0)
    truth, noise = CountOfCounts(tree, [counts] * 30, "steps"), Geometric(SplitByRoot(), 1, "root")
    assert not root_steps_refuted(noise.measure(truth, Seeded("steps")), Fraction(5))
    monkeypatch.setattr(step, "finer_noise", bug)
    assert root_steps_refuted(noise.measure(truth, Seeded("steps")), Fraction(5))


@pytest.mark.parametrize("budget", [{}, {"totals": "noisy"}])
def test_the_ledger_has_one_line(tmp_path, budget):
    """A process that is killed between two lines would leave the first part charged."""
    wanted = config(tmp_path, Kind.KUO, **ABOUT, **budget)
    outline(wanted)
    publish(wanted)
    [found] = [entry.charge for entry in LedgerFile(wanted.ledger).entries]
    assert (found.what, found.loss) == ("kuo into release", PureEpsilon(2))


def test_intervals_and_draws(made):
    """A posterior has its own, of regions split by the noisy root too."""
    table = pq.read_table(made / artefact.COUNTS).to_pandas()
    assert (table.lower <= table.upper).all()
    assert (table.lower < table.upper).any()
    assert not table.loc[table.region_id == "US/OH/c", ["lower", "upper"]].any(axis=None)
    published = read_release(made)
    result = published.mechanism.post_process(published.measurement)
    found = intervals(published.mechanism, result, "tail:3", "9/10", 50)
    assert (found.lower <= found.estimate).all()
    assert (found.estimate <= found.upper).all()
    assert found.lower[0] < found.upper[0]


def test_no_band_of_noise_that_chose_what_is_measured(made):
    with pytest.raises(ConfigError, match="thresholds of the release follow from the noisy root"):
        CliRunner().invoke(cli.app, ["intervals", str(made), "--kind", "band"], catch_exceptions=False)


# Planted bugs: a release made by them refuses itself, as everybody's check would


def from_the_true_root(self, region: int, shape: np.ndarray, groups: int) -> Split:
    return RIGHT(self, region, shape_of_noisy(cumulative(TRUE_ROOT), int(TRUE_ROOT.sum())), groups)


def shares_by_the_true_mode(self, tree: Hierarchy, totals: np.ndarray, root: np.ndarray) -> Geometric:
    return AFTER(self, tree, totals, root + 9_000 * (np.arange(10) <= TRUE_ROOT.argmax()))


RIGHT, AFTER, TRUE_ROOT = SplitByRoot.view_at, Geometric.after_root, np.zeros(10, np.int64)


@pytest.mark.parametrize(
    ("where", "rule", "bug"),
    [(SplitByRoot, "view_at", from_the_true_root), (Geometric, "after_root", shares_by_the_true_mode)],
)
def test_what_does_not_follow_from_the_noisy_root_is_refused(tmp_path, monkeypatch, where, rule, bug):
    """The bug is in the noise step alone; the check has the published rule."""
    wanted = config(tmp_path, Kind.KUO, "1/10", **ABOUT)
    TRUE_ROOT[:] = wanted.count().counts[0]
    measure = step.NoiseStep.measure

    def measured(self, truth, source, ledger=None):
        with monkeypatch.context() as patch:
            patch.setattr(where, rule, bug)
            return measure(self, truth, source, ledger)

    monkeypatch.setattr(step.NoiseStep, "measure", measured)
    with pytest.raises(ReleaseError, match="do not follow from the"):
        publish(wanted, rehearse=True)


def test_noise_is_judged_though_the_root_chooses_what_is_compared():
    """Right scales are not refuted, wrong ones are; of the root fewer things are told than where all is public."""
    tree = Hierarchy.from_paths([("US", f"s{i}", f"c{j}") for i in range(12) for j in range(10)])
    sizes = [np.minimum(rng_of(i).geometric(0.25, 300), 30) for i in range(120)]
    truth = CountOfCounts(tree, [np.bincount(s, minlength=31) for s in sizes], "judged")
    noise = Geometric(SplitByRoot(), 1)
    laws = noise.measure(truth, Seeded(0)).law
    stated = [laws(0), laws(1), laws(20)]
    for seed in range(3):
        measured = noise.measure(truth, Seeded("judged", seed))
        assert not judge(measured, stated, by_root=True).refuted
        assert judge(measured, stated, by_root=True).evidence < judge(measured, stated).evidence + 1e-9
        assert judge(Geometric(measured.views, 3).measure(truth, Seeded("judged", seed)), stated, by_root=True).refuted


# Configuration


def test_the_key_of_a_configuration(tmp_path):
    write_tables(tmp_path)
    keys = {"max_size": "60", "threshold": '"root"', "shares": '"root"'}
    read = ReleaseConfig.read(write_config(tmp_path, "posterior", **keys))
    assert read.terms.threshold == "root"
    facts = dict(outline(read).facts)
    assert "a threshold per region, by the noisy root," in facts["mechanism"]
    assert facts["budget"] == "epsilon 1 in all, in shares by the noisy root"
    assert "1 region, at least epsilon 1/5" in facts["level_0"]
    with pytest.raises(ConfigError, match=r'is "rot"; write .*, or "root"'):
        ReleaseConfig.read(write_config(tmp_path, "posterior", "other", **{**keys, "threshold": '"rot"'}))
