"""The measured coverage of intervals: how often they hold the truth, over nested replicates on made-up populations."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
import pandas as pd

from pgsr import CountOfCounts, Hierarchy, Result, Seeded
from pgsr.algorithms import Posterior
from pgsr.figures.drawing import level_name
from pgsr.intervals import (
    FORMS,
    Counts,
    CumulativeCounts,
    EmptyBandError,
    Gini,
    Intervals,
    MeanSize,
    Quantile,
    Share,
    Statistic,
    Tail,
    band,
    posterior_draws,
    replicate,
)
from pgsr.methods.mechanism import Mechanism
from pgsr.privacy.budget import exact
from pgsr.release import Kind, Terms

STATISTICS: tuple[Statistic, ...] = (
    *(Counts(), CumulativeCounts(), Tail(5), Tail(10), MeanSize(), Quantile("0.9"), Gini(), Share(2, 4)),
)
OF_A_BAND: tuple[Statistic, ...] = CumulativeCounts(), Tail(5), MeanSize()
"""Of which statistics the widths of a band are told."""

CLASSES = ((0, "0"), (1, "1 to 4"), (5, "5 to 19"), (20, "20 or more"))
"""The classes of released counts, by their smallest."""

LEVEL = "0.9"


@dataclass(frozen=True)
class Coverage:
    """The share of intervals that hold the truth.

    Args:
        seeds: one population each.
        releases: of every population by every mechanism.
        replicates: of the bootstrap of every release, and draws of every posterior.
        epsilon: of every release.
    """

    seeds: tuple[int, ...]
    releases: int = 60
    replicates: int = 200
    epsilon: str = "1"

    def measure(self, tell: Callable[[int, int], None] = lambda done, total: None) -> pd.DataFrame:
        """Measure all mechanisms; a row per mechanism, method, statistic, level and class, with coverage and width.

        The class is that of the released value for statistics by size, else "all". Of a band every row says how often
        *all* bounds held at once. A band that nothing fits into did not hold, and has no width.
        """
        runs = [(seed, kind, place) for seed in self.seeds for kind in Kind for place in range(self.releases)]
        rows = []
        for done, run in enumerate(runs):
            tell(done, len(runs))
            rows += self._of_a_release(*run)
        frame = pd.DataFrame(rows, columns=["mechanism", "method", "statistic", "level", "class", "n", "held", "width"])
        keys = ["mechanism", "method", "statistic", "level", "class"]
        frame = frame.assign(measured=frame["n"].where(frame["width"].notna(), 0))
        found = pd.DataFrame(frame.groupby(keys, sort=False, as_index=False).agg("sum"))
        found = found.assign(held=found["held"] / found["n"], width=found["width"] / found["measured"])
        return found.drop(columns="measured")

    def _of_a_release(self, seed: int, kind: Kind, place: int) -> Iterator[tuple]:
        truth = population(seed)
        mechanism = Terms(truth.name, truth.max_size, exact(self.epsilon), kind).mechanism(truth.hierarchy.n_levels)
        assert isinstance(mechanism, Mechanism), "one K for all levels"
        released = mechanism.release(truth, Seeded(f"outer {seed}", place))
        for row in _of_a_band(truth, released):
            yield (str(kind), *row)
        for drawn in replicate(mechanism, released, STATISTICS, self.replicates, f"{seed} {place}"):
            for form in FORMS:
                for row in _of_intervals(truth, released, drawn.intervals(LEVEL, form)):
                    yield (str(kind), form, *row)
        if isinstance(mechanism.post, Posterior):
            for drawn in posterior_draws(mechanism, released, STATISTICS, self.replicates, f"{seed} {place}"):
                for row in _of_intervals(truth, released, drawn.intervals(LEVEL)):
                    yield (str(kind), str(drawn.origin), *row)


def population(seed: int) -> CountOfCounts:
    """Make a population of 3 regions with 4 leaves each of 20 to 2,000 groups, sizes 0..20 from skewed laws."""
    draw = np.random.default_rng(seed)
    tree = Hierarchy.from_paths([("US", f"S{i}", f"C{j}") for i in range(3) for j in range(4)])
    totals = np.round(np.exp(draw.uniform(np.log(20), np.log(2_000), 12))).astype(int)
    law = np.array([0.03, *(0.5 * 0.68**size for size in range(20))])
    rows = []
    for total in totals:
        weights = law * np.exp(draw.normal(0, 0.3, len(law)))
        rows.append(draw.multinomial(total, weights / weights.sum()))
    return CountOfCounts(tree, np.array(rows), "cover")


def _of_a_band(truth: CountOfCounts, released: Result) -> Iterator[tuple]:
    tree, true = truth.hierarchy, (truth.counts, np.cumsum(truth.counts, axis=1))
    assert released.measurement is not None
    try:
        found = band(released.measurement, LEVEL)
    except EmptyBandError:  # not covered
        for statistic, level in product(OF_A_BAND, range(tree.n_levels)):
            yield "band", statistic.name, level_name(level, tree.n_levels), "all", 1, 0, np.nan
        return
    pairs = zip((found.bounds.counts, found.bounds.cumulative), true, strict=True)
    held = all(bool(((low <= values) & (values <= high)).all()) for (low, high), values in pairs)
    for statistic in OF_A_BAND:
        low, high = found.of(statistic)
        for level in range(tree.n_levels):
            width = float((high - low)[tree.level(level)].mean())
            yield "band", statistic.name, level_name(level, tree.n_levels), "all", 1, int(held), width


def _of_intervals(truth: CountOfCounts, released: Result, found: Intervals) -> Iterator[tuple]:
    tree, true = truth.hierarchy, found.statistic.of(truth.counts)
    held = (found.lower <= true + 1e-12) & (true - 1e-12 <= found.upper)
    classes = np.zeros(true.shape, int)
    if found.statistic.by_size:
        classes = np.searchsorted([least for least, _ in CLASSES], released.estimate.counts().counts, "right") - 1
    for level in range(tree.n_levels):
        here = tree.level(level)
        for place in np.unique(classes[here]):
            inside = classes[here] == place
            name = CLASSES[place][1] if found.statistic.by_size else "all"
            width = float((found.upper - found.lower)[here][inside].sum())
            yield (found.statistic.name, level_name(level, tree.n_levels), name, int(inside.sum()),
                   int(held[here][inside].sum()), width)  # fmt: skip
