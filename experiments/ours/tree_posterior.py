"""The joint posterior of all regions of a tree under a known prior, by a Markov chain: the reference of estimates.

**Model.** A priori the numbers of groups x[j, s] of the leaves j are independent and negative binomial with known means
and shapes, conditioned on every leaf's public number of groups. Regions above are sums of their children, and all
noisy values of all levels are seen at once. In every view but `View.COUNTS` the likelihood of a region is a product of
weights of its cumulative counts c[s] alone (`pgsr.estimators.posterior`).

**Estimate.** The earth mover's distance of a region is the sum over sizes s < K of |c'[s] - c[s]|. So of all
estimates the posterior median of every c[s], region by region and size by size, has the least expected distance: the
Bayes risk of these noisy values. Medians of different regions need not add up, so a release may not reach it.

**Chain.** The state are the counts of the leaves; a move takes k groups from one size of a leaf to another, which
keeps public totals (`tree_posterior_kernel`). Two chains start from different states, the prior means and a draw from
the prior.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pgsr.checks import require_kind
from pgsr.data.estimate import Estimate
from pgsr.data.hierarchy import Hierarchy
from pgsr.data.rounding import largest_remainder
from pgsr.data.views import View
from pgsr.errors import ArgumentError, ProblemError
from pgsr.noise.measurement import Measurement, Totals
from pgsr.privacy.laws import DiscreteGaussian, DoubleGeometric

LARGEST_TABLE = 50_000_000
"""The largest number of pairs of a cumulative count and a value of it; tables of all take 20 bytes for each."""

ROWS = 20
"""Sweeps whose moves are drawn at a time."""

QUANTILES = 1_024
"""Quantiles of the distance of two sizes that are told apart."""

OFTEN = 4
"""How much more often than a size of few groups one is chosen whose counts spread over twice as many values."""

BURN_IN = 4
"""One part in so many of the sweeps is made before anything is counted."""


@dataclass(frozen=True, eq=False)
class TreePosterior:
    """The posterior of the cumulative counts of all regions given all noisy values.

    Attributes:
        hierarchy: the regions.
        median: of every c[s], int64, shape (regions, K + 1); it never falls with s.
        expected_error: of `median`, the expected earth mover's distance of every region, shape (regions,). Its mean
            over draws of truth and noise is the Bayes risk.
        disagreement: by level, root first: how much the expected error of one chain's medians changes if the other
            chain's states are the posterior, as a part of it; the larger one of both ways round.
    """

    hierarchy: Hierarchy
    median: np.ndarray
    expected_error: np.ndarray
    disagreement: tuple[float, ...]

    @property
    def estimate(self) -> Estimate:
        """The medians as an estimate; its regions need not add up."""
        return Estimate(self.hierarchy, View.CUMULATIVE, self.median)


def tree_posterior(
    measurement: Measurement, means: np.ndarray, shapes: np.ndarray | float, *, sweeps: int = 4_000, seed: int = 0
) -> TreePosterior:
    """Compute the posterior medians of all cumulative counts of a tree under a known prior.

    Args:
        measurement: with every region's public number of groups, and the same sizes on all levels.
        means: prior means of the counts of the leaves, positive, shape (leaves, K + 1).
        shapes: of the negative binomial law, whose variance is mean + mean^2 / shape; a number or as `means`.
        sweeps: of each of the two chains; a sweep proposes as many moves as leaves have cells. A fourth is burn-in.
        seed: of the chains.

    Raises:
        ProblemError: counts were measured, totals are not public, or levels have sizes of their own.
        ArgumentError: the prior has another shape or is not positive, or there are too many states for the memory.

    Complexity: O(sweeps x leaves x K x levels x K / log K); memory O(sum over regions of K x number of groups).

    Example:
        >>> from pgsr import CountOfCounts
        >>> from pgsr.noise import Geometric
        >>> from pgsr.privacy import Seeded
        >>> truth = CountOfCounts(Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0]), [[0, 9, 0, 1], [0, 8, 5, 1]])
        >>> noisy = Geometric(View.CUMULATIVE, epsilon=1).measure(truth, Seeded("demo"))
        >>> found = tree_posterior(noisy, [[0.1, 8, 3, 1], [0.1, 8, 3, 1]], 10.0, sweeps=200)
        >>> found.median[:, -1]
        array([24, 10, 14])

    Source: Metropolis and others 1953. Shown by `test_ours_tree_posterior.py`.
    """
    require_kind(measurement, Measurement, "the measurement", "give what Geometric(...).measure returned")
    if isinstance(sweeps, bool) or not isinstance(sweeps, int) or sweeps < BURN_IN:
        raise ArgumentError(f"sweeps={sweeps!r}; give a whole number from {BURN_IN} up")
    mu, shape = _checked_prior(measurement, means, shapes)
    tree = _model(measurement, mu, shape)
    digits = np.floor(np.log2(np.maximum(np.sqrt(mu + mu * mu / shape), 1))).astype(np.int64)
    chains = [
        _chain(tree, digits, start, sweeps, np.random.default_rng([seed, place]))
        for place, start in enumerate(_starts(tree, mu, shape, seed))
    ]
    pooled = np.add(*chains)
    hierarchy, medians = measurement.hierarchy, [_medians(tree, seen) for seen in chains]
    median = _medians(tree, pooled)
    disagreement = np.zeros(hierarchy.n_levels)
    for own, other, of_own in zip(chains, chains[::-1], medians, strict=True):
        here, there = (_expected_errors(tree, seen, of_own) for seen in (own, other))
        for level in range(hierarchy.n_levels):
            one, two = here[hierarchy.level(level)].sum(), there[hierarchy.level(level)].sum()
            disagreement[level] = max(disagreement[level], abs(two - one) / max(one, 1e-9))
    return TreePosterior(hierarchy, median, _expected_errors(tree, pooled, median), tuple(disagreement.tolist()))


class KernelTree(NamedTuple):
    """The regions as the compiled loop reads them.

    Attributes:
        parent: of every region, -1 of the root; shape (regions,).
        groups: numbers of groups; shape (regions,).
        measured: which regions have weights; shape (regions,).
        start: place in `weights` where those of a region start; c[s] = c stands (groups + 1) s + c behind it.
        weights: logarithms of likelihoods of c[s] = c, up to a constant for every s < K.
        first_leaf: the region that is leaf 0.
        prior_start: the same as `start` for `prior`, by leaf.
        prior: logarithms of prior masses of x[s] = x, for every s up to K.
    """

    parent: np.ndarray
    groups: np.ndarray
    measured: np.ndarray
    start: np.ndarray
    weights: np.ndarray
    first_leaf: int
    prior_start: np.ndarray
    prior: np.ndarray


class CountState(NamedTuple):
    """The counts of the leaves, shape (leaves, K + 1), and the cumulative counts of all regions."""

    counts: np.ndarray
    cumulative: np.ndarray


class Moves(NamedTuple):
    """The proposed moves, `groups` of a leaf from size `source` to `target`, and what each may cost; a sweep a row."""

    leaf: np.ndarray
    source: np.ndarray
    target: np.ndarray
    groups: np.ndarray
    cost: np.ndarray


def _checked_prior(
    measurement: Measurement, means: np.ndarray, shapes: np.ndarray | float
) -> tuple[np.ndarray, np.ndarray]:
    """Check the measurement and the prior; give means and shapes, (leaves, K + 1) each."""
    hierarchy, n_sizes = measurement.hierarchy, measurement.max_size + 1
    if measurement.public is not Totals.REGIONS:
        raise ProblemError("every region's number of groups has to be public; measure with totals='regions'")
    if not measurement.sizes.equal or n_sizes == 1:
        raise ProblemError("levels have sizes of their own, or there is one size alone; measure with one max_size >= 1")
    wanted = hierarchy.n_regions - hierarchy.n_inner, n_sizes
    mu, shape = np.asarray(means, float), np.asarray(shapes, float)
    shape = np.full(wanted, shape) if shape.ndim == 0 else shape
    if mu.shape != wanted or shape.shape != wanted or not all(((x > 0) & np.isfinite(x)).all() for x in (mu, shape)):
        raise ArgumentError(f"prior means and shapes are positive numbers, {wanted[0]} leaves x {wanted[1]} sizes")
    return mu, shape


def _model(measurement: Measurement, mu: np.ndarray, shape: np.ndarray) -> KernelTree:
    """Make the tables of weights and prior masses.

    Raises:
        ArgumentError: there would be more than `LARGEST_TABLE` states.
    """
    hierarchy, n_sizes = measurement.hierarchy, measurement.max_size + 1
    groups = measurement.totals.astype(np.int64)
    sizes = (n_sizes - 1) * (groups + 1)
    if sizes.sum() > LARGEST_TABLE:
        raise ArgumentError(
            f"{sizes.sum():,} states of cumulative counts are more than {LARGEST_TABLE:,}; give a smaller tree"
        )
    weights = [
        log_weights(measurement, region).ravel() if measured else np.zeros(sizes[region])
        for region, measured in enumerate(measurement.measured.tolist())
    ]
    start = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    of_leaves = groups[hierarchy.n_inner :]
    prior = [log_masses(m, a, most).ravel() for m, a, most in zip(mu, shape, of_leaves.tolist(), strict=True)]
    prior_start = np.concatenate([[0], np.cumsum(n_sizes * (of_leaves + 1))[:-1]])
    parent = np.asarray(hierarchy.parent, np.int64)
    measured = measurement.measured.copy()
    return KernelTree(
        parent, groups, measured, start, np.concatenate(weights), hierarchy.n_inner, prior_start, np.concatenate(prior)
    )


def log_weights(measurement: Measurement, region: int) -> np.ndarray:
    """Compute the logarithms of the likelihood of c[s] = c in a measured region; shape (K, groups + 1).

    Below the threshold of a split view, and everywhere for cumulative counts, that of the noise y[s] - c. From the
    threshold T on, with z[i] what was measured of the group of rank i beyond T (of `View.RANKED` the size itself,
    T = 0), the sum over measured ranks i >= c of loss(z[i] - t) - loss(z[i] - t - 1), t = s - T.

    Raises:
        ProblemError: counts were measured.
    """
    view, law, values = measurement.view_of(region), measurement.law(region), np.asarray(measurement.row(region))
    groups, top = int(measurement.totals[region]), measurement.max_size
    assert law is not None, "a measured region"
    if view is View.COUNTS:
        raise ProblemError("counts do not weigh cumulative counts alone; measure View.CUMULATIVE or another view")
    threshold = min(view.ranked_from(top), top)
    columns, ranks = values[:threshold], values[threshold:] if view is not View.CUMULATIVE else values[:0]
    weights = np.zeros((top, groups + 1))
    weights[:threshold] = _log_likelihood(law, columns[:, None] - np.arange(groups + 1))
    beyond = ranks - np.arange(top - threshold)[:, None]
    of_ranks = _log_likelihood(law, beyond - 1) - _log_likelihood(law, beyond)
    first = groups - len(ranks)
    behind = np.cumsum(of_ranks[:, ::-1], axis=1)[:, ::-1]  # sums over this rank and all behind it
    weights[threshold:, first:groups] = behind
    weights[threshold:, :first] = behind[:, :1] if len(ranks) else 0.0
    return weights


def _log_likelihood(law: object, noise: np.ndarray) -> np.ndarray:
    """Compute the logarithm of the law's chance of this noise, up to a constant."""
    if isinstance(law, DoubleGeometric):
        return -np.abs(noise) / float(law.scale)
    assert isinstance(law, DiscreteGaussian), "there are two laws"
    return -(noise.astype(float) ** 2) / (2 * float(law.sigma_squared))


def log_masses(means: np.ndarray, shapes: np.ndarray, most: int) -> np.ndarray:
    """Compute the logarithms of negative binomial masses of 0..most relative to that of 0; shape (K + 1, most + 1).

    P(x + 1) / P(x) = (shape + x) / (x + 1) mean / (shape + mean).

    Example:
        >>> np.exp(log_masses(np.array([2.0]), np.array([1.0]), 2)).round(4)  # a geometric law
        array([[1.    , 0.6667, 0.4444]])
    """
    x, mu, shape = np.arange(most), means[:, None], shapes[:, None]
    ratios = np.log((shape + x) / (x + 1.0)) + np.log(mu / (shape + mu))
    return np.concatenate([np.zeros((len(means), 1)), np.cumsum(ratios, axis=1)], axis=1)


def _starts(tree: KernelTree, mu: np.ndarray, shape: np.ndarray, seed: int) -> Iterator[np.ndarray]:
    """Yield counts of the leaves to start from: their prior means, then a draw from the prior with the right totals."""
    totals = tree.groups[tree.first_leaf :].tolist()
    yield np.array([largest_remainder(row / row.sum() * n, n) for row, n in zip(mu, totals, strict=True)])
    generator = np.random.default_rng([seed, 2])
    # A negative binomial count is a Poisson one of a gamma mean, and Poisson counts of a given sum are multinomial.
    rates = np.maximum(generator.gamma(shape, mu / shape), np.finfo(float).tiny)
    yield generator.multinomial(totals, rates / rates.sum(axis=1, keepdims=True))


def _chain(
    tree: KernelTree, digits: np.ndarray, counts: np.ndarray, sweeps: int, generator: np.random.Generator
) -> np.ndarray:
    """Run a chain from these counts of the leaves; give how often every c[s] was c, in the places of `weights`."""
    from pgsr.experiments.ours.tree_posterior_kernel import run

    cumulative = np.zeros((len(tree.parent), counts.shape[1]), np.int64)
    cumulative[tree.first_leaf :] = np.cumsum(counts, axis=1)
    for region in range(len(cumulative) - 1, 0, -1):
        cumulative[tree.parent[region]] += cumulative[region]
    state, seen, nothing = CountState(counts, cumulative), np.zeros(len(tree.weights), np.int64), np.zeros(0, np.int64)
    burn_in = sweeps // BURN_IN
    for first, last, out in ((0, burn_in, nothing), (burn_in, sweeps, seen)):
        for row in range(first, last, ROWS):
            run(tree, state, _moves(digits, min(ROWS, last - row), generator), out)
    return seen


def _moves(digits: np.ndarray, rows: int, generator: np.random.Generator) -> Moves:
    """Draw rows of proposals, each as many as leaves have cells.

    The smaller of the two sizes is more often one of many groups, their distance is nearly log-uniform, and k uniform
    on 1..2^j with j uniform on 0..`digits` of the size with fewer digits; none of this depends on the state, and both
    directions are equally likely.
    """
    n_leaves, n_sizes = digits.shape
    shape, top = (rows, n_leaves * n_sizes), n_sizes - 1
    leaf = generator.integers(0, n_leaves, shape)
    often = 1 + OFTEN * digits[:, :-1]
    tickets, length = np.repeat(np.tile(np.arange(top), n_leaves), often.ravel()), often.sum(axis=1)
    first = np.cumsum(length) - length
    low = tickets[first[leaf] + _below(length[leaf], generator)]
    distances = np.exp((np.arange(QUANTILES) + 0.5) / QUANTILES * np.log(np.arange(1, n_sizes + 1))[:, None])
    bits = generator.integers(0, 2 * QUANTILES, shape)
    high = low + distances.astype(np.int64)[top - low, bits >> 1]
    exponent = _below(np.minimum(digits[leaf, low], digits[leaf, high]) + 1, generator)
    groups, up = 1 + _below(np.left_shift(1, exponent), generator), (bits & 1).astype(bool)
    source, target = np.where(up, low, high), np.where(up, high, low)
    return Moves(leaf, source, target, groups, generator.standard_exponential(shape))


def _below(most: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Draw a whole number from 0 to below each of these."""
    return (generator.random(most.shape) * most).astype(np.int64)


def _tables(tree: KernelTree, seen: np.ndarray) -> Iterator[np.ndarray]:
    """Yield how often c[s] was c, region by region; shape (K, groups + 1)."""
    ends = np.append(tree.start[1:], len(seen))
    for start, end, groups in zip(tree.start.tolist(), ends.tolist(), tree.groups.tolist(), strict=True):
        yield seen[start:end].reshape(-1, groups + 1)


def _medians(tree: KernelTree, seen: np.ndarray) -> np.ndarray:
    """Find the smallest c that c[s] was at most half of the time or more often; shape (regions, K + 1)."""
    rows = [
        np.append((2 * np.cumsum(table, axis=1) >= table.sum(axis=1, keepdims=True)).argmax(axis=1), groups)
        for table, groups in zip(_tables(tree, seen), tree.groups.tolist(), strict=True)
    ]
    return np.array(rows, np.int64)


def _expected_errors(tree: KernelTree, seen: np.ndarray, cumulative: np.ndarray) -> np.ndarray:
    """Average the earth mover's distance of these cumulative counts from where the chain was; shape (regions,)."""
    found = []
    for table, row in zip(_tables(tree, seen), cumulative, strict=True):
        distance = np.abs(np.arange(table.shape[1]) - row[:-1, None])
        found.append(float((table * distance).sum() / table[0].sum()))
    return np.array(found)
