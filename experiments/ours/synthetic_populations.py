"""The experiment X5: all methods of synthesis side by side, over a wide range of epsilon."""

from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING

from pgsr.experiments.engine.causes import Cause
from pgsr.experiments.engine.experiment import Experiment, Scale
from pgsr.experiments.engine.verdicts import Verdict
from pgsr.experiments.liu2022.arms import (
    CHOSEN,
    HPD_FIXED,
    HPD_GEN,
    MARGINALS,
    PERSONS,
    PRINTED,
    TUNED,
    SynthesisArm,
    hpd,
    query_grid,
    scales,
    synthesis_memory,
    synthesis_record,
)
from pgsr.experiments.liu2022.data import NHTS, NHTS_REDUCED, SMALL_REDUCED
from pgsr.experiments.liu2022.error_figures import LARGEST, MEAN, error_figure, errors_of, smaller_than
from pgsr.experiments.others.aim import AIM
from pgsr.experiments.others.markov_tree import MarkovTree
from pgsr.experiments.others.single_table import TableRows
from pgsr.synthesis import WholeMarginals
from pgsr.synthesis.queries.sensitivity import NoiseScale

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

WHOLE = SynthesisArm(
    label="whole marginals",
    method=lambda most: WholeMarginals(components=min(most, 100)),
    note="at most 100 components; finds its rounds itself; attributes and sizes of households are public and exact",
)
OWN_NOISE = hpd(
    "HPD-Gen",
    *CHOSEN["HPD-Gen"],
    label="HPD-Gen, own noise",
    note="as HPD-Gen, but queries of persons get the noise of their own sensitivity; not in the paper",
    noise=NoiseScale.OWN,
)
AIM_SIZE = 1
"""The largest size of AIM's model in MB, so that a fit takes minutes."""
TREES = tuple(
    SynthesisArm(
        label=f"Markov tree, {rows} as rows",
        method=lambda _, rows=rows: MarkovTree(rows=rows),
        note="MST of McKenna and others 2021 on one table, fitted by mbi",
    )
    for rows in TableRows
)
ADAPTIVE = tuple(
    SynthesisArm(
        label=f"AIM, {rows} as rows",
        method=lambda _, rows=rows: AIM(rows=rows, max_size=AIM_SIZE),
        note=f"McKenna and others 2022 on one table, fitted by mbi; a model of {AIM_SIZE} MB at most, in the paper 80",
    )
    for rows in TableRows
)
ARMS = (WHOLE, PRINTED, TUNED, HPD_FIXED, HPD_GEN, OWN_NOISE, MARGINALS, PERSONS, *TREES, *ADAPTIVE)
ASKED = ("Q_G + Q_I",)
EPSILONS = (
    Fraction(1, 20), Fraction(1, 10), Fraction(1, 5), Fraction(1, 2), Fraction(1), Fraction(2),
)  # fmt: skip


def plot(frame: "pd.DataFrame") -> "Figure":
    """Draw a panel per data set: the mean error against epsilon."""
    return error_figure(frame, MEAN, ARMS, "X5: mean error of a 3-way query of groups or persons, all methods")


def verdicts(frame: "pd.DataFrame") -> list[Verdict]:
    """Judge whether whole marginals have smaller errors than every other method, replicate by replicate."""
    return [*_beaten(frame, LARGEST, "largest error"), *_beaten(frame, MEAN, "mean error")]


def _beaten(frame: "pd.DataFrame", metric: str, what: str) -> Iterator[Verdict]:
    found = errors_of(frame, metric)
    for other in ARMS[1:]:
        claim = f"whole marginals have a smaller {what} than {other.label}"
        yield from smaller_than(found, claim, WHOLE, other, Cause.OURS)


EXPERIMENT = Experiment(
    id="X5",
    title="Every method of synthesis",
    part="beyond the papers",
    question="Which synthetic population is nearest to the truth at the same epsilon?",
    arms=ARMS,
    profiles=scales(
        ASKED,
        SMALL_REDUCED,
        Scale((NHTS_REDUCED,), (Fraction(1),), replicates=5, time_limit=300, grid=query_grid(ASKED, 50, 30)),
        (NHTS_REDUCED, NHTS),
        EPSILONS,
    ),
    plot=plot,
    verdicts=verdicts,
    measure=synthesis_record,
    memory=synthesis_memory,
    seed="X5: every method of synthesis, first used in this experiment",
)
