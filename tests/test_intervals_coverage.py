"""The measurement of coverage itself, in small."""

import pandas as pd
import pytest

from pgsr.errors import ProblemError
from pgsr.experiments.benchmarks import interval_coverage
from pgsr.experiments.benchmarks.interval_coverage import STATISTICS, Coverage, population
from pgsr.intervals import FORMS, EmptyBandError, band
from pgsr.release.kinds import Kind


@pytest.fixture(scope="module")
def measured() -> tuple[pd.DataFrame, list[tuple[int, int]]]:
    """What was measured in small, and what was told of progress."""
    told: list[tuple[int, int]] = []
    return Coverage((1,), releases=3, replicates=20).measure(lambda *part: told.append(part)), told


@pytest.mark.drawn(1, pool="intervals hold the truth")
def test_every_mechanism_form_and_statistic_is_measured(measured: tuple[pd.DataFrame, list[tuple[int, int]]]):
    found, told = measured
    n_cells = 3 * len(Kind)
    assert told[-1] == (n_cells - 1, n_cells)
    assert set(found["method"]) == {"band", *FORMS, "posterior"}
    assert set(found[found["method"] == "posterior"]["mechanism"]) == {"posterior"}
    assert set(found["statistic"]) == {statistic.name for statistic in STATISTICS}
    assert set(found["level"]) == {"root", "level 1", "leaves"}
    assert found["held"].between(0, 1).all()
    truth = population(1)
    of_counts = found[(found["statistic"] == "count") & (found["mechanism"] == "kuo") & (found["method"] == "basic")]
    assert of_counts["n"].sum() == 3 * truth.counts.size


def test_a_band_holds_all_or_nothing(measured: tuple[pd.DataFrame, list[tuple[int, int]]]):
    found, _ = measured
    bands = found[found["method"] == "band"]
    assert (bands.groupby("mechanism")["held"].nunique() == 1).all()
    assert bands["held"].min() >= 1 / 3


def test_a_band_that_nothing_fits_into_counts_against_every_statistic(monkeypatch: pytest.MonkeyPatch):
    """Two of four: they were missing from the shares of all statistics but one, whose widths they made smaller."""
    calls = iter(range(4))

    def empty_half_of_the_time(*arguments: object):
        if next(calls) % 2:
            raise EmptyBandError("no counts fit")
        return band(*arguments)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(interval_coverage, "Kind", (Kind.KUO,))
    whole = Coverage((2,), releases=1, replicates=20).measure()
    monkeypatch.setattr(interval_coverage, "band", empty_half_of_the_time)
    found = Coverage((2,), releases=4, replicates=20).measure()
    found, whole = (frame[frame["method"] == "band"].set_index(["statistic", "level"]) for frame in (found, whole))
    assert set(found.index) == set(whole.index)
    assert (found["n"] == 4).all()
    assert (found["held"] <= 1 / 2).all()
    assert (found["width"] > 0.7 * whole["width"]).all()


def test_a_band_that_is_refused_for_another_reason_is_no_miss(monkeypatch: pytest.MonkeyPatch):
    def refused(*arguments: object):
        raise ProblemError("a band needs public numbers of groups")

    monkeypatch.setattr(interval_coverage, "Kind", (Kind.KUO,))
    monkeypatch.setattr(interval_coverage, "band", refused)
    with pytest.raises(ProblemError, match="needs public numbers"):
        Coverage((2,), releases=1, replicates=20).measure()
