"""The exact law of a release of a small table, by running a mechanism on every outcome of its noise.

Noise of scale Delta / epsilon has a = exp(-epsilon / Delta). With b = exp(-unit) for a common unit of all exponents,
every a is a power of b and e^epsilon is 1 / b^(epsilon / unit); for a rational b all probabilities are rational. So the
likelihood ratio of neighbours can be compared with e^epsilon without any rounding.

Noisy values are clamped to a public range, which is post-processing cell by cell and makes the law finite.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import prod

import numpy as np
import pytest

from pgsr import CountOfCounts
from pgsr.noise import Geometric
from pgsr.privacy import Seeded
from pgsr.privacy.laws import DoubleGeometric
from pgsr.privacy.random import ByteStream

Law = dict[Hashable, Fraction]
"""Probability of every release."""


@dataclass(frozen=True)
class Step:
    """One vector as it is before its noise, and the scale of that noise."""

    values: tuple[int, ...]
    scale: Fraction


@contextmanager
def noise_by(add: Callable[[DoubleGeometric, np.ndarray, ByteStream], None]) -> Iterator[None]:
    """While it lasts, `add(law, values, stream)` takes the place of every `law.add_to(values, stream)`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DoubleGeometric, "add_to", add)
        yield


def steps(run: Callable[[], object]) -> list[Step]:
    """List what `run` adds noise to, in order; the noise itself is left out."""
    found: list[Step] = []
    with noise_by(lambda law, values, stream: found.append(Step(tuple(values.ravel().tolist()), law.scale))):
        run()
    return found


def loss(ours: list[Step], theirs: list[Step]) -> Fraction | None:
    """Compute the log of the largest likelihood ratio of all noisy values of two data sets, sum |change| / scale.

    None where the vectors differ in number or length, so that it is infinite, or in scale, so that it is not defined.
    """
    if [(len(a.values), a.scale) for a in ours] != [(len(b.values), b.scale) for b in theirs]:
        return None
    pairs = zip(ours, theirs, strict=True)
    return sum((sum(map(_distance, a.values, b.values)) / a.scale for a, b in pairs), Fraction(0))


def law_of(
    measured: Callable[[], object],
    released: Callable[[object], Hashable],
    low: int,
    high: int,
    bases: Sequence[Fraction],
    unit: Fraction,
) -> list[Law]:
    """P(release) for every release, over all outcomes of the noise clamped to low..high; one law per base.

    Args:
        measured: the noise step, run once per outcome.
        released: what is published of its answer.
        low, high: the range, which holds all exact values.
        bases: values of b = exp(-unit), rational.
        unit: 1 / scale is a multiple of it for every scale.
    """
    laws: list[Law] = [{} for _ in bases]
    choices: list[int] = []
    done = False
    while not done:
        cells: list[tuple[int, int]] = []

        def add(noise: DoubleGeometric, values: np.ndarray, stream: ByteStream) -> None:
            del stream
            exponent = 1 / noise.scale / unit
            assert exponent.denominator == 1, f"noise of scale {noise.scale} is no multiple of the unit {unit}"
            for i, value in enumerate(values.tolist()):
                if len(cells) == len(choices):  # noqa: B023
                    choices.append(0)
                values[i] = low + choices[len(cells)]  # noqa: B023
                cells.append((value, int(exponent)))  # noqa: B023

        with noise_by(add):
            release = released(measured())
        assert len(cells) == len(choices), "the number of noisy values changed between two equal runs"
        for law, b in zip(laws, bases, strict=True):
            chances = (_clamped(value, low, high, b**n)[k] for (value, n), k in zip(cells, choices, strict=True))
            law[release] = law.get(release, Fraction(0)) + prod(chances, start=Fraction(1))
        while choices and choices[-1] == high - low:
            choices.pop()
        done = not choices
        if choices:
            choices[-1] += 1
    assert all(sum(law.values()) == 1 for law in laws)
    return laws


def largest_ratio(ours: Law, theirs: Law) -> Fraction | None:
    """Find the largest ratio of P(release) of two laws, either way; None if one law alone allows some release."""
    if ours.keys() != theirs.keys():
        return None
    return max(max(p / theirs[o], theirs[o] / p) for o, p in ours.items())


def truth_steps(noise: Geometric, truth: CountOfCounts) -> list[Step]:
    """List what a noise step adds noise to."""
    return steps(lambda: noise.measure(truth, Seeded("steps")))


def _distance(a: int, b: int) -> int:
    return abs(a - b)


@lru_cache
def _clamped(value: int, low: int, high: int, a: Fraction) -> tuple[Fraction, ...]:
    """P(clamp(value + X) = y) for y = low..high, where P(X = k) = (1 - a) / (1 + a) a^|k|."""
    assert low <= value <= high, f"{value} is outside of the range {low}..{high}"

    def at_least(m: int) -> Fraction:
        return a**m / (1 + a) if m > 0 else 1 - a ** (1 - m) / (1 + a)

    inside = [at_least(y - value) - at_least(y - value + 1) for y in range(low + 1, high)]
    assert inside == [(1 - a) / (1 + a) * a ** abs(y - value) for y in range(low + 1, high)]
    return 1 - at_least(low + 1 - value), *inside, at_least(high - value)
