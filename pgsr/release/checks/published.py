"""Read a published release from its folder, by the first steps of its check; and intervals of what it holds."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

from pgsr.data.counts import CountOfCounts
from pgsr.data.intervals import Intervals
from pgsr.figures.html import facts_table
from pgsr.intervals import band
from pgsr.intervals.bounds import Bounds, Pair
from pgsr.intervals.replicates import bootstrapped, drawn
from pgsr.intervals.statistics import Statistic, statistic_of
from pgsr.methods.mechanism import Mechanism
from pgsr.noise.measurement import Measurement
from pgsr.release.checks.release_check import ReleaseCheck
from pgsr.release.publishing.errors import ReleaseError
from pgsr.release.terms.excess import counts_by_size, excess_counts, with_sizes_below
from pgsr.release.terms.plan import Plan, terms_facts
from pgsr.release.terms.terms import Terms


@dataclass(frozen=True, eq=False)
class Published:
    """A release as it was read from its folder.

    Attributes:
        plan: of the release.
        secure: whether it claims to be private; False for a rehearsal.
        measurement: the noisy values, by excess over `Terms.min_size`, as the mechanism works on them.
        counts: what was released, by size.
    """

    plan: Plan
    secure: bool
    measurement: Measurement
    counts: CountOfCounts

    @property
    def terms(self) -> Terms:
        """The stated terms."""
        return self.plan.terms

    @property
    def mechanism(self) -> Mechanism:
        """The mechanism that made it."""
        return self.plan.mechanism

    @property
    def by_excess(self) -> CountOfCounts:
        """The released counts as the mechanism knows them, by excess over `Terms.min_size`."""
        return excess_counts(self.counts, self.terms.min_size)

    def _repr_html_(self) -> str:
        """Describe the release as an HTML table of its terms, its regions and its noise."""
        regions = self.counts.hierarchy.regions_per_level
        levels = zip(self.plan.names, regions, strict=True)
        noise = "secure" if self.secure else "that of a rehearsal: repeats, and the folder is as secret as the data"
        return facts_table(
            "Published",
            {
                **terms_facts(self.terms),
                "regions by level, root first": " / ".join(f"{name} {n:,}" for name, n in levels),
                "noise": noise,
            },
        )


def read_release(folder: str | Path) -> Published:
    """Read a release from its folder alone, by the first steps of `check`; the others are not taken.

    Raises:
        ReleaseError: the folder is no release, or its files contradict its manifest.

    Example:
        >>> read_release("no such folder")
        Traceback (most recent call last):
        pgsr.release.publishing.errors.ReleaseError: 'no such folder' is no folder; name the folder of a release
    """
    found = ReleaseCheck(Path(folder), None, None)
    for name, step in found.steps():
        if name in _READING:
            finding = found.find(name, step)
            if not finding.passed:
                raise ReleaseError(finding.sentence)
    plan, secure, measurement, counts = map(found.need, ("plan", "secure", "measurement", "counts"))
    return Published(plan, secure, measurement, counts_by_size(counts.counts(), plan.terms.min_size))


_READING = ("files", "digests", "manifest", "regions", "budget", "measurement", "counts", "integrality", "sign",
            "consistency")  # fmt: skip
"""The steps of `check` that reading takes."""


def intervals_of(
    published: Published, statistics: Sequence[str], level: Fraction, kind: str, number: int, seed: str
) -> list[Intervals]:
    """Give intervals of statistics of every region, all of the same draws or replicates.

    Args:
        published: the release.
        statistics: their texts, as `pgsr.intervals` lists them.
        level: above 0 and below 1.
        kind: "posterior", "bootstrap" or "band", one that the release has.
        number, seed: of draws or replicates, where some are made.

    Raises:
        ArgumentError: a text is no statistic of these regions and sizes, or the number is none.
        ProblemError: the band knows no interval of a statistic.
        EmptyBandError: no counts lie within the band.
        MemoryNeededError: the draws or replicates do not fit.
    """
    asked = [statistic_of(text, published.counts.sizes) for text in statistics]
    by_excess, released = [_by_excess(each, published.terms.min_size) for each in asked], published.by_excess
    if kind == "band":
        bounds = band(published.measurement, level)
        return [bounds.around(each, released) for each in by_excess]
    about = by_excess, level, number, seed
    if kind == "posterior":
        return drawn(published.mechanism, published.measurement, released, *about)
    return bootstrapped(published.mechanism, released, *about)


def _by_excess(statistic: Statistic, min_size: int) -> Statistic:
    """Compute a statistic of counts by size from counts by excess over a public least size."""

    def within(bounds: Bounds) -> Pair:
        sides = (*bounds.counts, *bounds.cumulative)
        low, high, least, most = (with_sizes_below(side, min_size) for side in sides)
        return statistic.within(Bounds((low, high), (least, most)))

    return replace(statistic, of=lambda counts: statistic.of(with_sizes_below(counts, min_size)), within=within)
