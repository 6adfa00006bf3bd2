"""The experiment K8: bottom-up release against Hc at every level (Kuo et al. 2018, slides).

The published table says that bottom-up is far better at the leaves and far worse above. Its numbers come from code that
gave every region of a run the same noise sequence, so that the errors of leaves add up instead of cancelling. Both ways
are run here: independent noise, which is what a release does, and the shared sequence, which only explains the table.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from math import ceil
from typing import TYPE_CHECKING

from pgsr import View
from pgsr.estimators import BottomUp, Matching
from pgsr.experiments.engine.causes import Cause
from pgsr.experiments.engine.experiment import Arm, Experiment, Profile, Scale
from pgsr.experiments.engine.figures import draw_printed, error_axis, wrapped
from pgsr.experiments.engine.looks import arm_looks
from pgsr.experiments.engine.papers import stand_beside
from pgsr.experiments.engine.summary import LevelErrors, level_errors
from pgsr.experiments.engine.verdicts import Verdict, compared
from pgsr.experiments.kuo2018 import published as kuo
from pgsr.experiments.kuo2018.arms import WithSmallestSize
from pgsr.experiments.kuo2018.data import (
    CENSUS_COUNTIES,
    CENSUS_PAPER,
    CENSUS_STATES,
    HAWAIIAN_COUNTIES,
    TAXI,
    WHITE_COUNTIES,
    cause_on,
    paper_name,
)
from pgsr.experiments.kuo2018.epsilon_figures import BARS
from pgsr.figures.drawing import finish, head, legend_below, level_name, new_figure
from pgsr.noise import Geometric
from pgsr.privacy import Seeded
from pgsr.privacy.random import ByteStream, StreamId

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

ARTEFACT = "shared seed: replicates the published artefact, not private"


@dataclass(frozen=True)
class SharedSeed:
    """A flawed source of noise, the same for every region of a run. Never use it for a release.

    The differences between regions are then published without any noise.
    """

    key: str
    replicate: int

    @property
    def secure(self) -> bool:
        return False

    def stream(self, identity: StreamId) -> ByteStream:
        return Seeded(self.key, self.replicate).stream(replace(identity, level=0, path=()))


def _leaves_only(epsilon: Fraction, levels: int) -> Geometric:
    return Geometric(View.CUMULATIVE, epsilon, shares=(0,) * (levels - 1) + (1,))


def _every_level(epsilon: Fraction, levels: int) -> Geometric:
    del levels
    return Geometric(View.CUMULATIVE, epsilon)


ACROSS = 3
"""Panels side by side."""


def plot(frame: "pd.DataFrame") -> "Figure":
    """Draw a panel per data set at total epsilon 1: error by level, arms side by side, printed numbers as dashes."""
    errors = level_errors(frame, "emd").where(epsilon=1)
    order = [*kuo.DATA, ""]
    names = sorted(errors.values_of("data"), key=lambda name: order.index(paper_name(name)))
    style = arm_looks([arm.label for arm in ARMS])
    rows, columns = max(1, ceil(len(names) / ACROSS)), min(ACROSS, max(1, len(names)))
    figure = new_figure(max(6.4, 3.7 * columns), 3.4 * rows + 1)
    panels = figure.subplots(rows, columns, squeeze=False).ravel()
    for axes in panels[len(names) :]:
        axes.set_axis_off()
    for axes, name in zip(panels, names, strict=False):
        of_data = errors.where(data=name)
        for i, (label, look) in enumerate(style.items()):
            rows, shift = of_data.where(arm=label).rows, (i - (len(style) - 1) / 2) * WIDTH
            axes.errorbar(
                [row.level + shift for row in rows], [row.mean for row in rows],
                [row.standard_error for row in rows], label=label, linestyle="", **look.marks,
                markersize=7, capsize=3,
            )  # fmt: skip
        printed = [((p.level or 0) + _SHIFT[p.arm], p.value) for p in kuo.K8 if p.data == paper_name(name)]
        draw_printed(axes, printed, WIDTH, own=name == TAXI.name)
        error_axis(axes)
        n_levels = of_data.n_levels
        axes.set_xticks(range(n_levels), [level_name(level, n_levels) for level in range(n_levels)])
        kind = "real data" if all(row.real for row in of_data) else "not real data"
        finish(axes, "level of the hierarchy", "EMD per region (entities), log scale", wrapped(f"{name} ({kind})", 30))
    legend_below(figure, panels, 2)
    head(figure, f"K8: slides, bottom-up against Hc at every level, total epsilon 1\n{BARS}")
    return figure


def verdicts(frame: "pd.DataFrame") -> list[Verdict]:
    """Judge the claim with either noise on every data set, and what the artefact does."""
    errors = level_errors(frame, "emd")
    return [*_claims(errors), *_artefact(errors)]


def _claims(errors: LevelErrors) -> Iterator[Verdict]:
    for (data, epsilon), (noise, arms) in product(errors.values_of("data", "epsilon"), PAIRS.items()):
        part = errors.where(data=data, epsilon=epsilon)
        last = part.n_levels - 1
        for level in range(last + 1):
            bottom_up, hc = (part.one(arm=arm, level=level) for arm in arms)
            if bottom_up is None or hc is None:
                continue
            claim = "bottom-up is better at the leaves" if level == last else "bottom-up is worse above the leaves"
            found = compared(hc.values, bottom_up.values) if level == last else compared(bottom_up.values, hc.values)
            words = f"bottom-up {_number(bottom_up.mean)}, Hc {_number(hc.mean)}"
            place = f"{data}, epsilon {epsilon:g}, {noise}, {level_name(level, last + 1)}"
            yield Verdict(claim, place, found, words, cause_on(data, _DECLARED[noise]))


def _artefact(errors: LevelErrors) -> Iterator[Verdict]:
    """Judge by how much the shared seed inflates the errors of bottom-up."""
    independent, shared = PAIRS["independent noise"][0], PAIRS["shared seed"][0]
    for data, epsilon in errors.values_of("data", "epsilon"):
        part = errors.where(data=data, epsilon=epsilon)
        pairs = [(part.one(arm=shared, level=i), part.one(arm=independent, level=i)) for i in range(part.n_levels)]
        known = [(bad, good) for bad, good in pairs if bad is not None and good is not None]
        if known:
            found = compared(known[0][0].values, known[0][1].values)
            ratios = (f"{level_name(b.level, part.n_levels)} x {b.mean / g.mean:.2f}" for b, g in known)
            claim = "one seed for all regions inflates bottom-up at the root"
            yield Verdict(claim, f"{data}, epsilon {epsilon:g}", found, ", ".join(ratios), Cause.READING)


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:,.1f}"


PAIRS = {
    "independent noise": ("bottom-up, independent noise", "Hc, independent noise"),
    "shared seed": (f"bottom-up, {ARTEFACT}", f"Hc, {ARTEFACT}"),
}
"""Arms to compare: bottom-up and Hc at every level, by kind of noise."""

_DECLARED = {
    "independent noise": Cause.CLAIM,
    "shared seed": Cause.READING,
}
"""Whose the claims are: the paper states independent noise; the shared seed is what its code did."""

ARMS = (
    Arm(PAIRS["independent noise"][0], _leaves_only, WithSmallestSize(BottomUp)),
    Arm(PAIRS["independent noise"][1], _every_level, WithSmallestSize(Matching)),
    Arm(PAIRS["shared seed"][0], _leaves_only, WithSmallestSize(BottomUp), source=SharedSeed),
    Arm(PAIRS["shared seed"][1], _every_level, WithSmallestSize(Matching), source=SharedSeed),
)

WIDTH = 0.16
"""The distance between arms in the figure, in levels."""

_SHIFT = {"BU": WIDTH / 2, "Hc": 3 * WIDTH / 2}
"""Printed numbers lie behind the arms with the shared seed."""

_NATION = (TAXI, CENSUS_PAPER, WHITE_COUNTIES, HAWAIIAN_COUNTIES)

_PAPER = Scale(
    (TAXI, CENSUS_COUNTIES, CENSUS_PAPER, WHITE_COUNTIES, HAWAIIAN_COUNTIES),
    (Fraction(1, 10), Fraction(1, 5), Fraction(1, 2), Fraction(1)),
    replicates=10,
    time_limit=600,
)

PRINTED_NUMBERS = tuple(
    each
    for noise, (bottom_up, hc) in PAIRS.items()
    for each in stand_beside(
        kuo.K8,
        _NATION,
        {"BU": [bottom_up], "Hc": [hc]},
        reading="" if _DECLARED[noise] is Cause.CLAIM else "one seed for all regions",
    )
)
"""With either noise: the paper states the one and ran the other. The table is of the whole nation: the errors of its
levels tell."""

EXPERIMENT = Experiment(
    id="K8",
    title="Bottom-up comparison",
    paper=kuo.PAPER,
    part="slides: bottom-up table",
    question="Is it better to spend the whole budget at the leaves and add up, or a share at every level and match?",
    arms=ARMS,
    profiles={
        Profile.SMOKE: Scale((CENSUS_STATES,), (Fraction(1),), replicates=2, time_limit=60),
        Profile.QUICK: Scale((TAXI, CENSUS_COUNTIES), (Fraction(1),), replicates=5, time_limit=120),
        Profile.REDUCED: replace(_PAPER, epsilons=(Fraction(1),)),  # the epsilon of the printed table
        Profile.PAPER: _PAPER,
    },
    plot=plot,
    verdicts=verdicts,
    printed=PRINTED_NUMBERS,
)
