"""The benchmark of the field: standings, tables, verdicts and recommendations, on made-up results; arms on toys."""

from collections.abc import Mapping
from fractions import Fraction
from itertools import product
from math import exp, log
from pathlib import Path
from statistics import fmean

import numpy as np
import pandas as pd
import pytest
from instances import rng_of

from pgsr.experiments import quoted
from pgsr.experiments.engine.experiment import Cell, Trial
from pgsr.experiments.engine.summary import LevelErrors, level_errors
from pgsr.experiments.engine.verdicts import TestOutcome
from pgsr.experiments.ours.benchmark import experiment as b1
from pgsr.experiments.ours.benchmark import tables
from pgsr.experiments.ours.benchmark.arms import ARMS, BOTTOM_UP, CURATOR, OF_KUO, POSTERIOR_SPLIT, RIVALS
from pgsr.experiments.ours.benchmark.standings import Standings, critical_difference, ranked
from pgsr.experiments.ours.benchmark_data.census import SMALL
from pgsr.experiments.ours.every_release import EPSILONS
from pgsr.experiments.report.publication import published
from pgsr.experiments.report.worst_cases import at_leaves, at_root, worst_cases

Errors = Mapping[tuple[str, float, str], tuple[float, ...]]


def frame(errors: Errors, replicates: int = 6, noise: float = 0.01) -> pd.DataFrame:
    """Results with these EMDs by data set, epsilon and arm, a number per level; twice the bound each."""
    rng = rng_of(2)
    rows = []
    for (data, epsilon, arm), values in errors.items():
        for replicate in range(replicates):
            row = {"data": data, "real": False, "epsilon": epsilon, "arm": arm, "replicate": replicate}
            found = [value * rng.uniform(1 - noise, 1 + noise) for value in values]
            row |= {f"emd_level{level}": value for level, value in enumerate(found)}
            row |= {f"times_bound_level{level}": 2.0 for level in range(len(values))}
            rows.append(row | {"release_seconds": 0.5})
    return pd.DataFrame(rows)


def emd(errors: Errors, noise: float) -> LevelErrors:
    return level_errors(frame(errors, noise=noise), "emd")


def test_scores_and_ranks_by_hand() -> None:
    errors = {("d", 1.0, "a"): (10.0, 8.0), ("d", 1.0, "b"): (20.0, 4.0)}
    errors |= {("e", 1.0, "a"): (3.0,), ("e", 1.0, "b"): (6.0,)}
    found = Standings.of(emd(errors, noise=0.0), ("a", "b", "c"))
    assert found.scores.tolist() == [pytest.approx([2**0.5, 2**0.5, np.inf]), pytest.approx([1, 2, np.inf])]
    assert found.ranks.tolist() == [1.25, 1.75, 3]
    assert found.rank_bars.tolist() == [[1.25, 1.75, 3]] * 2, "replicates that are all alike leave nothing open"


def test_scores_of_resamples_are_those_of_the_definition() -> None:
    errors = {("d", 1.0, arm): (e, 2 * e) for arm, e in (("a", 10.0), ("b", 10.5), ("c", 11.0))}
    (block,) = Standings.of(emd(errors, noise=0.2), ("a", "b", "c")).blocks
    drawn = rng_of(5).integers(0, 6, (4, 6))
    for resample, scores in zip(drawn, block.scores(drawn), strict=True):
        means = [[fmean(level[r] for r in resample) for level in arm] for arm in block.values.tolist()]
        least = [min(arm[level] for arm in means) for level in range(2)]
        expected = [exp(fmean(log(arm[level] / least[level]) for level in range(2))) for arm in means]
        assert scores == pytest.approx(expected)


def test_replicates_that_an_arm_lacks_are_left_out_for_all() -> None:
    """One replicate of `b` is missing, most of `c` are: so `c` has no results, and five replicates are compared."""
    every = frame({("d", 1.0, arm): (value,) for arm, value in (("a", 10.0), ("b", 20.0), ("c", 5.0))})
    lost = ((every["arm"] == "b") & (every["replicate"] == 3)) | ((every["arm"] == "c") & (every["replicate"] > 1))
    (block,) = Standings.of(level_errors(every.loc[~lost], "emd"), ("a", "b", "c")).blocks
    assert block.values.shape == (3, 1, 5)
    assert ranked(block.own_scores).tolist() == [1, 2, 3]
    assert np.isinf(block.own_scores[2])
    only = every.loc[((every["arm"] == "a") == (every["replicate"] < 3)) & (every["arm"] != "c")]
    assert not Standings.of(level_errors(only, "emd"), ("a", "b")).blocks, "they have no replicate in common"


def test_nemenyi_as_printed() -> None:
    """Demsar 2006, table 5: critical values 2.343 for 3 classifiers and 3.164 for 10, times the square root."""
    assert critical_difference(3, 14) == pytest.approx(2.343 * (3 * 4 / (6 * 14)) ** 0.5, rel=1e-3)
    assert critical_difference(10, 30) == pytest.approx(3.164 * (10 * 11 / (6 * 30)) ** 0.5, rel=1e-3)
    assert ranked(np.array([2.0, 2.0, 1.0])).tolist() == [2.5, 2.5, 1]


def test_the_worst_case_is_the_largest_multiple_of_the_best() -> None:
    """At the root `a` is never far; at the leaves `b` is best; `part` lacks a data set, so it has no worst case."""
    errors = {
        ("d", 1.0, "a"): (10.0, 40.0),
        ("d", 1.0, "b"): (90.0, 4.0),
        ("d", 1.0, "part"): (1.0, 1.0),
        ("e", 1.0, "a"): (10.0, 5.0, 30.0),
        ("e", 1.0, "b"): (50.0, 5.0, 3.0),
    }
    found, arms = emd(errors, noise=0.0), ("a", "b", "part")
    assert worst_cases(found, arms, 1.0, at_root) == pytest.approx({"a": 10, "b": 90})
    assert worst_cases(found, arms, 1.0, at_leaves) == pytest.approx({"a": 40, "b": 4})
    assert worst_cases(found, arms, 1.0) == pytest.approx({"a": 40, "b": 90})
    assert not worst_cases(found, arms, 0.5), "nothing is said of an epsilon without results"


def results(best: str = POSTERIOR_SPLIT.label) -> pd.DataFrame:
    """Results of all arms on two data sets: errors grow with the place in the list, and one arm has the least."""
    errors = {
        (data, epsilon, arm.label): tuple(10.0 * (place + 2) * (1 + level) for level in range(2))
        for data, epsilon, (place, arm) in product(("d", "e"), (0.1, 1.0), enumerate(ARMS))
    }
    return frame(errors | {(data, epsilon, best): (5.0, 6.0) for data, epsilon in product(("d", "e"), (0.1, 1.0))})


def test_verdicts_name_the_nearest_other() -> None:
    verdicts = b1.verdicts(results())
    first = [v for v in verdicts if v.claim.startswith(POSTERIOR_SPLIT.label)]
    assert {v.finding for v in first} == {TestOutcome.HOLDS}
    nearest = next(arm for arm in RIVALS if arm in CURATOR)
    assert first[0].words.startswith("root: 5")
    assert first[0].words.count(f" of {nearest.label}") == 2
    beaten = [v for v in b1.verdicts(results(nearest.label)) if v.claim.startswith(BOTTOM_UP.label)]
    assert {v.finding for v in beaten} == {TestOutcome.FAILS}


def test_tables_say_what_is_there() -> None:
    found = dict(tables.of_results(results()))
    assert tuple(found) == tables.OF_RESULTS
    standings = found["standings"].splitlines()
    assert len(standings) == 2 + len(ARMS)
    assert standings[2].startswith(f"| {POSTERIOR_SPLIT.label} | 1.0 [1.0, 1.0] | 1.00 | 1.00 | 2.00 | 0.50 |")
    assert [line.split(";")[0] for line in found["winners"].splitlines()[2:]] == [
        f"| {data} |  |  | **{POSTERIOR_SPLIT.label}** 5.0 (2.0)" for data in ("d", "e")
    ]
    nearest = next(arm for arm in (*OF_KUO, *RIVALS) if arm in CURATOR)
    assert f"; {nearest.label} x " in found["winners"], "not the second of this toolkit"
    assert found["places"].startswith("Of 8 places (data set, epsilon, level) ")
    assert "that of this toolkit at 8, Kuo et al. at 0, other authors at 0; the nearest" in found["places"]
    lists = dict(tables.of_lists())
    assert all(f"| {arm.label} |" in lists["arms"] for arm in ARMS)


def test_an_arm_without_a_curator_never_wins(tmp_path: Path) -> None:
    local = [arm.label for arm in ARMS if arm not in CURATOR]
    assert len(local) == 1
    frame = results(local[0])
    assert local[0] not in dict(tables.of_results(frame))["winners"]
    assert local[0] in pd.read_csv(tables.write_errors(frame, tmp_path))["release"].tolist()


def test_all_errors_are_in_the_file(tmp_path: Path) -> None:
    """A row per data set, epsilon, release and level, with the mean, its standard error and the bound."""
    errors = {("d", 1.0, "a"): (10.0, 8.0), ("d", 0.1, "a"): (20.0,)}
    made = frame(errors, noise=0.1)
    made.loc[made["epsilon"] == 0.1, "times_bound_level0"] = np.nan
    found = pd.read_csv(tables.write_errors(made, tmp_path))
    assert found[["data", "epsilon", "release", "level", "replicates"]].to_numpy().tolist() == [
        ["d", 1.0, "a", 0, 6], ["d", 1.0, "a", 1, 6], ["d", 0.1, "a", 0, 6],
    ]  # fmt: skip
    first = made.loc[made["epsilon"] == 1.0, "emd_level0"]
    assert found["emd"][0] == pytest.approx(first.mean(), rel=1e-5)
    assert found["standard_error"][0] == pytest.approx(first.sem(), rel=1e-5)
    assert found["times_bound"].tolist()[:2] == [2, 2]
    assert np.isnan(found["times_bound"][2]), "no bound, no multiple"


@pytest.mark.slow
def test_tables_wait_for_results(tmp_path, monkeypatch) -> None:
    """Without published results a sentence stands in every table's place; with them the tables do."""
    names = [f"B1.{name}" for name in tables.OF_RESULTS]
    values = quoted.quotations(tmp_path)
    assert {values[name] for name in names} == {quoted.waiting("B1")}
    assert f"| {POSTERIOR_SPLIT.label} |" in values["B1.arms"]
    found = results()
    ((_, about, _),) = published([b1.EXPERIMENT], Path(__file__).parents[2] / "docs" / "results")
    monkeypatch.setattr(quoted, "published", lambda experiments, folder: [(b1.EXPERIMENT, about, found)])
    assert [quoted.quotations(tmp_path)[name] for name in names] == [text for _, text in tables.of_results(found)]


def test_the_cost_of_the_default_is_told() -> None:
    """Every setting errs 2 and 4/3 times as much as the best of all releases, whatever epsilon is."""
    errors = {("d", float(epsilon), arm): (10.0, 4.0) for epsilon, arm in product(EPSILONS, quoted.SETTINGS)}
    errors |= {("d", float(epsilon), "best of all"): (5.0, 3.0) for epsilon in EPSILONS}
    found = dict(quoted.OF_EXPERIMENTS["X2"](frame(errors, noise=0.0)))
    assert found["cost"].splitlines()[0].startswith("| data | the default | ")
    assert found["cost"].splitlines()[2:] == [f"| d {'| 2.00 / 1.33 ' * len(quoted.COSTS)}|"]
    assert "| the default | **2.0** | **2.0** | **2.0** |" in found["worst"]
    assert found["best"] == "0 of 6"
    assert (found["root-heavy-at-root"], found["mostly-at-leaves"]) == ("2.0", "1.3")


"""Measured peaks in megabytes, on two cores, at epsilon 1/10."""


def trial(arm, data) -> Trial:
    return Trial(Cell("B1", data.name, Fraction(1), 0, arm.label), arm, data, data.truth(), "test", 60)


def test_a_cell_has_errors_times_the_bound_and_seconds() -> None:
    found = b1.measure(trial(POSTERIOR_SPLIT, SMALL))
    assert found["status"] == "FEASIBLE"
    assert set(found["levels"]) == {"emd", "times_bound"}
    assert found["release_seconds"] > 0
