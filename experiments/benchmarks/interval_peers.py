"""The intervals of cells of a noisy table: how often they hold the truth, how wide they are, and their time."""

import importlib
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from rich.console import Console

from pgsr import Hierarchy, reconcile
from pgsr.experiments.engine.tables import print_frame

LEVEL = 0.9
SCALE = 10.0
"""Of the double geometric noise of every cell."""

VARIANCE = 0.5 / math.sinh(0.5 / SCALE) ** 2
"""Of this noise."""

SAMPLES = 10_000
"""Of importance sampling."""

LEVELS = ("nation", "state", "county")


@dataclass(frozen=True, eq=False)
class CountyWorld:
    """A made nation, its states and counties, with noise in every cell.

    Attributes:
        truth: of every region; shape (regions,).
        noisy: of the same shape.
        tree: the regions.
    """

    truth: np.ndarray
    noisy: np.ndarray
    tree: Hierarchy

    @cached_property
    def table(self) -> pd.DataFrame:
        """The noisy table, a column per level."""
        frame = pd.DataFrame([(*path, None, None)[:3] for path in self.tree.paths], columns=list(LEVELS))
        return frame.assign(n=self.noisy)


Found = tuple[np.ndarray, np.ndarray, np.ndarray, str]
"""Ends of intervals, an estimate, and what else there is to say."""


def county_world(seed: int, states: int = 51, counties: int = 3_162) -> CountyWorld:
    """Make a world whose counties have lognormal means, no prior of ours: a mean of 15 and a median of 6."""
    rng = np.random.default_rng(seed)
    paths = [("US", f"s{i % states}", f"c{i}") for i in range(counties)]
    tree = Hierarchy.from_paths(paths)
    means = np.exp(rng.normal(0.8, 0.7, states))[tree.parent[tree.leaves] - 1] * np.exp(rng.normal(1.0, 1.2, counties))
    truth = tree.sum_up(rng.poisson(means)[:, None])[:, 0]
    p = 1 - np.exp(-1 / SCALE)
    return CountyWorld(truth, truth + rng.geometric(p, len(truth)) - rng.geometric(p, len(truth)), tree)


def exact(world: CountyWorld) -> Found:
    """Give the posterior of `pgsr.reconcile`, and 1,000 draws."""
    done = reconcile(world.table, LEVELS, "n", noise="geometric", scale=SCALE, level=LEVEL)
    assert done.noise is not None
    posterior, drawn = done.noise.posterior, done.draws
    note = f"{len(drawn):,} draws; {posterior.lost.max():.0e} of the posterior cut off"
    return posterior.low[:, 0], posterior.high[:, 0], posterior.median[:, 0], note


def linear(world: CountyWorld) -> Found:
    """Give the Gaussian intervals that `pgsr.reconcile` has where variances alone are known."""
    table = reconcile(world.table, LEVELS, "n", variance=VARIANCE, level=LEVEL).table
    return table.lower.to_numpy(), table.upper.to_numpy(), table.reconciled.to_numpy(), "around least squares"


def normality(world: CountyWorld) -> Found:
    """Give hierarchicalforecast's intervals around its least squares, for a stated standard deviation.

    Its matrices are dense, and its numbers may be negative.
    """
    try:
        methods = importlib.import_module("hierarchicalforecast.methods")
    except ImportError:
        nothing = np.full(len(world.truth), np.nan)
        return nothing, nothing, nothing, "hierarchicalforecast is not installed"
    values, leaves = world.noisy[:, None].astype(float), world.tree.leaves
    found = methods.MinTrace("ols").fit_predict(
        S=world.tree.sum_up(np.eye(leaves.stop - leaves.start)),
        y_hat=values,
        sigmah=np.full(values.shape, math.sqrt(VARIANCE)),
        intervals_method="normality",
        level=[round(100 * LEVEL)],
        seed=0,
    )
    low, high = found["quantiles"][:, 0].T
    return low, high, found["mean"][:, 0], "around least squares, below 0 too"


def importance_sampling(world: CountyWorld) -> Found:
    """Give the bottom-up importance sampling of bayesRecon (Zambon et al. 2024), restated.

    Counties are drawn from their own values alone. Bottom-up, the draws of a region's counties are drawn again by the
    likelihood of the region's value for their sum.
    """
    rng, tree = np.random.default_rng(0), world.tree
    reach = int(30 * SCALE)
    numbers = np.arange(reach + max(0, int(world.noisy.max())) + 1)
    draws = np.empty((SAMPLES, tree.n_regions), np.int64)
    for leaf in range(tree.leaves.start, tree.n_regions):
        mass = np.exp(-np.abs(numbers - world.noisy[leaf]) / SCALE)
        draws[:, leaf] = np.searchsorted(np.cumsum(mass) / mass.sum(), rng.random(SAMPLES))
    fewest = float(SAMPLES)
    for region in range(tree.n_inner - 1, -1, -1):
        children = tree.children(region)
        sums = draws[:, children.start : children.stop].sum(axis=1)
        off = np.abs(sums - world.noisy[region]) / SCALE
        weights = np.exp(off.min() - off)
        weights /= weights.sum()
        fewest = min(fewest, 1.0 / float(np.square(weights).sum()))
        again = rng.choice(SAMPLES, SAMPLES, p=weights)
        draws[:, region] = sums
        below = [region, *children]
        below += [leaf for child in children if child < tree.n_inner for leaf in tree.children(child)]
        draws[:, below] = draws[again[:, None], below]
    low, middle, high = np.quantile(draws, [(1 - LEVEL) / 2, 0.5, (1 + LEVEL) / 2], axis=0)
    return low, high, middle, f"{fewest:.1f} effective samples of {SAMPLES:,} where they are fewest"


PEERS: dict[str, Callable[[CountyWorld], Found]] = {
    "pgsr.reconcile, noise='geometric'": exact,
    "pgsr.reconcile, variance=": linear,
    "hierarchicalforecast, MinTrace with normality": normality,
    "importance sampling (bayesRecon's)": importance_sampling,
}
"""The methods, ours first."""


def compared(world: CountyWorld) -> pd.DataFrame:
    """Compare all methods on a world: a row for each and level."""
    rows = []
    for name, method in PEERS.items():
        start = time.process_time()
        low, high, estimate, note = method(world)
        seconds = time.process_time() - start
        inside = np.where(np.isnan(low), np.nan, (low <= world.truth) & (world.truth <= high))
        for level, level_name in enumerate(LEVELS):
            here = world.tree.level(level)
            error = np.abs(estimate - world.truth)[here].mean()
            shown = {"coverage": inside[here].mean(), "width": (high - low)[here].mean(), "mean error": error}
            rows.append({"method": name, "level": level_name, **shown, "processor seconds": seconds, "note": note})
    return pd.DataFrame(rows)


def main(console: Console) -> None:
    """Print the comparison on one world, after a small one for which code is compiled."""
    compared(county_world(0, 3, 12))
    found = compared(county_world(1)).round(3)
    print_frame(
        console, found.astype(str), f"Intervals at {LEVEL:.0%} of 1 + 51 + 3,162 cells, noise of scale {SCALE:g}"
    )
