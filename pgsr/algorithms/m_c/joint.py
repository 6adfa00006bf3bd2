"""The way from values of every region alone to a release: all together, then in integers."""

import numpy as np

from pgsr.algorithms.m_c.projection import CumulativeProjection
from pgsr.algorithms.tree_rounding.integers import integers_near
from pgsr.data.sizes import Sizes
from pgsr.data.views import View
from pgsr.methods.gate import Deadline, Stopped
from pgsr.noise.measurement import Measurement, Totals
from pgsr.problems.precisions import precision_weights
from pgsr.problems.problem import Problem


def joint_problem(measurement: Measurement, values: np.ndarray, parts: int, label: str) -> Problem:
    """State the relaxed M_c of values of regions alone, which are integers in multiples of 1 / parts.

    Args:
        measurement: says whose totals are public, and how precise every level is.
        values: cumulative counts times `parts`, int64, shape (regions, K + 1).
    """
    tree = measurement.hierarchy
    return Problem(
        label,
        Sizes.alike(tree, values.shape[1] - 1),
        View.CUMULATIVE,
        values.reshape(-1),
        parts * measurement.totals,
        integer=False,
        monotone=True,
        totals=Totals.ROOT if measurement.public is Totals.ROOT else Totals.REGIONS,
        weights=precision_weights(measurement),
    )


def projected(joint: Problem, parts: int, deadline: Deadline) -> np.ndarray:
    """Solve a joint problem; real cumulative counts, shape (regions, K + 1).

    Raises:
        Stopped: the projection gave no answer in time; its status and reason say why.
    """
    deadline.check("the joint projection reached")
    found = CumulativeProjection().solve(joint, deadline.left)
    if found.answer is None:
        raise Stopped(found.status, f"no joint projection: {found.reason}")
    return np.asarray(found.answer.values) / parts


def integers_of(measurement: Measurement, values: np.ndarray, deadline: Deadline) -> np.ndarray:
    """Find integers next to real cumulative counts with the public totals, from the root down, in their memory.

    Raises:
        Stopped: out of time.
    """
    known = None if measurement.public is Totals.ROOT else measurement.region_totals
    return integers_near(measurement.hierarchy, values, measurement.root_total, known, deadline)
