"""Two-stage and posterior of a nation in parts, against the whole in memory."""

import numpy as np
import pytest
from test_m_c_folded import EXACT, TREES, random_targets
from test_nation_m_h import HERE, joined, nation
from test_nation_matching import NOISE, SIZES, whole_of

from pgsr import View
from pgsr.algorithms.m_c.folded import together
from pgsr.algorithms.m_c.folded_dual import Targets
from pgsr.errors import ArgumentError, ProblemError
from pgsr.estimators import Posterior, TwoStage
from pgsr.machine.partitions import Engine, ParquetFolder
from pgsr.nation import StreamedLevelRelease, measure
from pgsr.nation.joint import condensed
from pgsr.noise import Geometric
from pgsr.privacy import Seeded


def measured(path, engine=HERE):
    data, folder = nation(SIZES), ParquetFolder(str(path))
    measure(data, folder, NOISE, Seeded("s"), engine, totals_of=7)
    return data, folder


def test_equals_the_whole_where_order_does_not_matter():
    """Values far apart and far from 0: the root is the condensed one, and what is below it that of the whole."""
    for seed, (fan, n_cells) in enumerate(TREES):
        noise = random_targets(seed, fan, n_cells, "levels")
        y, totals = [], [1000 * np.maximum(1, groups) for groups in noise.totals]
        totals = [np.array(groups) for groups in totals]
        for level in range(len(totals) - 2, -1, -1):
            totals[level] = noise.sums(level, totals[level + 1])
        for groups, table in zip(totals, noise.y, strict=True):
            part = np.arange(1, table.shape[1] + 1) / (n_cells[0] + 1)
            y.append(groups[:, None] * part + np.clip(table, -9, 9))
        w = tuple(float(part.max(initial=0.5)) for part in noise.w)
        whole = together(Targets.of(noise.hierarchy, y, totals, w), EXACT)
        values, weights = condensed(noise.hierarchy, y, w)
        assert np.allclose(whole.values[0][0, :-1], values)
        assert (weights >= w[0]).all()
        root = values + np.arange(len(values)) / 9  # as if the levels above had said so
        towards = y[0] + weights / w[0] * (root - values)
        given = together(Targets.of(noise.hierarchy, (towards, *y[1:]), totals, w), EXACT)
        heavy = together(Targets.of(noise.hierarchy, (root[None], *y[1:]), totals, (1e7, *w[1:])), EXACT)
        assert np.allclose(given.values[0][0, :-1], root)
        for a, b in zip(given.values, heavy.values, strict=True):
            assert np.allclose(a, b, atol=1e-4)


@pytest.mark.drawn(2, pool="a nation in parts, resumed and by threads")
@pytest.mark.parametrize("method", [TwoStage(), Posterior(1)])
def test_a_nation_in_parts_adds_up_and_is_near_the_whole(tmp_path, method):
    data, folder = measured(tmp_path)
    found = StreamedLevelRelease(method, HERE).release(data, folder, NOISE)
    assert not any(found.violations.values())
    answer = joined(data, folder, "counts")
    assert found.n_cells == answer.sizes.n_cells
    assert answer.counts().max_sizes == data.max_sizes, "non-negative, and adds up, or is refused"
    totals = np.concatenate([folder.read(key, "totals-7")[:, 0] for key in data.keys])
    assert np.array_equal(answer.tables[-1].sum(axis=1), totals)
    whole = method.apply(whole_of(data, folder)).estimate.as_counts
    below = [data.part(key).tables for key in data.keys]
    truth = [*data.above().tables[:-1], *(np.concatenate(part) for part in zip(*below, strict=True))]
    for a, b, exact in zip(answer.tables, whole, truth, strict=True):
        off, off_whole = (np.abs(np.cumsum(part - exact, axis=1)).sum() for part in (a, b))
        assert off < 1.1 * off_whole + 20 * len(a) ** 0.5


@pytest.mark.drawn(2, pool="a nation in parts, resumed and by threads")
def test_threads_give_the_same_integers(tmp_path):
    data, folder = measured(tmp_path / "here")
    StreamedLevelRelease(TwoStage(), HERE).release(data, folder, NOISE)
    other = measured(tmp_path / "threads", Engine())[1]
    StreamedLevelRelease(TwoStage(), Engine()).release(data, other, NOISE)
    for level in range(3, 8):
        assert np.array_equal(folder.read("Ohio", f"counts-{level}"), other.read("Ohio", f"counts-{level}"))


def test_what_cannot_be_done_is_told(tmp_path):
    data, folder = measured(tmp_path)
    with pytest.raises(ProblemError, match="measure into an empty folder"):
        StreamedLevelRelease(TwoStage(), HERE).release(nation((*SIZES[:7], 1)), folder, NOISE)
    (tmp_path / f"state={data.keys[-1]}" / "totals-7.parquet").unlink()
    with pytest.raises(ProblemError, match="totals_of=7, the last level"):
        StreamedLevelRelease(TwoStage(), HERE).release(data, folder, NOISE)


def test_a_release_is_made_with_the_noise_that_was_measured(tmp_path):
    """With the precisions of other noise it would be another release, and nothing would say so."""
    data, folder = measured(tmp_path)
    with pytest.raises(ProblemError, match="give what they were measured with"):
        StreamedLevelRelease(TwoStage(), HERE).release(data, folder, Geometric(View.CUMULATIVE, 8))


def test_a_release_of_a_view_that_was_not_measured_is_refused(tmp_path):
    """Plain counts were; their totals are there, and the cumulative counts are not."""
    data, folder = nation(SIZES), ParquetFolder(str(tmp_path))
    measure(data, folder, Geometric(View.COUNTS, 4), Seeded("s"), HERE, totals_of=7)
    with pytest.raises(ProblemError, match="no table cumulative-terms"):
        StreamedLevelRelease(TwoStage(), HERE).release(data, folder, NOISE)


def test_arguments_of_the_wrong_kind_are_told():
    with pytest.raises(ArgumentError, match=r"give TwoStage\(\) or Posterior\(\)"):
        StreamedLevelRelease(NOISE)
