"""The collection of what there is to report on each experiment, from the store, its functions and printed numbers."""

import io
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from pgsr.errors import DataError
from pgsr.experiments.engine.digest import code_digest
from pgsr.experiments.engine.experiment import DataSet, Experiment, Profile
from pgsr.experiments.engine.papers import Beside, Printed
from pgsr.experiments.engine.runner import CellCondition, conditions
from pgsr.experiments.engine.store import CellState, Store, StoredCell, Torn, to_frame
from pgsr.experiments.engine.verdicts import Verdict
from pgsr.experiments.report.means import Mean, means

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class DataUse:
    """A data set of the experiment, the one that it stands in for ("" for none), and how many results it has."""

    data: DataSet
    instead_of: str
    results: int


@dataclass(frozen=True)
class FigureImage:
    """A figure as PNG, and a description in words of its panels and axes."""

    png: bytes
    alt: str


@dataclass(frozen=True)
class Section:
    """The material to report on one experiment.

    Attributes:
        planned: False where the experiment has no such profile.
        entries: stored cells that the experiment still has, failed ones as well.
        condition: how many of its cells are finished, stale, failed, torn or missing.
        trouble: per condition that needs a word: pairs of a reason and the keys of its cells.
        remarks: sentences on absent data and on parts that could not be made.
        unmatched: printed numbers of this experiment that no mean stands beside, and why.
    """

    experiment: Experiment
    profile: Profile
    planned: bool = True
    entries: tuple[StoredCell, ...] = ()
    data: tuple[DataUse, ...] = ()
    condition: Counter[CellCondition] = field(default_factory=Counter)
    trouble: dict[CellCondition, dict[str, list[str]]] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()
    drawing: FigureImage | None = None
    means: tuple[Mean, ...] = ()
    unmatched: tuple[tuple[Printed, str], ...] = ()
    verdicts: tuple[Verdict, ...] = ()

    @property
    def anchor(self) -> str:
        return self.experiment.id.lower().replace(" ", "-")

    @property
    def done(self) -> list[StoredCell]:
        return [entry for entry in self.entries if entry.state is CellState.DONE]

    @property
    def seconds(self) -> float:
        """The seconds of all stored cells."""
        return sum(entry.seconds for entry in self.entries)

    @property
    def unfinished(self) -> bool:
        """True if running the experiment in this profile would compute something."""
        again = (CellCondition.MISSING, CellCondition.STALE, CellCondition.FAILED, CellCondition.TORN)
        return self.planned and (not self.entries or any(self.condition[each] for each in again))

    @property
    def command(self) -> str:
        """The command that runs the experiment, or that continues it."""
        profile = self.profile if self.planned else next(iter(self.experiment.profiles), self.profile)
        return f"python -m pgsr.experiments run {self.experiment.called} --profile {profile}"


def collect(experiments: Sequence[Experiment], profile: Profile, store: Store, *, draw: bool = True) -> list[Section]:
    """Collect a section per experiment. A part that an experiment cannot make becomes a remark, not an error."""
    return [_section(experiment, profile, store, draw) for experiment in experiments]


def _section(experiment: Experiment, profile: Profile, store: Store, draw: bool) -> Section:
    # K9, say, sets numbers of K3 beside its own; those of K3 that stand nowhere are told there.
    printed = tuple(dict.fromkeys(e.number for e in experiment.printed if e.number.experiment == experiment.id))
    if profile not in experiment.profiles:
        return Section(experiment, profile, planned=False, unmatched=_not_run(printed))
    found = list(store.entries(experiment.owner.id, profile))
    known = {key: place for place, key in enumerate(_known_keys(experiment, profile))}
    stored = [entry for entry in found if isinstance(entry, StoredCell)]
    entries = tuple(sorted((e for e in stored if e.cell.key in known), key=lambda e: known[e.cell.key]))
    if not entries:
        torn = tuple(f"{each.path.name} {each.reason}" for each in found if isinstance(each, Torn))
        return Section(experiment, profile, unmatched=_not_run(printed), remarks=torn)
    there, remarks = _planned(experiment, profile, {entry.cell.data for entry in entries})
    if len(stored) > len(entries):
        remarks.append(f"{len(stored) - len(entries):,} stored cells are of no arm or data set of today and left out")
    section = Section(experiment, profile, entries=entries)
    condition, trouble = _conditions(there, profile, store, section)
    frame = to_frame(section.done)
    rows = means(frame, experiment)
    matched = {row.printed for row in rows}
    unmatched = tuple((number, _why_not(number, experiment.printed)) for number in printed if number not in matched)
    return replace(
        section,
        data=_uses(experiment, profile, there, section),
        condition=condition,
        trouble=trouble,
        drawing=_drawing(experiment, frame, remarks) if draw else None,
        means=tuple(rows),
        unmatched=unmatched,
        verdicts=_verdicts(experiment, frame, remarks),
        remarks=tuple(remarks),
    )


def _known_keys(experiment: Experiment, profile: Profile) -> list[str]:
    """List the keys of all cells that the experiment may have, also on stand-ins for data, in the order of a run."""
    every = tuple(data for each in experiment.scale(profile).data for data in each.with_fallbacks())
    return [task.cell.key for task in _on(experiment, profile, every).tasks(profile)]


def _planned(experiment: Experiment, profile: Profile, stored: set[str]) -> tuple[Experiment, list[str]]:
    """Find the experiment on present data, as `Experiment.available` does; data with stored results is not loaded."""
    kept: dict[str, DataSet] = {}
    remarks = []
    for data in experiment.scale(profile).data:
        try:
            found = data if data.name in stored else data.resolved()
        except DataError as error:
            remarks.append(f"{data.name} is left out: {error}")
            continue
        if found is not data:
            kind = "real" if found.real else "generated"
            where = "set PGSR_DATA for the real one (docs/study/data.md)"
            remarks.append(f"{data.name} is absent; {found.name} ({kind}) stands in; {where}")
        kept[found.name] = found
    return _on(experiment, profile, tuple(kept.values())), remarks


def _on(experiment: Experiment, profile: Profile, data: tuple[DataSet, ...]) -> Experiment:
    """Make the experiment on other data. Every name counts once, because two data sets may share a stand-in."""
    unique = tuple({each.name: each for each in data}.values())
    bare = tuple(replace(each, fallback=None) for each in unique)
    return replace(experiment, profiles={profile: replace(experiment.scale(profile), data=bare)})


def _conditions(
    there: Experiment, profile: Profile, store: Store, section: Section
) -> tuple[Counter[CellCondition], dict[CellCondition, dict[str, list[str]]]]:
    known = conditions(there.tasks(profile), profile, store)
    trouble: dict[CellCondition, dict[str, list[str]]] = {}
    planned = {task.cell.key for task, _ in known}
    listed = [(task.cell.key, condition, store.load(task.cell, profile)) for task, condition in known]
    digest = code_digest(section.experiment)
    # Of stand-ins that the plan no longer needs: their numbers are shown, so their state is told as well.
    for entry in section.entries:
        if entry.cell.key not in planned:
            listed.append((entry.cell.key, _stored_condition(entry, digest), entry))
    for key, condition, entry in listed:
        if condition is not CellCondition.FINISHED:
            trouble.setdefault(condition, {}).setdefault("" if entry is None else entry.reason, []).append(key)
    return Counter(condition for _, condition, _ in listed), trouble


def _stored_condition(entry: StoredCell, digest: str) -> CellCondition:
    if entry.state in (CellState.FAILED, CellState.ABSENT):
        return CellCondition(entry.state.value)
    if entry.code != digest:
        return CellCondition.STALE
    return CellCondition.TIMED_OUT if entry.state is CellState.TIMED_OUT else CellCondition.FINISHED


def _uses(experiment: Experiment, profile: Profile, there: Experiment, section: Section) -> tuple[DataUse, ...]:
    results = Counter(entry.cell.data for entry in section.done)
    wanted = {data.name for data in there.scale(profile).data}
    uses: dict[str, DataUse] = {}
    for declared in experiment.scale(profile).data:
        for data in declared.with_fallbacks():
            if results[data.name] or data.name in wanted:
                instead_of = "" if data is declared else declared.name
                uses.setdefault(data.name, DataUse(data, instead_of, results[data.name]))
    return tuple(uses.values())


def _why_not(number: Printed, given: Sequence[Beside]) -> str:
    """Say why no mean stands beside a number."""
    about = [each for each in given if each.number == number]
    wanted = [str(each.where["data"]) for each in about if each.where is not None]
    if wanted:
        return f"no results on {' or '.join(dict.fromkeys(wanted))}"
    return next(each.remark for each in about)


def _not_run(printed: tuple[Printed, ...]) -> tuple[tuple[Printed, str], ...]:
    return tuple((number, "not run") for number in printed)


def _drawing(experiment: Experiment, frame: "pd.DataFrame", remarks: list[str]) -> FigureImage | None:
    if frame.empty:
        return None
    try:
        figure = experiment.plot(frame)
        file = io.BytesIO()
        figure.savefig(file, format="png", dpi=160, facecolor="white")
    except Exception as error:
        remarks.append(f"the figure could not be drawn: {_said(error)}")
        return None
    return FigureImage(file.getvalue(), _in_words(experiment, figure))


def _in_words(experiment: Experiment, figure: "Figure") -> str:
    """Describe what the panels and axes of a figure show."""
    panels = []
    for axes in figure.axes:
        if axes.get_title() or axes.get_ylabel():
            across = " over " if axes.get_ylabel() and axes.get_xlabel() else ""
            panels.append(f"{axes.get_title()}: {axes.get_ylabel()}{across}{axes.get_xlabel()}".strip(": "))
    head = figure.get_suptitle().replace("\n", "; ") or f"{experiment.id}: {experiment.title}"
    words = ". ".join([head, *panels, "The numbers are in the tables below"]).replace("\n", " ")
    return re.sub(r"[${}\\]", "", words) + "."  # formulas are for Matplotlib


def _verdicts(experiment: Experiment, frame: "pd.DataFrame", remarks: list[str]) -> tuple[Verdict, ...]:
    if frame.empty:
        return ()
    try:
        return tuple(experiment.verdicts(frame))
    except Exception as error:
        remarks.append(f"the verdicts could not be found: {_said(error)}")
        return ()


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
