"""Releases of measurements whose levels have sizes of their own: the bridge from post-processes to those by level."""

from typing import Protocol

import numpy as np

from pgsr.data.counts_by_level import CountsByLevel
from pgsr.data.estimate import Estimate
from pgsr.data.views import View
from pgsr.errors import ProblemError
from pgsr.methods.gate import Deadline, judged_release
from pgsr.methods.method import Result, Seconds, Status
from pgsr.noise.measurement import Measurement, Totals
from pgsr.noise.measurement_by_level import MeasurementByLevel


class Release(Protocol):
    """The release that a post-process by level gives."""

    @property
    def counts(self) -> CountsByLevel: ...


class ByLevel(Protocol):
    """A post-process of measurements with sizes per level."""

    def supports(self, measurement: MeasurementByLevel) -> str | None: ...

    def apply(self, measurement: MeasurementByLevel) -> Release: ...


def refusal_by_level(post: ByLevel | None, measurement: Measurement) -> str | None:
    """Give the reason why a measurement with sizes per level cannot be used, or None; `post` is None of those without.

    Options that the post-process by level does not have are a reason, too: then `post` is None.
    """
    if post is None:
        return (
            "this post-process takes one largest size for all levels, and here levels have sizes of their own; take "
            "IsotonicTreeProjection(), Matching(IsotonicFit(optimum='midpoint')), TwoStage() or Posterior()"
        )
    if measurement.public is Totals.NOISY:
        return "levels have sizes of their own here, which goes with public totals; measure with totals='regions'"
    if any(measurement.law(start) is None for start in measurement.hierarchy.level_start[:-1].tolist()):
        return "levels have sizes of their own here, so every level has to be measured; give each a share"
    if measurement.hierarchy.padded.any():
        return "levels have sizes of their own here, so every branch needs the same depth; give it without padding"
    return post.supports(by_level(measurement))


def applied_by_level(post: ByLevel | None, measurement: Measurement, time_limit: float | None = None) -> Result:
    """Make a release with sizes per level, judged as every release is.

    Raises:
        ProblemError: the measurement cannot be used.
    """
    reason = refusal_by_level(post, measurement)
    if post is None or reason is not None:
        raise ProblemError(reason)
    clock = Deadline(time_limit)
    release = post.apply(by_level(measurement))
    tables = tuple(table.astype(np.int64) for table in release.counts.tables)
    seconds = Seconds(solve=clock.spent, compile=clock.compiling)
    if clock.passed:
        return Result(Status.TIMED_OUT, f"no release after {time_limit:g} s", seconds=seconds)
    return judged_release(measurement, Estimate(measurement.hierarchy, View.COUNTS, tables), seconds)


def by_level(measurement: Measurement) -> MeasurementByLevel:
    """Give a measurement with sizes per level the form that post-processes by level take."""
    tree = measurement.hierarchy
    laws = tuple(law for start in tree.level_start[:-1].tolist() if (law := measurement.law(start)) is not None)
    totals = measurement.totals[tree.leaves] if measurement.public is Totals.REGIONS else None
    assert isinstance(measurement.view, View), "measurements with sizes per level have one view"
    return MeasurementByLevel(
        CountsByLevel(tree, tuple(measurement.values)),
        measurement.view,
        laws,
        measurement.root_total,
        totals,
        measurement.secure,
        measurement.data_set,
    )
