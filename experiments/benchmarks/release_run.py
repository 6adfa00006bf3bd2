"""The benchmark of `pgsr release` from tables to checked folder, with two mechanisms and any number of rows.

The rows are made: as many households of every size in every county (or tract) as the Census of 2000 counted there,
scaled to the number of persons asked for, and vacant dwellings, which are groups without entities. Down to blocks, the
dwellings of a county are dealt out to made blocks, and the release is that of M_H with sizes per level.
"""

import datetime
import json
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
from rich.console import Console

from pgsr import CountOfCounts
from pgsr.data.rounding import largest_remainder
from pgsr.datasets import census_like
from pgsr.errors import DataError
from pgsr.experiments.data.census2000 import census2000
from pgsr.experiments.engine.tables import print_frame
from pgsr.machine.isolation import run_isolated
from pgsr.privacy.accounting import PureEpsilon
from pgsr.release.ledger import LedgerFile

MECHANISMS = ("m_c_dp", "kuo")
DATA_SET = "census 2000, made rows"
LEVELS = ("nation", "state", "county", "tract")
BLOCKS = ("block_group", "block")
DWELLINGS, BLOCKS_PER_GROUP = 20, 25
"""Dwellings per made block and blocks per group, about as many as in 2020."""

LARGEST = {"block_group": 20, "block": 7}
"""The largest sizes of the levels below counties, where they are not larger than K."""

VACANT = 10_424_540 / 105_480_101
"""Vacant dwellings per household in the Census of 2000 (Summary File 1, table H3)."""

BYTES_PER_ROW = 40
"""Disk that tables, spilled rows and releases need at most, per person."""


@dataclass(frozen=True)
class ReleaseStep:
    """One step, measured in a process of its own, whose start is included.

    Attributes:
        step: what was done.
        seconds: by the clock.
        peak_mb: most memory of the process.
        rows: that it wrote (or cells, of a release).
        size: bytes that it left on the disk.
        result: in words.
    """

    step: str
    seconds: float
    peak_mb: float
    rows: int
    size: int
    result: str


def main(
    console: Console, out: Path, rows: int, regions: str, max_size: int, keep: Path | None = None
) -> list[ReleaseStep]:
    """Make the tables, release and check with both mechanisms, print a table, write the steps to `out` as JSON.

    Args:
        console: prints.
        out: folder of the JSON file.
        rows: persons.
        regions: "states", "counties", "tracts" or "blocks".
        max_size: K of the releases; of blocks and their groups at most `LARGEST`.
        keep: a folder for tables and releases, which are deleted otherwise.
    """
    require_disk(keep or Path(tempfile.gettempdir()), rows)
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
    steps: list[ReleaseStep] = []
    with nullcontext(str(keep)) if keep else tempfile.TemporaryDirectory(prefix="pgsr-bench-release-") as place:
        folder = Path(place)
        work = {"tables": partial(make_tables, folder, rows, regions, max_size)}
        for mechanism in mechanisms(regions):
            work |= {
                f"{step.__name__[1:]} {mechanism}": partial(step, folder, mechanism) for step in (_release, _check)
            }
        for name, task in work.items():
            steps.append(_isolated(name, task))
            console.print(f"{name}: {steps[-1].seconds:,.1f} s; {steps[-1].result}", highlight=False)
    print_frame(console, _frame(steps), f"Release of {rows:,} rows of entities")
    path = out / f"release-{datetime.datetime.now():%Y-%m-%dT%H-%M-%S}.json"
    path.write_text(json.dumps([asdict(step) for step in steps], indent=1))
    console.print(f"\nsteps  {path}", highlight=False)
    return steps


def mechanisms(regions: str) -> tuple[str, ...]:
    """List the mechanisms of the releases; one has sizes per level."""
    return ("m_h",) if regions == "blocks" else MECHANISMS


def require_disk(folder: Path, rows: int) -> None:
    """Raise `DataError` if the tables do not fit beside what is there."""
    there = next(parent for parent in (folder, *folder.parents) if parent.exists())
    free, needed = shutil.disk_usage(there).free, BYTES_PER_ROW * rows
    if free < needed:
        raise DataError(
            f"{rows:,} rows may need {needed / 2**30:,.1f} GiB of disk, and {free / 2**30:,.1f} GiB are free in "
            f"{str(there)!r}; lower --rows, or name a folder elsewhere with --keep"
        )


def scaled_census(rows: int, regions: str) -> tuple[CountOfCounts, str]:
    """Make households by size with `rows` persons in all, and say where they come from; vacant dwellings have size 0.

    Counts of the Census of 2000 (size 7 means 7 or more) are scaled by one factor and rounded, then persons that
    rounding left over or took away are mended by households of one person.
    """
    try:
        found, origin = census2000(regions), "Census 2000, table H13, scaled"
    except DataError as error:
        found = census_like(regions, max_size=7)
        origin = f"generated census, scaled, instead of the Census of 2000: {error}"
    leaves = found.counts[found.hierarchy.leaves]
    sizes = np.arange(leaves.shape[1])
    exact = leaves * (rows / (leaves @ sizes).sum())
    counts = largest_remainder(exact.ravel(), round(exact.sum())).reshape(leaves.shape)
    short = rows - int((counts @ sizes).sum())
    most = np.argsort(-counts[:, 1], kind="stable")
    np.add.at(counts[:, 1], np.resize(most[: max(1, len(most) // 2)], abs(short)), np.sign(short))
    counts[:, 0] = np.rint(VACANT * counts[:, 1:].sum(axis=1))
    return CountOfCounts(found.hierarchy, counts, f"{found.name}/{rows}"), origin


def make_tables(folder: Path, rows: int, regions: str, max_size: int) -> tuple[int, int, str]:
    """Write the tables of entities and groups, and one configuration per mechanism.

    They are entities.parquet(entity, group) and groups.parquet(group, nation, state, ...).

    The k-th persons of all households of a county and size stand together, so that a household's rows lie apart.
    """
    truth, origin = scaled_census(rows, "counties" if regions == "blocks" else regions)
    tree = truth.hierarchy
    levels = LEVELS[: tree.n_levels]
    n_blocks = np.maximum(1, truth.totals // DWELLINGS)[tree.leaves]
    leaf, size = np.nonzero(truth.counts[tree.leaves])
    n = truth.counts[tree.leaves][leaf, size]
    paths = [tree.paths[tree.n_inner + region] for region in leaf]
    cells = pa.table(
        {level: [path[depth] for path in paths] for depth, level in enumerate(levels)}
        | {
            "blocks": n_blocks[leaf],
            "size": size,
            "n": n,
            "first": np.cumsum(n) - n,
            "person": np.cumsum(n * size) - n * size,
        }
    )
    with duckdb.connect(config={"memory_limit": "4GB", "temp_directory": str(folder / "spilled")}) as connection:
        connection.register("cells", cells)
        write = "COPY ({}) TO '{}' (FORMAT parquet, COMPRESSION zstd)"
        named = ", ".join(levels)
        block = "hash(first + i) % blocks" if regions == "blocks" else "0"
        dwellings = f"SELECT *, {block} AS place FROM (SELECT *, unnest(range(n)) AS i FROM cells)"
        if regions == "blocks":
            named += f", 'group ' || place // {BLOCKS_PER_GROUP} AS block_group, 'block ' || place AS block"
        groups = f'SELECT first + i AS "group", {named} FROM ({dwellings})'
        connection.execute(write.format(groups, folder / "groups.parquet"))
        persons = "SELECT *, unnest(range(n * size)) AS i FROM cells WHERE size > 0"
        rows_of = f'SELECT person + i AS entity, first + i % n AS "group" FROM ({persons})'
        connection.execute(write.format(rows_of, folder / "entities.parquet"))
    shutil.rmtree(folder / "spilled", ignore_errors=True)
    LedgerFile.create(folder / "ledger.jsonl", DATA_SET, PureEpsilon(len(mechanisms(regions))))
    levels += BLOCKS if regions == "blocks" else ()
    for mechanism in mechanisms(regions):
        (folder / f"{mechanism}.toml").write_text(_config(mechanism, levels, max_size))
    n_groups = int(truth.totals[0])
    what = f"{rows:,} persons in {n_groups:,} groups, {n_groups - int(n[size > 0].sum()):,} of them without; {origin}"
    return rows + n_groups, _bytes(folder.glob("*.parquet")), what


def _config(mechanism: str, levels: tuple[str, ...], max_size: int) -> str:
    sizes = str(max_size)
    if levels[-1] in BLOCKS:
        sizes = f"{{{', '.join(f'{level} = {min(max_size, LARGEST.get(level, max_size))}' for level in levels)}}}"
    return f"""\
data_set = "{DATA_SET}"
max_size = {sizes}
epsilon = "1"
mechanism = "{mechanism}"
output = "{mechanism}"
ledger = "ledger.jsonl"
[entities]
file = "entities.parquet"
[groups]
file = "groups.parquet"
region = {json.dumps(levels)}
"""


def _release(folder: Path, mechanism: str) -> tuple[int, int, str]:
    from pgsr.cli import app

    app(["release", str(folder / f"{mechanism}.toml")], standalone_mode=False)
    manifest = json.loads((folder / mechanism / "manifest.json").read_text())
    log = (folder / f"{mechanism}-private.log").read_text().splitlines()
    times = ", ".join(line for line in log if " after " in line)
    n_regions = sum(level["regions"] for level in manifest["levels"])
    sizes = [level.get("max_size", manifest["max_size"]) + 1 for level in manifest["levels"]]
    shape = f"{n_regions:,} regions x {' / '.join(f'{n:,}' for n in dict.fromkeys(sizes))} sizes"
    n_cells = sum(level["regions"] * n for level, n in zip(manifest["levels"], sizes, strict=True))
    return n_cells, _bytes((folder / mechanism).iterdir()), f"{shape}; {times}"


def _check(folder: Path, mechanism: str) -> tuple[int, int, str]:
    from pgsr.release import check

    report = check(folder / mechanism)
    if not report.passed:
        raise AssertionError("; ".join(f.sentence for f in report.findings if not f.passed))
    return 0, 0, f"{len(report.findings)} of {len(report.findings)} checks passed"


def _isolated(name: str, work: Callable[[], tuple[int, int, str]]) -> ReleaseStep:
    start = time.perf_counter()
    outcome = run_isolated(work)
    seconds = time.perf_counter() - start
    if outcome.error:
        raise DataError(f"{name}: {outcome.error}")
    rows, size, result = outcome.value
    return ReleaseStep(name, seconds, outcome.peak_bytes / 1e6, rows, size, result)


def _bytes(files: Iterable[Path]) -> int:
    return sum(path.stat().st_size for path in files)


def _frame(steps: list[ReleaseStep]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "step": [step.step for step in steps],
            "seconds": [f"{step.seconds:,.1f}" for step in steps],
            "peak MB": [f"{step.peak_mb:,.0f}" for step in steps],
            "rows": [f"{step.rows:,}" if step.rows else "" for step in steps],
            "MB on disk": [f"{step.size / 1e6:,.1f}" if step.size else "" for step in steps],
            "result": [step.result for step in steps],
        }
    )
