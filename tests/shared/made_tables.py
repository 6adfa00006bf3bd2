"""Small confidential tables for tests of releases."""

from _thread import interrupt_main
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from signal import SIGINT, default_int_handler, signal
from threading import Timer
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
from instances import rng_of

from pgsr import CountOfCounts
from pgsr.data import Estimate
from pgsr.privacy.accounting import PureEpsilon
from pgsr.release import ReleaseConfig, publish
from pgsr.release.ledger import LedgerFile
from pgsr.tables.long import to_long

AT_REST_SPREAD = 125e6
"""Bytes by which a process at rest, some 400 MB, differs between machines: how much of its libraries it has touched."""


def config(folder: Path, mechanism: str = "m_h", name: str = "release", **keys: str) -> ReleaseConfig:
    """The configuration that `write_config` writes, read."""
    return ReleaseConfig.read(write_config(folder, mechanism, name, **keys))


def left(folder: Path) -> Fraction:
    """The epsilon that is left in the ledger of `folder`."""
    return LedgerFile(folder / "ledger.jsonl").left.parts[0]


def contents(folder: Path) -> dict[str, bytes]:
    """The files of a folder by name."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def release(config: ReleaseConfig, rehearse: bool = False) -> Path:
    """The folder of a release."""
    return publish(config, rehearse).folder


LEAVES = [("US", state, f"{state}{i}") for state in ("GA", "MI") for i in range(2)]


def write_tables(folder: Path, seed: int = 0, n_groups: int = 60, leaves: list[tuple[str, ...]] | None = None) -> None:
    """Write entities.parquet, groups.parquet and regions.csv; ids of regions are their paths."""
    rng, leaves = rng_of(seed), leaves or LEAVES
    ids = ["/".join(path) for path in leaves]
    region = pa.array(ids).take(pa.array(np.arange(n_groups) % len(ids)))
    sizes = rng.integers(0, 5, n_groups)
    group = np.arange(n_groups)
    pq.write_table(pa.table({"group": group, "region": region}), folder / "groups.parquet")
    people = pa.table({"entity": np.arange(sizes.sum()), "group": np.repeat(group, sizes)})
    pq.write_table(people, folder / "entities.parquet")
    above: dict[str, str] = {}
    for path in leaves:
        for depth in range(1, len(path) + 1):
            above["/".join(path[:depth])] = "/".join(path[: depth - 1])
    lines = ["region,parent", *(f"{region},{parent}" for region, parent in above.items())]
    (folder / "regions.csv").write_text("\n".join(lines) + "\n")


def write_config(folder: Path, mechanism: str = "m_h", name: str = "release", **keys: str) -> Path:
    """A configuration, and a ledger of total 100 beside it if there is none.

    `keys` replace or add lines of the top level, None drops one, `tables` replaces the tables.
    """
    top: dict[str, str | None] = {
        "data_set": '"made"',
        "max_size": "3",
        "epsilon": '"1"',
        "mechanism": f'"{mechanism}"',
        "output": f'"{name}"',
        "ledger": '"ledger.jsonl"',
    }
    tables = keys.pop("tables", TABLES)
    top |= keys
    lines = [f"{key} = {value}" for key, value in top.items() if value is not None]
    make_ledger(folder)
    path = folder / f"{name}.toml"
    path.write_text("\n".join(lines) + "\n" + tables)
    return path


def make_ledger(folder: Path, total: str = "100") -> LedgerFile:
    """The ledger of the configurations in a folder."""
    path = folder / "ledger.jsonl"
    return LedgerFile(path) if path.exists() else LedgerFile.create(path, "made", PureEpsilon(total))


TABLES = """
[entities]
file = "entities.parquet"
[groups]
file = "groups.parquet"
[regions]
file = "regions.csv"
"""


def write_long(table: CountOfCounts | Estimate, path: Path, **options: Any) -> None:
    """Write `to_long` as Parquet or CSV, by the file's ending."""
    write = pq.write_table if path.suffix == ".parquet" else pa_csv.write_csv
    write(to_long(table, **options), path)


LONG = "SELECT count(*) FROM range(100000000000) t(i) WHERE hash(i) % 7 = 3"
"""SQL that takes minutes."""


def stopped_reading(run: Callable[..., Any]) -> Callable[..., Any]:
    """`Session._run` of a query that takes long, which Ctrl-C stops a moment later."""

    def stopped(session: Any, connection: Any, _sql: str, *more: Any) -> Any:
        before = signal(SIGINT, default_int_handler)  # a process in the background may ignore Ctrl-C
        Timer(0.2, interrupt_main).start()
        try:
            return run(session, connection, LONG, *more)
        finally:
            signal(SIGINT, before)

    return stopped
