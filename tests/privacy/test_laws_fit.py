"""Draws of both laws of noise fit the exact law, by two tests, and draws of wrong laws do not."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from instances import scale
from law_fits import chi_square_p, draws_in_parts, histogram, kolmogorov_smirnov_p
from pytest import MonkeyPatch  # noqa: PT013
from test_laws_double_geometric import REJECT, WORD_BITS

from pgsr.privacy.laws import DiscreteGaussian, DoubleGeometric, Law, inversion_kernel
from pgsr.privacy.random import ByteStream

IN_STRIPS = DiscreteGaussian(Fraction("25000001/2"))
LAWS = [*(DiscreteGaussian(Fraction(v)) for v in ("1/2", "5/2", "3600")), IN_STRIPS]
LAWS += [DoubleGeometric(Fraction(v)) for v in ("1", "20/3", "1000")]


@pytest.mark.few(1)
@pytest.mark.slow
@pytest.mark.parametrize(
    "law",
    [IN_STRIPS] + [pytest.param(law, marks=pytest.mark.full) for law in LAWS if law is not IN_STRIPS],
    ids=str,
)
def test_fit(law: Law) -> None:
    """The same draws are tested in cells (chi-square) and as a whole (Kolmogorov-Smirnov)."""
    n = scale(50_000_000, 1_000_000_000)
    seen = histogram(draws_in_parts(law, f"fit {law}", n))
    assert seen.sum() == n
    assert chi_square_p(law, seen) > REJECT
    assert kolmogorov_smirnov_p(law, seen) > REJECT


@pytest.mark.few(1)
@pytest.mark.parametrize("sigma_squared", ["1/2", "5/2", "3600", "25000001/2", "1000000000000"])
def test_kolmogorov_smirnov_and_moments(sigma_squared: str) -> None:
    law, n = DiscreteGaussian(Fraction(sigma_squared)), 1_000_000
    draws = next(draws_in_parts(law, f"moments {sigma_squared}", n))
    sd = law.deviation
    assert abs(draws.mean()) < 7 * sd / n**0.5
    fourth = float((draws.astype(float) ** 4).mean())
    assert abs((draws.astype(float) ** 2).mean() - law.variance) < 7 * ((fourth - sd**4) / n) ** 0.5
    if law.sigma_squared >= 4:  # from there on the moments are those of the Gaussian law
        assert abs(fourth / sd**4 - 3) < 7 * (96 / n) ** 0.5
    assert kolmogorov_smirnov_p(law, histogram(iter([draws]))) > REJECT


def test_kolmogorov_smirnov_by_definition() -> None:
    """The distance over all integers from sums of probabilities and from sorted draws, one place after the other."""
    law = DiscreteGaussian(Fraction(5, 2))
    draws = next(draws_in_parts(law, "by definition", 500))
    places = np.arange(-40, 41)
    up_to = np.cumsum(np.exp(law.log_pmf(places)))
    distance = max(abs((draws <= k).mean() - p) for k, p in zip(places, up_to, strict=True))
    assert kolmogorov_smirnov_p(law, histogram(iter([draws]))) == pytest.approx(2 * np.exp(-2 * 500 * distance**2))


@pytest.mark.parametrize("law", [LAWS[1], LAWS[2], LAWS[-1]], ids=str)
@pytest.mark.parametrize("factor", [98, 102])
def test_kolmogorov_smirnov_rejects_another_scale(law: Law, factor: int) -> None:
    """Four million draws tell noise that is 2 % too large, or too small, from the exact law."""
    share = Fraction(factor, 100)
    if isinstance(law, DiscreteGaussian):
        other: Law = DiscreteGaussian(law.sigma_squared * share**2)
    else:
        assert isinstance(law, DoubleGeometric)
        other = DoubleGeometric(law.scale * share)
    n = 4_000_000
    assert kolmogorov_smirnov_p(law, histogram(draws_in_parts(law, "right", n))) > REJECT
    assert kolmogorov_smirnov_p(law, histogram(draws_in_parts(other, "wrong", n))) < REJECT


# Planted bugs, each caught by the chi-square test


def fits(sigma_squared: str, n: int = 4_000_000) -> bool:
    law = DiscreteGaussian(Fraction(sigma_squared))
    return chi_square_p(law, histogram(draws_in_parts(law, "planted", n))) > REJECT


def broken_add_to(monkeypatch: MonkeyPatch, name: str, sigma_squared: str) -> None:
    add_to, law = DiscreteGaussian.add_to, DiscreteGaussian(Fraction(sigma_squared))

    def broken(self: DiscreteGaussian, values: np.ndarray, source: ByteStream) -> None:
        if name == "sigma 1 % too large":
            add_to(DiscreteGaussian(self.sigma_squared * Fraction(102, 100)), values, source)
            return
        add_to(self, values, source)
        if name == "one sign of zero missing":
            again = np.flatnonzero((values == 0) & (source.words(len(values)) >> 31 == 1))
            add_to(self, part := np.zeros(len(again), np.int64), source)
            values[again] = part
        elif name == "double geometric":
            values[:] = 0
            DoubleGeometric(Fraction(law.deviation / 2**0.5).limit_denominator(1000)).add_to(values, source)
        elif name == "all signs positive":
            np.abs(values, out=values)
        elif name == "signs swapped below -1":
            values[values < -1] *= -1
        elif name == "half a step to the right":
            values += (source.words(len(values)) & 1).astype(np.int64)

    monkeypatch.setattr(DiscreteGaussian, "add_to", broken)


@pytest.mark.few(1)
@pytest.mark.parametrize("sigma_squared", ["5/2", "3600", "25000001/2"])
@pytest.mark.parametrize("name", ["sigma 1 % too large", "double geometric", "all signs positive"])
def test_gaussian_fit_rejects_wrong_laws(monkeypatch: MonkeyPatch, name: str, sigma_squared: str) -> None:
    assert fits(sigma_squared)
    broken_add_to(monkeypatch, name, sigma_squared)
    assert not fits(sigma_squared)


@pytest.mark.parametrize("name", ["one sign of zero missing", "signs swapped below -1", "half a step to the right"])
def test_gaussian_fit_rejects_wrong_laws_of_small_noise(monkeypatch: MonkeyPatch, name: str) -> None:
    broken_add_to(monkeypatch, name, "5/2")
    assert not fits("5/2")


def test_a_zero_of_either_sign_is_found(monkeypatch: MonkeyPatch) -> None:
    """Were -0 kept, a wide law would have 0 twice as often."""
    right = inversion_kernel.add_in_strips

    def twice(words: np.ndarray, *others: Any) -> tuple[int, int]:
        n_undecided, n_refused = right(words, *others)
        refused, mask = others[-1], 2 ** others[4] - 1
        pairs = words.reshape(-1, 2)[refused[:n_refused]]
        zero = ((pairs[:, 0] & 2**WORD_BITS - 1) < others[2][0]) & ((pairs[:, 1] & mask) == 0)
        kept = refused[:n_refused][~zero]
        refused[: len(kept)] = kept
        return n_undecided, len(kept)

    assert fits("25000001/2")
    monkeypatch.setattr(inversion_kernel, "add_in_strips", twice)
    assert not fits("25000001/2")
