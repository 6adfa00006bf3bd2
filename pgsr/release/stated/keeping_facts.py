"""Post-processing that keeps public facts: of a mechanism that knows none, and of M_H, whose problem has them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pgsr.algorithms.nearest_within_bounds import nearest_within_bounds
from pgsr.certificates import Certificate
from pgsr.certificates.conditions import broken_conditions
from pgsr.data.estimate import Estimate
from pgsr.data.views import View
from pgsr.methods.method import Method, PostProcess, Result, Status
from pgsr.noise.measurement import Measurement, Totals
from pgsr.problems.problem import Problem
from pgsr.release.stated.facts import Fact, conditions_of, fact_bounds


@dataclass(frozen=True)
class StatedFacts:
    """The facts of a release, over counts by excess.

    Attributes:
        facts: in the order of the configuration.
        names: of the levels, root first.
        min_size: as in `Terms`.
    """

    facts: Sequence[Fact]
    names: tuple[str, ...]
    min_size: int

    def m_h(self, measurement: Measurement) -> Problem:
        """State M_H under the facts."""
        return Problem.m_h(measurement).where(*conditions_of(self.facts, self.names, self.min_size))


def keeping(post: Method | PostProcess, stated: StatedFacts | None, kept: Totals) -> Method | PostProcess:
    """Let a post-process keep facts; without any it stays as it is."""
    if stated is None:
        return post
    assert isinstance(post, PostProcess), "all mechanisms but M_H end with one"
    return KeepingFacts(post, stated, kept)


@dataclass(frozen=True, repr=False)
class KeepingFacts:
    """A post-process, and then the whole counts nearest to its own that keep public facts, too.

        minimise    sum over regions r, sizes s of  (x[r, s] - z[r, s])^2,   z the counts of `post`
        subject to  whole, non-negative and consistent x, the public numbers of groups, and the facts.

    Where z keeps the facts, x is z. `pgsr.algorithms.nearest_within_bounds` finds x in integers, so that everybody who
    computes z computes x.

    Attributes:
        post: the post-process of the mechanism, which knows no facts.
        stated: the facts, each about one size or about none.
        kept: whose public numbers of groups the counts have, the root's or every region's.
    """

    post: PostProcess
    stated: StatedFacts
    kept: Totals

    def supports(self, measurement: Measurement) -> str | None:
        """Give the reason why `post` cannot use this measurement, or None."""
        supports = getattr(self.post, "supports", None)
        return supports(measurement) if supports is not None else None

    def apply(self, measurement: Measurement, time_limit: float | None = None) -> Result:
        """Make a release that keeps the facts."""
        found = self.post.apply(measurement, time_limit)
        if found.answer is None:
            return found
        tree, about = measurement.hierarchy, self.stated
        bounds = fact_bounds(about.facts, about.names, about.min_size, tree, measurement.max_size + 1)
        totals = measurement.totals[:1] if self.kept is Totals.ROOT else measurement.totals
        x = nearest_within_bounds(tree, found.estimate.counts().counts, *bounds, totals)
        answer = Estimate(tree, View.COUNTS, x)
        certificate = Certificate("release", None, None, "", broken_conditions(measurement, answer))
        return replace(found, status=Status.FEASIBLE, answer=answer, certificate=certificate)

    def __repr__(self) -> str:
        n = len(self.stated.facts)
        return f"{self.post!r}, then the nearest counts that keep {n} public fact{'' if n == 1 else 's'}"
