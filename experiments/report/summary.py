"""The summary of an experiment's stored results that can be kept: means, what computed them, and a page to read."""

import json
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from pgsr.drawing import level_name
from pgsr.experiments.engine.experiment import Experiment, ExperimentError, Profile
from pgsr.experiments.engine.store import Entry, State, Store, to_frame
from pgsr.experiments.engine.summary import LevelErrors, level_errors
from pgsr.experiments.engine.verdicts import Verdict


def write_summary(experiment: Experiment, profile: Profile, store: Store, folder: Path) -> list[Path]:
    """Write <id>.parquet, <id>.json and <id>.md to `folder`, from what is stored.

    The table has a row per data set, epsilon, arm, metric and level: mean, standard_error and replicates. The JSON file
    says profile, versions, machine, sources and durations. The page shows the earth mover's distances and verdicts.

    Raises:
        ExperimentError: nothing is stored.
    """
    entries = [entry for entry in store.entries(experiment.owner.id, profile) if isinstance(entry, Entry)]
    done = [entry for entry in entries if entry.state is State.DONE]
    if not done:
        raise ExperimentError(
            f"{experiment.id} has no results in {store.folder(experiment.id, profile)}; "
            f"python -m pgsr.experiments run {experiment.called} --profile {profile}"
        )
    frame, paths = to_frame(done), [folder / f"{experiment.id}.{ending}" for ending in ("parquet", "json", "md")]
    folder.mkdir(parents=True, exist_ok=True)
    means(frame).to_parquet(paths[0], index=False)
    paths[1].write_text(json.dumps(_about(experiment, profile, done), indent=1) + "\n", encoding="utf-8")
    paths[2].write_text("\n".join(_page(experiment, profile, frame)) + "\n", encoding="utf-8")
    return paths


def means(frame: pd.DataFrame) -> pd.DataFrame:
    """Put the means of all metrics by level into one table, with standard errors and numbers of replicates."""
    metrics = dict.fromkeys(str(name).rpartition("_level")[0] for name in frame.columns if "_level" in str(name))
    parts = [level_errors(frame, metric).to_frame().assign(metric=metric) for metric in metrics]
    return pd.concat([part for part in parts if len(part)], ignore_index=True)


def _about(experiment: Experiment, profile: Profile, done: list[Entry]) -> dict:
    """Say what the results are of, in values that JSON holds."""
    seconds: dict[str, float] = {}
    replicates: dict[str, set[int]] = {}
    for entry in done:
        seconds[entry.cell.data] = seconds.get(entry.cell.data, 0.0) + entry.seconds
        replicates.setdefault(entry.cell.data, set()).add(entry.cell.replicate)
    host = {name: value for name, value in done[0].host.items() if name != "name"}
    return {
        "experiment": experiment.id,
        "profile": str(profile),
        "cells": len(done),
        "cells_of_the_profile": len(experiment.tasks(profile)),
        "replicates_begun": {data: len(found) for data, found in replicates.items()},
        "seconds": {data: round(spent) for data, spent in seconds.items()},
        "largest_peak_mb": round(max(entry.peak_bytes for entry in done) / 1e6),
        "finished": max(entry.finished for entry in done),
        "sources": sorted({entry.code for entry in done}),
        "versions": done[0].versions,
        "machine": host,
    }


def _page(experiment: Experiment, profile: Profile, frame: pd.DataFrame) -> Iterator[str]:
    """Yield the lines of the page."""
    errors = level_errors(frame, "emd")
    yield f"# {experiment.id}: {experiment.title.lower()}\n"
    yield f"{experiment.question}\n"
    yield (
        "Means of the earth mover's distance to the truth over the regions of a level, in entities, with two standard "
        "errors where there are several replicates. The best of a column is bold. All other metrics are in "
        f"`{experiment.id}.parquet` beside this page, and what computed them in `{experiment.id}.json`. Made by "
        f"`python -m pgsr.experiments summary {experiment.id} --profile {profile} --to docs/results`."
    )
    for data, epsilon in errors.values_of("data", "epsilon"):
        part = errors.where(data=data, epsilon=epsilon)
        replicates = max(len(row.values) for row in part)
        yield f"\n## {data}, epsilon {epsilon:g}\n"
        yield f"{replicates} replicate{'s' * (replicates > 1)}.\n"
        yield from _table(part, [arm.label for arm in experiment.arms])
    verdicts = experiment.verdicts(frame)
    if verdicts:
        yield "\n## What follows\n"
        yield from (_line(verdict) for verdict in verdicts)


def _table(part: LevelErrors, arms: list[str]) -> Iterator[str]:
    levels = range(part.n_levels)
    best = [min(row.mean for row in part.where(level=level)) for level in levels]
    yield f"| release | {' | '.join(level_name(level, part.n_levels) for level in levels)} |"
    yield f"|---|{'--:|' * len(levels)}"
    for arm in arms:
        cells = []
        for level in levels:
            row = part.one(arm=arm, level=level)
            text = "" if row is None else f"{row.mean:,.4g}" if row.mean < 1_000 else f"{row.mean:,.0f}"
            text = f"**{text}**" if row is not None and row.mean == best[level] else text
            half = f" ± {2 * row.standard_error:,.2g}" if row is not None and len(row.values) > 1 else ""
            cells.append(text + half)
        if any(cells):
            yield f"| {arm} | {' | '.join(cells)} |"


def _line(verdict: Verdict) -> str:
    return f"- {verdict.claim} ({verdict.data}): **{verdict.finding}**. {verdict.words}"
