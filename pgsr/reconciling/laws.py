"""The laws of noise whose draws `reconcile` can take into account: how scales, variances and tails belong together."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pgsr.errors import ArgumentError

REACH = 35.0
"""Noise is taken to be no larger than where the law has fallen by e^-35."""


@dataclass(frozen=True)
class NoiseLaw:
    """A symmetric law of noise with a scale.

    Attributes:
        name: by which it is asked for.
        squares: whether minus its logarithm is (noise / scale)^2 / 2, and not |noise| / scale.
        variance: of a scale.
        scale: of a variance.
        kurtosis: of a variance, above that of the Gaussian law.
        beyond: the probability that noise is above `reach`, at most.
    """

    name: str
    squares: bool
    variance: Callable[[np.ndarray], np.ndarray]
    scale: Callable[[np.ndarray], np.ndarray]
    kurtosis: Callable[[np.ndarray], np.ndarray]
    beyond: float

    def __reduce__(self) -> tuple[object, ...]:  # lambdas cannot be pickled
        return law_named, (self.name,)

    def reach(self, scale: np.ndarray) -> np.ndarray:
        """Compute the largest noise that is taken for possible."""
        return scale * (math.sqrt(2 * REACH) if self.squares else REACH)


def law_named(name: str | None) -> NoiseLaw | None:
    """Look a law up.

    Raises:
        ArgumentError: there is none of this name.
    """
    if name is not None and name not in LAWS:
        raise ArgumentError(f"noise={name!r}; give one of {', '.join(map(repr, LAWS))}, or leave it out")
    return None if name is None else LAWS[name]


LAWS = {
    law.name: law
    for law in (
        NoiseLaw(  # P(noise = k) ~ exp(-|k| / scale), k whole
            "geometric",
            False,
            lambda scale: 0.5 / np.sinh(0.5 / scale) ** 2,
            lambda variance: 0.5 / np.arcsinh(np.sqrt(0.5 / variance)),
            lambda variance: 3.0 + 1.0 / variance,
            2 * math.exp(-REACH),
        ),
        NoiseLaw(  # the scale is the standard deviation; of the discrete law, nearly
            "gaussian", True, np.square, np.sqrt, np.zeros_like, math.erfc(math.sqrt(REACH))
        ),
        NoiseLaw(
            "laplace",
            False,
            lambda scale: 2.0 * np.square(scale),
            lambda variance: np.sqrt(0.5 * variance),
            lambda variance: np.full_like(variance, 3.0),
            math.exp(-REACH),
        ),
    )
}
"""The laws by their names."""
