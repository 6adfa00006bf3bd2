"""Intervals from draws of the posterior: what draws are, that intervals hold the release, coverage, and the command."""

from dataclasses import replace

import numpy as np
import pytest
from instances import rng_of, scale
from made_tables import config, release, write_tables

from pgsr import CountOfCounts, Hierarchy, PgsrError, View
from pgsr.estimators import Posterior
from pgsr.intervals import Intervals, intervals
from pgsr.intervals.replicates import drawn, possible
from pgsr.intervals.statistics import Statistic, statistic_of
from pgsr.machine import progress
from pgsr.methods.mechanism import Mechanism
from pgsr.methods.method import Result
from pgsr.noise import Geometric
from pgsr.privacy import Seeded
from tests.toolkit.test_core_cli import invoke

STATISTICS = ("count", "cumulative", "tail:5", "mean", "quantile:0.9", "gini", "share:2..4")
POSTERIOR = Mechanism(Geometric(View.CUMULATIVE, 1, totals="regions"), Posterior())


def population(seed: int) -> CountOfCounts:
    draw = rng_of(seed)
    tree = Hierarchy.from_paths([("US", f"S{i}", f"C{j}") for i in range(2) for j in range(3)])
    law = 0.7 ** np.arange(16)
    rows = [draw.multinomial(total, law / law.sum()) for total in draw.integers(30, 600, 6)]
    return CountOfCounts(tree, np.array(rows), "drawn")


def test_every_statistic_is_one_of_the_same_draws() -> None:
    truth = population(0)
    released = POSTERIOR.release(truth, Seeded("same"))
    told: list[tuple[int, int]] = []
    tables: list[np.ndarray] = []
    asked = [statistic_of(text, truth.sizes) for text in STATISTICS]
    kept = replace(asked[0], of=lambda counts: tables.append(counts) or counts)
    with progress.told(lambda *part: told.append(part)):
        found = of_draws(released, [kept, *asked[1:]], 30, "s")
    assert told == [(place + 1, 30) for place in range(30)]
    estimate, counts = tables[0], np.array(tables[1:])
    np.testing.assert_array_equal(estimate, released.estimate.counts().counts)
    assert counts.shape == (30, *truth.counts.shape)
    for statistic, each in zip(asked, found, strict=True):
        assert (each.lower <= each.estimate).all()
        assert (each.estimate <= each.upper).all()
        assert each.method == "posterior"
        values, own = statistic.of(counts), statistic.of(estimate)
        outer = ((0.05, "lower", np.minimum), (0.95, "higher", np.maximum))
        sides = (widen(np.quantile(values, chance, axis=0, method=method), own) for chance, method, widen in outer)
        low, high = possible(statistic, *sides, 10**6)
        np.testing.assert_array_equal(each.lower, low)
        np.testing.assert_array_equal(each.upper, high)
    assert (counts >= 0).all()
    np.testing.assert_array_equal(counts.sum(axis=2), np.tile(truth.totals, (30, 1)))
    again = intervals(POSTERIOR, released, "tail:5", "0.9", 30, "s")
    np.testing.assert_array_equal([again.lower, again.upper], [found[2].lower, found[2].upper])


def of_draws(released: Result, statistics: list[Statistic], draws: int, seed: str | int) -> list[Intervals]:
    counts = released.estimate.counts()
    return drawn(POSTERIOR, released.measurement, counts, statistics, "0.9", draws, seed)


@pytest.mark.slow
def test_measured_coverage_by_level() -> None:
    """Intervals of 90 % hold the truth in 80 % of releases at least, by statistic and level."""
    held: dict[tuple[str, int], list[np.ndarray]] = {}
    for seed in range(scale(12, 60)):
        truth = population(seed % 4)
        released = POSTERIOR.release(truth, Seeded("covered", seed))
        asked = [statistic_of(text, truth.sizes) for text in STATISTICS]
        for statistic, found in zip(asked, of_draws(released, asked, 100, seed), strict=True):
            true = statistic.of(truth.counts)
            inside = (found.lower <= true + 1e-12) & (true - 1e-12 <= found.upper)
            for level in range(3):
                held.setdefault((statistic.name, level), []).append(inside[truth.hierarchy.level(level)].ravel())
    shares = {key: np.concatenate(parts).mean() for key, parts in held.items()}
    least = scale(0.7, 0.8)  # of the root there is one interval per release
    assert all(share >= (least if level == 0 else 0.8) for (_, level), share in shares.items()), shares


@pytest.mark.slow
def test_the_command_takes_what_the_release_knows(tmp_path) -> None:
    """Of a posterior release its own draws, of others the bootstrap."""
    write_tables(tmp_path)
    posterior, kuo = (release(config(tmp_path, kind, kind), rehearse=True) for kind in ("posterior", "kuo"))
    asked = ("--statistic", "gini", "--statistic", "count", "--replicates", 25, "--seed", "s")
    shown = invoke("intervals", posterior, *asked)
    assert "90 % intervals, posterior" in shown.stdout
    assert "90 % intervals, bootstrap" in invoke("intervals", kuo, *asked).stdout
    with pytest.raises(PgsrError, match="write --kind bootstrap"):
        invoke("intervals", kuo, "--kind", "posterior")
