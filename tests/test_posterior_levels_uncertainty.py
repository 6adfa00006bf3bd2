"""Intervals of posterior releases with sizes per level: against dense matrices, equal sizes, and the truth."""

from itertools import product

import numpy as np
import pytest
from instances import scale

from pgsr import CountOfCounts, Hierarchy, View
from pgsr.errors import ArgumentError, NoEstimateError
from pgsr.estimators import Posterior, TwoStage
from pgsr.estimators.posterior.folded_errors import FoldedErrors
from pgsr.estimators.posterior.propagation import FoldedPropagation
from pgsr.noise import Geometric, Measurement, SplitByRoot
from pgsr.privacy import Seeded

TREE = Hierarchy.from_paths([("r", a, b, c) for a, b, c in product("AB", "CD", "EFG")] + [("r", "A", "D", "H")])


def dense_projection(depth: int, weights: list[float]) -> np.ndarray:
    """The matrix that projects values of the levels down to `depth` together; of all regions, 0 for those below."""
    tree, out = TREE.down_to(depth), np.zeros((TREE.n_regions, TREE.n_regions))
    w = np.asarray(weights)[tree.level_of]
    sums = tree.sum_up(np.eye(tree.n_regions - tree.n_inner))
    out[: tree.n_regions, : tree.n_regions] = sums @ np.linalg.solve(sums.T @ (w[:, None] * sums), sums.T * w)
    return out


def slow_variances(k: list[int], weights: list[float], variances: list[np.ndarray], steps: list[np.ndarray]):
    """Variances of cumulative counts and counts, cell by cell, from dense matrices.

    A count is x[s] = M c[s] - M' c[s - 1]: where M = M' the errors of its own count are what counts, else every region
    has the covariances of its own c[s] and c[s - 1].
    """

    def shared(s: int) -> np.ndarray:
        return dense_projection(max(level for level in range(4) if k[level] > s), weights)

    def column(tables: list[np.ndarray], s: int) -> np.ndarray:
        return np.concatenate([t[:, s] if s < t.shape[1] else np.zeros(len(t)) for t in tables])

    def of_level(values: np.ndarray, level: int) -> np.ndarray:
        return values[TREE.level(level)]

    cumulative, counts = ([np.zeros(t.shape) for t in variances] for _ in range(2))
    for level, s in [(here, size) for here in range(4) for size in range(k[here] + 1)]:
        own, step = column(variances, s), column(steps, s)
        before = column(variances, s - 1) if s else None
        if s == k[level]:
            # c[K] is public here. Regions above that tell K from larger sizes know c[K - 1] all the same.
            assert before is not None
            last = np.concatenate([np.full(len(t), t.shape[1] == s + 1) for t in variances])
            counts[level][:, s] = of_level(shared(s - 1) ** 2 @ np.where(last, step, before), level)
            continue
        m = shared(s)
        cumulative[level][:, s] = of_level(m**2 @ own, level)
        if before is None or np.array_equal(m, shared(s - 1)):
            counts[level][:, s] = of_level(m**2 @ step, level)
        else:
            m_before, joint = shared(s - 1), (own + before - step) / 2
            found = m**2 @ own + m_before**2 @ before - 2 * (m * m_before) @ joint
            counts[level][:, s] = of_level(found, level)
    return cumulative, counts


@pytest.mark.parametrize("k", [[9, 7, 4, 2], [6, 6, 3, 3], [5, 5, 5, 5], [4, 3, 2, 1], [8, 2, 2, 1]])
def test_equals_dense_matrices(k):
    rng, weights = np.random.default_rng(sum(k)), [1.0, 0.3, 0.5, 0.2]
    n = np.diff(TREE.level_start).tolist()
    variances = [np.append(rng.random((n[i], k[i])) + 0.5, np.zeros((n[i], 1)), axis=1) for i in range(4)]
    steps = [rng.random((n[i], k[i] + 1)) for i in range(4)]
    found = FoldedErrors(FoldedPropagation(TREE, weights, k), variances, steps, _no_error(variances))
    cumulative, counts = slow_variances(k, weights, variances, steps)
    for level in range(4):
        assert np.allclose(found.deviations(View.CUMULATIVE)[level] ** 2, cumulative[level])
        assert np.allclose(found.deviations(View.COUNTS)[level] ** 2, np.maximum(counts[level], 0))
    assert np.sqrt(counts[0]).min() >= 0


def test_errors_of_every_size_go_through_the_levels_that_share_it():
    """One region at a time, against dense matrices; public totals have none."""
    k, weights = (9, 7, 4, 2), [1.0, 0.3, 0.5, 0.2]
    own = tuple(np.zeros((n, K + 1)) for n, K in zip(TREE.regions_per_level, k, strict=True))
    folded = FoldedPropagation(TREE, weights, k)
    for level, s in product(range(4), range(9)):
        if s >= k[level]:
            continue
        m = dense_projection(max(deep for deep in range(4) if k[deep] > s), weights)
        for table in own:
            table[:] = 0.0
        own[level][-1, s] = 1.0
        found = folded.errors(own)
        for deep, table in enumerate(found):
            expected = m[TREE.level(deep), TREE.level(level).stop - 1] if s < k[deep] else 0.0
            assert np.allclose(table[:, s] if s <= k[deep] else 0.0, expected)
            assert not np.delete(table, s, axis=1).any() if s <= k[deep] else not table.any()


def _no_error(tables) -> dict[View, list[np.ndarray]]:
    return {view: [np.zeros(table.shape) for table in tables] for view in (View.COUNTS, View.CUMULATIVE)}


SIZES = (60, 40, 40, 6)


def smooth(seed: int) -> CountOfCounts:
    """6,000 groups in 13 leaves with a smooth distribution of sizes up to 60."""
    rng, sizes = np.random.default_rng(seed), np.arange(61)
    leaves = [rng.poisson(6_000 * np.exp(-sizes / scale) / scale / 13) for scale in rng.uniform(4, 15, 13)]
    return CountOfCounts(TREE, TREE.sum_up(np.array(leaves)), "data")


def measured(seed: int, key: str, view: View = View.CUMULATIVE, epsilon: str = "2") -> Measurement:
    """A measurement whose leaves tell sizes apart up to 6."""
    return Geometric(view, epsilon, max_sizes=SIZES).measure(smooth(seed), Seeded(key))


@pytest.mark.parametrize("view", [View.COUNTS, View.CUMULATIVE])
def test_intervals_hold_the_release_of_that_view(view):
    result = Posterior().apply(measured(3, "s"))
    shown = result.intervals(0.9, view)
    values = result.estimate.as_counts if view is View.COUNTS else result.estimate.tables
    for level in range(4):
        assert (shown.lower[level] <= shown.estimate[level]).all()
        assert (shown.estimate[level] <= shown.upper[level]).all()
        assert np.array_equal(shown.estimate[level], values[level])


@pytest.mark.drawn(1, pool="intervals hold the truth")
@pytest.mark.slow
@pytest.mark.parametrize("measured_view", [View.CUMULATIVE, View.COUNTS, SplitByRoot()], ids=repr)
def test_intervals_cover(measured_view):
    """90 % intervals hold the truth in 85 % or more of the cells with a standard deviation above 1, at every level.

    Cells where tails begin are counted, too: size 40 at the root, and 6 wherever it is told apart; and last classes.
    """
    inside: dict[tuple[View, int | str], list[np.ndarray]] = {}
    for seed in range(scale(12, 30)):
        truth = smooth(seed).folded(SIZES)
        result = Posterior().apply(measured(seed, f"{seed}", measured_view, epsilon="1/2"))
        for view in (View.COUNTS, View.CUMULATIVE)[: 1 if measured_view is View.COUNTS else 2]:
            deviations = result.estimate.sizes.tables(result.uncertainty.reach(view).sd)
            found = result.intervals(0.9, view)
            if view is View.COUNTS:
                last = (np.array([t[:, -1] for t in each], object) for each in (found.lower, truth.tables, found.upper))
                inside.setdefault((view, "last"), []).extend((a <= b) & (b <= c) for a, b, c in zip(*last, strict=True))
            for level, table in enumerate(truth.tables):
                wanted = table if view is View.COUNTS else np.cumsum(table, axis=1)
                held = (found.lower[level] <= wanted) & (wanted <= found.upper[level])
                inside.setdefault((view, level), []).append(held[deviations[level] > 1])
                for size in {6, 40} & set(range(table.shape[1] - 1)):
                    inside.setdefault((view, "tails"), []).append(held[:, size])
    most = 0.998 if measured_view is View.COUNTS else 0.99  # intervals of noisy counts are wide
    for key, parts in inside.items():
        together = np.concatenate(parts)
        assert len(together) >= 90
        assert 0.85 <= together.mean() <= most, (key, together.mean())


def test_what_cannot_be_told_is_said():
    noisy = measured(0, "s")
    for method in (TwoStage(), Posterior(intervals=False)):
        with pytest.raises(NoEstimateError, match=r"take Posterior\(\) with its intervals, on noisy cumulative counts"):
            method.apply(noisy).intervals()
    with pytest.raises(NoEstimateError, match="none of sums of many of them"):
        Posterior().apply(measured(0, "s", View.COUNTS)).intervals(0.9, View.CUMULATIVE)
    result = Posterior().apply(noisy)
    for level in (0, 1, "90"):
        with pytest.raises(ArgumentError, match="level"):
            result.intervals(level)
    with pytest.raises(ArgumentError, match="RANKED"):
        result.intervals(0.9, View.RANKED)


def test_intervals_as_a_table():
    result = Posterior().apply(measured(1, "s"))
    found = result.intervals(0.9)
    frame = found.to_frame(level_names=("nation", "state", "county", "block"))
    assert len(frame) == result.estimate.sizes.n_cells
    row = frame[(frame.region_id == "r/A/C/F") & (frame.statistic == "count:6 or more")].iloc[0]
    place = TREE.index(("r", "A", "C", "F")) - TREE.level(3).start
    assert row.block == "F"
    assert [row.estimate, row.lower, row.upper] == [
        part[3][place, 6] for part in (found.estimate, found.lower, found.upper)
    ]
    up_to = result.intervals(0.9, View.CUMULATIVE).to_frame()
    assert up_to.statistic.iloc[60] == "cumulative:60 or more"
    assert up_to.estimate.iloc[60] == result.estimate.tables[0][0, -1] == up_to.upper.iloc[60]
    assert "sizes 0..60 / 0..40 / 0..40 / 0..6" in repr(found)
    assert "0..60 / 0..40 / 0..40 / 0..6" in found._repr_html_()
