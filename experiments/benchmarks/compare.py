"""The main job: every variant of post-processing, answered by every kind of method, on the same noisy hierarchy."""

import re
import tempfile
import textwrap
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import pgsr
from pgsr import CountOfCounts, Hierarchy, Problem, View
from pgsr.comparison import Comparison
from pgsr.comparison.figure import figure
from pgsr.comparison.findings import headline
from pgsr.comparison.page import page
from pgsr.comparison.runs import read
from pgsr.comparison.side_by_side import row_of, with_best_bounds
from pgsr.comparison.table import notes, words_frame
from pgsr.datasets import census_like
from pgsr.errors import ArgumentError, DataError
from pgsr.experiments.benchmarks.lanes import Lanes
from pgsr.experiments.benchmarks.variants import Labelled, NoisyVariants, Size, Variant, chosen
from pgsr.experiments.data.census2000 import census2000
from pgsr.experiments.data.kuo_taxi import kuo_taxi
from pgsr.experiments.data.packages import flights
from pgsr.experiments.engine.progress import Progress
from pgsr.models import Direct

if TYPE_CHECKING:
    import pandas as pd


class Data(StrEnum):
    """The hierarchy to compare on."""

    CENSUS = "census"
    TAXI = "taxi"
    CENSUS2000 = "census2000"
    FLIGHTS = "flights"

    @property
    def groups(self) -> str:
        """The name of its groups."""
        pairs = {Data.TAXI: "pairs of taxi and neighbourhood", Data.FLIGHTS: "pairs of aircraft and airport"}
        return pairs.get(self, "households")


MOST_FOR_SOLVERS = 100_000
"""Cells of a table of one's own up to which general solvers are asked, too; most would only reach their limits."""


@dataclass(frozen=True)
class OwnTable:
    """A table of one's own, a row per group.

    Attributes:
        path: of a CSV or Parquet file.
        regions: columns, from the largest regions down.
        members: the column of sizes.
        max_size: the largest size that is told apart.
    """

    path: Path
    regions: tuple[str, ...]
    members: str
    max_size: int

    groups = "groups"

    def __str__(self) -> str:
        return self.path.stem

    def truth(self) -> CountOfCounts:
        return pgsr.read(self.path, self.regions, size=self.members, max_size=self.max_size)


@dataclass(frozen=True)
class VariantSection:
    """The arms of one variant.

    Attributes:
        key: of the variant.
        part: the hierarchy that it was asked on.
        table: its rows, under what it asks for.
    """

    key: str
    part: str
    table: Comparison


@dataclass(frozen=True)
class CompareExperiment:
    """The values that fix a comparison. The same values give the same noise and the same answers.

    Attributes:
        data: the hierarchy, or a table of one's own.
        size: of the census-like hierarchy, 13 regions x 11 sizes, 61 x 21 or 3,195 x 1,001; for `census2000` counties
            or tracts; the others have one size. At the small one problems are asked alone, no releases. At full size
            only the methods of pgsr run, and CLARABEL on M_H beside them.
        epsilon: total, an equal share per level; releases that read the leaves alone spend it there.
        seed: of the research noise.
        time_limit: seconds per arm of a stated problem, and a tenth of those of a release; 5, 2 and 600 from the small
            to the full size if None.
        problems: keys of `VARIANTS`; all if empty.
        max_sizes: the largest sizes of the levels, root first, for all problems that can be stated so; if empty, the
            data's own on all levels, and a section with sizes per level besides.
    """

    data: Data | OwnTable = Data.CENSUS
    size: Size = Size.STATES
    epsilon: Fraction = Fraction(1)
    seed: str = "compare"
    time_limit: float | None = None
    problems: tuple[str, ...] = ()
    max_sizes: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if isinstance(self.data, Data) and (self.data, self.size) not in _TRUTHS:
            raise ArgumentError(f"{self.data} has one size; leave out the size {self.size}")

    @property
    def limit(self) -> float:
        return self.time_limit or {Size.SMALL: 5.0, Size.STATES: 2.0, Size.FULL: 600.0}[self.size]

    @property
    def is_national(self) -> bool:
        """Say whether only the methods run that can at this size."""
        return self.size is Size.FULL or self.data in (Data.TAXI, Data.CENSUS2000, Data.FLIGHTS)

    @property
    def before(self) -> "CompareExperiment | None":
        """The small comparison that goes before this one, in which every solver answers what it is made for."""
        if (self.data, self.size) != (Data.CENSUS, Size.STATES) or self.max_sizes:
            return None
        return replace(self, size=Size.SMALL)

    @property
    def name(self) -> str:
        of = "-".join(self.problems) + "-" if self.problems else ""
        of += f"sizes-{'-'.join(map(str, self.max_sizes))}-" if self.max_sizes else ""
        size = f"-{self.size}" if (self.data, Size.FULL) in _TRUTHS else ""
        return re.sub(r"[^\w.-]", "_", f"{of}{self.data}{size}-epsilon-{self.epsilon}-seed-{self.seed}")

    def truth(self) -> CountOfCounts:
        return self.data.truth() if isinstance(self.data, OwnTable) else _TRUTHS[self.data, self.size]()

    def title(self, truth: CountOfCounts) -> str:
        """Say in words what is compared on.

        Example:
            >>> from pgsr import Hierarchy
            >>> tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
            >>> CompareExperiment().title(CountOfCounts(tree, [[0, 700, 400], [0, 800, 500]]))
            '2,400 households in 3 regions, sizes 0 to 2, epsilon 1'
        """
        regions = f"{truth.hierarchy.n_regions:,} regions"
        groups = f"{truth.totals[0]:,} {self.data.groups}"
        largest = " / ".join(f"{k:,}" for k in self.max_sizes or (truth.max_size,))
        return f"{groups} in {regions}, sizes 0 to {largest}, epsilon {self.epsilon}"

    def parts(self, truth: CountOfCounts) -> list[tuple[Variant, list[Labelled]]]:
        """List the variants that are asked, each with its arms on one noise.

        Raises:
            ArgumentError: a problem is unknown.
        """
        noisy, parts = NoisyVariants(truth, self.epsilon, self.seed, self.max_sizes or None), []
        large = isinstance(self.data, OwnTable) and truth.counts.size > MOST_FOR_SOLVERS
        for variant in chosen(self.problems):
            arms = variant.arms(noisy, Size.FULL if large else self.size)
            if self.is_national and variant.words.startswith("M_H: "):
                arms.append(("Direct('CLARABEL')", Problem.m_h(noisy.of(View.COUNTS)), Direct("CLARABEL")))
            if arms:
                parts.append((variant, arms))
        return parts

    def limit_of(self, arms: list[Labelled]) -> float:
        """Give releases, which no solver decides and nothing proves, ten times as long."""
        return self.limit * (1 if any(isinstance(target, Problem) for _, target, _ in arms) else 10)


def compared(
    asked: Sequence[tuple[CompareExperiment, CountOfCounts]], say: Callable[[str], None], lanes: Lanes
) -> list[VariantSection]:
    """Have all arms of all comparisons answered, one after another in every lane.

    Args:
        asked: comparisons, with the counts to compare on.
        say: is told the tables of every problem when it is done.
        lanes: who answers the arms.
    """
    parts = [
        (one, truth, variant, arms, lanes.begin(arms, one.limit_of(arms)))
        for one, truth in asked
        for variant, arms in one.parts(truth)
    ]
    sections, start, before = [], time.monotonic(), None
    progress = Progress("compare", sum(len(arms) for *_, arms, _ in parts), say, "method")
    for place, (one, truth, variant, arms, ends) in enumerate(parts, start=1):
        if one is not before:
            before = one
            progress.show(f"\n{one.title(truth)}; {one.limit:g} s a method, {10 * one.limit:g} s a release")
        rows = []
        for (label, target, _), end in zip(arms, ends, strict=True):
            progress.begin(f"{variant.words.partition(':')[0]}: {label}")
            rows.append(row_of(label, target, *end.result(), truth, None))
            progress.advance()
        rows = with_best_bounds(rows, [target for _, target, _ in arms])
        sections.append(
            VariantSection(variant.key, one.title(truth), Comparison(rows, variant.words, one.limit_of(arms)))
        )
        progress.show(f"\n{section_text(sections[-1])}\n")
        methods = f"{len(arms)} method{'s' if len(arms) > 1 else ''}"
        seconds = time.monotonic() - start
        progress.tell(f"{place:2} of {len(parts)}  {seconds:6,.1f} s  {methods:10}  {variant.words}")
    progress.close()
    return sections


def verdict(sections: Sequence[VariantSection]) -> str:
    """Say in a sentence whether all proved optima agree, and where a method of pgsr proved one first."""
    return headline(*read(_rows(sections)))


def writable(folder: Path) -> Path:
    """Make the folder if need be.

    Raises:
        DataError: it cannot be made or written to.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError as error:
        raise DataError(f"cannot write to {folder}: {error.strerror}; choose another folder with --out") from None


def write(sections: Sequence[VariantSection], folder: Path, name: str, about: str = "") -> tuple[Path, Path, Path]:
    """Write the rows as Parquet, their figure as PNG, and their page as HTML; returns the paths.

    The page begins with `about`, which is HTML.
    """
    parquet, png, html = (folder / f"{name}.{ending}" for ending in ("parquet", "png", "html"))
    rows = _rows(sections)
    rows.to_parquet(parquet, index=False)
    figure(rows).savefig(png, dpi=100)
    html.write_text(page(rows, about), encoding="utf-8")
    return parquet, png, html


def _rows(sections: Sequence[VariantSection]) -> "pd.DataFrame":
    import pandas as pd

    tables = []
    for section in sections:
        frame = section.table.to_frame()
        for column, value in (("variant", section.table.title), ("key", section.key), ("part", section.part)):
            frame.insert(0, column, value)
        tables.append(frame)
    return pd.concat(tables, ignore_index=True)


def notes_text(sections: Sequence[VariantSection]) -> str:
    """Write what is to be known of the tables of all sections."""
    return "\n\n".join(textwrap.fill(note, 150, subsequent_indent="  ") for note in _notes(sections))


def section_text(section: VariantSection) -> str:
    """Write the tables of one section."""
    return f"{section.table.title}\n{words_frame(section.table).to_string(index=False)}"


def _notes(sections: Sequence[VariantSection]) -> list[str]:
    every = Comparison([row for section in sections for row in section.table.rows], "")
    return list(dict.fromkeys(notes(every)))


def _small() -> CountOfCounts:
    """Take three states of each of three divisions of the census-like hierarchy, sizes 0 to 10."""
    whole = census_like(regions="divisions", max_size=10, groups=3_000)
    leaves: dict[str, list[int]] = {}
    for leaf in range(whole.hierarchy.n_inner, whole.hierarchy.n_regions):
        leaves.setdefault(whole.hierarchy.paths[leaf][1], []).append(leaf)
    kept = [leaf for division in list(leaves.values())[:3] for leaf in division[:3]]
    tree = Hierarchy.from_paths([whole.hierarchy.paths[leaf] for leaf in kept])
    return CountOfCounts(tree, whole.counts[kept])


_TRUTHS: dict[tuple[Data, Size], Callable[[], CountOfCounts]] = {
    (Data.CENSUS, Size.SMALL): _small,
    (Data.CENSUS, Size.STATES): lambda: census_like(regions="divisions", max_size=20, groups=30_000),
    (Data.CENSUS, Size.FULL): lambda: census_like(regions="counties", max_size=1000),
    (Data.TAXI, Size.STATES): kuo_taxi,
    (Data.CENSUS2000, Size.STATES): lambda: census2000(regions="counties"),
    (Data.CENSUS2000, Size.FULL): lambda: census2000(regions="tracts"),
    (Data.FLIGHTS, Size.STATES): flights,
}
