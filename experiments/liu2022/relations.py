"""The experiments HP2 and HP3b: errors with queries of relations in households (Liu and Wu 2022, figures 3 and 5)."""

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from pgsr.experiments.engine.experiment import Experiment, Scale
from pgsr.experiments.engine.summary import LevelErrors
from pgsr.experiments.engine.verdicts import Verdict
from pgsr.experiments.liu2022 import published as liu
from pgsr.experiments.liu2022.arms import HPD_FIXED, HPD_GEN, query_grid, scales, synthesis_memory, synthesis_record
from pgsr.experiments.liu2022.data import RELATED, SMALL_RELATED
from pgsr.experiments.liu2022.error_figures import (
    LARGEST,
    MEAN,
    close,
    error_figure,
    errors_of,
    queries_of,
    smaller_than,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

ARMS = (HPD_FIXED, HPD_GEN)
ASKED = RELATIONS, ALL = "Q_R", "Q_G + Q_I + Q_R"


def plot(frame: "pd.DataFrame") -> "Figure":
    """Draw a panel for queries of relations alone, and one for those of groups, persons and relations."""
    return error_figure(frame, LARGEST, ARMS, "HP2: figure 3, largest error of a 3-way query, with relations")


def verdicts(frame: "pd.DataFrame") -> list[Verdict]:
    """Judge the claims on figure 3."""
    found = errors_of(frame, LARGEST)
    return [
        *close(found, liu.CLAIMS["figure 3a"], HPD_FIXED, HPD_GEN),
        *smaller_than(found, liu.CLAIMS["figure 3b"], HPD_FIXED, HPD_GEN),
    ]


def plot_means(frame: "pd.DataFrame") -> "Figure":
    """Draw the same panels with the mean error."""
    return error_figure(frame, MEAN, ARMS, "HP3b: figure 5, mean error of the 3-way queries, with relations")


def verdicts_on_means(frame: "pd.DataFrame") -> list[Verdict]:
    """Judge the claims on figure 5."""
    found = errors_of(frame, MEAN)
    alone, together = (LevelErrors([row for row in found if queries_of(row) == name]) for name in (RELATIONS, ALL))
    return [
        *smaller_than(alone, liu.CLAIMS["figure 5a"], HPD_GEN, HPD_FIXED),
        *smaller_than(together, liu.CLAIMS["figure 5b"], HPD_FIXED, HPD_GEN),
    ]


EXPERIMENT = Experiment(
    id="HP2",
    title="Synthetic families, largest error",
    paper=liu.PAPER,
    part="figure 3",
    question="How well do private synthetic families answer queries of who is married to, or the child of, whom?",
    arms=ARMS,
    profiles=scales(
        ASKED,
        SMALL_RELATED,
        Scale(
            (RELATED,),
            (Fraction(1, 10), Fraction(1)),
            replicates=5,
            time_limit=120,
            grid=query_grid(ASKED, 30, 20),
        ),
        (RELATED,),
    ),
    plot=plot,
    verdicts=verdicts,
    measure=synthesis_record,
    memory=synthesis_memory,
    seed="HP2",
)

MEANS = replace(
    EXPERIMENT,
    id="HP3b",
    title="Synthetic families, mean error",
    paper=liu.PAPER,
    part="figure 5",
    question="And on average over the queries? (cells of HP2)",
    plot=plot_means,
    verdicts=verdicts_on_means,
    cells_of=EXPERIMENT,
)
