"""Random amounts of privacy."""

from collections.abc import Iterator
from fractions import Fraction

from instances import rng_of


def pairs(n: int) -> Iterator[tuple[Fraction, Fraction]]:
    """Draw n pairs of an epsilon from 1e-5 to 100 and a delta from 1e-30 to about 1."""
    rng = rng_of(71)
    for _ in range(n):
        epsilon = Fraction(str(round(10 ** rng.uniform(-4, 2), 6))) + Fraction(1, 10**5)
        yield epsilon, Fraction(int(rng.integers(1, 100)), 10 ** int(rng.integers(2, 31)))
