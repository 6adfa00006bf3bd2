"""The experiment X3: how often intervals of 90 % hold the truth, stratum by stratum, in worlds and on data.

A level of 90 % that holds on average over all cells may fail where it matters, so cells are put into strata by what a
reader of a release sees (`coverage_strata`). In worlds every replicate draws a truth of its own.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from pgsr import CountOfCounts, Result, View
from pgsr.algorithms import TreeProjection
from pgsr.comparison.side_by_side import ANSWERED
from pgsr.datasets.worlds import World, WorldKind
from pgsr.errors import TooLargeError
from pgsr.estimators import Posterior
from pgsr.experiments.engine.experiment import Arm, DataSet, Experiment, Profile, Scale, Trial
from pgsr.experiments.engine.figures import panels_in_rows
from pgsr.experiments.engine.release_record import Record, released, result_record
from pgsr.experiments.engine.verdicts import Judgement, Verdict, at_most, not_judged, worst
from pgsr.experiments.fioretto2019.data import FLIGHTS
from pgsr.experiments.ours import arms as noise
from pgsr.experiments.ours.coverage_strata import ABOVE_1, VIEWS, Stratum, counted, strata, transform
from pgsr.experiments.ours.every_release import CENSUS_1_000, CENSUS_10_000, HAWAIIAN, TAXI_REAL
from pgsr.experiments.ours.known_priors import WORLDS
from pgsr.figures.drawing import BLACK, BLUE, VERMILION, Look, finish, head, legend_below
from pgsr.intervals.replicates import DRAWS, Outermost, drawn_counts
from pgsr.privacy import Seeded

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

LEVEL = 0.9
LEAST, MOST, APART = 0.87, 0.94, 0.03
"""The least share that is to hold in a stratum, the largest on average, and how far transforms may be from `LEVEL`."""

ENOUGH = 500
"""The number of cells from which on a stratum is judged."""

REPLICATES = 50
"""Releases of every release, for the bootstrap."""

LARGEST_ERROR = 2**15 - 1
"""The largest error of a cell that 16 bits hold."""

BOOTSTRAP = Arm("M_H, equal shares, bootstrap", partial(noise.equal_shares, View.COUNTS), TreeProjection())
ARMS = (
    Arm("posterior, equal shares", noise.CUMULATIVE_EQUAL, Posterior()),
    Arm("posterior, leaves only", noise.CUMULATIVE_LEAVES_ONLY, Posterior()),
    Arm("posterior, split, leaves mostly", noise.SPLIT_LEAVES_MOSTLY, Posterior()),
    Arm("posterior, split, shares by the root", noise.SPLIT_BY_ROOT, Posterior()),
    BOOTSTRAP,
)


def measure(trial: Trial) -> Record:
    """Count by stratum how many intervals of a release hold the truth, and how many transforms are in their middle.

    Intervals of a posterior are those of its draws. Others are symmetric bootstrap intervals of counts, which know no
    transform: the 0.9-quantile of how far releases of the release are from it.
    """
    truth = trial.truth
    if isinstance(truth, World):
        truth = truth.draw(trial.cell.replicate)
        trial = replace(trial, truth=truth)
    result = released(trial)
    record = result_record(result)
    if result.status not in ANSWERED:
        return record | {"levels": {}}
    levels = _of_posterior(trial, result) if trial.arm.label != BOOTSTRAP.label else _of_bootstrap(trial, result)
    return record | {"levels": levels}


def _of_posterior(trial: Trial, result: Result) -> dict[str, list[float]]:
    post, noisy, truth, released, found = trial.arm.post, result.measurement, trial.truth, result.estimate.as_counts, {}
    assert isinstance(post, Posterior), "of these arms"
    assert noisy is not None, "of a mechanism's result"
    shape = truth.counts.shape
    sums = {view: (Outermost(DRAWS, LEVEL), np.zeros(shape), np.zeros(shape)) for view in VIEWS}
    for table in drawn_counts(post, noisy, DRAWS, trial.cell.key):
        for view, (outermost, total, squares) in sums.items():
            values = _seen(table, view)
            outermost.add(values)
            np.add(total, values, out=total)
            np.add(squares, values.astype(float) ** 2, out=squares)
    for view, (outermost, total, squares) in sums.items():
        mean, estimate = total / DRAWS, _seen(released, view)
        low, high = outermost.ends(0)
        sd = np.sqrt(np.maximum(squares / DRAWS - mean**2, 0) * DRAWS / (DRAWS - 1))
        uniforms = np.random.default_rng([trial.cell.replicate, VIEWS.index(view)]).random(shape)
        away = transform(_seen(truth.counts, view), mean, sd, uniforms)
        found |= counted(truth, view, np.minimum(low, estimate), np.maximum(high, estimate), sd, away <= LEVEL)
    return found


def _seen(counts: np.ndarray, view: View) -> np.ndarray:
    return counts if view is View.COUNTS else np.cumsum(counts, axis=1)


def _of_bootstrap(trial: Trial, result: Result) -> dict[str, list[float]]:
    estimate = result.estimate.counts()
    half, sd = _errors(trial, CountOfCounts(estimate.hierarchy, estimate.counts, "released"))
    low, high = np.maximum(estimate.counts - half, 0), estimate.counts + half
    return counted(trial.truth, View.COUNTS, low, high, sd, None)


def _errors(trial: Trial, of: CountOfCounts) -> tuple[np.ndarray, np.ndarray]:
    """Compute the 0.9-quantile of how far replicates are from the release, and their deviation, cell by cell.

    Raises:
        TooLargeError: a replicate is further away than 16 bits hold, which are half the memory of 32.
    """
    away, mechanism = np.empty((REPLICATES, *of.counts.shape), np.int16), trial.mechanism
    for inner in range(REPLICATES):
        source = Seeded(f"inner {trial.cell.key}", inner)
        errors = mechanism.release(of, source).estimate.counts().counts - of.counts
        if max(int(errors.max()), -int(errors.min())) > LARGEST_ERROR:
            raise TooLargeError(
                f"a replicate is off by more than {LARGEST_ERROR:,} groups in a cell; measure a larger epsilon"
            )
        away[inner] = errors
    half, sd = np.empty(of.counts.shape, np.int64), np.empty(of.counts.shape)
    rank = int(np.ceil(LEVEL * (REPLICATES - 1)))
    for region in range(len(half)):  # region by region: small enough for the cache
        errors = np.ascontiguousarray(away[:, region].T)
        half[region] = np.partition(np.abs(errors), rank, axis=1)[:, rank]
        sd[region] = errors.std(axis=1)
    return half, sd


def memory(data: DataSet, arm: Arm, parameters: Mapping[str, Any]) -> int:
    """Estimate the peak memory in bytes: libraries, tables of a posterior with intervals, and bootstrap replicates."""
    del parameters
    cells = data.n_regions * (data.max_size + 1)
    return 400_000_000 + cells * (300 + (2 * REPLICATES if arm.label == BOOTSTRAP.label else 0))


def plot(frame: "pd.DataFrame") -> "Figure":
    """Draw a panel per epsilon: by data set the share that holds where sd > 1, a mark per release and level."""
    from matplotlib.ticker import MultipleLocator, PercentFormatter

    sums: dict[tuple[float, bool, str], dict[tuple[str, int], np.ndarray]] = {}
    for each in strata(frame):
        if each.deviation in ABOVE_1:
            at = sums.setdefault((each.epsilon, each.arm == BOOTSTRAP.label, each.data), {})
            part = np.array([sum(each.held.values()), each.n])
            at[each.arm, each.level] = at.get((each.arm, each.level), 0) + part
    shares = {at: [held / n for held, n in by.values() if n] for at, by in sums.items()}
    epsilons = sorted({epsilon for epsilon, *_ in shares}, reverse=True)
    lowest = {data: min(min(of) for (*_, name), of in shares.items() if name == data) for *_, data in shares}
    names = sorted(lowest, key=lambda data: lowest[data])
    figure, grid = panels_in_rows(len(epsilons), across=2, width=3.2, height=2.4)
    for axes, epsilon in zip(grid.flat, epsilons, strict=False):
        for shift, bootstrap, look, words in (
            (-0.17, False, Look(BLUE, "o", open=True), "posterior"),
            (0.17, True, Look(VERMILION, "s"), "bootstrap of M_H"),
        ):
            found = [(x, y) for y, name in enumerate(names) for x in shares.get((epsilon, bootstrap, name), ())]
            axes.plot([x for x, _ in found], [y + shift for _, y in found], linestyle="", markersize=5, label=words,
                      **look.marks)  # fmt: skip
        axes.axvline(LEVEL, color=BLACK, linewidth=0.8)
        axes.axvline(LEAST, color=BLACK, linewidth=0.8, linestyle=":")
        axes.set_yticks(range(len(names)), [name.partition(",")[0] for name in names])
        axes.set_ylim(len(names) - 0.5, -0.5)
        axes.set_xlim(min(0.64, axes.get_xlim()[0]), 1.01)
        axes.xaxis.set_major_locator(MultipleLocator(0.1))
        axes.xaxis.set_major_formatter(PercentFormatter(1, 0, " %"))
        axes.tick_params(labelleft=axes is grid.flat[0])
        finish(axes, "share of truths that 90 % intervals hold", "", f"epsilon {epsilon:g}")
        axes.grid(axis="x", color="#e5e5e5")
    legend_below(figure, grid.flat)
    of = [(min(each), epsilon, data) for (epsilon, bootstrap, data), each in shares.items() if not bootstrap]
    least, at, data = min(of, default=(0, 0, ""))
    said = f"X3: the posterior's 90 % intervals hold {100 * least:.0f} % of truths at worst: {data}, epsilon {at:g}\n"
    head(figure, f"{said * bool(of)}cells with sd > 1; a mark per release and level; dotted: {100 * LEAST:g} %")
    return figure


def verdicts(frame: "pd.DataFrame") -> list[Verdict]:
    """Judge for every arm its strata one by one, the mean over them, and its transforms."""
    found = list(strata(frame))
    return [
        verdict
        for arm in ARMS
        if (ours := [each for each in found if each.arm == arm.label])
        for verdict in (_in_every_stratum(arm, ours), _on_average(arm, ours), *_transforms(arm, ours))
    ]


def _in_every_stratum(arm: Arm, found: list[Stratum]) -> Verdict:
    """Judge whether the interval holds often enough in every stratum, and name the one in which it does least."""
    claim = f"{arm.label}: 90 % intervals hold the truth in at least {100 * LEAST:g} % of the cells of every stratum"
    large = sorted((each for each in found if each.n >= ENOUGH), key=lambda each: each.share)
    if not large:
        return Verdict(claim, "all", not_judged(f"no stratum has {ENOUGH} cells"), "")
    low = sum(each.share < LEAST for each in large)
    words = f"{low} of {len(large)} strata are below; the lowest {100 * large[0].share:.1f} % ({large[0]})"
    return Verdict(claim, "all", worst(_missed(each) for each in large), words)


def _missed(stratum: Stratum) -> Judgement:
    shares = {r: 1 - stratum.held[r] / n for r, n in stratum.cells.items() if n}
    return at_most(shares, 1.0, 1 - LEAST)


def _on_average(arm: Arm, found: list[Stratum]) -> Verdict:
    """Judge whether intervals are no wider than they need to be where sd > 1, by data set and epsilon."""
    claim = f"{arm.label}: 90 % intervals hold the truth in at most {100 * MOST:g} % of all cells with sd above 1"
    shares = _shares_above_1(found, lambda each: each.held)
    words = _listed(shares)
    return Verdict(claim, "all", worst(at_most(by, 1.0, MOST) for by in shares.values()), words)


def _transforms(arm: Arm, found: list[Stratum]) -> Iterable[Verdict]:
    """Judge whether transforms lie in their middle part as often as they should; nothing of a bootstrap."""
    shares = _shares_above_1([each for each in found if each.inside], lambda each: each.inside)
    if shares:
        claim = f"{arm.label}: where sd > 1, {100 * (LEVEL - APART):g} to {100 * (LEVEL + APART):g} % of transforms "
        claim += f"are in the middle {100 * LEVEL:g} %"
        words = _listed(shares)
        away = ({r: abs(share - LEVEL) for r, share in by.items()} for by in shares.values())
        yield Verdict(claim, "all", worst(at_most(by, 1.0, APART) for by in away), words)


def _shares_above_1(found: list[Stratum], of: Any) -> dict[tuple[str, float], dict[int, float]]:
    """Divide what was counted by the cells, where sd > 1; by data set and epsilon, then by replicate."""
    sums: dict[tuple[str, float], dict[int, np.ndarray]] = {}
    for each in found:
        if each.deviation in ABOVE_1:
            by = sums.setdefault((each.data, each.epsilon), {})
            for replicate, n in each.cells.items():
                by[replicate] = by.get(replicate, np.zeros(2)) + np.array([of(each)[replicate], n])
    return {at: {r: part[0] / part[1] for r, part in by.items() if part[1]} for at, by in sums.items()}


def _listed(shares: Mapping[tuple[str, float], Mapping[int, float]]) -> str:
    means = {at: 100 * float(np.mean([*by.values()])) for at, by in shares.items()}
    return "; ".join(f"{name}, epsilon {epsilon:g}: {mean:.1f} %" for (name, epsilon), mean in means.items())


_DATA = (TAXI_REAL, CENSUS_10_000, FLIGHTS, HAWAIIAN, *WORLDS.values())
_ALL = Scale(_DATA, (Fraction(1, 10), Fraction(1)), replicates=5, time_limit=1_200)

EXPERIMENT = Experiment(
    id="X3",
    title="Coverage of intervals",
    part="beyond the papers",
    question="How often do intervals of 90 % hold the truth, whatever cells one looks at?",
    arms=ARMS,
    profiles={
        Profile.SMOKE: Scale((WORLDS[WorldKind.SPARSE],), (Fraction(1),), replicates=2, time_limit=60),
        Profile.QUICK: replace(_ALL, data=(FLIGHTS, WORLDS[WorldKind.HOUSEHOLD]), time_limit=120),
        Profile.REDUCED: replace(_ALL, data=(FLIGHTS, *WORLDS.values())),
        Profile.PAPER: replace(_ALL, data=(*_DATA, CENSUS_1_000), replicates=30),
    },
    plot=plot,
    verdicts=verdicts,
    measure=measure,
    memory=memory,
    seed="X3: coverage of intervals, first used in this experiment",
)
