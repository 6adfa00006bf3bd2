"""The measured coverage of the intervals of every cell of a national release, stratum by stratum."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import ndtr

from pgsr import CountOfCounts, Result, Seeded, View
from pgsr.algorithms.posterior.uncertainty import Uncertainty
from pgsr.datasets import census_like, kuo_taxi
from pgsr.errors import TooLargeError
from pgsr.figures.drawing import level_name
from pgsr.methods.mechanism import Mechanism
from pgsr.privacy.budget import exact
from pgsr.privacy.laws import DoubleGeometric
from pgsr.release import Kind, Terms

LEVEL = 0.9
CHANCES = (0.5, 0.8, 0.9, 0.95)
"""The chances at which the probability integral transform is compared."""

SIZES = {"0 to 9": 10, "10 to 99": 100, "100 to 999": 1_000, "1,000 and more": 2**31}
RELEASED = {"0": 1, "1 to 4": 5, "5 to 19": 20, "20 or more": 2**62}
DEVIATIONS = {"< 0.03": 0.03, "0.03 to 0.3": 0.3, "0.3 to 1": 1.0, "1 to 3": 3.0, "3 to 10": 10.0, "> 10": np.inf}
"""The classes, by the first value that is beyond them."""

DATA: dict[str, Callable[[], CountOfCounts]] = {
    "census": lambda: census_like(regions="counties", max_size=1_000),
    "taxi": kuo_taxi,
}
KEYS = ["view", "level", "size", "released", "deviation"]
SUMS = ["n", "held", "width", "raw_width", *(f"pit_{chance:g}" for chance in CHANCES)]


@dataclass(frozen=True)
class NationalCoverage:
    """The share of cells whose 90 % interval holds the truth, over independent releases of one population.

    Intervals of `posterior` releases are those of `Result.intervals`. Those of the other mechanisms are symmetric
    bootstrap intervals (`pgsr.intervals`), from `replicates` releases of every release. Cells are put into strata by
    what a reader of a release sees: level, size, released value, and the standard deviation that the method states.

    The randomised probability integral transform of a cell of a `posterior` release is F(x - 1/2) + U (F(x + 1/2) -
    F(x - 1/2)), with x the truth, F the normal law around the real answer with its standard deviation, and U
    uniform. It is uniform where F is right, whatever the rounding of interval ends does; columns `pit_p` count how
    often it lies in the middle part p.

    Args:
        data: a name in `DATA`.
        kind: of the release.
        epsilon: of every release.
        releases: of the population.
        replicates: of every release, for the bootstrap.
        shares: of epsilon per level, as in a release's configuration; equal if None.
    """

    data: str
    kind: Kind
    epsilon: str = "1"
    releases: int = 100
    replicates: int = 200
    shares: tuple[str, ...] | None = None

    def measure(self, folder: Path, tell: Callable[[int, int], None] = lambda done, total: None) -> pd.DataFrame:
        """Measure what the folder does not hold yet, one file per release; a row per stratum.

        Columns: the strata, the number n of cells, the shares of them that held and whose transform lies in the middle
        parts, the mean width of their intervals, and that of 90 % intervals from the noisy values alone.
        """
        truth = DATA[self.data]()
        about = truth.name, truth.max_size, exact(self.epsilon), self.kind
        terms = Terms(*about, shares=self._shares(), intervals=Fraction(9, 10))  # so that a posterior knows its own
        mechanism = terms.mechanism(truth.hierarchy.n_levels)
        assert isinstance(mechanism, Mechanism), "one K for all levels"
        parts = []
        for place in range(self.releases):
            tell(place, self.releases)
            path = folder / f"{self.name}_{place}.csv"
            if not path.exists():
                begun = path.with_suffix(".part")  # so that an interrupted run leaves no half table
                self._of_a_release(mechanism, truth, place).to_csv(begun, index=False)
                begun.replace(path)
            parts.append(pd.read_csv(path))
        together = pd.DataFrame(pd.concat(parts).groupby(KEYS, sort=False, as_index=False)[SUMS].sum(min_count=1))
        return together.assign(**{name: together[name] / together["n"] for name in SUMS[1:]})

    def _shares(self):
        return None if self.shares is None else tuple(exact(share, "share", zero=True) for share in self.shares)

    @property
    def name(self) -> str:
        """What the files of this measurement are called; everything that changes a row is in it."""
        parts = [self.data, str(self.kind), self.epsilon, *(self.shares or ())]
        if self.kind is not Kind.POSTERIOR:
            parts.append(f"{self.replicates}_replicates")
        return "_".join(parts).replace("/", ":")

    def _of_a_release(self, mechanism: Mechanism, truth: CountOfCounts, place: int) -> pd.DataFrame:
        released = mechanism.release(truth, Seeded(f"outer {self.data}", place))
        rows: list[tuple] = []
        if isinstance(released.uncertainty, Uncertainty):
            for view in (View.COUNTS, View.CUMULATIVE):
                found = released.intervals(LEVEL, view)
                reach = released.uncertainty.reach(view)
                sd, centre = reach.sd, (reach.low + reach.high) / 2
                draw = np.random.default_rng(place).random(sd.shape)
                rows += _strata(truth, released, view, centre, found.lower, found.upper, sd, draw)
        else:
            estimate = released.estimate.counts().counts
            half, sd = self._bootstrap(mechanism, released, place)
            low, high = np.maximum(estimate - half, 0), estimate + half
            rows += _strata(truth, released, View.COUNTS, estimate, low, high, sd, None)
        return pd.DataFrame(rows, columns=[*KEYS, *SUMS])

    def _bootstrap(self, mechanism: Mechanism, released: Result, place: int) -> tuple[np.ndarray, np.ndarray]:
        """Compute the 0.9-quantile of |t* - t| and the standard deviation of t* over replicates, cell by cell."""
        counts = released.estimate.counts()
        truth = CountOfCounts(counts.hierarchy, counts.counts, "replicate")
        # 16 bits are half the memory of 32: 1.3 GB of 200 replicates of the census.
        away = np.empty((self.replicates, *counts.counts.shape), np.int16)
        for inner in range(self.replicates):
            again = mechanism.release(truth, Seeded(f"inner {self.data} {place}", inner)).estimate.counts().counts
            errors = again - counts.counts
            if max(int(errors.max()), -int(errors.min())) > _LARGEST_ERROR:
                raise TooLargeError(
                    f"a replicate is off by more than {_LARGEST_ERROR:,} groups in a cell; measure a larger epsilon"
                )
            away[inner] = errors
        half, sd = np.empty(counts.counts.shape, np.int64), np.empty(counts.counts.shape, np.float32)
        rank = int(np.ceil(LEVEL * (self.replicates - 1)))
        for region in range(len(half)):  # region by region: small enough for the cache
            errors = np.ascontiguousarray(away[:, region].T)
            half[region] = np.partition(np.abs(errors), rank, axis=1)[:, rank]
            sd[region] = errors.std(axis=1)
        return half, sd


def raw_half_width(view: View, measured_view: View, scale: float) -> int:
    """Compute half the width of the narrowest 90 % interval around a cell, from the noisy values alone.

    A cell that was measured itself is off by z, with P(z) proportional to a^|z|, a = e^(-1 / scale). A count that is
    the difference of two measured cumulative counts is off by the difference of two such z.
    """
    reach = int(60 * scale) + 20
    law = np.exp(-np.abs(np.arange(-reach, reach + 1)) / scale)
    if view is View.COUNTS and measured_view is View.CUMULATIVE:
        law = np.convolve(law, law)
    middle = len(law) // 2
    inside = law[middle:].copy()
    inside[1:] *= 2
    return int(np.searchsorted(np.cumsum(inside) / law.sum(), LEVEL))


def _strata(
    truth: CountOfCounts, released: Result, view: View, estimate, low, high, sd, draw: np.ndarray | None
) -> Iterator[tuple]:
    """Yield the rows of one view: sums over the cells of every stratum."""
    tree, measurement = truth.hierarchy, released.measurement
    assert measurement is not None
    assert isinstance(measurement.view, View)
    true = truth.counts if view is View.COUNTS else np.cumsum(truth.counts, axis=1)
    held = (low <= true) & (true <= high)
    middle = None if draw is None else _transform(true, estimate, sd, draw)
    counts = released.estimate.counts().counts
    for level in range(tree.n_levels):
        here = tree.level(level)
        law = measurement.law(here.start)
        assert law is None or isinstance(law, DoubleGeometric), "releases here are of a pure epsilon"
        raw = np.nan if law is None else 2 * raw_half_width(view, measurement.view, float(law.scale))
        classes = (
            np.broadcast_to(np.arange(true.shape[1]), true[here].shape),
            counts[here],
            np.asarray(sd[here], float),
        )
        codes = [np.searchsorted(list(c.values()), v, "right") for c, v in zip(_CLASSES, classes, strict=True)]
        code = (codes[0] * len(RELEASED) + codes[1]) * len(DEVIATIONS) + codes[2]
        values = [np.ones(code.shape), held[here], (high - low)[here]]
        values += [] if middle is None else [middle[here] <= chance for chance in CHANCES]
        sums = [np.bincount(code.ravel(), np.asarray(v, float).ravel(), minlength=_N_STRATA) for v in values]
        for stratum in np.flatnonzero(sums[0]):
            size, rest = divmod(int(stratum), len(RELEASED) * len(DEVIATIONS))
            names = (
                list(SIZES)[size],
                list(RELEASED)[rest // len(DEVIATIONS)],
                list(DEVIATIONS)[rest % len(DEVIATIONS)],
            )
            n = sums[0][stratum]
            pit = [total[stratum] for total in sums[3:]] or [np.nan] * len(CHANCES)
            level_sums = (n, sums[1][stratum], sums[2][stratum], n * raw)
            yield (str(view.value), level_name(level, tree.n_levels), *names, *level_sums, *pit)


_LARGEST_ERROR = 2**15 - 1
"""The largest error of a cell that 16 bits hold."""

_CLASSES = (SIZES, RELEASED, DEVIATIONS)
_N_STRATA = len(SIZES) * len(RELEASED) * len(DEVIATIONS)


def _transform(true: np.ndarray, estimate: np.ndarray, sd: np.ndarray, draw: np.ndarray) -> np.ndarray:
    """Compute how far the randomised probability integral transform is from its middle, from 0 to 1: |2 u - 1|."""
    spread = np.maximum(np.asarray(sd, float), 1e-6)
    below, above = (ndtr((true + side - estimate) / spread) for side in (-0.5, 0.5))
    return np.abs(2 * (below + draw * (above - below)) - 1)


LEAST = 2_000
"""The number of cells from which on the coverage of a stratum is judged."""


def judged(found: pd.DataFrame, least: int = LEAST) -> pd.DataFrame:
    """Give the strata of at least so many cells, those with the lowest coverage first."""
    return pd.DataFrame(found[found["n"] >= least]).sort_values("held").reset_index(drop=True)


def in_words(rows: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """Write strata as a terminal shows them, without columns that hold nothing, and a line that explains the rest."""
    shown = rows.dropna(axis="columns", how="all")
    shares = [name for name in SUMS[1:] if name in shown]
    texts = {name: ["-" if np.isnan(value) else f"{value:.3f}" for value in shown[name]] for name in shares}
    chance = f"{LEVEL * 100:g} %"
    means = {
        "n": "cells of all releases",
        "held": f"the share of them whose {chance} interval holds the truth",
        "width": "the mean width of these intervals",
        "raw_width": f"that of {chance} intervals from the noisy values alone",
        "pit": "pit_p: the share whose probability integral transform lies in its middle part p, which is p if the "
        "stated deviations are right",
    }
    words = [f"{name}: {text}" for name, text in means.items() if name in shown]
    words += [means["pit"]] if any(name.startswith("pit") for name in shares) else []
    return shown.assign(n=[f"{n:,.0f}" for n in shown["n"]], **texts), "; ".join(words) + "."
