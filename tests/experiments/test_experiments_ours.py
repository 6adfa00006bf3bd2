"""The experiment on every release: its shares, what it measures, and what its verdicts say of made-up errors."""

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

import pandas as pd
import pytest
from test_experiments_benchmark import frame as emd_frame

from pgsr import View
from pgsr.experiments.engine.experiment import Arm, Cell, DataSet, Profile, Trial
from pgsr.experiments.engine.verdicts import TestOutcome, Verdict
from pgsr.experiments.fioretto2019.data import CENSUS_SMALL
from pgsr.experiments.ours import every_release as x2
from pgsr.experiments.ours import exact_optima as x1
from pgsr.methods import metrics
from pgsr.privacy import Seeded
from pgsr.privacy.random import Source


def trial(arm: Arm, data: DataSet = CENSUS_SMALL) -> Trial:
    cell = Cell("X2", data.name, Fraction(1), 0, arm.label)
    return Trial(cell, arm, data, CENSUS_SMALL.truth(), "test", 60)


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1)])
@pytest.mark.parametrize("levels", [2, 4])
def test_all_arms_spend_the_same(epsilon: Fraction, levels: int) -> None:
    """Total epsilons are equal, the least shares the noisy root may choose add up to less, and totals are public."""
    for arm in x2.ARMS:
        assert arm.noise is not None
        noise = arm.noise(epsilon, levels)
        shares = noise.budget(levels).levels
        assert (noise.cost.epsilon, sum(shares) == epsilon) == (epsilon, arm is not x2.DEFAULT)
        assert noise.totals == "regions"


def test_statistics_are_those_of_the_release() -> None:
    """Recorded numbers equal means over levels of the metrics of the same release, made again by hand."""
    at = trial(x2.KUO)
    truth, levels = at.truth, x2.measure(at)["levels"]
    answer = at.mechanism.post_process(at.noise.measure(truth, at.source)).estimate
    expected = {
        "emd": metrics.emd(truth, answer),
        "tail_10": metrics.tail_error(truth, answer, 10),
        "mean_size": metrics.mean_size_error(truth, answer),
        "median": metrics.quantile_error(truth, answer, "1/2"),
        "quantile_90": metrics.quantile_error(truth, answer, "9/10"),
        "quantile_99": metrics.quantile_error(truth, answer, "99/100"),
    }
    for name, per_region in expected.items():
        assert levels[name] == metrics.level_means(truth, per_region), name
        assert max(levels[name]) > 0 or name.startswith(("median", "quantile")), name
    assert "tail_100" not in levels, "K is 50"


class Undrawn(Seeded):
    """Noise that must not be drawn."""

    def stream(self, identity):
        raise AssertionError(f"noise was drawn for {identity}")


def no_noise(key: str, replicate: int) -> Source:
    return Undrawn(key, replicate)


@pytest.mark.parametrize("arm", [x2.KUO, x2.POSTERIOR_RANKED], ids=lambda arm: arm.label)
def test_too_many_ranked_sizes_are_refused_before_noise_is_drawn(arm: Arm) -> None:
    data = replace(CENSUS_SMALL, groups=x2.RANKED_GROUPS + 1)
    at = trial(replace(arm, source=no_noise), data)
    if at.noise.view is View.RANKED:
        record = x2.measure(at)
        assert (record["status"], record["levels"]) == ("TOO_LARGE", {})
        assert record["reason"].startswith("10,000,001 ranked sizes per level are too many")
    else:
        with pytest.raises(AssertionError, match="noise was drawn"):
            x2.measure(at)


PEAKS = {
    (x2.TAXI_REAL.name, x2.KUO): 320,
    (x2.TAXI_REAL.name, x2.POSTERIOR_RANKED): 676,
    (x2.CENSUS_1_000.name, x2.TWO_STAGE): 496,
    (x2.CENSUS_1_000.name, x2.POSTERIOR): 592,
    (x2.BLACK.name, x2.TWO_STAGE): 467,
    (x2.HAWAIIAN.name, x2.POSTERIOR_RANKED): 1_855,
    (x2.HAWAIIAN.name, x2.POSTERIOR_SPLIT_LEAVES): 4_473,
}
"""Measured peaks in megabytes, on two cores, over all epsilons."""


def test_the_memory_estimate(monkeypatch: pytest.MonkeyPatch) -> None:
    """No cell takes more than is set aside for it, nor is several times as much set aside at any of these shapes."""
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    data = {each.name: each for each in x2.EXPERIMENT.profiles[Profile.PAPER].data}
    for (name, arm), peak in PEAKS.items():
        estimate = x2.EXPERIMENT.memory(data[name], arm, {}) / 1e6
        assert peak <= estimate <= 5 * peak, (name, arm.label, estimate)


def frame(errors: Mapping[tuple[str, str], tuple[float, ...]], replicates: int = 6) -> pd.DataFrame:
    """Results with these EMDs by data set and arm, a number per level, within 1 % in every replicate."""
    return emd_frame({(data, 1.0, arm): values for (data, arm), values in errors.items()}, replicates)


def found(verdicts: list[Verdict], start: str) -> list[Verdict]:
    kept = [verdict for verdict in verdicts if verdict.claim.startswith(start)]
    assert kept, start
    return kept


def test_an_arm_must_be_nearer_at_every_level_at_once() -> None:
    """The default release is below both others on `a`, above Kuo's at the root of `b`, and `c` lacks one."""
    errors = {
        (data, arm.label): values
        for data in "abc"
        for arm, values in ((x2.KUO, (100, 50, 40)), (x2.KUO_SPLIT, (900, 60, 10)))
        if (data, arm) != ("c", x2.KUO_SPLIT)
    }
    errors |= {(data, x2.DEFAULT.label): (root, 30, 8) for data, root in (("a", 90), ("b", 120), ("c", 9))}
    prize = found(x2.verdicts(frame(errors)), "the default release")
    assert [(v.data, v.finding) for v in prize] == [
        ("a, epsilon 1", TestOutcome.HOLDS),
        ("b, epsilon 1", TestOutcome.FAILS),
    ]
    by_level = prize[1].words.partition(f"over {x2.KUO.label}: x ")[2].partition(";")[0]
    assert [float(each) for each in by_level.split(" / ")] == pytest.approx([1.2, 0.6, 0.2], rel=0.02)
    few = found(x2.verdicts(frame(errors, replicates=3)), "the default release")
    assert {v.finding for v in few} == {TestOutcome.NOT_JUDGED}


def test_claims_compare_the_same_view_and_shares() -> None:
    pairs = {x2.POSTERIOR: x2.KUO, x2.POSTERIOR_LEAVES: x2.BOTTOM_UP, x2.POSTERIOR_RANKED: x2.BOTTOM_UP_RANKED}
    for ours, other in pairs.items():
        for factor, finding in ((0.5, TestOutcome.HOLDS), (2.0, TestOutcome.FAILS)):
            errors = {("a", ours.label): (100 * factor, 50 * factor), ("a", other.label): (100.0, 50.0)}
            below = [v for v in x2.verdicts(frame(errors)) if not v.claim.endswith("nowhere beaten in EMD")]
            assert [v.finding for v in below] == [finding], ours.label
            assert ours.noise is not None
            assert other.noise is not None
            assert ours.noise(Fraction(1), 3) == other.noise(Fraction(1), 3)


def test_nowhere_beaten_names_the_worst_place() -> None:
    """One arm is best everywhere; another only at the leaves; a third is best where it ran, which is not everywhere."""
    errors = {
        ("a", x2.POSTERIOR.label): (10.0, 5.0),
        ("a", x2.KUO.label): (20.0, 6.0),
        ("b", x2.POSTERIOR.label): (10.0, 5.0),
        ("b", x2.KUO.label): (80.0, 5.5),
    }
    verdicts = x2.verdicts(frame(errors))
    assert [v.finding for v in found(verdicts, f"{x2.POSTERIOR.label} is nowhere")] == [TestOutcome.HOLDS]
    (kuo,) = found(verdicts, f"{x2.KUO.label} is nowhere")
    assert kuo.finding is TestOutcome.FAILS
    assert kuo.words.startswith("beaten at 4 of 4 judged places; over the best other arm at most x ")
    assert float(kuo.words.partition("x ")[2].partition(" ")[0]) == pytest.approx(8, rel=0.02)
    assert "(b, epsilon 1, root: posterior, equal shares)" in kuo.words
    longer = pd.concat([frame(errors), frame({("b", x2.KUO.label): (8000.0, 1.0)}).assign(replicate=6)])
    (kuo,) = found(x2.verdicts(longer), f"{x2.KUO.label} is nowhere")
    assert float(kuo.words.partition("x ")[2].partition(" ")[0]) == pytest.approx(8, rel=0.02), "shared replicates"
    (part,) = found(
        x2.verdicts(frame(errors | {("a", x2.POSTERIOR_RANKED.label): (1.0, 1.0)})), f"{x2.POSTERIOR_RANKED.label} is"
    )
    assert part.finding is TestOutcome.NOT_JUDGED
    assert part.words.startswith("beaten at 0 of 2 judged places")
    assert part.words.endswith("nothing to compare at 2 places")


def test_a_difference_that_does_not_matter_is_no_defeat() -> None:
    """Within half a percent of another arm at the leaves: not beaten there; where both differ, the claim is another."""
    errors = {("a", x2.POSTERIOR.label): (10.0, 5.01), ("a", x2.KUO.label): (20.0, 5.0)}
    verdicts = x2.verdicts(frame(errors, replicates=30))
    (posterior,) = found(verdicts, f"{x2.POSTERIOR.label} is nowhere")
    assert posterior.finding is TestOutcome.HOLDS
    assert posterior.words.startswith("beaten at 0 of 2 judged places")
    (nearer,) = found(verdicts, "the posterior at equal shares has a smaller EMD")
    assert nearer.finding is TestOutcome.IMMATERIAL


def test_the_setting_that_is_nowhere_beaten_is_named() -> None:
    """One that is best everywhere holds; without any, the one whose largest ratio is smallest is named."""
    claim = "one setting"
    errors = {("a", x2.POSTERIOR.label): (10.0, 5.0), ("a", x2.KUO.label): (20.0, 6.0)}
    (one,) = found(x2.verdicts(frame(errors)), claim)
    assert one.finding is TestOutcome.HOLDS
    assert one.words.startswith(f"{x2.POSTERIOR.label}: beaten at 0 of 2 judged places")
    errors |= {("b", x2.POSTERIOR.label): (90.0, 5.0), ("b", x2.KUO.label): (30.0, 5.5)}
    (none,) = found(x2.verdicts(frame(errors)), claim)
    assert none.finding is TestOutcome.FAILS
    assert none.words.startswith(f"beaten by the least is {x2.KUO.label}: beaten at 3 of 4 judged places")
    errors[("a", x2.POSTERIOR_RANKED.label)] = (40.0, 50.0)
    (still,) = found(x2.verdicts(frame(errors)), claim)
    assert still.words.startswith(f"beaten by the least is {x2.KUO.label}"), "one that ran on part is not the one"


@pytest.mark.parametrize("without", [0, 4])
def test_an_answer_without_a_bound_is_not_within_one_percent(without: int) -> None:
    rows = [
        {"data": "d", "epsilon": 1.0, "arm": x1.M_C.label, "replicate": r, "objective": 100.0,
         "bound": None if r == without else 99.9}
        for r in range(5)
    ]  # fmt: skip
    (verdict,) = x1._proofs(pd.DataFrame(rows))
    assert verdict.finding is TestOutcome.FAILS
