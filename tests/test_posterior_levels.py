"""The posterior with other sizes on every level: against the posterior of equal sizes, single chains, and the truth."""

import numpy as np
import pytest
from test_m_c_folded import adds_up

from pgsr import CountOfCounts, Hierarchy, Problem, Status, View
from pgsr.algorithms import TreeProjection
from pgsr.algorithms.m_c.joint import joint_problem
from pgsr.data.views import cumulative
from pgsr.datasets.census_blocks import CensusBlocks
from pgsr.errors import ProblemError
from pgsr.estimators import Posterior, TwoStage
from pgsr.estimators.posterior.evidence import BORDER, Evidence
from pgsr.models import Cvxpy
from pgsr.noise import Geometric, Measurement
from pgsr.privacy import Seeded

TREE = Hierarchy.from_paths([("US", "GA", "1"), ("US", "GA", "2"), ("US", "MI", "1")])


@pytest.mark.parametrize("most", [90, 900])
def test_a_prior_that_contradicts_the_noisy_values_gives_way(most):
    """Large counts that end at a size, where windows of all states would follow."""
    counts = np.zeros((3, 91), int)
    counts[:, :40] = most
    noisy = Geometric(View.CUMULATIVE, 9, max_sizes=(90, 60, 60)).measure(CountOfCounts(TREE, counts), Seeded("s"))
    truth = CountOfCounts(TREE, counts).folded((90, 60, 60)).tables
    for mean, table in zip(Posterior().alone(noisy), truth, strict=True):
        assert np.abs(mean - np.cumsum(table, axis=1)[:, :-1]).max() < 200


def test_every_region_is_a_chain_of_its_own():
    """Under the prior that was learned, with its last class; classes "0 or more" are known."""
    truth = CountOfCounts(TREE, np.random.default_rng(52).integers(0, 20, (3, 12)), "data")
    noisy = Geometric(View.CUMULATIVE, 2, max_sizes=(11, 6, 2)).measure(truth, Seeded("s"))
    found = Posterior().marginals(noisy)
    for level, table in enumerate(noisy.tables):
        for row, (y, total) in enumerate(zip(table, noisy.region_totals[TREE.level(level)].tolist(), strict=True)):
            law = noisy.law(TREE.level(level).start)
            about = Evidence(View.CUMULATIVE, y.astype(np.int64), len(y) - 1, law, total, total, len(y))
            prior = found.prior_mean[level][row], found.shape[level][row]
            alone = about.marginals(about.pilot().astype(float), np.full(len(y), float(total + 1)), *prior, BORDER)
            assert alone.mean == pytest.approx(found.mean[level][row], abs=1e-6)
            assert alone.variance == pytest.approx(found.variance[level][row], rel=1e-5, abs=1e-6)
    only = Geometric(View.CUMULATIVE, 2, max_sizes=(11, 6, 0)).measure(truth, Seeded("s"))
    assert np.array_equal(Posterior().marginals(only).mean[2][:, 0], truth.totals[TREE.leaves])
    assert np.array_equal(Posterior().apply(only).estimate.as_counts[2][:, 0], truth.totals[TREE.leaves])


def general(noise: Geometric, truth, seed: str) -> Measurement:
    """The measurement of a state of the census."""
    return noise.measure(CountOfCounts(truth.hierarchy, truth.tables, "data"), Seeded(seed))


def test_a_release_adds_up_and_is_nearer_to_the_truth_than_m_h():
    """Of a state with its blocks, at every level: earth mover's distances, means of three seeds."""
    truth = CensusBlocks(blocks=20_000, groups=1_000_000, max_sizes=(200,) * 7 + (7,)).part("Delaware")
    errors = {"posterior": [], "two-stage": [], "M_H": []}
    for seed in range(3):
        noisy = general(Geometric(View.CUMULATIVE, 2), truth, f"s{seed}")
        release = Posterior().apply(noisy)
        assert release.status is Status.FEASIBLE
        assert not any(release.certificate.violations.values())
        tables = release.estimate.as_counts
        assert adds_up(truth.hierarchy, [cumulative(table) for table in tables])
        assert np.array_equal(tables[-1].sum(axis=1), truth.tables[-1].sum(axis=1))
        counts = general(Geometric(View.COUNTS, 2), truth, f"s{seed}")
        m_h = TreeProjection().solve(Problem.m_h(counts, "regions")).estimate.as_counts
        two_stage = TwoStage().apply(noisy).estimate.as_counts
        for name, found in (("posterior", tables), ("two-stage", two_stage), ("M_H", m_h)):
            off = [a - b for a, b in zip(found, truth.tables, strict=True)]
            errors[name].append([np.abs(np.cumsum(part, axis=1)).sum() / len(part) for part in off])
    means = {name: np.mean(found, axis=0) for name, found in errors.items()}
    assert (means["posterior"] < means["M_H"]).all()
    assert (means["two-stage"] < means["M_H"]).all()


def _alone_with_totals(noisy):
    """Posterior means of every level and its regions' totals."""
    tree = noisy.hierarchy
    totals = [noisy.region_totals[tree.level(level)].astype(float) for level in range(tree.n_levels)]
    return zip(Posterior().alone(noisy), totals, strict=True)


def test_options_hold_with_sizes_per_level():
    """No integers, which is near what a solver makes of the same means; no intervals; and a time limit."""
    truth = CountOfCounts(TREE, np.random.default_rng(54).integers(0, 20, (3, 12)), "data")
    noisy = Geometric(View.CUMULATIVE, 2, max_sizes=(11, 6, 2)).measure(truth, Seeded("s"))
    real = Posterior(integer=False).apply(noisy).estimate.tables
    means = [np.append(mean, total[:, None], axis=1) for mean, total in _alone_with_totals(noisy)]
    joint = joint_problem(noisy, tuple(np.rint(64 * mean).astype(np.int64) for mean in means), 64, "joint")
    theirs = [table / 64 for table in Cvxpy("CLARABEL").solve(joint).answer.values]
    whole = Posterior().apply(noisy)
    for a, b, c in zip(real, theirs, whole.estimate.tables, strict=True):
        assert np.allclose(a, b, atol=0.05)
        assert np.abs(a - c).max() < 3
    lean = Posterior(intervals=False).apply(noisy)
    assert lean.uncertainty is None
    for a, b in zip(lean.estimate.tables, whole.estimate.tables, strict=True):
        assert np.array_equal(a, b)
    assert Posterior().apply(noisy, 1e-9).status is Status.TIMED_OUT


def test_what_cannot_be_done_is_told():
    truth = CountOfCounts(TREE, np.ones((3, 3), int), "data")
    alone = Geometric(View.CUMULATIVE, 2, totals="root", max_sizes=(2, 1, 1)).measure(truth, Seeded("s"))
    with pytest.raises(ProblemError, match="only the root's total is public here"):
        Posterior().apply(alone)
    noisy = Geometric(View.CUMULATIVE, 2, max_sizes=(2, 1, 1)).measure(truth, Seeded("s"))
    with pytest.raises(ProblemError, match="measure with totals='regions'"):
        next(Posterior().draws(alone, 1))
    assert [table.shape for table in next(Posterior().draws(noisy, 1))] == [(1, 3), (2, 2), (3, 2)]
