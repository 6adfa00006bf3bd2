"""The experiment X4: error against budget, by the law of the noise and by who is hidden, at equal (epsilon, delta).

Every level has the same share of the budget, delta is 1e-8 everywhere, and every region's number of groups is public:
groups are replaced, not added or removed. A unit is no competitor of another: hiding more costs more, and this says how
much.
"""

from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

from pgsr import View
from pgsr.estimators import Matching, Posterior
from pgsr.experiments.engine.experiment import Arm, Experiment, Scale
from pgsr.experiments.engine.figures import wrapped
from pgsr.experiments.engine.summary import level_errors
from pgsr.experiments.engine.verdicts import Verdict
from pgsr.experiments.fioretto2019.data import CENSUS_SMALL, TAXI_SMALL
from pgsr.experiments.ours.by_arm import draw_by_arm
from pgsr.experiments.ours.every_release import smaller_at_every_level
from pgsr.experiments.ours.profiles import profiles
from pgsr.figures.drawing import finish, head, legend_below, new_figure
from pgsr.noise import Noise
from pgsr.privacy.accounting import Approximate
from pgsr.privacy.neighbours import Relation, Unit

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

DELTA = "1e-8"

UNITS = {
    "entity": (Unit.ENTITY, Relation.ADD_REMOVE, View.CUMULATIVE),
    "entity in 20 groups, Hc": (Unit.entity_in_groups(20), Relation.ADD_REMOVE, View.CUMULATIVE),
    "entity in 20 groups, Hg": (Unit.entity_in_groups(20), Relation.ADD_REMOVE, View.RANKED),
    "group replaced": (Unit.GROUP, Relation.REPLACE, View.COUNTS),
}
"""Cumulative counts may change by 20 in one cell, ranked sizes by 1 in 20: the same L1 norm, another L2 norm."""

LAWS = ("geometric", "gaussian")


def noise(unit: str, laws: str, epsilon: Fraction, levels: int) -> Noise:
    """Make the noise step that hides a unit of `UNITS` by one law on all levels."""
    del levels
    hidden, relation, view = UNITS[unit]
    return Noise(view, Approximate(epsilon, DELTA), laws=laws, unit=hidden, relation=relation)


def arm(unit: str, laws: str) -> Arm:
    """Make the arm of a unit and a law: ranked sizes by matching, as their posterior takes minutes with much noise."""
    post = Matching() if UNITS[unit][2] is View.RANKED else Posterior()
    return Arm(f"{unit}, {laws}", partial(noise, unit, laws), post)


ARMS = tuple(arm(unit, laws) for unit in UNITS for laws in LAWS)


def plot(frame: "pd.DataFrame") -> "Figure":
    """Draw a column per data set and a row per epsilon: EMD by arm, a mark per level."""
    errors = level_errors(frame, "emd")
    names, epsilons = errors.values_of("data"), sorted(errors.values_of("epsilon"), reverse=True)
    labels = [each.label for each in ARMS]
    figure = new_figure(max(7.5, 2.6 + 2.9 * len(names)), 2.4 * len(epsilons) + 1)
    grid = figure.subplots(len(epsilons), len(names), squeeze=False)
    for column, name in enumerate(names):
        for row, epsilon in enumerate(epsilons):
            axes = grid[row][column]
            draw_by_arm(axes, errors.where(data=name, epsilon=epsilon), labels, labelled=column == 0)
            title = f"{wrapped(name, 24)}\n" if row == 0 else ""
            finish(axes, "EMD (entities), log", "", f"{title}epsilon {epsilon:g}, delta {DELTA}")
    legend_below(figure, grid[0], 4)
    head(figure, "X4: releases by unit of privacy and law of the noise; bars: two standard errors")
    return figure


def verdicts(frame: "pd.DataFrame") -> list[Verdict]:
    """Judge, unit by unit, whether double-geometric noise is better than Gaussian noise on these few levels."""
    errors = level_errors(frame, "emd")
    return [
        verdict
        for unit in UNITS
        for verdict in smaller_at_every_level(
            errors,
            f"hiding {unit}: double-geometric noise has a smaller EMD than discrete Gaussian noise at every level",
            arm(unit, "geometric"),
            (arm(unit, "gaussian"),),
        )
    ]


_ALL = Scale((CENSUS_SMALL, TAXI_SMALL), (Fraction(1, 2), Fraction(2), Fraction(8)), replicates=20, time_limit=300)

EXPERIMENT = Experiment(
    id="X4",
    title="Laws and units",
    part="beyond the papers",
    question="At equal epsilon and delta, which law of the noise is better, and what does hiding more than a row cost?",
    arms=ARMS,
    profiles=profiles(_ALL, quick=_ALL),
    plot=plot,
    verdicts=verdicts,
    seed="X4: laws and units, first used in this experiment",
)
