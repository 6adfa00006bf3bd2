"""The residuals of noise: numbers that would be 0 without it, sorted by how many draws they are the sum of."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

MOST_LAWS = 32
"""The most laws that are computed per family, those of the fewest draws; other residuals are left out."""


Sum = tuple[int, ...]
"""The kind of a residual: of how many independent draws of each level's noise it is the sum, root first."""


@dataclass(frozen=True)
class ResidualFamily:
    """A set of residuals that are independent of each other under the stated law.

    Attributes:
        what: where they come from, in words.
        residuals: per kind of sum, the residuals; shape (n,) each.
        choices: how many sets of residuals there are of which the noise in them may have chosen this one.
    """

    what: str
    residuals: dict[Sum, np.ndarray]
    choices: int = 1

    @property
    def size(self) -> int:
        return sum(len(values) for values in self.residuals.values())


def fewest_draws(grouped: Mapping[Sum, list[np.ndarray]]) -> dict[Sum, np.ndarray]:
    """Keep the residuals of the fewest draws: each of their kinds has a law of its own to be computed."""
    kept = sorted(grouped, key=sum)[:MOST_LAWS]
    return {kind: np.concatenate(grouped[kind]) for kind in kept}
