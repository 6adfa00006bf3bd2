"""The experiment on the coverage of intervals: strata, transforms, the bootstrap, and what verdicts say."""

from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd
import pytest
from instances import rng_of

from pgsr import CountOfCounts, Hierarchy, View
from pgsr.datasets.worlds import WorldKind, world
from pgsr.experiments.engine.experiment import Arm, Cell, Trial
from pgsr.experiments.engine.verdicts import TestOutcome
from pgsr.experiments.ours import coverage as x3
from pgsr.experiments.ours.coverage_strata import DEVIATIONS, SIZES, counted, strata, transform
from pgsr.experiments.ours.known_priors import WORLDS
from pgsr.intervals.replicates import DRAWS, drawn
from pgsr.intervals.statistics import statistic_of

SMALL = replace(WORLDS[WorldKind.HOUSEHOLD], load=lambda: world("household", max_size=20, groups=2_000))


def trial(arm: Arm, replicate: int = 0) -> Trial:
    cell = Cell("X3", SMALL.name, Fraction(1, 2), replicate, arm.label)
    return Trial(cell, arm, SMALL, SMALL.truth(), "test", 60)


def framed(levels: dict[int, dict[str, list[float]]], arm: str) -> pd.DataFrame:
    """Make the frame of records by replicate, as the store does."""
    rows = []
    for replicate, record in levels.items():
        row = {"data": "town", "real": False, "epsilon": 1.0, "arm": arm, "replicate": replicate}
        columns = {f"{name}_level{level}": x for name, values in record.items() for level, x in enumerate(values)}
        rows.append(row | columns)
    return pd.DataFrame(rows)


@pytest.mark.parametrize("view", [View.COUNTS, View.CUMULATIVE])
def test_strata_hold_what_counting_cell_by_cell_gives(view: View) -> None:
    draw = rng_of(4)
    tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
    truth = CountOfCounts(tree, draw.integers(0, 9, (2, 131)))
    true = truth.counts if view is View.COUNTS else np.cumsum(truth.counts, axis=1)
    low, high = true + draw.integers(-3, 2, true.shape), true + draw.integers(-1, 4, true.shape)
    sd, inside = draw.exponential(2, true.shape) ** 2, draw.random(true.shape) < 0.9
    sd[0, :3] = 0, 1, np.inf
    found = {
        (each.level, each.size, each.deviation): (each.n, sum(each.held.values()), sum(each.inside.values()))
        for each in strata(framed({0: counted(truth, view, low, high, sd, inside)}, "mine"))
        if each.view == view.value
    }
    expected: dict = {}
    for region, size in product(range(3), range(131)):
        of_size = next(name for name, end in SIZES.items() if size < end)
        of_sd = next(name for name, end in DEVIATIONS.items() if sd[region, size] < end or end == np.inf)
        held = low[region, size] <= true[region, size] <= high[region, size]
        sums = expected.setdefault((min(region, 1), of_size, of_sd), np.zeros(3))
        sums += 1, held, inside[region, size]
    assert found == {key: tuple(sums) for key, sums in expected.items()}


def test_the_transform_is_uniform_where_the_law_is_right() -> None:
    draw = rng_of(8)
    sd = draw.uniform(0.05, 4, 60_000)
    truth = np.rint(7 + draw.normal(size=len(sd)) * sd)
    away = transform(truth, np.full(len(sd), 7.0), sd, draw.random(len(sd)))
    for chance in (0.5, 0.9):
        assert np.mean(away <= chance) == pytest.approx(chance, abs=0.01)


@pytest.mark.slow
def test_a_record_counts_the_intervals_of_the_release_of_the_replicates_own_truth() -> None:
    at = trial(x3.ARMS[2], replicate=3)
    truth = at.truth.draw(3)
    released = replace(at, truth=truth).mechanism.release(truth, at.source)
    cumulative = [statistic_of("cumulative", truth.sizes)]
    about = replace(at, truth=truth).mechanism, released.measurement, released.estimate.counts()
    [found] = drawn(*about, cumulative, x3.LEVEL, DRAWS, at.cell.key)
    true = np.cumsum(truth.counts, axis=1)
    held = (found.lower <= true) & (true <= found.upper)
    levels = [*strata(framed({3: x3.measure(at)["levels"]}, at.arm.label))]
    for level in range(3):
        here = [each for each in levels if each.level == level and each.view == "cumulative"]
        assert sum(sum(each.held.values()) for each in here) == held[truth.hierarchy.level(level)].sum()
        assert sum(each.n for each in here) == held[truth.hierarchy.level(level)].size


def test_the_bootstrap_holds_most_cells_and_has_no_transform(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(x3, "REPLICATES", 20)
    found = [*strata(framed({0: x3.measure(trial(x3.BOOTSTRAP))["levels"]}, x3.BOOTSTRAP.label))]
    assert {each.view for each in found} == {"counts"}
    assert not any(each.inside for each in found)
    assert 0.8 < sum(sum(each.held.values()) for each in found) / sum(each.n for each in found) <= 1


def made_up(held: float, spread: float = 0.002) -> pd.DataFrame:
    """Make five replicates of an arm whose intervals hold in so many of the cells with an sd of 2."""
    tree = Hierarchy.from_parents(["US"], [-1])
    truth, draw = CountOfCounts(tree, np.zeros((1, 10_001), int)), rng_of(5)
    records = {}
    for replicate in range(5):
        missed = draw.random((1, 10_001)) > held + spread * (replicate - 2)
        sd = np.full(missed.shape, 2.0)
        records[replicate] = counted(truth, View.COUNTS, missed * 1, np.ones(missed.shape), sd, ~missed)
    return framed(records, x3.ARMS[0].label)


@pytest.mark.parametrize(
    ("held", "expected"),
    [
        (0.90, (TestOutcome.HOLDS, TestOutcome.HOLDS, TestOutcome.HOLDS)),
        (0.80, (TestOutcome.FAILS, TestOutcome.HOLDS, TestOutcome.FAILS)),
        (0.99, (TestOutcome.HOLDS, TestOutcome.FAILS, TestOutcome.FAILS)),
    ],
)
def test_verdicts_say_what_made_up_shares_show(held: float, expected: tuple) -> None:
    found = x3.verdicts(made_up(held))
    assert tuple(verdict.finding for verdict in found) == expected
    assert f"{100 * held:.0f}."[:2] in found[1].words
    assert "strata are below" in found[0].words
