"""The benchmark of sizes per level, from a nation's exact counts to its released ones: time and memory by size."""

import json
import math
import shutil
import tempfile
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import pandas as pd
from rich.console import Console

from pgsr import View
from pgsr.data.counts import CountOfCounts
from pgsr.data.hierarchy import Hierarchy
from pgsr.datasets.census_blocks import CensusBlocks
from pgsr.errors import ArgumentError, DataError
from pgsr.experiments.benchmarks.scale import exponent
from pgsr.experiments.engine.tables import print_frame
from pgsr.machine.isolation import START_LIMIT, run_isolated
from pgsr.machine.partitions import Engine, ParquetFolder
from pgsr.nation import StreamedLevelMatching, StreamedLevelTreeProjection, measure
from pgsr.noise import Geometric
from pgsr.privacy import Seeded

BLOCKS = (60_000, 600_000, 6_000_000)


@dataclass(frozen=True)
class NationStep:
    """A step, measured in a process of its own, after its loops were compiled.

    Attributes:
        blocks: leaves of the hierarchy.
        step: what was done.
        seconds: by the clock; not a number where the step failed, and so are those of processors.
        processor: seconds of all threads, which other work on the machine hardly changes.
        peak_mb: most memory of the process.
        result: in words, or why it failed.
    """

    blocks: int
    step: str
    seconds: float
    processor: float
    peak_mb: float
    result: str


@dataclass(frozen=True)
class StoredNation:
    """A generated nation whose exact counts were written, so that making them up is no part of what is measured."""

    data: CensusBlocks
    folder: ParquetFolder

    @property
    def name(self) -> str:
        return self.data.name

    @property
    def keys(self) -> tuple[str, ...]:
        return self.data.keys

    @property
    def upper(self) -> Hierarchy:
        return self.data.upper

    @property
    def max_sizes(self) -> tuple[int, ...]:
        return self.data.max_sizes

    def tree(self, key: str) -> Hierarchy:
        return self.data.tree(key)

    def above(self) -> CountOfCounts:
        return self.data.above()

    def part(self, key: str) -> CountOfCounts:
        levels = range(self.data.upper.n_levels - 1, len(self.data.max_sizes))
        return CountOfCounts(self.data.tree(key), tuple(self.folder.read(key, f"true-{level}") for level in levels))

    def make(self) -> str:
        """Write the exact counts of all states."""
        for key in self.data.keys:
            for level, table in enumerate(self.data.part(key).tables, self.data.upper.n_levels - 1):
                self.folder.write(key, f"true-{level}", table)
        return f"{len(self.data.keys)} states"


def main(
    console: Console,
    out: Path,
    blocks: Sequence[int],
    methods: Sequence[str],
    epsilon: str,
    place: str,
    keep: Path | None,
) -> None:
    """Run all sizes; write and print the steps, and the exponent of time in the number of blocks.

    Raises:
        ArgumentError: a method is unknown.
        DataError: a step failed; what ran is written all the same.
    """
    unknown = [name for name in methods if name not in METHODS]
    if unknown:
        raise ArgumentError(f"the method {unknown[0]!r} is unknown; use one of {', '.join(METHODS)}")
    steps: list[NationStep] = []
    with nullcontext(str(keep)) if keep else tempfile.TemporaryDirectory() as folder:
        for n in blocks:
            here = Path(folder) / str(n)
            steps += run(n, methods, epsilon, place, here, console)
            if keep is None:
                shutil.rmtree(here)
    frame = pd.DataFrame([asdict(step) for step in steps])
    print_frame(console, frame, f"sizes per level, epsilon {epsilon}, {place}")
    if len(blocks) > 1:
        for name in methods:
            times = [step.processor for step in steps if step.step == name]
            if all(map(math.isfinite, times)):
                console.print(f"seconds of {name} grow like blocks^{exponent(blocks, times):.2f}", highlight=False)
    out.mkdir(parents=True, exist_ok=True)
    table = frame.astype(object).where(frame.notna(), None).to_dict("records")  # JSON has no NaN
    (out / "nation.json").write_text(json.dumps(table, indent=1, allow_nan=False), encoding="utf-8")
    failed = [f"{step.step} at {step.blocks:,} blocks ({step.result})" for step in steps if math.isnan(step.seconds)]
    if failed:
        raise DataError(
            f"failed: {'; '.join(failed)}; see to the first, and run it alone with --blocks and --method; "
            f"{out}/nation.json has the others"
        )


def run(
    blocks: int, methods: Sequence[str], epsilon: str, place: str, folder: Path, console: Console
) -> list[NationStep]:
    """Make a nation, measure it in every view that the methods need, release it by each of them."""
    nation = StoredNation(CensusBlocks(blocks=blocks), ParquetFolder(str(folder)))
    tasks: dict[str, Callable[[], str]] = {"make": nation.make}
    for name in methods:
        view, release = METHODS[name]
        measured = ParquetFolder(str(folder / view.value))
        tasks[f"measure {view.value}"] = partial(_measure, nation, measured, view, epsilon, place)
        tasks[name] = partial(release, nation, measured, epsilon, place)
    steps = []
    for name, task in tasks.items():
        outcome = run_isolated(partial(_timed, task), _warm_up)
        why = outcome.error or f"the process took more than {START_LIMIT:g} s to start"
        seconds, processor, result = outcome.value or (float("nan"), float("nan"), why)
        rounded = round(seconds, 1), round(processor, 1), round(outcome.peak_bytes / 1e6)
        steps.append(NationStep(blocks, name, *rounded, result))
        times = f"{seconds:.1f} s, {processor:.1f} s of processors, {outcome.peak_bytes / 1e6:,.0f} MB"
        console.print(f"{blocks:>9,} blocks: {name} {times}, {result}", highlight=False)
    return steps


def _timed(task: Callable[[], str]) -> tuple[float, float, str]:
    from time import perf_counter, process_time

    start, used = perf_counter(), process_time()
    result = task()
    return perf_counter() - start, process_time() - used, result


def _warm_up() -> None:
    """Compile: toys with tables of the kind that files give."""
    from pgsr.warming import solve_levels

    solve_levels()


def _measure(nation: StoredNation, folder: ParquetFolder, view: View, epsilon: str, place: str) -> str:
    """Cumulative counts are measured with every block's number of groups, which matching needs."""
    last = None if view is View.COUNTS else len(nation.max_sizes) - 1
    measure(nation, folder, Geometric(view, epsilon), Seeded("bench"), Engine.named(place), totals_of=last)
    public = "the nation's" if last is None else "every block's"
    return f"epsilon {epsilon}, with {public} number of groups"


def _m_h(nation: StoredNation, folder: ParquetFolder, epsilon: str, place: str) -> str:
    return _projected(nation, folder, View.COUNTS, place)


def _m_c_dp(nation: StoredNation, folder: ParquetFolder, epsilon: str, place: str) -> str:
    return _projected(nation, folder, View.CUMULATIVE, place)


def _projected(nation: StoredNation, folder: ParquetFolder, view: View, place: str) -> str:
    result = StreamedLevelTreeProjection(Engine.named(place), view).solve(nation, folder)
    proved = "proved optimal" if result.optimal else f"NOT proved, violations {result.violations}"
    return f"{proved}, {result.n_cells:,} cells, {result.n_arcs:,} looked at, {result.passes} passes"


def _matching(nation: StoredNation, folder: ParquetFolder, epsilon: str, place: str) -> str:
    result = StreamedLevelMatching(Engine.named(place)).release(nation, folder, Geometric(View.CUMULATIVE, epsilon))
    kept = "adds up" if not any(result.violations.values()) else f"does NOT add up, violations {result.violations}"
    return f"{kept}, {result.n_cells:,} cells"


METHODS = {
    "m_h": (View.COUNTS, _m_h),
    "m_c_dp": (View.CUMULATIVE, _m_c_dp),
    "matching": (View.CUMULATIVE, _matching),
}
"""The releases by name, each with the view that is measured for it."""
