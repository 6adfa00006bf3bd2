"""The way from values of every region alone to a release: all together, then in integers."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from pgsr.algorithms.m_c.folded import ENOUGH, Together, together
from pgsr.algorithms.m_c.folded_dual import Targets
from pgsr.algorithms.m_c.projection import CumulativeProjection
from pgsr.algorithms.tree_rounding.rounding import integers_near
from pgsr.data.views import View
from pgsr.methods.gate import NO_LIMIT, Deadline, Stopped
from pgsr.noise.measurement import Measurement, Totals
from pgsr.privacy.laws import Law
from pgsr.problems.precisions import precision_weights, refused_weights
from pgsr.problems.problem import Problem


def refused_precision(measurement: Measurement) -> str | None:
    """Give the reason why the precisions of levels are no weights of a joint problem, or None.

    Where levels have sizes of their own no problem is stated (`together_by_level`), and weights are real.
    """
    return refused_weights(measurement) if measurement.sizes.equal else None


def joint_problem(measurement: Measurement, values: Any, parts: int, label: str) -> Problem:
    """State the relaxed M_c of values of regions alone, which are integers in multiples of 1 / parts.

    Args:
        measurement: says whose totals are public, and how precise every level is.
        values: cumulative counts times `parts`, int64, shaped as those of a problem.
    """
    return Problem.of(
        values,
        measurement.hierarchy,
        View.CUMULATIVE,
        groups=parts * measurement.totals,
        totals=Totals.ROOT if measurement.public is Totals.ROOT else Totals.REGIONS,
        weights=precision_weights(measurement),
        label=label,
        integer=False,
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


def together_by_level(
    measurement: Measurement,
    alone: Sequence[np.ndarray],
    deadline: Deadline = NO_LIMIT,
) -> Together:
    """Project real values of regions alone where levels have sizes of their own, exactly enough for integers nearby.

    Args:
        measurement: has every region's public total.
        alone: cumulative counts without the totals, float64; shape (regions of the level, K) per level.

    Raises:
        Stopped: the deadline passed.
    """
    tree = measurement.hierarchy
    totals = tuple(measurement.region_totals[tree.level(level)] for level in range(tree.n_levels))
    return together(Targets.of(tree, alone, totals, precisions(laws_of(measurement))), ENOUGH, deadline)


def integers_of(measurement: Measurement, values: Any, deadline: Deadline, *, in_place: bool = False) -> Any:
    """Find integers next to real cumulative counts with the public totals, from the root down; shaped as the values.

    Args:
        in_place: write over a matrix of values.

    Raises:
        Stopped: out of time.
    """
    known = None if measurement.public is Totals.ROOT else measurement.region_totals
    about = measurement.hierarchy, measurement.root_total, known
    if isinstance(values, tuple):
        return integers_near(about[0], values, *about[1:], deadline=deadline)
    out = values if in_place else np.array(values)
    integers_near(about[0], measurement.sizes.tables(out), *about[1:], deadline=deadline, in_place=True)
    return out.view(np.int64)


def laws_of(measurement: Measurement) -> tuple[Law, ...]:
    """List the laws of the noise of all levels, which all were measured, root first."""
    laws = (measurement.law(start) for start in measurement.hierarchy.level_start[:-1].tolist())
    return tuple(law for law in laws if law is not None)


def precisions(laws: Sequence[Law]) -> tuple[float, ...]:
    """Compute the weights of the levels, 1 / variance relative to that of the least noise."""
    variances = [float(law.variance_bound) for law in laws]
    return tuple(min(variances) / variance for variance in variances)
