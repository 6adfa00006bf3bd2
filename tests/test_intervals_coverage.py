"""The measurement of coverage itself, in small."""

from pgsr.experiments.benchmarks.interval_coverage import STATISTICS, Coverage, population
from pgsr.intervals import FORMS
from pgsr.release.kinds import Kind


def test_every_mechanism_form_and_statistic_is_measured():
    told: list[tuple[int, int]] = []
    found = Coverage((1,), releases=2, replicates=20).measure(lambda *part: told.append(part))
    n_cells = 2 * len(Kind)
    assert told[-1] == (n_cells - 1, n_cells)
    assert set(found["method"]) == {"band", *FORMS}
    assert set(found["statistic"]) == {statistic.name for statistic in STATISTICS}
    assert set(found["level"]) == {"root", "level 1", "leaves"}
    assert found["held"].between(0, 1).all()
    truth = population(1)
    of_counts = found[(found["statistic"] == "count") & (found["mechanism"] == "kuo") & (found["method"] == "basic")]
    assert of_counts["n"].sum() == 2 * truth.counts.size


def test_a_band_holds_all_or_nothing():
    found = Coverage((2,), releases=3, replicates=20).measure()
    bands = found[found["method"] == "band"]
    assert (bands.groupby("mechanism")["held"].nunique() == 1).all()
    assert bands["held"].min() >= 1 / 3
