"""The table of an experiment on the screen: printed numbers and claims, each with what was found and why.

`publish` writes those of all published results to docs/results/shown.json, so that `show` has them without a second's
import of experiments; `run` ends with the same table of what a store holds.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pgsr.experiments.engine.causes import Cause
from pgsr.experiments.engine.experiment import Experiment
from pgsr.experiments.engine.papers import Printed, StandsFor
from pgsr.experiments.engine.verdicts import Verdict
from pgsr.experiments.report.claims import by_claim
from pgsr.experiments.report.content import as_printed, decimal, number
from pgsr.experiments.report.items import tried_data
from pgsr.experiments.report.means import Mean, means
from pgsr.experiments.report.published_figures import FIGURES, figure_files

if TYPE_CHECKING:
    import pandas as pd

    from pgsr.experiments.report.publication import PublishedResults

FILE = "shown.json"


def shown_rows(experiment: Experiment, frame: "pd.DataFrame", verdicts: Iterable[Verdict]) -> list[tuple[str, ...]]:
    """Make the table: numbers, then claims, with the columns of `commands.showing.HEADS`."""
    if frame.empty:
        return []
    rows, about = [], about_of(experiment)
    sets = {data.name: data.stands_for for data in tried_data(experiment)}
    for mean in means(frame, experiment) if experiment.printed else ():
        if mean.printed is None:
            continue
        error = mean.standard_error
        cause = "alternative reading" if mean.reading and not mean.remark else kind_of(sets.get(mean.data))
        rows.append((
            _what(mean), as_printed(mean.printed.value), number(mean.mean), "" if error is None else number(error),
            mean.compared, mean.agreement, cause,
        ))  # fmt: skip
    for (claim, cause), found in by_claim(verdicts, about).items():
        rows.append((claim, "", "", "", found.ratio_words, found.words, cause))
    return rows


def about_of(experiment: Experiment) -> Callable[[Verdict], str]:
    """Make the function that tells what a verdict is about: its cause, or on which data a paper's claim was tested."""
    sets = {data.name: data.stands_for for data in tried_data(experiment)}

    def about(verdict: Verdict) -> str:
        if verdict.cause not in (Cause.CLAIM, Cause.NUMBER):
            return str(verdict.cause)
        name = max((name for name in sets if name in verdict.data), key=len, default="")
        return kind_of(sets.get(name))

    return about


def kind_of(data: StandsFor | None) -> str:
    """Say what a data set is to the paper."""
    if data is None:
        return "any data"
    return "own data" if data.is_the_papers else "data by its recipe" if data.by_recipe else "stand-in data"


def write_shown(found: "Sequence[tuple[Experiment, PublishedResults, pd.DataFrame]]", folder: Path) -> None:
    """Write the tables of all published results, with what each is and where its figures are."""
    body = [
        {
            "id": experiment.id,
            "title": experiment.title,
            "part": experiment.reproduces,
            "results": f"profile {about.profile}, {about.replicates} replicates, {about.computed[-1]}",
            "figures": [f"{FIGURES}/{name}" for name in figure_files(experiment, frame)],
            "rows": shown_rows(experiment, frame, experiment.verdicts(frame)),
        }
        for experiment, about, frame in found
    ]
    text = json.dumps(body, ensure_ascii=False, indent=0)
    (folder / FILE).write_text(text.replace(',\n"', ', "').replace('[\n"', '["') + "\n", encoding="utf-8")


def _level(printed: Printed) -> str:
    if printed.metric.endswith("_total"):
        return "all levels"
    return "" if printed.level is None else f"level {printed.level}"


def _what(mean: Mean) -> str:
    printed = mean.printed
    assert printed is not None, "only printed numbers are shown"
    parts = [printed.data, printed.arm or printed.metric, _level(printed)]
    parts += [f"epsilon {decimal(mean.epsilon)}" if mean.epsilon is not None else "", mean.reading]
    of_violations = mean.metric if mean.metric.startswith("cv_") else ""
    return ", ".join(part for part in (*parts, of_violations) if part)
