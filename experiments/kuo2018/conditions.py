"""The experiment K10: the four conditions on every released hierarchy, counted (Kuo et al. 2018, sections 3 and 5).

Counted here from the estimate and the true totals alone, not by the checks that the methods themselves use. Two
post-processes that the paper rejects stand beside them to show that the counts can be other than 0.
"""

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from pgsr import CountOfCounts, Problem
from pgsr.algorithms import MeanConsistency
from pgsr.data import Estimate
from pgsr.estimators import BottomUp, Matching, Merge, NoConsistency
from pgsr.experiments.engine.causes import Cause
from pgsr.experiments.engine.experiment import Arm, Experiment, Profile, Scale, Trial
from pgsr.experiments.engine.looks import CONDITIONS as CONDITION_LOOKS
from pgsr.experiments.engine.release_record import Record
from pgsr.experiments.engine.verdicts import Verdict, in_every_replicate
from pgsr.experiments.kuo2018 import published as kuo
from pgsr.experiments.kuo2018.arms import EPSILONS, HC, HG, ONE, WithSmallestSize, in_all, ranked_memory
from pgsr.experiments.kuo2018.data import (
    CENSUS_STATES,
    HAWAIIAN_WEST,
    SYNTHETIC_PART_WEST,
    SYNTHETIC_WEST,
    TAXI,
    WHITE_WEST,
)
from pgsr.figures.drawing import finish, legend_below, new_figure, short_number, tex

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

CONDITIONS = ("integrality", "sign", "consistency", "totals")
NEGLIGIBLE = 1e-6


def counted(trial: Trial) -> Record:
    """Count how often each condition fails: two counts of cells, one of (region, size) pairs, and one of regions."""
    measurement = trial.noise.measure(trial.truth, trial.source)
    result = trial.mechanism.post_process(measurement, trial.time_limit)
    if result.answer is None:
        return {"status": result.status.name, "reason": result.reason}
    broken = broken_conditions(trial.truth, result.answer)
    return {
        "status": result.status.name,
        "reason": "",
        "violations": broken,
        "regions": trial.truth.hierarchy.n_regions,
    }


def broken_conditions(truth: CountOfCounts, estimate: Estimate) -> dict[str, int]:
    """Count violations one region after the other, so that large tables stay sparse."""
    tree, table = truth.hierarchy, estimate.as_counts
    row = (lambda r: table[[r]].toarray()[0]) if sparse.issparse(table) else (lambda r: table[r])
    broken: dict[str, int] = {kind: 0 for kind in CONDITIONS}  # noqa: C420
    for region in range(tree.n_regions):
        values = row(region)
        broken["integrality"] += int((np.abs(values - np.rint(values)) > NEGLIGIBLE).sum())
        broken["sign"] += int((values < -NEGLIGIBLE).sum())
        broken["totals"] += int(abs(float(values.sum()) - int(truth.totals[region])) > NEGLIGIBLE)
        children = tree.children(region)
        if children:
            below = np.zeros_like(values)
            for child in children:
                below = below + row(child)
            broken["consistency"] += int((np.abs(below - values) > NEGLIGIBLE).sum())
    return broken


def plot(frame: "pd.DataFrame") -> "Figure":
    """Draw the mean number of violations per release by method, with a colour per condition; 0 is on the axis."""
    figure = new_figure(9.5, 0.5 + 0.55 * len(ARMS) + 1.0)
    axes = figure.subplots()
    for i, (kind, look) in enumerate(zip(CONDITIONS, CONDITION_LOOKS, strict=True)):
        column, places = f"violations_{kind}", [tex(arm.label) for arm in ARMS]
        means = [frame.loc[frame["arm"] == label, column].mean() for label in places]
        axes.plot(
            means, [j + (i - 1.5) * 0.17 for j in range(len(places))], linestyle="", **look.marks, markersize=6,
            label=kind, clip_on=False,
        )  # fmt: skip
    axes.set_xscale("symlog", linthresh=1)
    axes.xaxis.set_major_formatter(lambda value, _: short_number(value))
    axes.set_xlim(left=0)
    axes.set_yticks(range(len(ARMS)), [tex(arm.label) for arm in ARMS], fontsize="small")
    axes.set_ylim(len(ARMS) - 0.5, -0.5)
    n = len(frame)
    finish(
        axes,
        "violations per release (cells, pairs of region and size, or regions), log above 1",
        "",
        f"K10: the four conditions, {n:,} hierarchies",
    )
    axes.grid(axis="x", color="#e5e5e5")
    legend_below(figure, [axes])
    return figure


def verdicts(frame: "pd.DataFrame") -> list[Verdict]:
    """Judge whether any release violates a condition, and whether the rejected methods do."""
    return [*_releases(frame), *_rejected(frame)]


def _releases(frame: "pd.DataFrame") -> Iterator[Verdict]:
    rows = [row for row in frame.to_dict("records") if row["arm"] in {arm.label for arm in RELEASES}]
    for data in dict.fromkeys(str(row["data"]) for row in rows):
        part = [row for row in rows if row["data"] == data]
        sums = _sums(part)
        found = in_every_replicate(not any(sums.values()), _draws(part), "no violation in any release")
        words = f"{len(part):,} releases, {sum(int(row['regions']) for row in part):,} regions: {_counted(sums)}"
        yield Verdict(kuo.FOUR_CONDITIONS.words, data, found, words, Cause.CLAIM)


def _rejected(frame: "pd.DataFrame") -> Iterator[Verdict]:
    """Judge every kind on its own, and whether every hierarchy violates it: a total hides those that do not."""
    for arm, kind in ((REJECTED[0], "consistency"), (REJECTED[1], "integrality"), (REJECTED[1], "sign")):
        part = [row for row in frame.to_dict("records") if row["arm"] == arm.label]
        if part:
            having = [row for row in part if row[f"violations_{kind}"]]
            found = in_every_replicate(len(having) == len(part), _draws(part), "every hierarchy has such violations")
            words = f"{len(having):,} of {len(part):,} hierarchies; in all: {_counted(_sums(part))}"
            # That fractions and negative counts come out is the paper's reason to reject mean consistency.
            cause = Cause.CLAIM if arm is REJECTED[1] else Cause.OURS
            yield Verdict(f"{arm.label} violates {kind}", "all data sets", found, words, cause)


def _draws(rows: list[dict[Any, Any]]) -> int:
    """Count the independent draws of the noise, the fewest of any data set."""
    by_data: dict[str, set] = {}
    for row in rows:
        by_data.setdefault(row["data"], set()).add(row["replicate"])
    return min(map(len, by_data.values()), default=0)


def _sums(rows: list[dict[Any, Any]]) -> dict[str, int]:
    return {kind: sum(int(row[f"violations_{kind}"]) for row in rows) for kind in CONDITIONS}


def _counted(sums: dict[str, int]) -> str:
    return ", ".join(f"{kind} {n:,}" for kind, n in sums.items())


RELEASES = (
    Arm("Hc x Hc x Hc, weighted", in_all(HC), WithSmallestSize(Matching)),
    Arm("Hg x Hg x Hg, weighted", in_all(HG), WithSmallestSize(Matching)),
    Arm("Hc x Hg x Hc, weighted", in_all(HC, HG, HC), WithSmallestSize(Matching)),
    Arm("Hc x Hc x Hc, average", in_all(HC), WithSmallestSize(partial(Matching, merge=Merge.AVERAGE))),
    Arm("Hg x Hg x Hg, average", in_all(HG), WithSmallestSize(partial(Matching, merge=Merge.AVERAGE))),
    Arm("bottom-up, Hc", in_all(HC), WithSmallestSize(BottomUp)),
)

REJECTED = (
    Arm("no consistency, Hc (not a release)", in_all(HC), WithSmallestSize(NoConsistency)),
    Arm("mean consistency, Hc (not a release)", in_all(HC), MeanConsistency(), Problem.mean_consistency),
)

ARMS = RELEASES + REJECTED

WEST = (SYNTHETIC_WEST, HAWAIIAN_WEST, WHITE_WEST, TAXI)

EXPERIMENT = Experiment(
    id="K10",
    title="The four conditions",
    paper=kuo.PAPER,
    part="sections 3 and 5",
    question="Is every released hierarchy whole, non-negative, of the right totals and consistent?",
    arms=ARMS,
    profiles={
        Profile.SMOKE: Scale((CENSUS_STATES,), (ONE,), replicates=2, time_limit=60),
        Profile.QUICK: Scale((TAXI, SYNTHETIC_PART_WEST), (ONE,), replicates=5, time_limit=120),
        Profile.PAPER: Scale(WEST, EPSILONS, replicates=10, time_limit=1_200),
    },
    plot=plot,
    verdicts=verdicts,
    measure=counted,
    memory=ranked_memory,
)
