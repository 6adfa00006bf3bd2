"""Read a published release from its folder, by the first steps of its check."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pgsr.algorithms.mechanism_by_level import LevelMechanism
from pgsr.data.counts import CountOfCounts
from pgsr.data.counts_by_level import CountsByLevel
from pgsr.figures.html import facts_table
from pgsr.methods.mechanism import Mechanism
from pgsr.noise.measurement import Measurement
from pgsr.noise.measurement_by_level import MeasurementByLevel
from pgsr.publishing.errors import ReleaseError
from pgsr.release.checking import ReleaseCheck
from pgsr.release.excess import counts_by_size, excess_counts
from pgsr.release.terms import Terms
from pgsr.release.terms_facts import terms_facts


@dataclass(frozen=True, eq=False)
class Published:
    """A release as it was read from its folder.

    Attributes:
        terms: of the release.
        secure: whether it claims to be private; False for a rehearsal.
        measurement: the noisy values, by excess over `Terms.min_size`, as the mechanism works on them.
        counts: what was released, by size.
    """

    terms: Terms
    secure: bool
    measurement: Measurement
    counts: CountOfCounts

    @property
    def mechanism(self) -> Mechanism:
        """The mechanism that made it."""
        found = self.terms.mechanism(self.counts.hierarchy.n_levels)
        assert isinstance(found, Mechanism), "all levels have the same sizes"
        return found

    @property
    def by_excess(self) -> CountOfCounts:
        """The released counts as the mechanism knows them, by excess over `Terms.min_size`."""
        return excess_counts(self.counts, self.terms.min_size)

    def _repr_html_(self) -> str:
        return _described("Published", self)


@dataclass(frozen=True, eq=False)
class PublishedByLevel:
    """A release with sizes per level as it was read from its folder; the attributes are those of `Published`."""

    terms: Terms
    secure: bool
    measurement: MeasurementByLevel
    counts: CountsByLevel

    @property
    def mechanism(self) -> LevelMechanism:
        """The mechanism that made it."""
        found = self.terms.mechanism(self.counts.hierarchy.n_levels)
        assert isinstance(found, LevelMechanism), "levels have sizes of their own"
        return found

    @property
    def by_excess(self) -> CountsByLevel:
        """The released counts as the mechanism knows them, by excess over `Terms.min_size`."""
        return excess_counts(self.counts, self.terms.min_size)

    def _repr_html_(self) -> str:
        return _described("PublishedByLevel", self)


def read_any_release(folder: str | Path) -> Published | PublishedByLevel:
    """Read a release from its folder alone, whether all levels have the same sizes or not.

    Raises:
        ReleaseError: the folder is no release, or its files contradict its manifest.
    """
    known = _read(folder)
    terms, secure, measurement, counts = (known[name] for name in ("terms", "secure", "measurement", "counts"))
    if terms.max_sizes is None:
        return Published(terms, secure, measurement, counts_by_size(counts.counts(), terms.min_size))
    return PublishedByLevel(terms, secure, measurement, counts_by_size(counts, terms.min_size))


def read_release(folder: str | Path) -> Published:
    """Read a release from its folder alone, by the first steps of `check`; the others are not taken.

    Raises:
        ReleaseError: the folder is no release, or its files contradict its manifest; or it has sizes per level.

    Example:
        >>> read_release("no such folder")
        Traceback (most recent call last):
        pgsr.publishing.errors.ReleaseError: 'no such folder' is no folder; name the folder of a release
    """
    found = read_any_release(folder)
    if isinstance(found, PublishedByLevel):
        raise ReleaseError("the release has sizes per level; read it with read_release_by_level")
    return found


def read_release_by_level(folder: str | Path) -> PublishedByLevel:
    """Read a release with sizes per level, as `read_release` reads the others.

    Raises:
        ReleaseError: the folder is no release, or its files contradict its manifest; or all levels have the same sizes.
    """
    found = read_any_release(folder)
    if isinstance(found, Published):
        raise ReleaseError("the release has the same sizes on all levels; read it with read_release")
    return found


def _described(title: str, found: Published | PublishedByLevel) -> str:
    """Describe a published release, as an HTML table of its terms, its regions and its noise."""
    regions = found.counts.hierarchy.regions_per_level
    levels = zip(found.terms.names(len(regions)), regions, strict=True)
    noise = "secure" if found.secure else "that of a rehearsal: repeats, and the folder is as secret as the data"
    return facts_table(
        title,
        {
            **terms_facts(found.terms),
            "regions by level, root first": " / ".join(f"{name} {n:,}" for name, n in levels),
            "noise": noise,
        },
    )


def _read(folder: str | Path) -> dict[str, Any]:
    found = ReleaseCheck(Path(folder), None, None)
    for name, step in found.steps():
        if name in _READING:
            finding = found.find(name, step)
            if not finding.passed:
                raise ReleaseError(finding.sentence)
    return found.known


_READING = ("files", "digests", "manifest", "regions", "budget", "measurement", "counts", "integrality", "sign",
            "consistency")  # fmt: skip
"""The steps of `check` that reading takes."""
