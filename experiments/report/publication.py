"""The results that the repository keeps: per experiment a table of its cells, and how and where they were computed.

Papers' sizes take hours, so whoever reads the documentation should not have to run them. `publish` writes what a store
holds to docs/results, ID.parquet and ID.json, and `published` reads it again; figures (`report.published_figures`) and
what pages quote (`report.paper_tables`) are made from these files alone. Names of machines are left out.
"""

import json
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pgsr.experiments.engine.digest import code_digest
from pgsr.experiments.engine.experiment import Experiment, ExperimentError, Profile
from pgsr.experiments.engine.runner import CellCondition
from pgsr.experiments.engine.store import Store, StoredCell, to_frame
from pgsr.experiments.report.environment import environment, uncommitted
from pgsr.experiments.report.sections import collect

if TYPE_CHECKING:
    import pandas as pd

LEFT_OUT = ("key", "reason", "own_mb", "time_limit", "code", "finished")
"""Columns of a store's table that no figure and no verdict uses."""


@dataclass(frozen=True)
class PublishedResults:
    """The description of an experiment's published results.

    Attributes:
        experiment, profile: whose cells they are.
        cells, planned: how many are published, and how many the profile has.
        replicates: of the arm with the fewest, on the data set with the fewest.
        without: cells that ended otherwise, by reason.
        seconds: of the processor for all cells, with the start of their processes.
        computed: dates of the first and the last.
        code: digest of the sources that computed them (`pgsr.experiments.engine.digest`).
        sources, machine, versions: as in the report.
    """

    experiment: str
    profile: str
    cells: int
    planned: int
    replicates: int
    seconds: float
    computed: tuple[str, str]
    code: str
    sources: str
    machine: str
    versions: str
    without: dict[str, int] = field(default_factory=dict)


def publish(experiment: Experiment, profile: Profile, store: Store, folder: Path) -> PublishedResults:
    """Write what the store holds of an experiment to ID.parquet and ID.json in a folder that exists.

    Cells that failed or were late are left out and counted, with the reason.

    Raises:
        ExperimentError: cells are missing or torn, or come from other sources than today's, or no commit has these.
    """
    owner = experiment.owner
    if changed := uncommitted():
        rest = f" and {len(changed) - 1:,} more" if changed[1:] else ""
        raise ExperimentError(
            f"{owner.id} is not published: sources differ from the commit that its description would name "
            f"({changed[0]}{rest}); commit or undo this"
        )
    (section,) = collect([owner], profile, store, draw=False)
    missing = section.condition[CellCondition.MISSING] + section.condition[CellCondition.TORN]
    if missing or not section.done:
        lacks = f"{missing:,} cells" if section.done else "all cells"
        raise ExperimentError(
            f"{owner.id} lacks {lacks} of profile {profile}, and a part of a sweep is not published; {section.command}"
        )
    if stale := section.condition[CellCondition.STALE]:
        raise ExperimentError(
            f"{stale:,} cells of {owner.id} come from other sources than today's, so they cannot be published as this "
            f"version's; {section.command}"
        )
    frame = to_frame(section.done).drop(columns=list(LEFT_OUT)).dropna(axis="columns", how="all")
    about, dates = dict(environment(section.done)), sorted(entry.finished for entry in section.done)
    found = PublishedResults(
        experiment=owner.id,
        profile=str(profile),
        cells=len(section.done),
        planned=sum(section.condition.values()),
        replicates=min(len({e.cell.replicate for e in cells}) for cells in _by_arm(section.done).values()),
        seconds=round(sum(entry.cpu_seconds for entry in section.done), 1),
        computed=(_day(dates[0]), _day(dates[-1])),
        code=code_digest(owner),
        sources=about["sources"],
        machine=about["machine"],
        versions=about["versions"],
        without=dict(Counter(entry.reason for entry in section.entries if entry not in section.done)),
    )
    table, description = _files(folder, owner.id)
    # Arrow's own copy of the schema would be two fifths of a table with hundreds of columns, and tells pandas nothing.
    frame.to_parquet(table, index=False, compression="zstd", compression_level=19, store_schema=False)
    description.write_text(json.dumps(asdict(found), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return found


def published(
    experiments: Sequence[Experiment], folder: Path
) -> list[tuple[Experiment, PublishedResults, "pd.DataFrame"]]:
    """Read the published results of these experiments, with those of others whose cells they look at."""
    import pandas as pd

    found = []
    for experiment in experiments:
        table, description = _files(folder, experiment.owner.id)
        if description.exists():
            body = json.loads(description.read_text("utf-8"))
            about = PublishedResults(**(body | {"computed": tuple(body["computed"])}))
            found.append((experiment, about, _with_lists(pd.read_parquet(table))))
    return found


def _with_lists(frame: "pd.DataFrame") -> "pd.DataFrame":
    """Give lists back as lists: Parquet's come back as arrays, in which NaN stands for None."""
    for name in [name for name in frame.columns if frame[name].dtype.kind == "O"]:
        frame[name] = [_plain(value) for value in frame[name]]
    return frame


def _plain(value: Any) -> Any:
    """Undo what Parquet did to a value.

    Example:
        >>> import numpy as np
        >>> _plain(np.array([1.5, np.nan])), _plain("text")
        ([1.5, None], 'text')
    """
    if not isinstance(value, np.ndarray):
        return value
    return [None if isinstance(each, float) and math.isnan(each) else _plain(each) for each in value.tolist()]


def _by_arm(entries: Iterable[StoredCell]) -> dict[tuple[str, str], list[StoredCell]]:
    found: dict[tuple[str, str], list[StoredCell]] = {}
    for entry in entries:
        found.setdefault((entry.cell.data, entry.cell.arm), []).append(entry)
    return found


def _files(folder: Path, identity: str) -> tuple[Path, Path]:
    return folder / f"{identity}.parquet", folder / f"{identity}.json"


def _day(finished: str) -> str:
    return datetime.fromisoformat(finished).date().isoformat()
