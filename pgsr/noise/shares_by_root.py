"""The choice of the shares of epsilon by the noisy root, which is measured first.

Where sizes are few, a share for leaves is wasted once its noise exceeds their counts; where sizes are wide it is not.
The shape of sizes tells which. So the root is measured with its least share. From its falling shape p, the public
numbers of groups and the noise of every candidate split follow the errors to be expected on every level, and the split
is taken whose worst ratio over levels is least, to the least error of any candidate or of the leaves alone. It is one
of those that are at every level at least about as good as equal shares, or as the split of `recommended_split`. The
root is then made as precise as its share says (`finer_noise`), at no cost beside that share.

**Expected errors** are those of linear Bayes estimation in a steady state. In a region of G groups the cumulative
counts take steps of the variance v[s] = G p[s] + k (G p[s])^2 and are seen through noise of variance n, so that they
are known to within

    P(v, n) = n v / (v^2 + 4 v n)^(1/2),

the variance of a random walk given noisy values on both sides. Beyond the threshold of a split view ranks are seen:
they take steps of the variance 1 / d^2, d = G p[s] groups of a size being passed by one step of the size, so that a
size adds the error d P(1 / d^2, n)^(1/2). Without any noisy value a cumulative count would be known to within what G
groups scatter, (G F (1 - F))^(1/2) with F = p[0] + ... + p[s], and no worse than it is small or near G; precisions add
up. The noise of a region that has others below it is that of its values and of their sum, weighted by precision.

**More precise at no cost.** With a = exp(-1 / s) double geometric noise of scale s is the difference of two geometric
numbers G, P(G >= m) = a^m. Let a' = a b be the base of a smaller scale s', and B geometric of base b. Then min(G, B) is
geometric of base a', and what it takes off, G - min(G, B), hangs on nothing: at every count the two go on together with
chance a b, and if one stops there, whether it is B alone has the same chance. So the values y of scale s are the values
y' of scale s' with noise of their own on top, which sees no truth. Whoever has y' can draw y: both together say no more
than y', and cost what y' costs, whatever y made one choose s' to be. Given the noise x = G - G' of the first values,
the smaller one of G and G' hangs on nothing either, and is geometric of base a^2: the second step needs that noise
alone.

Shown by `test_noise_shares_by_root.py`.

Source of the second step: Koufogiannis, Han and Pappas 2016, Gradual release of sensitive data under differential
privacy, for Laplace noise; for whole numbers it is derived here.
"""

from fractions import Fraction
from itertools import product

import numpy as np

from pgsr.data.hierarchy import Hierarchy
from pgsr.noise.split_by_root import FEWEST, columns_worth
from pgsr.privacy.budget import recommended_split
from pgsr.privacy.laws import DoubleGeometric
from pgsr.privacy.random import ByteStream

BY_ROOT = "root"
"""The word for shares of epsilon, and for thresholds of a release, that follow from the noisy root."""

ROOT_SHARES = tuple(Fraction(n, 20) for n in (4, 5, 6, 7, 8, 9, 10, 12, 14))
LEAF_SHARES = (Fraction(1, 2), Fraction(5, 8), Fraction(3, 4), Fraction(7, 8))
"""Candidates for the root's share, the least of which it is measured with first, and for that of leaves in the rest."""

SPREAD = 0.02
"""k, what counts vary beyond their own number, relative to it and squared."""

ABOUT_AS_GOOD = 1.08
"""The ratio of expected errors up to which one counts as about as good."""

KINDS = 8
"""Regions of a level are represented by so many of them, from the smallest to the largest."""

SMALL_SCALE = Fraction(1, 4)
"""Up to this scale nearly all double geometric numbers are 0."""


def candidates(n_levels: int) -> tuple[tuple[Fraction, ...], ...]:
    """List the splits that are compared, root first; levels between root and leaves have the same share.

    Example:
        >>> [", ".join(map(str, split)) for split in candidates(3)[:2]], len(candidates(3))
        (['1/5, 2/5, 2/5', '1/5, 3/10, 1/2'], 36)
    """
    if n_levels <= 2:
        return tuple((root, 1 - root) for root in ROOT_SHARES) if n_levels == 2 else ((Fraction(1),),)
    between, found = n_levels - 2, product(ROOT_SHARES, LEAF_SHARES)
    return tuple((root, *((1 - root) * (1 - part) / between,) * between, (1 - root) * part) for root, part in found)


def least_shares(n_levels: int) -> tuple[Fraction, ...]:
    """Give the least share of every level among the candidates, with which noise is as large as it may be."""
    return tuple(map(min, zip(*candidates(n_levels), strict=True)))


def shares_by_root(tree: Hierarchy, totals: np.ndarray, shape: np.ndarray, scales: np.ndarray) -> tuple[Fraction, ...]:
    """Choose the split whose worst ratio over levels to the least expected error is least.

    The least is that of any candidate, or of a split that measures the leaves alone. Candidates alone are asked that
    have at no level more than `ABOUT_AS_GOOD` times the error of the same plain split.

    Args:
        tree: the regions.
        totals: public or noisy numbers of groups of all regions.
        shape: non-increasing shares of sizes, fitted to the noisy root; shape (K + 1,).
        scales: of the noise of every level if it had all of epsilon.

    Complexity: O(candidates x levels x sizes).
    """
    splits, n = candidates(tree.n_levels), tree.n_levels
    plain = recommended_split(n), (Fraction(1, n),) * n, (Fraction(0),) * (n - 1) + (Fraction(1),)
    with np.errstate(divide="ignore"):  # the noise of what is not measured has no bound
        found, (*known, of_leaves) = (
            np.array([expected_errors(tree, totals, shape, scales / np.array(split, float)) for split in some])
            for some in (splits, plain)
        )
    near = np.any([(found <= ABOUT_AS_GOOD * errors).all(axis=1) for errors in known], axis=0)
    least = np.maximum(np.minimum(found.min(axis=0), of_leaves), 1e-9)
    worst = (found / least).max(axis=1).round(9)  # so that ties have one winner anywhere
    return splits[int(np.argmin(np.where(near, worst, np.inf)))]


def expected_errors(tree: Hierarchy, totals: np.ndarray, shape: np.ndarray, scales: np.ndarray) -> np.ndarray:
    """Compute the mean earth mover's distance that is to be expected of the regions of every level.

    Args:
        tree, totals, shape: as in `shares_by_root`.
        scales: of the noise of every level.
    """
    errors, precision = np.zeros(tree.n_levels), 0.0
    for level in range(tree.n_levels - 1, -1, -1):
        n_below = tree.regions_per_level[level + 1] / tree.regions_per_level[level] if precision else 1.0
        precision = 0.5 / scales[level] ** 2 + precision / n_below
        sizes = np.sort(np.maximum(totals[tree.level(level)], 0))
        kinds = sizes[np.linspace(0, len(sizes) - 1, min(KINDS, len(sizes))).round().astype(int)]
        errors[level] = np.mean([_of_region(int(groups), shape, 1.0 / precision, level > 0) for groups in kinds])
    return errors


def _of_region(groups: int, shape: np.ndarray, noise: float, split: bool) -> float:
    """Compute the expected error of a region with this variance of noise; `split` says whether ranks are seen, too."""
    upto, mean = np.minimum(np.cumsum(shape), 1.0)[:-1], groups * shape[:-1] + 1e-9
    variance = _known_to(mean + SPREAD * mean**2, noise)
    if split:
        first = columns_worth(shape, groups, FEWEST)
        variance[first:] = mean[first:] ** 2 * _known_to(mean[first:] ** -2.0, noise)
    scatter = groups * upto * (1 - upto) + SPREAD * (groups * upto * (1 - upto)) ** 2
    seen, guessed = (2 / np.pi * variance) ** 0.5, (2 / np.pi * scatter) ** 0.5
    guessed = np.minimum(guessed, groups * np.minimum(upto, 1 - upto))
    return float((1.0 / (1.0 / (seen**2 + 1e-18) + 1.0 / (guessed**2 + 1e-18)) ** 0.5).sum())


def _known_to(steps: np.ndarray, noise: float) -> np.ndarray:
    """Compute P: the variance of a random walk with these variances of steps, given noisy values on both sides."""
    return noise * steps / np.sqrt(steps * steps + 4 * steps * noise)


def finer_noise(noise: np.ndarray, scale: Fraction, finer: Fraction, stream: ByteStream) -> np.ndarray:
    """Draw noise of a smaller scale given that of the first values; int64, of the same shape.

    Args:
        noise: double geometric.
        scale: of it.
        finer: the smaller scale.
        stream: of fresh bytes.

    Complexity: O(values).
    """
    common = geometric(scale / 2, noise.size, stream)
    base = 1 / (1 / finer - 1 / scale)
    up, down = (
        np.minimum(np.maximum(side, 0) + common, geometric(base, noise.size, stream)) for side in (noise, -noise)
    )
    return up - down


def log_pmf_of_rest(rest: np.ndarray, scale: Fraction, finer: Fraction) -> np.ndarray:
    """Compute the log probability of the first noise less the finer one; it is the same for any value of the finer one.

    The difference is 0 with the chance (1 - a)^2 a' / ((1 - a')^2 a), and else double geometric of the first scale.
    """
    a, finer_a = np.exp(-1 / np.array([scale, finer], float))
    stays = ((1 - a) / (1 - finer_a)) ** 2 * finer_a / a
    moved = np.log1p(-stays) + DoubleGeometric(scale).log_pmf(rest)
    return np.where(rest == 0, np.logaddexp(moved, np.log(stays)), moved)


def geometric(scale: Fraction, number: int, stream: ByteStream) -> np.ndarray:
    """Draw geometric numbers, P(G >= m) = exp(-m / scale).

    A double geometric number that is not 0 has the size 1 + G. At small scales nearly all are 0, and numbers that are
    not negative are taken instead, which have the law of G, too.
    """
    law, found = DoubleGeometric(scale), np.empty(0, np.int64)
    while len(found) < number:
        drawn = np.zeros(number, np.int64)
        law.add_to(drawn, stream)
        found = np.concatenate([found, np.abs(drawn[drawn != 0]) - 1 if scale > SMALL_SCALE else drawn[drawn >= 0]])
    return found[:number]
