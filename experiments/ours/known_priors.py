"""The experiment X6: every release beside the least expected error that its noisy values allow under a known prior.

Truths are drawn from worlds (`pgsr.datasets.worlds`), a new one in every replicate. Given the noisy values and the true
prior, the posterior medians have the least expected earth mover's distance (`tree_posterior`); its mean over truths and
noise is the Bayes risk. No release knows the prior, so the ratio of its error to the Bayes risk of its own noisy values
says what it loses by estimating the prior, by going region by region, and by having to add up. Bayes risks of different
noise steps say which shares and views are worth more, whatever comes after them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from statistics import fmean
from typing import TYPE_CHECKING, Any

from pgsr import Status, View
from pgsr.datasets.worlds import World, WorldKind, world
from pgsr.experiments.engine.experiment import Arm, DataSet, Experiment, Profile, Scale, Trial
from pgsr.experiments.engine.figures import panels_in_rows
from pgsr.experiments.engine.release_record import Record, release_record
from pgsr.experiments.engine.summary import LevelError, LevelErrors, level_errors
from pgsr.experiments.engine.verdicts import Verdict, at_most, worst
from pgsr.experiments.ours import every_release
from pgsr.experiments.ours.by_arm import SPREAD, by_worst, draw_spread, short
from pgsr.experiments.ours.tree_posterior import tree_posterior
from pgsr.figures.drawing import finish, head, level_name
from pgsr.methods import metrics
from pgsr.noise import SplitByRoot

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

RELEASES = tuple(arm for arm in every_release.SHOWN if arm is not every_release.KUO_RANKED)
"""Those that figures of X2 draw, with the same shares and views, but for one that mixes slowly in the sampler."""

NEAR = 1.25
"""The ratio to the Bayes risk up to which a release is said to be near it."""

AGREEMENT = 0.02
"""The disagreement of two chains, relative to the expected error, up to which the Bayes risk counts as known."""

SWEEPS, SWEEPS_OF_RANKS = 4_000, 8_000
"""Of each chain where cumulative counts alone are measured, and where ranks are, too, by which chains are slower."""

VIEWS = {View.CUMULATIVE: "Hc", View.RANKED: "Hg", SplitByRoot(): "split"}


def optimum_of(arm: Arm) -> Arm:
    """Make the arm without a method that finds the estimate of least expected error for the noise of a release."""
    assert isinstance(arm.noise, partial), "the noise steps of X2 are functions of shares with a view"
    view, shares = arm.noise.args[0], arm.noise.func.__name__.replace("_", " ")
    return Arm(f"least expected, {VIEWS.get(view, str(view))}, {shares}", arm.noise)


OPTIMUM = {arm.label: optimum_of(arm) for arm in RELEASES}
"""By the label of a release, the arm of its optimum; releases of the same noise step share one."""

OPTIMA = tuple({arm.label: arm for arm in OPTIMUM.values()}.values())


@dataclass(frozen=True, kw_only=True)
class WorldData(DataSet):
    """A world as a data set: what it holds is the prior, and a replicate draws its truth from it."""

    def truth(self) -> World:
        """Make the world."""
        return self.load()

    def toy(self) -> World:
        """Make a small world, to warm up with."""
        return world(WorldKind.SPARSE, max_size=12, groups=200)


def measure(trial: Trial) -> Record:
    """Draw a truth, and measure a release of it as `release_record` does, or the optimum of its noisy values.

    Of an optimum "levels" has "emd", its earth mover's distance from the truth, "expected", what this is in expectation
    given the noisy values, and "disagreement", that of two chains about the latter.
    """
    known, replicate = trial.truth, trial.cell.replicate
    truth = known.draw(replicate)
    trial = replace(trial, truth=truth)
    if trial.arm.post is not None:
        return release_record(trial)
    measurement = trial.noise.measure(truth, trial.source)
    views = {measurement.view_of(region) for region in range(measurement.hierarchy.n_regions)}
    sweeps = SWEEPS if views == {View.CUMULATIVE} else SWEEPS_OF_RANKS
    found = tree_posterior(measurement, known.means, known.shapes, sweeps=sweeps, seed=replicate)
    levels = {
        "emd": metrics.level_means(truth, metrics.emd(truth, found.estimate)),
        "expected": metrics.level_means(truth, found.expected_error),
        "disagreement": list(found.disagreement),
    }
    return {"status": Status.RELAXED.name, "reason": "", "levels": levels}


def memory(data: DataSet, arm: Arm, parameters: Mapping[str, Any]) -> int:
    """Estimate the peak memory in bytes: that of a release, and 60 for every state of a cumulative count."""
    states = len(data.levels) * (data.max_size + 1) * data.groups
    return every_release.memory(data, arm, parameters) + 60 * states


def ratios(frame: "pd.DataFrame") -> LevelErrors:
    """Divide the errors of releases by the Bayes risk of the same noise; by data set, epsilon, arm and level.

    Release and optimum see the same truth and noise, and of the optimum the expectation given the noise is known, so
    with e the release's error, o the optimum's and r its expectation, e - o + r has the mean of e and deviates less. A
    value is this over the mean of r, of the replicates that both have.
    """
    errors, expected, found = level_errors(frame, "emd"), level_errors(frame, "expected"), []
    for row in errors:
        at = {"data": row.data, "epsilon": row.epsilon, "level": row.level}
        if row.arm in OPTIMUM:
            label = OPTIMUM[row.arm].label
            optimum, risk = errors.one(arm=label, **at), expected.one(arm=label, **at)
            shared = row.values.keys() & optimum.values.keys() if optimum and risk else ()
            if optimum is not None and risk is not None and shared:
                mean = fmean(risk.values[replicate] for replicate in shared)
                values = {r: (row.values[r] - optimum.values[r] + risk.values[r]) / mean for r in sorted(shared)}
                found.append(LevelError(row.data, row.real, row.epsilon, row.arm, (), row.level, values))
    return LevelErrors(found)


def plot(frame: "pd.DataFrame") -> "Figure":
    """Draw a panel per epsilon: by release the ratios to the Bayes risk, over all worlds and levels."""
    found, chosen = ratios(frame), every_release.DEFAULT.label
    epsilons = sorted(found.values_of("epsilon"), reverse=True)
    labels = by_worst({arm.label: [row.mean for row in found.where(arm=arm.label)] for arm in RELEASES})
    figure, grid = panels_in_rows(len(epsilons), across=2, width=3.2, height=2.9)
    largest = []
    for axes, epsilon in zip(grid.flat, epsilons, strict=False):
        part = found.where(epsilon=epsilon)
        values = {label: [row.mean for row in part.where(arm=label)] for label in labels}
        draw_spread(axes, values, chosen)
        axes.axvline(1, color="#555555", linewidth=0.8)
        axes.tick_params(labelleft=axes is grid.flat[0])
        finish(axes, "times the least possible, log", "", f"epsilon {epsilon:g}")
        largest += [f"{short(max(values[chosen]))} at epsilon {epsilon:g}"] if values.get(chosen) else []
    said = f"X6: times the least possible error, the default (coloured) has at most {' and '.join(largest)}\n"
    head(figure, f"{said * bool(largest)}EMD over the Bayes risk, all worlds and levels; {SPREAD}")
    return figure


def verdicts(frame: "pd.DataFrame") -> list[Verdict]:
    """Judge which releases are near the Bayes risk, and whether chains agree."""
    found = ratios(frame)
    near = [verdict for arm in RELEASES for verdict in _near(found, arm)]
    return [*near, *_agreement(frame)]


def _near(found: LevelErrors, arm: Arm) -> list[Verdict]:
    """Judge a release everywhere, and name the place of its largest ratio; nothing if it ran nowhere."""
    rows = list(found.where(arm=arm.label))
    if not rows:
        return []
    largest = max(rows, key=lambda row: row.mean)
    n_levels = found.n_levels
    where = f"{largest.data}, epsilon {largest.epsilon:g}, {level_name(largest.level, n_levels)}"
    typical = " / ".join(f"{fmean(row.mean for row in rows if row.level == level):.3g}" for level in range(n_levels))
    claim = f"{arm.label} has at most {NEAR:g} times the Bayes risk of its noisy values at every level"
    words = f"ratios by level, root first, on average {typical}; the largest x {largest.mean:.3g} ({where})"
    return [Verdict(claim, "all", worst(at_most(row.values, 1.0, NEAR) for row in rows), words)]


def _agreement(frame: "pd.DataFrame") -> list[Verdict]:
    """Judge whether two chains from different starts agree about expected errors, on the mean over replicates."""
    found, verdicts = level_errors(frame, "disagreement"), []
    for data, epsilon in found.values_of("data", "epsilon"):
        rows = list(found.where(data=data, epsilon=epsilon))
        judged = worst(at_most(row.values, AGREEMENT, 1.0) for row in rows)
        largest = max(rows, key=lambda row: row.mean)
        at = f"{largest.arm}, {level_name(largest.level, found.n_levels)}"
        words = f"{fmean(row.mean for row in rows):.2%} on average, at most {largest.mean:.2%} ({at})"
        claim = f"two chains agree about expected errors to {AGREEMENT:.0%} of them at every level"
        verdicts.append(Verdict(claim, f"{data}, epsilon {epsilon:g}", judged, words))
    return verdicts


def _data(kind: WorldKind) -> WorldData:
    return WorldData(
        name=str(kind),
        load=partial(world, kind),
        levels=(1, 4, 16),
        max_size=60,
        groups=16_000,
        real=False,
        note=f"world({str(kind)!r}): root / 4 / 16 regions, K = 60, a truth per replicate",
        counted=False,
    )


WORLDS = {kind: _data(kind) for kind in WorldKind}

_ALL = Scale(tuple(WORLDS.values()), (Fraction(1, 10), Fraction(1)), replicates=5, time_limit=300)
_TWO = (WORLDS[WorldKind.HOUSEHOLD], WORLDS[WorldKind.POWER_LAW])

EXPERIMENT = Experiment(
    id="X6",
    title="Known priors",
    part="beyond the papers",
    question="How far is every release from the least expected error that its noisy values allow?",
    arms=(*RELEASES, *OPTIMA),
    profiles={
        Profile.SMOKE: Scale((WORLDS[WorldKind.SPARSE],), (Fraction(1),), replicates=2, time_limit=60),
        Profile.QUICK: replace(_ALL, data=_TWO, epsilons=(Fraction(1, 10),)),
        Profile.REDUCED: _ALL,
        Profile.PAPER: replace(_ALL, replicates=30),
    },
    plot=plot,
    verdicts=verdicts,
    measure=measure,
    memory=memory,
    seed="X6: known priors, first used in this experiment",
)
