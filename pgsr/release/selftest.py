"""Test the sampler as it is installed here, at the scales that a release will use."""

import os
from collections.abc import Iterable
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from math import ceil, log

import numpy as np
from scipy.special import chdtrc

from pgsr.laws import DoubleGeometric
from pgsr.laws.inversion import table_of
from pgsr.random import ByteStream, Secure, StreamId
from pgsr.release.checking import Finding, Outcome, Report

REJECT = 1e-9
"""The p-value below which a fit fails: once in a billion runs of a right sampler."""

_DRAWS = 200_000
_DIGITS = 80
_SLACK = Decimal(10) ** -60


def selftest(scales: Iterable[Fraction]) -> Report:
    """Test the byte source, and for every scale the exact thresholds and the fit of fresh draws to the law.

    Thresholds T_m = floor(2^31 P(|X| <= m)) are computed again in decimal arithmetic of 80 digits, with an enclosure
    of 1e-60; the sampler computes them in binary intervals by another series. Draws are compared by a chi-square test
    of |X|, and of the signs.

    Args:
        scales: sensitivity / epsilon of a level each; 0, where nothing is drawn, is left out.

    Complexity: O(scale) decimal steps per scale; below 1 s up to scale 10,000 or so.

    Example:
        >>> selftest([Fraction(6)]).passed
        True
    """
    wanted = sorted({scale for scale in scales if scale})
    findings = [_byte_source(), _fresh_streams()]
    for scale in wanted:
        findings += [_thresholds(scale), _fit(scale)]
    return Report(None, tuple(findings))


def expected_thresholds(scale: Fraction) -> list[int]:
    """Compute floor(2^31 P(|X| <= m)) for m = 0, 1, ... up to the first equal to 2^31 - 1, in decimal arithmetic."""
    found, top = [], 2**31 - 1
    with localcontext(Context(prec=_DIGITS)):
        a = (-Decimal(scale.denominator) / Decimal(scale.numerator)).exp()
        tail = 2 ** Decimal(32) * a / (1 + a)  # 2^31 P(|X| > m)
        while not found or found[-1] < top:
            value = 2**31 - tail
            low, high = int(value - _SLACK), int(value + _SLACK)
            # P(|X| <= m) is below 1 however small the tail.
            assert low == high or high > top, "80 digits do not decide; raise _DIGITS"
            found.append(min(low, top))
            tail *= a
    return found


def _byte_source() -> Finding:
    """Test a stream of bytes: it starts with the block of counter 0, which is AES-256 of 16 zero bytes."""
    key = bytes.fromhex("00" * 32)
    expected = "dc95c078a2408989ad48a21492842087"  # under a zero key, NIST AES known answers
    found = ByteStream(key).bits(16).to_bytes(16, "big").hex()
    return _finding("byte source", found == expected, "AES-256 gives its known answer", "AES-256 gives a wrong answer")


def _fresh_streams() -> Finding:
    identity = StreamId("selftest", "counts", 0, ("root",))
    seen = {Secure().stream(identity).bits(32) for _ in range(1_000)}
    return _finding("secure streams", len(seen) == 1_000, "1,000 streams, all different", "two streams have one key")


def _thresholds(scale: Fraction) -> Finding:
    table, expected = table_of(DoubleGeometric(scale)), np.array(expected_thresholds(scale), np.int64)
    ours, guide = table.thresholds.astype(np.int64), table.guide.astype(np.int64)
    same = len(ours) == len(expected)
    wrong = int((ours != expected).sum()) if same else max(len(ours), len(expected))
    # A guide cell names the first threshold that is at least the smallest number with its leading bits.
    starts = np.arange(len(guide), dtype=np.int64) * (2**31 // len(guide))
    below = np.concatenate([[-1], expected])[guide] < starts
    misled = int((~below | (np.append(expected, 2**31)[guide] < starts)).sum())
    right = f"{len(ours):,} thresholds and {len(guide):,} guide cells equal those of another computation"
    faults = f"{wrong:,} of {len(ours):,} thresholds and {misled:,} guide cells are wrong; draw no noise"
    return _finding(f"law {scale}", not wrong and not misled, right, faults)


def _fit(scale: Fraction) -> Finding:
    law, noise = DoubleGeometric(scale), np.zeros(_DRAWS, np.int64)
    law.add_to(noise, ByteStream(os.urandom(32)))
    p = min(size_p_value(noise, float(scale)), sign_p_value(noise))
    name, figure = f"fit {scale}", f"{_DRAWS:,} draws, p = {p:.3g}"
    return _finding(name, p > REJECT, figure, f"{figure}: they do not follow the law; draw no noise")


def size_p_value(draws: np.ndarray, scale: float) -> float:
    """Compute the p-value of a chi-square test of the sizes |X| of draws.

    They are held against P(|X| > m) = 2 a^(m+1) / (1 + a), a = e^(-1 / scale), in up to 64 cells, of which the last
    expects at least 50 draws; the p-value is 1 where that leaves one cell.
    """
    a = np.exp(-1 / scale)
    edges = np.unique([ceil(-scale * log(1 - part)) for part in np.linspace(0, 1, 64, endpoint=False)]).astype(float)
    beyond = np.concatenate([[1.0], 2 * a ** (edges + 1) / (1 + a), [0.0]])  # P(|X| > edge), edges from 0 up
    expected = -np.diff(beyond) * len(draws)
    cell = np.searchsorted(edges, np.abs(draws), side="left")
    observed = np.bincount(cell, minlength=len(expected))
    while len(expected) > 1 and expected[-1] < 50:
        expected = np.append(expected[:-2], expected[-2:].sum())
        observed = np.append(observed[:-2], observed[-2:].sum())
    if len(expected) == 1:
        return 1.0
    statistic = float(((observed - expected) ** 2 / expected).sum())
    return float(chdtrc(len(expected) - 1, statistic))


def sign_p_value(draws: np.ndarray) -> float:
    """Compute the p-value of a chi-square test that as many draws are positive as negative; 1 below 50 such draws."""
    positive, negative = int((draws > 0).sum()), int((draws < 0).sum())
    if positive + negative < 50:
        return 1.0
    return float(chdtrc(1, (positive - negative) ** 2 / (positive + negative)))


def _finding(name: str, passed: bool, right: str, wrong: str) -> Finding:
    return Finding(name, Outcome.PASSED if passed else Outcome.FAILED, right if passed else wrong)
