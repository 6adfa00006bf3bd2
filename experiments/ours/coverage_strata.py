"""The strata by which intervals are counted: what a reader of a release sees of a cell, and what held there.

A stratum is a view, a level, a class of sizes and a class of the standard deviation (sd) that the method states.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtr

from pgsr import CountOfCounts, View
from pgsr.experiments.engine.summary import level_errors

if TYPE_CHECKING:
    import pandas as pd

VIEWS = (View.COUNTS, View.CUMULATIVE)
SIZES = {"0 to 9": 10, "10 to 99": 100, "100 to 999": 1_000, "1,000 and more": 2**31}
DEVIATIONS = {"below 0.3": 0.3, "0.3 to 1": 1.0, "1 to 3": 3.0, "3 to 10": 10.0, "above 10": np.inf}
"""Classes, by the first value that is beyond them."""

ABOVE_1 = list(DEVIATIONS)[2:]
"""Classes in which the rounding of the ends of intervals to integers hardly matters."""

CELLS, HELD, INSIDE = "cells", "held", "inside"
"""What is counted: cells; of them those whose interval holds the truth, and those whose transform is in the middle."""


def counted(
    truth: CountOfCounts, view: View, low: np.ndarray, high: np.ndarray, sd: np.ndarray, inside: np.ndarray | None
) -> dict[str, list[float]]:
    """Count by stratum, for the record of a cell of the experiment: one number per level each.

    Args:
        low, high: the ends of intervals; shape (regions, K + 1), as all arrays here.
        sd: standard deviations.
        inside: whether the probability integral transform lies in its middle part; None where there is none.
    """
    true = truth.counts if view is View.COUNTS else np.cumsum(truth.counts, axis=1)
    values = {CELLS: np.ones(true.shape), HELD: (low <= true) & (true <= high)}
    values |= {} if inside is None else {INSIDE: inside}
    size = np.searchsorted([*SIZES.values()], np.arange(true.shape[1]), "right")
    code = size * len(DEVIATIONS) + np.searchsorted([*DEVIATIONS.values()][:-1], sd, "right")
    found: dict[str, list[float]] = {}
    for level in range(truth.hierarchy.n_levels):
        here = truth.hierarchy.level(level)
        for what, value in values.items():
            weights = np.asarray(value[here], float).ravel()
            sums = np.bincount(code[here].ravel(), weights, minlength=len(SIZES) * len(DEVIATIONS))
            for (of_size, of_sd), total in zip(product(SIZES, DEVIATIONS), sums, strict=True):
                found.setdefault(_metric(view, of_size, of_sd, what), []).append(float(total))
    return found


def transform(true: np.ndarray, centre: np.ndarray, sd: np.ndarray, draw: np.ndarray) -> np.ndarray:
    """Compute how far the randomised probability integral transform u is from its middle, from 0 to 1: |2 u - 1|.

    u = F(x - 1/2) + U (F(x + 1/2) - F(x - 1/2)), x the truth, F the normal law around `centre` with deviation `sd`, and
    U uniform (`draw`). It is uniform where F is right, whatever the rounding of the ends of intervals does.
    """
    spread = np.maximum(np.asarray(sd, float), 1e-6)
    below, above = (ndtr((true + side - centre) / spread) for side in (-0.5, 0.5))
    return np.abs(2 * (below + draw * (above - below)) - 1)


@dataclass(frozen=True)
class Stratum:
    """The counts of one stratum of one arm, by replicate."""

    data: str
    epsilon: float
    arm: str
    level: int
    view: str
    size: str
    deviation: str
    cells: dict[int, float]
    held: dict[int, float]
    inside: dict[int, float]

    @property
    def n(self) -> float:
        """The number of cells of all replicates."""
        return sum(self.cells.values())

    @property
    def share(self) -> float:
        """The share of them whose interval holds the truth."""
        return sum(self.held.values()) / self.n

    def __str__(self) -> str:
        return f"{self.data}, epsilon {self.epsilon:g}, {self.view}, sizes {self.size}, sd {self.deviation}"


def strata(frame: "pd.DataFrame") -> Iterator[Stratum]:
    """Give the strata that have cells, from what `counted` has recorded."""
    for view, size, deviation in product(VIEWS, SIZES, DEVIATIONS):
        metrics = (_metric(view, size, deviation, what) for what in (CELLS, HELD, INSIDE))
        by_what = [{(e.data, e.epsilon, e.arm, e.level): e.values for e in level_errors(frame, m)} for m in metrics]
        for at in by_what[0]:
            sums = (part.get(at, {}) for part in by_what)
            found = Stratum(*at, str(view.value), size, deviation, *sums)
            if found.n:
                yield found


def _metric(view: View, size: str, deviation: str, what: str) -> str:
    return f"{view.value}, sizes {size}, sd {deviation}: {what}"
