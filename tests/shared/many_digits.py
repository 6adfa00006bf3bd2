"""Arithmetic with eighty digits, by mpmath, for tests of exact bounds."""

from collections.abc import Iterator
from fractions import Fraction

import pytest
from mpmath import mp, mpf


@pytest.fixture
def precise() -> Iterator[None]:
    """Compute with 80 digits during a test: `pytestmark = pytest.mark.usefixtures("precise")`."""
    with mp.workdps(80):
        yield


def real(x: Fraction) -> mpf:
    """Convert a fraction to a real number of as many digits as mpmath computes with."""
    return mpf(x.numerator) / x.denominator
