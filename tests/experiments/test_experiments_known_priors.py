"""The experiment on worlds with known priors: its optima, its ratios, and what verdicts say of made-up errors."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from instances import rng_of

from pgsr.datasets.worlds import WorldKind, world
from pgsr.experiments.engine.experiment import Arm, Cell, Trial
from pgsr.experiments.engine.verdicts import TestOutcome
from pgsr.experiments.ours import every_release as x2
from pgsr.experiments.ours import known_priors as x6
from pgsr.experiments.ours.tree_posterior import tree_posterior
from pgsr.methods import metrics

SMALL = replace(x6.WORLDS[WorldKind.SPARSE], load=lambda: world("sparse", max_size=20, groups=2_000))


def measured(arm: Arm, replicate: int = 0) -> dict:
    cell = Cell("X6", SMALL.name, Fraction(1), replicate, arm.label)
    return x6.measure(Trial(cell, arm, SMALL, SMALL.truth(), "test", 60))


def test_every_release_has_the_optimum_of_its_own_noise() -> None:
    assert set(x6.OPTIMUM) == {arm.label for arm in x6.RELEASES}
    for arm in x6.RELEASES:
        optimum = x6.OPTIMUM[arm.label]
        assert optimum.post is None
        assert arm.noise is not None
        assert optimum.noise is not None
        assert optimum.noise(Fraction(1), 3) == arm.noise(Fraction(1), 3)
    assert len(x6.OPTIMA) == len({arm.label for arm in x6.OPTIMA}) == 5


@pytest.mark.slow
def test_release_and_optimum_see_the_same_truth_and_noise() -> None:
    """Made again by hand: a truth of the replicate, noise of the trial, and the medians under the true prior."""
    known, arm = SMALL.truth(), x6.OPTIMUM[x2.KUO.label]
    truth = known.draw(3)
    at = Trial(Cell("X6", SMALL.name, Fraction(1), 3, arm.label), arm, SMALL, truth, "test", 60)
    noisy = at.noise.measure(truth, at.source)
    found = tree_posterior(noisy, known.means, known.shapes, sweeps=x6.SWEEPS, seed=3)
    levels = measured(arm, 3)["levels"]
    assert levels["emd"] == metrics.level_means(truth, metrics.emd(truth, found.estimate))
    assert levels["expected"] == metrics.level_means(truth, found.expected_error)
    assert max(levels["disagreement"]) < 0.1
    kuo = replace(at, cell=replace(at.cell, arm=x2.KUO.label), arm=x2.KUO)
    again = kuo.mechanism.post_process(kuo.noise.measure(truth, kuo.source)).estimate
    assert measured(x2.KUO, 3)["levels"]["emd"] == metrics.level_means(truth, metrics.emd(truth, again))


@pytest.mark.slow
def test_the_optimum_is_nearer_to_the_truth_than_releases(monkeypatch: pytest.MonkeyPatch) -> None:
    """On the mean over eight replicates and at every level; short chains are enough for that."""
    monkeypatch.setattr(x6, "SWEEPS", 400)
    for arm in (x2.BOTTOM_UP, x2.KUO, x2.POSTERIOR):
        ours, theirs = (
            np.mean([measured(each, replicate)["levels"]["emd"] for replicate in range(8)], axis=0)
            for each in (x6.OPTIMUM[arm.label], arm)
        )
        assert (ours < theirs).all(), arm.label


def frame(errors: dict[str, tuple[float, ...]], replicates: int = 6) -> pd.DataFrame:
    """EMDs by arm, and of optima their expectations: what a replicate has more than the mean is common to all arms."""
    rng, rows = rng_of(2), []
    for replicate in range(replicates):
        luck = rng.uniform(-3, 3, 3)
        for arm, values in errors.items():
            row = {"data": "a", "real": False, "epsilon": 1.0, "arm": arm, "replicate": replicate}
            row |= {f"emd_level{level}": value + luck[level] for level, value in enumerate(values)}
            if arm.startswith("least expected"):
                row |= {f"expected_level{level}": value for level, value in enumerate(values)}
                row |= {f"disagreement_level{level}": 0.01 + 0.001 * replicate for level in range(len(values))}
            rows.append(row)
    return pd.DataFrame(rows)


OPTIMUM = x6.OPTIMUM[x2.KUO.label].label


def test_ratios_are_free_of_what_release_and_optimum_share() -> None:
    found = x6.ratios(frame({x2.KUO.label: (120.0, 60.0, 30.0), OPTIMUM: (100.0, 40.0, 10.0)}))
    for level, ratio in enumerate((1.2, 1.5, 3.0)):
        row = found.one(arm=x2.KUO.label, level=level)
        assert row is not None
        assert list(row.values.values()) == pytest.approx([ratio] * 6)
    assert not x6.ratios(frame({x2.KUO.label: (120.0, 60.0, 30.0)}))


def test_a_release_is_near_only_if_it_is_so_at_every_level() -> None:
    for last, finding in ((11.0, TestOutcome.HOLDS), (14.0, TestOutcome.FAILS)):
        made = frame({x2.KUO.label: (109.0, 41.0, last), OPTIMUM: (100.0, 40.0, 10.0)})
        (near,) = (verdict for verdict in x6.verdicts(made) if verdict.claim.startswith(x2.KUO.label))
        assert near.finding is finding
        assert f"the largest x {last / 10:.3g} (a, epsilon 1, leaves)" in near.words


def test_chains_that_disagree_are_told() -> None:
    made = frame({OPTIMUM: (100.0, 40.0, 10.0)})
    (agree,) = (verdict for verdict in x6.verdicts(made) if verdict.claim.startswith("two chains"))
    assert agree.finding is TestOutcome.HOLDS
    made["disagreement_level1"] *= 3
    (agree,) = (verdict for verdict in x6.verdicts(made) if verdict.claim.startswith("two chains"))
    assert agree.finding is TestOutcome.FAILS
    assert "at most 3.75%" in agree.words
