"""The parametric bootstrap: its replicates, its measured coverage; intervals as values and as a command."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from instances import rng_of, scale
from made_tables import config, release, write_tables
from planned import planned

from pgsr import CountOfCounts, Hierarchy, PgsrError, View
from pgsr.algorithms import TreeProjection
from pgsr.estimators import BottomUp, IsotonicTreeProjection, Matching
from pgsr.intervals import band, intervals
from pgsr.intervals.replicates import Outermost, bootstrapped
from pgsr.intervals.statistics import Statistic, statistic_of
from pgsr.machine import progress
from pgsr.methods.mechanism import Mechanism
from pgsr.noise import Geometric
from pgsr.privacy import Seeded
from pgsr.release import Terms, read_release
from pgsr.release.terms.kinds import Kind
from tests.toolkit.test_core_cli import invoke

TREE = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
TRUTH = CountOfCounts(TREE, [[2, 90, 40, 11], [5, 80, 30, 6]], "bootstrap")


def statistics(*texts: str) -> list[Statistic]:
    return [statistic_of(text, TRUTH.sizes) for text in texts]


def mechanism(kind: str = "kuo", totals: str | None = None) -> Mechanism:
    return planned(Terms("bootstrap", 3, "2", kind, totals=totals), 2).mechanism


@pytest.mark.parametrize("level", ["0.5", "0.8", "0.9", "0.95"])
def test_the_outermost_values_are_those_of_sorting(level):
    """Quantiles by NumPy, the outer of two values, and the ranks beside them; an absent value is the widest."""
    rng = rng_of(1)
    for number in (21, 37, 100):
        values, found = rng.integers(0, 70, (number, 5)).astype(float), Outermost(number, level)
        values[0, 0] = np.nan
        for row in values:
            found.add(row)
        ordered = [np.sort(np.where(np.isnan(values), widest, values), axis=0) for widest in (-np.inf, np.inf)]
        rank = int((1 - Fraction(level)) / 2 * (number - 1))
        for inward in (-1, 0, 1):
            place = max(rank + inward, 0)
            np.testing.assert_array_equal(found.ends(inward), [ordered[0][place], ordered[1][-1 - place]])


@pytest.mark.few(2)
@pytest.mark.parametrize("kind", list(Kind))
@pytest.mark.parametrize("totals", [None, "noisy"])
def test_replicates_are_releases_of_the_release(kind, totals):
    """They repeat for a seed, differ from the release's own noise, and keep what is public."""
    made = mechanism(kind, totals)
    released = made.release(TRUTH, Seeded("intervals")).estimate.counts()
    one, again, other = (replicates(made, released, seed) for seed in ("intervals", "intervals", "other"))
    np.testing.assert_array_equal(one, again)
    assert (one != other).any()
    assert len({values.tobytes() for values in one}) > 15
    if totals is None:
        assert (one[:, 0].sum(axis=1) == TRUTH.totals[0]).all()
    asked = statistics("tail:3", "tail:0", "count")
    none, some, count = bootstrapped(made, released, asked, "0.9", 20, "intervals")
    assert not np.any([none.lower, none.upper])
    width = np.quantile(np.abs(one - released.counts), 0.9, axis=0, method="higher")
    np.testing.assert_array_equal(count.lower, np.maximum(released.counts - width, 0))
    tails = one[..., 1:].sum(axis=-1)
    width = np.quantile(np.abs(tails - some.estimate), 0.9, axis=0, method="higher")
    most = np.inf if totals else TRUTH.totals[0]
    np.testing.assert_array_equal(some.upper, np.minimum(some.estimate + width, most))


def replicates(made: Mechanism, released: CountOfCounts, seed: str) -> np.ndarray:
    """Release the release again 20 times, and keep what the bootstrap is told of it; it says how far it is."""
    found: list[np.ndarray] = []
    told: list[tuple[int, int]] = []
    kept = replace(statistics("count")[0], of=lambda counts: found.append(counts) or counts)
    with progress.told(lambda *part: told.append(part)):
        bootstrapped(made, released, [kept], "0.9", 20, seed)
    assert told == [(place + 1, 20) for place in range(20)]
    return np.array(found[1:])  # the first one is the release


def test_the_noise_is_not_that_of_a_release_with_the_same_seed():
    """A research release and its intervals may share a seed; their noise may not, or replicates repeat its errors."""
    made = Mechanism(Geometric(View.COUNTS, 1), TreeProjection())
    names: list[tuple[str, int]] = []

    class Told(Seeded):
        def stream(self, identity):
            names.append((str(self.key), self.replicate))
            return super().stream(identity)

    made.release(TRUTH, Told("same", 0))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pgsr.intervals.replicates.Seeded", Told)
        intervals(made, TRUTH, "tail:1", replicates=20, seed="same")
    assert names[0] == ("same", 0)
    assert names[0] not in names[3:]
    assert len(set(names)) == 21


@pytest.mark.slow
@pytest.mark.few(2)
@pytest.mark.parametrize("post", [Matching(), BottomUp(), TreeProjection(), IsotonicTreeProjection()])
def test_measured_coverage_of_cumulative_counts(post):
    """Intervals of 90 % hold the truth in 80 % of cases at least, by every level, over nested replicates."""
    noise = Geometric(View.COUNTS if isinstance(post, TreeProjection) else View.CUMULATIVE, 2)
    made = Mechanism(noise, post)
    true, hits = np.cumsum(TRUTH.counts, axis=1), []
    for outer in range(scale(20, 60)):
        released = made.release(TRUTH, Seeded("outer", outer))
        found = intervals(made, released, "cumulative", "0.9", 60, seed=outer)
        hits.append((found.lower <= true) & (true <= found.upper))
    by_region = np.mean(hits, axis=(0, 2))
    assert (by_region >= 0.8).all(), by_region


def test_frames_and_figures():
    made = mechanism()
    one, every = (intervals(made, TRUTH, statistic, replicates=20) for statistic in ("tail:1", "count"))
    columns = ["region_id", "level", "level_name", "level_0", "level_1", "statistic", "lower", "estimate", "upper"]
    assert list(one.to_frame().columns) == columns
    assert one.to_frame(level_names=("nation", "state"))["state"].tolist()[1:] == ["GA", "MI"]
    assert one.to_frame()["region_id"].tolist() == ["US", "US/GA", "US/MI"]
    assert one.to_frame(("US", "MI"))["estimate"].tolist() == [36]
    frame = every.to_frame()
    assert len(frame) == 12
    assert frame["statistic"].tolist()[:4] == ["count:0", "count:1", "count:2", "count:3"]
    assert frame[frame["region_id"] == "US/GA"]["estimate"].tolist() == TRUTH.counts[1].tolist()
    assert "90 %" in one._repr_html_()
    assert "symmetric bootstrap" in repr(every)
    assert len(one.plot().axes) == len(one.plot(level=0).axes) == 1
    assert len(every.plot(("US", "GA")).axes) == 2
    for draw in (lambda: one.plot(("US", "GA")), lambda: every.plot(level=1)):
        with pytest.raises(PgsrError, match="give"):
            draw()


def test_regions_that_padding_repeats_have_one_row():
    tree = Hierarchy.from_paths([("US", "DC"), ("US", "GA", "Cobb"), ("US", "GA", "Fulton")], pad_ragged=True)
    truth = CountOfCounts(tree, [[0, 9], [3, 4], [0, 5]])
    measured = Geometric(View.CUMULATIVE, 1).measure(truth, Seeded("padded"))
    frame = band(measured).intervals("tail:0", truth).to_frame()
    assert sorted(frame["region_id"]) == ["US", "US/DC", "US/GA", "US/GA/Cobb", "US/GA/Fulton"]
    assert dict(zip(frame["region_id"], frame["level"], strict=True))["US/DC"] == 1


def test_a_folder_is_read_back_and_has_intervals(tmp_path):
    write_tables(tmp_path)
    folder = release(config(tmp_path, "m_h"), rehearse=True)  # secure noise may leave a band now and then
    published = read_release(folder)
    assert not published.secure
    assert published.mechanism == planned(published.terms, 3).mechanism
    replayed = published.mechanism.post_process(published.measurement).estimate.counts()
    np.testing.assert_array_equal(replayed.counts, published.counts.counts)
    for form, draws in (("bootstrap", ("--replicates", 20)), ("band", ())):
        file = tmp_path / f"{form}.csv"
        options = ("--kind", form, *draws, "--level", "0.8", "--output", file)
        done = invoke("intervals", folder, "--statistic", "tail:1", "--statistic", "count", *options)
        assert done.exit_code == 0
        frame = pd.read_csv(file)
        names = list(planned(published.terms, 3).names)
        columns = ["region_id", "level", "level_name", *names, "statistic", "lower", "estimate", "upper"]
        assert list(frame.columns) == columns
        assert len(frame) == published.counts.hierarchy.n_regions * 5
        assert (frame["lower"] <= frame["upper"]).all()
        if form == "band":
            found = band(published.measurement, Fraction(4, 5)).intervals("tail:1", published.counts)
            expected = found.to_frame(level_names=names)
            pd.testing.assert_frame_equal(frame.head(len(expected)), expected)
    first, second = frame["region_id"].unique()[1:3]
    shown = invoke("intervals", folder, "--kind", "band", "--region", first, "--statistic", "mean")
    assert first in shown.stdout
    assert second not in shown.stdout
    assert invoke("check", folder).exit_code == 0


@pytest.mark.slow
def test_the_command_refuses_in_the_users_words(tmp_path):
    write_tables(tmp_path)
    folder = release(config(tmp_path, "kuo"), rehearse=True)
    assert "NOT private" in invoke("intervals", folder, "--kind", "band").stdout
    (tmp_path / "there.csv").write_text("")
    for arguments, word in [
        ((folder, "--kind", "exact"), "bootstrap or band"),
        ((folder, "--statistic", "middle"), "mean, median"),
        ((folder, "--region", "US/HI"), "no region"),
        ((folder, "--output", tmp_path / "there.csv"), "exists"),
        ((folder, "--output", folder / "new.csv"), "another place"),
        ((tmp_path / "nowhere",), "no folder"),
    ]:
        with pytest.raises(PgsrError, match=word):
            invoke("intervals", *arguments)
    (folder / "counts.csv").write_text("nothing")
    with pytest.raises(PgsrError, match="digests"):
        invoke("intervals", folder)
