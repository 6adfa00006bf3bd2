"""Test the sampler as it is installed here, on the laws that a release will use."""

import os
from collections.abc import Iterable, Iterator
from decimal import Context, Decimal, localcontext

import numpy as np
from scipy.special import chdtrc

from pgsr.privacy.laws import DiscreteGaussian, DoubleGeometric, Law
from pgsr.privacy.laws.gaussian_sums import GaussianSizes
from pgsr.privacy.laws.inversion import SizeLaw, table_of
from pgsr.privacy.laws.strips import Strips
from pgsr.privacy.random import ByteStream, Secure, StreamId
from pgsr.release.publishing.findings import Finding, Outcome, Report

REJECT = 1e-9
"""The p-value below which a fit fails: once in a billion runs of a right sampler."""

_DRAWS = 200_000
_DIGITS = 80
_SLACK = Decimal(10) ** -60


def selftest(laws: Iterable[Law]) -> Report:
    """Test the byte source, and for every law the exact thresholds and the fit of fresh draws to the law.

    Thresholds T_m = floor(2^31 P(size <= m)) are computed again in decimal arithmetic of 80 digits, with an enclosure
    of 1e-60; the sampler computes them in binary intervals by another series. Draws are compared by a chi-square test
    of |X|, and of the signs.

    Args:
        laws: of the noise of a level each.

    Complexity: O(scale) or O(sigma) decimal steps per law; about 1 s at scale 10,000 and at sigma 1,000.

    Example:
        >>> from fractions import Fraction
        >>> selftest([DoubleGeometric(Fraction(6))]).passed
        True
    """
    findings = [_byte_source(), _fresh_streams()]
    for law in sorted(set(laws), key=lambda law: (type(law).__name__, law.variance)):
        findings += [_thresholds(law), _fit(law)]
    return Report(tuple(findings))


def expected_thresholds(sizes: SizeLaw) -> list[int]:
    """Compute floor(2^31 P(size <= m)) for m = 0, 1, ... up to the first equal to 2^31 - 1, in decimal arithmetic."""
    found, top = [], 2**31 - 1
    with localcontext(Context(prec=_DIGITS)):
        for tail in _geometric_tails(sizes) if isinstance(sizes, DoubleGeometric) else _gaussian_tails(sizes):
            value = 2**31 - 2**31 * tail
            low, high = int(value - _SLACK), int(value + _SLACK)
            # P(size <= m) is below 1 however small the tail.
            assert low == high or high > top, "80 digits do not decide; raise _DIGITS"
            found.append(min(low, top))
            if found[-1] == top:
                break
    return found


def _geometric_tails(law: DoubleGeometric) -> Iterator[Decimal]:
    """List P(|X| > m) = 2 a^(m + 1) / (1 + a)."""
    a = (-Decimal(law.scale.denominator) / Decimal(law.scale.numerator)).exp()
    tail = 2 * a / (1 + a)
    while True:
        yield tail
        tail *= a


def _gaussian_tails(sizes: SizeLaw) -> Iterator[Decimal]:
    """List P(size > m), adding the weights exp(-m^2 rate) from the smallest that matters down."""
    assert isinstance(sizes, GaussianSizes), "no other law of sizes is tabulated"
    rate, sums = Decimal(sizes.rate.numerator) / Decimal(sizes.rate.denominator), [Decimal(0)]
    last = int((200 / rate).sqrt()) + 1  # exp(-200) is 1e-87
    for m in range(last, 0, -1):
        sums.append(sums[-1] + sizes.sides * (-m * m * rate).exp())
    total = 1 + sums[-1]
    yield from (tail / total for tail in reversed(sums))


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


def _thresholds(law: Law) -> Finding:
    sizes = _tabulated(law)
    table, expected = table_of(sizes), np.array(expected_thresholds(sizes), np.int64)
    ours, guide = table.thresholds.astype(np.int64), table.guide.astype(np.int64)
    same = len(ours) == len(expected)
    wrong = int((ours != expected).sum()) if same else max(len(ours), len(expected))
    # A guide cell names the first threshold that is at least the smallest number with its leading bits.
    starts = np.arange(len(guide), dtype=np.int64) * (2**31 // len(guide))
    below = np.concatenate([[-1], expected])[guide] < starts
    misled = int((~below | (np.append(expected, 2**31)[guide] < starts)).sum())
    right = f"{len(ours):,} thresholds and {len(guide):,} guide cells equal those of another computation"
    faults = f"{wrong:,} of {len(ours):,} thresholds and {misled:,} guide cells are wrong; draw no noise"
    return _finding(f"law {_named(law)}", not wrong and not misled, right, faults)


def _fit(law: Law) -> Finding:
    noise = np.zeros(_DRAWS, np.int64)
    law.add_to(noise, ByteStream(os.urandom(32)))
    p = min(size_p_value(noise, law), sign_p_value(noise))
    name, figure = f"fit {_named(law)}", f"{_DRAWS:,} draws, p = {p:.3g}"
    return _finding(name, p > REJECT, figure, f"{figure}: they do not follow the law; draw no noise")


def _tabulated(law: Law) -> SizeLaw:
    """Find the law of sizes whose thresholds the sampler of this law reads."""
    if isinstance(law, DiscreteGaussian):
        return law.drawn_from.numbers if isinstance(law.drawn_from, Strips) else law.drawn_from
    assert isinstance(law, DoubleGeometric), "no other law is drawn by inversion"
    return law


def _named(law: Law) -> str:
    """Name a law by its scale, or by its sigma^2."""
    return str(law.scale) if isinstance(law, DoubleGeometric) else " ".join(law.spelling.values())


def size_p_value(draws: np.ndarray, law: Law) -> float:
    """Compute the p-value of a chi-square test of the sizes |X| of draws.

    They are held against P(|X| > m) in up to 64 cells, of which the last expects at least 50 draws; the p-value is 1
    where that leaves one cell.
    """
    sizes = np.unique(np.linspace(0, 8 * law.deviation + 1, 4_096).astype(np.int64))
    wanted = np.searchsorted(-law.probability_beyond(sizes), -np.linspace(1, 0, 64, endpoint=False))
    edges = np.unique(sizes[wanted])
    beyond = np.concatenate([[1.0], law.probability_beyond(edges), [0.0]])  # P(|X| > edge), edges from 0 up
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
