"""Noisy values that become more precise, where all that was seen costs no more than the last values alone.

With a = exp(-1 / s) double geometric noise of scale s is the difference of two geometric numbers G, P(G >= m) = a^m.
Let a' = a b be the base of a smaller scale s', and B geometric of base b. Then min(G, B) is geometric of base a', and
what it takes off, G - min(G, B), hangs on nothing: at every count the two go on together with chance a b, and if one
stops there, whether it is B alone has the same chance. So the values y of scale s are the values y' of scale s' with
noise of their own on top, which sees no truth. Whoever has y' can draw y: both together say no more than y', and cost
what y' costs, whatever y made one choose s' to be.

Given the noise x = G - G' of the first values, the smaller one of G and G' hangs on nothing either, and is geometric
of base a^2. So the second step needs the noise of the first one alone.

Shown by `test_noise_shares_by_root.py`.

Source: Koufogiannis, Han and Pappas 2016, Gradual release of sensitive data under differential privacy, for Laplace
noise; this for whole numbers is derived here.
"""

from fractions import Fraction

import numpy as np

from pgsr.privacy.laws import DoubleGeometric
from pgsr.privacy.random import ByteStream

SMALL_SCALE = Fraction(1, 4)
"""Up to this scale nearly all double geometric numbers are 0."""


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
