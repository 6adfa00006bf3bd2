"""The posterior with other sizes on every level: against the posterior of equal sizes, single chains, and the truth."""

import numpy as np
import pytest
from test_m_c_folded import adds_up

from pgsr import CountOfCounts, Hierarchy, Problem, Status, View
from pgsr.algorithms import TreeProjection
from pgsr.algorithms.m_c.joint import joint_problem, laws_of
from pgsr.data.views import cumulative
from pgsr.datasets.census_blocks import CensusBlocks
from pgsr.errors import ProblemError
from pgsr.estimators import Posterior, TwoStage
from pgsr.estimators.posterior import window_means
from pgsr.estimators.posterior.evidence import BORDER, Evidence
from pgsr.estimators.posterior.folded_prior import LevelFacts, prior_means
from pgsr.estimators.posterior.rows import marginal_tables
from pgsr.estimators.posterior.windows import smoothed, window_sums
from pgsr.models import Cvxpy
from pgsr.noise import Geometric, Measurement
from pgsr.privacy import Seeded

TREE = Hierarchy.from_paths([("US", "GA", "1"), ("US", "GA", "2"), ("US", "MI", "1")])


@pytest.mark.parametrize("most", [90, 900])
def test_a_prior_that_contradicts_the_noisy_values_gives_way(most):
    """Large counts that end at a size, where windows of all states would follow."""
    counts = np.zeros((3, 91), int)
    counts[:, :40] = most
    rows = Geometric(View.CUMULATIVE, 9).measure(CountOfCounts(TREE, counts), Seeded("s"))
    found = marginal_tables(rows)
    assert np.abs(np.concatenate(found.means) - np.cumsum(TREE.sum_up(counts), axis=1)).max() < 200


def test_every_region_is_a_chain_of_its_own(monkeypatch):
    """After one round: the chain of the region alone, with the prior means that `prior_means` gives."""
    truth = CountOfCounts(TREE, np.random.default_rng(52).integers(0, 20, (3, 12)), "data")
    noisy = Geometric(View.CUMULATIVE, 2, max_sizes=(11, 6, 2)).measure(truth, Seeded("s"))
    totals, laws = [noisy.region_totals[TREE.level(level)] for level in range(3)], laws_of(noisy)
    monkeypatch.setattr("pgsr.estimators.posterior.rows.ROUNDS", 1)
    means = marginal_tables(noisy).means
    evidence = [
        [
            Evidence(View.CUMULATIVE, y.astype(np.int64), len(y) - 1, law, int(total), int(total), len(y))
            for y, total in zip(table, groups, strict=True)
        ]
        for table, groups, law in zip(noisy.tables, totals, laws, strict=True)
    ]
    pilots = [np.array([about.pilot() for about in level], float) for level in evidence]
    precision = [2 / float(law.variance_bound) for law in laws]
    levels, seen = LevelFacts(TREE, totals, precision, [4 / p for p in precision]), 0
    for level, rows, mu in prior_means(levels, pilots):
        for row in range(rows.start, rows.stop):
            about = evidence[level][row]
            shape = window_means.shapes(about.n_sizes)
            half = np.full(about.n_sizes, float(about.half_width()))
            alone = about.marginals(pilots[level][row], half, mu[row - rows.start], shape, BORDER)
            assert np.allclose(alone.mean, means[level][row], atol=1e-9)
            seen += 1
    assert seen == TREE.n_regions


def test_priors_are_those_of_the_definition():
    """Region by region: shapes upwards with the tail as large as both say, then shared by children in their sizes."""
    generator = np.random.default_rng(53)
    counts = [generator.random((n, k + 1)) * 9 for n, k in ((1, 20), (2, 11), (3, 4))]
    totals = [np.array([90]), np.array([50, 40]), np.array([20, 30, 40])]
    precision = [0.5, 0.2, 0.9]
    levels = LevelFacts(TREE, totals, precision, [4 / p for p in precision])
    found = list(prior_means(levels, [np.cumsum(table, axis=1) for table in counts]))
    assert [(level, rows.start, rows.stop) for level, rows, _ in found] == [(0, 0, 1), (1, 0, 2), (2, 0, 3)]

    def joined(own, children, p, q):
        k = children.shape[0] - 1
        together = (p * own[:k] + q * children[:k]) / (p + q)
        tail = (p * own[k:].sum() + q * children[k]) / (p + q)
        return np.append(together, tail * own[k:] / own[k:].sum())

    children = {0: counts[2][:2], 1: counts[2][2:]}
    q = {row: 1 / sum(1 / 0.9 for _ in part) for row, part in children.items()}
    shapes = [joined(counts[1][row], children[row].sum(axis=0), 0.2, q[row]) for row in (0, 1)]
    q_root = 1 / sum(1 / (0.2 + q[row]) for row in (0, 1))
    root = joined(counts[0][0], sum(shapes), 0.5, q_root)
    assert np.allclose(found[0][2][0], np.maximum(smoothed(root[None], window_means.ROOT_WIDTH)[0], 1e-9))
    for level, row, parent, family in ((1, 1, root, [0, 1]), (2, 1, shapes[0], [0, 1]), (2, 2, shapes[1], [2])):
        k = counts[level].shape[1] - 1
        shape = smoothed(parent[None], window_means.SHAPE_WIDTH)[0]
        shape = np.append(shape[:k], shape[k:].sum())
        shape /= shape.sum()
        mu = {}
        for sibling in family:
            expected = totals[level][sibling] * shape
            own = window_sums(counts[level][sibling][None], window_means.OWN_WIDTH)[0]
            mu[sibling] = expected * (20 + own) / (20 + window_sums(expected[None], window_means.OWN_WIDTH)[0])
        scale = shape * totals[level][family].sum() / sum(mu.values())
        assert np.allclose(found[level][2][row], mu[row] * scale)


def general(noise: Geometric, truth, seed: str) -> Measurement:
    """The measurement of a state of the census."""
    return noise.measure(CountOfCounts(truth.hierarchy, truth.tables, "data"), Seeded(seed))


def test_large_families_come_in_parts(monkeypatch):
    truth = CensusBlocks(blocks=3_200, groups=100_000, max_sizes=(20,) * 6 + (20, 7)).part("Delaware")
    noisy = general(Geometric(View.CUMULATIVE, 4), truth, "s")
    whole = Posterior().alone(noisy)
    monkeypatch.setattr("pgsr.estimators.posterior.folded_prior.CELLS_AT_ONCE", 8)
    for a, b in zip(Posterior().alone(noisy), whole, strict=True):
        assert np.array_equal(a, b)


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
    with pytest.raises(ProblemError, match="keeps no medians and gives no draws"):
        next(Posterior().draws(noisy, 1))
