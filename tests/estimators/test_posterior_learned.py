"""The prior that is learned by the evidence: its derivatives, its optimum, and what it gains and must not lose."""

from dataclasses import replace
from fractions import Fraction
from itertools import chain, pairwise
from math import lgamma, log

import naive
import numpy as np
import pytest
from instances import rng_of
from scipy.linalg import block_diag
from scipy.optimize import minimize
from test_posterior_chain import CASES, LAWS, SHAPE, log_evidence, made, marginals, negative_binomial, vectors

from pgsr import CountOfCounts, Hierarchy, Status, View
from pgsr.data.sizes import Sizes
from pgsr.datasets.worlds import world
from pgsr.errors import DataError
from pgsr.estimators import Posterior
from pgsr.estimators.posterior import elementary_kernel as elementary
from pgsr.estimators.posterior import prior_fit
from pgsr.estimators.posterior.dispersion import MOST
from pgsr.estimators.posterior.elimination_kernel import factorised, inverse_of, with_covariance
from pgsr.estimators.posterior.evidence import Evidence, Marginals
from pgsr.estimators.posterior.knots import Knots
from pgsr.estimators.posterior.prior_fit import Learned, Newton, Point, PriorModel, Seen, learn
from pgsr.estimators.posterior.prior_fit_kernel import (
    add_information,
    complete_information,
    derivatives,
    of_softmax,
    prior_means,
)
from pgsr.estimators.posterior.scales import Scales
from pgsr.estimators.posterior.start import Pooled
from pgsr.experiments.data.packages import flights
from pgsr.methods.gate import NO_LIMIT
from pgsr.noise import Geometric, SplitByRoot
from pgsr.privacy import Seeded
from pgsr.privacy.laws import DoubleGeometric


def test_elementary_functions():
    rng = rng_of(1)
    for exponent in rng.uniform(-300, 300, 500):
        assert elementary.log(np.exp(exponent)) == pytest.approx(np.log(np.exp(exponent)), rel=4e-16, abs=4e-16)
        assert elementary.exp(exponent) == pytest.approx(np.exp(exponent), rel=2e-15)
    assert (elementary.log(0.0), elementary.exp(-1e9), elementary.exp(1e9)) == (-np.inf, 0.0, np.inf)
    for z in np.exp(rng.uniform(0, 20, 500)):
        assert elementary.log_gamma(z) == pytest.approx(lgamma(z), rel=2e-14, abs=2e-13)
    for x, mean, shape in zip(rng.integers(0, 40, 200), rng.exponential(9, 200), rng.uniform(1, 99, 200), strict=True):
        expected = log(negative_binomial(int(x), mean, shape))
        assert elementary.log_mass(x, mean, shape) == pytest.approx(expected, rel=1e-10, abs=1e-10)


@pytest.mark.parametrize(("view", "public"), CASES)
def test_the_evidence_is_the_sum_over_all_vectors(view, public):
    """Differences of two priors, since a constant is left open, in windows that differ, too."""
    rng = rng_of(11)
    for law in LAWS[1:]:
        evidence = made(view, 4, 6 if public else 3, law, public, rng)
        first, second = rng.exponential(2.0, (2, 4)) + 0.05
        expected = log_evidence(evidence, first) - log_evidence(evidence, second)
        found = marginals(evidence, first)
        half = np.full(4, 6.5 * float(law.variance_bound) ** 0.5 + 3)
        other = evidence.marginals(found.mean, half, second, np.full(4, SHAPE), 1e-9)
        assert found.log_evidence - other.log_evidence == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize("view", View)
def test_covariances_of_a_chain_are_near_those_of_all_vectors(view):
    rng, mu = rng_of(12), np.exp([0.8, 0.1, -0.4, 0.3])
    evidence = made(view, 4, 7, DoubleGeometric(Fraction(2)), True, rng)
    counts, masses = (np.array(each) for each in zip(*vectors(evidence, mu), strict=True))
    covariance, found = np.cov(counts.T, aweights=masses, ddof=0), marginals(evidence, mu)
    chained = naive.covariances_of_counts(found.variance, found.step_variance)
    assert chained == pytest.approx(covariance, abs=0.1 * np.diag(covariance).max())


def test_derivatives_are_those_of_the_definition():
    """Gradient, Louis' information and that of EM, in f of a softmax, by hat functions and matrices."""
    rng = rng_of(13)
    for n_sizes in (2, 3, 5, 14, 15, 60):
        knots, total = Knots.of(n_sizes), 40
        f, hats = rng.normal(0, 1, len(knots.at)), naive.hat_functions(knots.at, n_sizes)
        mu = np.empty(n_sizes)
        prior_means(f, knots.left, knots.part, 30.0, mu)
        raw = np.exp(np.interp(np.arange(n_sizes), knots.at, f))
        assert mu == pytest.approx(30 * raw / raw.sum(), rel=1e-12)
        evidence = made(View.CUMULATIVE, n_sizes, total, DoubleGeometric(Fraction(2)), True, rng)
        found = marginals(evidence, mu)
        weight, n = SHAPE / (SHAPE + mu) * (rng.random(n_sizes) < 0.8), len(f)
        slope, information, (shares, diagonal, beside) = np.empty(n), np.empty((n, n)), np.empty((3, n))
        about, kept = (mu, weight, knots.left, knots.part), np.empty(n * (n + 1) // 2, np.float32)
        derivatives((found.mean, found.variance, found.step_variance), *about, slope, information)
        complete_information(found.mean, *about, shares, diagonal, beside)
        of_softmax(slope, information, shares, kept)
        gradient, louis, em = _derivatives(found, weight, hats)
        assert slope == pytest.approx(gradient, abs=1e-9)
        for theta in (0.0, 0.3, 2.0):
            out = np.ones((n, n))
            add_information(kept, shares, diagonal, beside, theta, out)
            assert out - 1 == pytest.approx(louis + theta * (em - louis), abs=1e-3)


def test_an_inverse_is_one():
    root = rng_of(14).normal(size=(9, 9))
    matrix, inverse, low, pivot = root @ root.T + np.eye(9), np.empty((9, 9)), np.zeros((9, 9)), np.empty(9)
    assert factorised(matrix, low, pivot)
    units = np.eye(9)
    with_covariance(low, pivot, units)
    inverse_of(low, pivot, inverse)
    assert inverse @ matrix == pytest.approx(np.eye(9), abs=1e-10)
    assert units @ units.T == pytest.approx(inverse, abs=1e-10)
    assert not factorised(np.array([[1.0, 2.0], [2.0, 1.0]]), np.zeros((2, 2)), np.empty(2))


EQUAL = ("1/3", "1/3", "1/3")
VIEWS = [
    (View.CUMULATIVE, EQUAL),
    (View.CUMULATIVE, ("1/3", 0, "2/3")),
    (View.COUNTS, (0, 0, 1)),
    (View.RANKED, EQUAL),
    (SplitByRoot(), ("1/5", "1/5", "3/5")),
]
"""Views and shares."""


@pytest.mark.few(2)
@pytest.mark.parametrize("case", VIEWS, ids=str)
def test_the_gradient_is_that_of_the_penalised_evidence(case):
    """By differences in coordinates of F and of deviations, of whatever was measured."""
    model, point, scales, seen = _somewhere(*case)
    gradient = _gradient(model, point, scales, seen)

    def value(unit: np.ndarray) -> float:
        moved = _moved(point, unit)
        return model.penalised(moved, scales, _narrowly(model, moved, seen))

    starts = _starts(point)
    for place in [*range(len(point.shape)), starts[1], starts[2] + 1, starts[4], starts[8] + 1]:
        unit = np.eye(len(gradient))[place] * 1e-3
        slope = (value(unit) - value(-unit)) / 2e-3
        assert gradient[place] == pytest.approx(slope, abs=2e-2, rel=1e-3)


@pytest.mark.few(2)
@pytest.mark.parametrize("case", VIEWS[:2], ids=str)
@pytest.mark.parametrize("theta", [0.0, 0.4, 3.0])
def test_a_step_is_that_of_one_dense_system(case, theta):
    """The elimination along the tree against all unknowns at once, by numpy; variances of differences, too."""
    model, point, scales, seen = _somewhere(*case)
    starts, whole = _starts(point), _dense(model, point, scales, seen, theta)
    size, n = starts[-1], len(point.shape)
    held = _gradient(model, point, scales, seen)
    for region, deviation in enumerate(_rows(point)[1:], 1):
        held[starts[region] : starts[region + 1]] -= 1e-4 * deviation + deviation.sum() / len(deviation)
    expected = np.linalg.solve(whole, held)
    newton = Newton(model, point, scales, seen)
    move = newton.move(theta)
    assert np.concatenate([move.shape, *(d.ravel() for d in move.deviations[1:])]) == pytest.approx(expected, abs=2e-3)
    if theta:
        return
    inverse, (variances, own_variances) = np.linalg.inv(whole), newton.variances()
    second = model.knots.second
    assert variances == pytest.approx(np.diag(second @ inverse[:n, :n] @ second.T), rel=1e-3)
    own = slice(starts[-2], starts[-1])  # of a leaf: its variances given its parent's f
    differences = np.diff(np.eye(size - starts[-2]), axis=0)
    given = np.diag(differences @ np.linalg.inv(whole[own, own]) @ differences.T)
    assert own_variances[-1][-1] == pytest.approx(given, rel=1e-3)


@pytest.mark.full
def test_the_optimum_is_that_of_a_direct_maximiser(monkeypatch):
    """With scales and dispersions held: the maximum that scipy finds of the exact sum over all vectors."""
    truth = CountOfCounts(_tree([2]), [[1, 2, 1, 0, 0], [1, 1, 1, 0, 1]])
    noisy = Geometric(View.CUMULATIVE, epsilon=1, shares=(0, 1), totals="regions").measure(truth, Seeded("m"))
    held = {"shape": 0.5, "own": 2.0}
    monkeypatch.setattr(Scales, "follow", lambda self, *_: self)
    monkeypatch.setattr(
        Scales, "typical",
        classmethod(lambda cls, knots, tree: _scales(knots, tree, **held)),
    )  # fmt: skip
    monkeypatch.setattr(PriorModel, "stepped_dispersions", lambda self, point, seen: point.dispersions)
    monkeypatch.setattr(prior_fit, "GAIN", 1e-5)
    monkeypatch.setattr(prior_fit, "GAIN_PER_REGION", 0.0)
    found = learn(noisy, NO_LIMIT)
    hats, model = naive.hat_functions(found.model.knots.at, 5), found.model

    def loss(flat: np.ndarray) -> float:
        shape, *own = flat.reshape(3, 5)
        knots = model.knots
        pulled = shape[knots.free] - shape[knots.beside]
        value = found.scales.penalty(shape, (np.zeros((1, 5)), np.array(own))) + 0.5 / 25 * (pulled**2).sum()
        for region, deviation in zip((1, 2), own, strict=True):
            f = np.exp(hats @ (shape + knots.spread(deviation)))
            value -= log_evidence(model.evidence[region], noisy.region_totals[region] * f / f.sum(), MOST)
        return value + 0.5e-4 * sum((each**2).sum() for each in own)

    at = np.concatenate([found.point.shape, *found.point.deviations[1]])
    best = minimize(loss, np.zeros(15), method="BFGS", options={"gtol": 1e-6})
    assert loss(at) <= best.fun + 2e-4


def _scales(knots: Knots, tree: Hierarchy, shape: float, own: float) -> Scales:
    n, of_own = len(knots.second), tuple(np.full(knots.n_blocks, own) for _ in tree.regions_per_level)
    weights = tuple(np.ones((n, len(knots.block))) for n in tree.regions_per_level)
    return Scales(knots, tree, np.full(n, shape), np.ones(n), of_own, weights)


def test_sums_over_leaves_are_not_biased():
    """At the optimum the posterior means of bands of sizes add up to the prior means, over all leaves.

    Where counts are far below the shape of the prior; the weights a of larger ones differ from leaf to leaf.
    """
    truth = _households(0)
    noisy = Geometric(View.CUMULATIVE, epsilon=1, shares=(0, 0, 1), totals="regions").measure(truth, Seeded("b"))
    found = learn(noisy, NO_LIMIT)
    values, ahead, expected = found.model.beginnings(found.point), np.zeros(41), np.zeros(41)
    for region in found.model.evidence:
        alone = found.marginals(region, values, 1e-9)
        ahead += np.diff(alone.mean, prepend=0) - alone.prior_mean
        expected += alone.prior_mean
    noise = (2 * 16 * float(found.model.evidence[20].law.variance_bound)) ** 0.5  # of a sum of differences over leaves
    for band in (slice(8, 12), slice(12, 20), slice(20, 40)):
        assert abs(ahead[band].sum()) < min(2 * noise, 0.1 * expected[band].sum())


@pytest.mark.parametrize(
    ("kind", "most"), [("household", (0.9,) * 3), ("spikes", (0.8, 0.95, 1.0)), ("abrupt ends", (0.9,) * 3)]
)
@pytest.mark.few(1)
@pytest.mark.slow
def test_a_learned_prior_pays_and_no_step_loses_evidence(kind, most):
    """At epsilon 1/10, all of it at the leaves: errors from the root down over those under the start."""
    before, after = np.zeros(3), np.zeros(3)
    for seed in range(2):
        truth = world(kind).draw(200 + seed)
        noisy = Geometric(View.CUMULATIVE, "1/10", shares=(0, 0, 1), totals="regions").measure(truth, Seeded("g", seed))
        after += _errors(truth, Posterior().apply(noisy))
        found = learn(noisy, NO_LIMIT)
        assert len(found.gains) > prior_fit.WAIT
        assert min(found.gains) >= -prior_fit.SLACK
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(prior_fit, "search", lambda begun, theta: replace(begun, remark="not done"))
            before += _errors(truth, Posterior().apply(noisy))
    assert (after < most * before).all(), (before, after)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", ["1", "1/10"])
def test_flights_have_no_spikes_but_of_noise(epsilon):
    """Airplanes by their number of flights: a long tail of single sizes. Noise makes less than one spike of 1,000."""
    try:
        truth = flights()
    except DataError as absent:
        pytest.skip(str(absent))
    tree, found = truth.hierarchy, 0
    for seed in range(2):
        noisy = Geometric(View.CUMULATIVE, epsilon, totals="regions").measure(truth, Seeded("flights", seed))
        evidence = {region: Evidence.of(noisy, region) for region in range(tree.n_regions)}
        pilots = np.array([about.pilot() for about in evidence.values()], float)
        spikes = Pooled.of(noisy.hierarchy, evidence, pilots).spikes()
        assert not (spikes < 300).any()
        found += len(spikes)
    assert found < 2


def test_a_shift_of_the_shape_changes_nothing():
    """Neither of F nor of a deviation: means are shares of a region's groups."""
    model, point, _, seen = _somewhere(View.CUMULATIVE, EQUAL)
    rng = rng_of(16)
    deviations = tuple(d + rng.normal(0, 2, (len(d), 1)) for d in point.deviations)
    moved = replace(point, shape=point.shape + 3.0, deviations=deviations)
    for region in range(model.tree.n_regions):
        expected = model.means(region, point, model.beginnings(point))
        assert model.means(region, moved, model.beginnings(moved)) == pytest.approx(expected, rel=1e-9)
    assert model.see(moved, seen).log_evidence == pytest.approx(model.see(point, seen).log_evidence, abs=1e-6)


def test_an_only_child_has_the_shape_of_its_parent():
    """Whether its parent was measured or not; a parent that was not changes nothing of what is learned."""
    leaves = rng_of(5).poisson([0, 30, 20, 9, 3, 1, 0, 1], (3, 8))
    short, tall = (Hierarchy.from_paths([(*above, "US", leaf) for leaf in "ABC"]) for above in ((), ("world",)))
    measure = Geometric(View.RANKED, epsilon=1, totals="regions").measure
    noisy = measure(CountOfCounts(short, leaves), Seeded("0"))
    moved = replace(
        noisy,
        sizes=Sizes.alike(tall, noisy.max_size),
        totals=np.concatenate([noisy.totals[:1], noisy.totals]),
        noise=(None, *noisy.noise),
    )
    one, other = learn(noisy, NO_LIMIT).point, learn(moved, NO_LIMIT).point
    assert np.array_equal(other.shape, one.shape)
    assert all(np.array_equal(a, b) for a, b in zip(other.deviations[1:], one.deviations, strict=True))
    both = learn(measure(CountOfCounts(tall, leaves), Seeded("0")), NO_LIMIT)
    assert set(both.model.evidence) == set(range(5))
    assert not both.point.deviations[1].any()
    assert both.point.deviations[2].any()


@pytest.mark.parametrize("fails", [1, 2])
def test_a_search_that_fails_is_done_again_and_then_said(fails, monkeypatch):
    """Once: again, by steps of EM. Twice: the start is the prior, and the result says so."""
    truth, thetas, through = _households(1), [], prior_fit.search
    noisy = Geometric(View.CUMULATIVE, 1, totals="regions").measure(truth, Seeded("f"))

    def failing(begun: Learned, theta: float) -> Learned:
        thetas.append(theta)
        return replace(begun, remark="no step kept the evidence") if len(thetas) <= fails else through(begun, theta)

    monkeypatch.setattr(prior_fit, "search", failing)
    result = Posterior().apply(noisy)
    assert thetas == [prior_fit.FIRST_THETA, 1.0]
    assert result.status is Status.FEASIBLE
    said = "the prior was not learned, but is the start of the search: no step kept the evidence"
    assert result.reason == (said if fails == 2 else "")


def test_a_search_that_does_not_end_or_loses_evidence_has_failed(monkeypatch):
    noisy = Geometric(View.CUMULATIVE, 1, totals="regions").measure(_households(1), Seeded("f"))
    found = learn(noisy, NO_LIMIT)
    bare = replace(found.point, shape=np.zeros(len(found.point.shape)))
    worse = replace(found, point=bare, seen=found.model.see(bare, found.seen))
    assert "less penalised evidence than the start" in prior_fit.failure(found, worse)
    assert prior_fit.failure(worse, found) == ""
    monkeypatch.setattr(prior_fit, "MOST_STEPS", 3)
    assert learn(noisy, NO_LIMIT).remark.endswith("it had not ended after 3 steps")
    monkeypatch.setattr(prior_fit, "MOST_STEPS", 40)
    monkeypatch.setattr(prior_fit, "SLACK", -np.inf)
    assert learn(noisy, NO_LIMIT).remark.endswith("no step kept the evidence")


def test_the_same_bits_in_any_number_of_threads(monkeypatch):
    noisy, found = Geometric(View.CUMULATIVE, "1/10", totals="regions").measure(_households(2), Seeded("t")), []
    for threads in (1, 3):
        monkeypatch.setattr("pgsr.machine.parallel.number_of_threads", lambda threads=threads: threads)
        found.append(learn(noisy, NO_LIMIT).point)
    assert np.array_equal(*map(_flat, found))
    assert np.array_equal(found[0].dispersions, found[1].dispersions)


def _somewhere(view, shares) -> tuple[PriorModel, Point, Scales, Seen]:
    """Make a model of a small tree and a point that is not an optimum, with scales that all differ."""
    rng = rng_of(15)
    truth = CountOfCounts(_tree([2, 3]), rng.poisson(np.outer(rng.exponential(30, 6), 0.8 ** np.arange(14))))
    noise = Geometric(view, epsilon=2, shares=shares, totals="regions")
    found = learn(noise.measure(truth, Seeded("w")), NO_LIMIT)
    model, first = found.model, found.point
    shape = first.shape + rng.normal(0, 0.3, first.shape.shape)
    varied = first.deviations[:1], (d + rng.normal(0, 0.3, d.shape) for d in first.deviations[1:])
    point = Point(shape, tuple(chain(*varied)), rng.uniform(5, 90, first.dispersions.shape))
    plain = Scales.typical(model.knots, model.tree)
    vary = lambda values: values * rng.uniform(0.2, 2, values.shape)  # noqa: E731
    own, weights = (tuple(map(vary, each)) for each in (plain.own, plain.own_weights))
    scales = Scales(model.knots, model.tree, vary(plain.shape), vary(plain.weights), own, weights)
    return model, point, scales, model.see(point, _narrowly(model, point, found.seen))


def _rows(point: Point) -> list[np.ndarray]:
    """The deviations of all regions."""
    return [row for table in point.deviations for row in table]


def _flat(point: Point) -> np.ndarray:
    """F and the deviations of all regions but the root."""
    return np.concatenate([point.shape, *_rows(point)[1:]])


def _starts(point: Point) -> list[int]:
    """Where the unknowns of every region begin among all, those of the root F; and how many there are."""
    lengths = [len(point.shape), *(len(row) for row in _rows(point)[1:])]
    return [0, *np.cumsum(lengths).tolist()]


def _moved(point: Point, change: np.ndarray) -> Point:
    starts, rows = _starts(point), iter(np.split(change, _starts(point)[1:-1])[1:])
    first = point.deviations[0]
    below = (d + np.array([next(rows) for _ in d]) for d in point.deviations[1:])
    return replace(point, shape=point.shape + change[: starts[1]], deviations=(first, *below))


def _maps(model: PriorModel, point: Point) -> list[np.ndarray]:
    """By how much f of every region changes with all unknowns."""
    starts = _starts(point)
    into = [np.eye(len(point.shape), starts[-1])]
    for region in range(1, model.tree.n_regions):
        parent, knots = int(model.tree.parent[region]), model.knots
        into.append(into[parent].copy())
        own = slice(starts[region], starts[region + 1])
        into[region][:, own] += np.array([knots.spread(unit) for unit in np.eye(own.stop - own.start)]).T
    return into


def _narrowly(model: PriorModel, point: Point, near: Seen) -> Seen:
    """See a point in windows around what it gives itself, so that differences of evidence are those of the prior."""
    return model.see(point, model.see(point, near))


def _dense(model: PriorModel, point: Point, scales: Scales, seen: Seen, theta: float) -> np.ndarray:
    """The matrix of a step, of F and all deviations at once."""
    starts, into = _starts(point), _maps(model, point)
    size, n, values = starts[-1], len(point.shape), model.beginnings(point)
    whole = _penalties(model, scales) + np.diag(np.repeat([1e-6, 1e-4], [n, size - n]))
    for start, stop in pairwise(starts):
        whole[start:stop, start:stop] += 1 / (stop - start)
    for region in model.evidence:
        found, knots = model.marginals(region, point, values, seen, 1e-9), model.knots
        weight = found.shape / (found.shape + found.prior_mean)
        _, louis, em = _derivatives(found, weight, naive.hat_functions(knots.at, len(knots.left)))
        whole += into[region].T @ (louis + theta * (em - louis)) @ into[region]
    return whole


def _gradient(model: PriorModel, point: Point, scales: Scales, seen: Seen) -> np.ndarray:
    """The gradient of the penalised evidence in F and in all d, region by region."""
    into, gradients = _maps(model, point), [row for level in seen.levels for row in level.gradients]
    of_evidence = sum(into[region].T @ own for region, own in zip(model.evidence, gradients, strict=True))
    return of_evidence - _penalties(model, scales) @ _flat(point)


def _penalties(model: PriorModel, scales: Scales) -> np.ndarray:
    """The matrix of the quadratic form of F and every d, as `Scales.penalty` and the free sizes have it."""
    knots = model.knots
    shape = knots.second.T @ np.diag(scales.precisions()) @ knots.second
    for free, beside in zip(knots.free, knots.beside, strict=True):
        pull = np.eye(len(shape))[free] - np.eye(len(shape))[beside]
        shape += np.outer(pull, pull) / 25
    blocks = [shape]
    for level in range(1, model.tree.n_levels):
        differences = np.diff(np.eye(len(model.knots.own)), axis=0)
        blocks += [differences.T @ np.diag(each) @ differences for each in scales.own_precisions(level)]
    return block_diag(*blocks)


def _derivatives(found: Marginals, weight: np.ndarray, hats: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """J' g, J' I J and J' M J of one region, by matrices."""
    x, mu = np.diff(found.mean, prepend=0), found.prior_mean
    of_score, n = hats * weight[:, None], hats.shape[1]
    missing = of_score.T @ naive.covariances_of_counts(found.variance, found.step_variance) @ of_score
    louis = hats.T @ ((weight * mu)[:, None] * hats) - missing
    em = hats.T @ ((weight * np.maximum(mu, x))[:, None] * hats)
    project = np.eye(n) - np.outer(np.ones(n), hats.T @ mu / mu.sum())
    return project.T @ of_score.T @ (x - mu), project.T @ louis @ project, project.T @ em @ project


def _households(seed: int) -> CountOfCounts:
    """Groups of 16 leaves, sizes 1 to 7 as households have them and a geometric tail, K = 40."""
    rng = rng_of(seed)
    shape = np.array([0, 0.26, 0.33, 0.16, 0.14, 0.06, 0.025, 0.012, *(0.012 * 0.8 ** np.arange(1, 34))])
    means = 5_000 * np.exp(rng.normal(0, 0.7, (16, 1))) * shape / shape.sum()
    return CountOfCounts(_tree([4, 4]), rng.poisson(rng.gamma(100, means / 100)))


def _tree(children: list[int]) -> Hierarchy:
    parents, level, n = [-1], [0], 1
    for each in children:
        parents += [parent for parent in level for _ in range(each)]
        level = list(range(n, len(parents)))
        n = len(parents)
    return Hierarchy.from_parents([f"R{i}" for i in range(n)], parents)


def _errors(truth: CountOfCounts, result) -> np.ndarray:
    off = np.abs(np.cumsum(result.estimate.counts().counts, axis=1) - np.cumsum(truth.counts, axis=1)).sum(axis=1)
    return np.array([off[truth.hierarchy.level(level)].mean() for level in range(truth.hierarchy.n_levels)])
