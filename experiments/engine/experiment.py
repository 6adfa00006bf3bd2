"""The description of an experiment: frozen values, from which any single cell can be computed alone.

An `Experiment` says which arms run on which data sets; a `Scale` says how large a profile is. Their product is a list
of `Cell`s: one result each, stored in one file each (`engine.store`), run by `engine.runner`. `Trial` is all that the
function `measure` of an experiment may use, so that a cell computed alone equals the same cell of a sweep.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from pgsr import CountOfCounts, Hierarchy, PgsrError, Problem
from pgsr.data.counts import LARGEST_DENSE
from pgsr.errors import DataError
from pgsr.experiments.engine.papers import Beside, Paper, StandsFor
from pgsr.experiments.engine.release_record import Record, release_record
from pgsr.machine.isolation import TaskEnd, Worker
from pgsr.methods import Mechanism, Method, PostProcess
from pgsr.noise import Measurement
from pgsr.noise.step import NoiseStep
from pgsr.privacy import Seeded
from pgsr.privacy.random import Source

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from pgsr.experiments.engine.verdicts import Verdict

Parameters = tuple[tuple[str, int | float | str], ...]
"""Free parameters of a cell by name, such as (("N", 5),)."""

SEPARATOR = " | "


class ExperimentError(PgsrError, ValueError):
    """An error in an experiment, or in what was asked of it."""


OF_LARGE = 1
"""The number of replicates on data sets whose cells take minutes."""


class Profile(StrEnum):
    """The amount of an experiment that runs.

    SMOKE: seconds, generated data, to see that everything works. QUICK: minutes, shows the effects. PAPER: the sizes
    and numbers of replicates of the paper. REDUCED: up to two hours, decides claims of an experiment whose profile
    PAPER takes hours or days; others need none.
    """

    SMOKE = "smoke"
    QUICK = "quick"
    REDUCED = "reduced"
    PAPER = "paper"


@dataclass(frozen=True)
class DataSet:
    """A named hierarchy that is loaded when needed. Its declared shape lets memory be judged before loading.

    Attributes:
        name: short, for keys, tables and figures.
        load: reads or generates it; raises `DataError` if a file is absent.
        levels: number of regions of every level, root first, as (1, 2, 28).
        max_size: K.
        groups: number of groups in all.
        real: False for generated data, which figures and tables must call so.
        note: where it comes from.
        fallback: what to use where the data is absent; it has a name of its own, so results never mix.
        smallest_size: a public bound: 1 where no group can be empty by the construction of the data.
        stands_for: the paper's data set that this is, or takes the place of; None for neither.
        counted: False where only the file tells how many groups there are; `groups` is then a guess, for memory alone.
    """

    name: str
    load: Callable[[], Any] = field(repr=False)
    levels: tuple[int, ...]
    max_size: int
    groups: int
    real: bool
    note: str
    fallback: "DataSet | None" = field(default=None, repr=False)
    smallest_size: int = 0
    stands_for: StandsFor | None = None
    counted: bool = True

    @property
    def n_regions(self) -> int:
        return sum(self.levels)

    def truth(self) -> Any:
        """Load the hierarchy, a `CountOfCounts`; other kinds of data sets return what they hold.

        Raises:
            DataError: it is absent, or not what is declared here.
        """
        truth = self.load()
        tree = truth.hierarchy
        levels = tuple(len(range(tree.n_regions)[tree.level(level)]) for level in range(tree.n_levels))
        groups = int(truth.totals[0])
        declared = (self.levels, self.max_size, self.groups if self.counted else groups)
        found = (levels, truth.max_size, groups)
        if found != declared:
            raise DataError(
                f"data set {self.name}: regions by level, K and groups are {found}, declared are {declared}; correct "
                "the declaration or the file"
            )
        return truth

    def toy(self) -> Any:
        """Make something tiny of the same form, with as many levels, to warm up with."""
        depth = len(self.levels) - 1
        paths = [(*(f"level {level}" for level in range(depth)), f"leaf {i}") for i in range(2 if depth else 1)]
        counts = np.array([[0, 2, 0, 1], [0, 1, 1, 1]])[: len(paths)]
        return CountOfCounts(Hierarchy.from_paths(paths), counts, "toy")

    def resolved(self) -> "DataSet":
        """Find itself, or its fallback where its file is absent. Only real data can be absent.

        Raises:
            DataError: it is absent and has no fallback.
        """
        if not self.real:
            return self
        try:
            self.load()
        except DataError:
            if self.fallback is None:
                raise
            return self.fallback.resolved()
        return self

    def with_fallbacks(self) -> "Iterator[DataSet]":
        yield self
        if self.fallback is not None:
            yield from self.fallback.with_fallbacks()


@runtime_checkable
class PerDataSet(Protocol):
    """A post-processing step that uses public facts of the data set, such as its smallest size."""

    def on(self, data: DataSet) -> PostProcess:
        """Give the step that knows this data set."""
        ...


@dataclass(frozen=True)
class Arm:
    """The work of one competitor: a noise step, then post-processing.

    Attributes:
        label: for keys, tables and figures.
        noise: from epsilon and the number of levels; `lambda epsilon, levels: Geometric(view, epsilon * levels)` spends
            epsilon per level. None for arms of experiments that measure something else.
        post: a post-process, a method, or a step that is built per data set.
        problem: states the problem that the method solves; as for `pgsr.methods.Mechanism`, if None.
        source: research noise by key and replicate. Arms with equal sources see the same noise.
        note: for the report, if the label does not say enough.
    """

    label: str
    noise: Callable[[Fraction, int], NoiseStep] | None = field(default=None, repr=False)
    post: Method | PostProcess | PerDataSet | None = None
    problem: Callable[[Measurement], Problem] | None = field(default=None, repr=False)
    source: Callable[[str, int], Source] = field(default=Seeded, repr=False)
    note: str = ""


@dataclass(frozen=True)
class Cell:
    """A result to compute: its experiment, data set, epsilon, replicate, arm and free parameters.

    Attributes:
        epsilon: None where an experiment has no noise.
    """

    experiment: str
    data: str
    epsilon: Fraction | None
    replicate: int
    arm: str
    parameters: Parameters = ()

    def __post_init__(self) -> None:
        texts = [self.experiment, self.data, self.arm, *(str(part) for pair in self.parameters for part in pair)]
        for text in texts:
            if not text or "|" in text or "\n" in text:
                raise ExperimentError(
                    f"{text!r} cannot be part of a key; choose a name without '|', and not an empty one"
                )

    @property
    def key(self) -> str:
        """The line of text that tells this cell from every other; it stays the same from run to run.

        Example:
            >>> Cell("PG1", "taxi", Fraction(1, 10), 3, "M_H", (("N", 5),)).key
            'PG1 | taxi | epsilon=1/10 | replicate=3 | M_H | N=5'
        """
        epsilon = "none" if self.epsilon is None else str(self.epsilon)
        free = [f"{name}={value}" for name, value in self.parameters]
        return SEPARATOR.join(
            [self.experiment, self.data, f"epsilon={epsilon}", f"replicate={self.replicate}", self.arm, *free]
        )


@dataclass(frozen=True)
class Scale:
    """The size of an experiment in one profile.

    Attributes:
        data: the data sets.
        epsilons: whatever the arms' `noise` takes, total or per level; (None,) without noise.
        replicates: independent noise draws.
        time_limit: seconds per cell, loading included; the process is killed then. Solvers are told nine tenths of it.
        grid: free parameters; one entry per combination.
        large: data sets whose cells take minutes, by name; they have the first `OF_LARGE` replicate alone.
    """

    data: tuple[DataSet, ...]
    epsilons: tuple[Fraction | None, ...]
    replicates: int
    time_limit: float
    grid: tuple[Parameters, ...] = ((),)
    large: tuple[str, ...] = ()


@dataclass(frozen=True)
class Trial:
    """A cell with all that its measurement needs.

    Attributes:
        data: the data set: its name and public facts.
        truth: what it holds, after `Experiment.prepare`.
        seed: of the experiment.
        time_limit: seconds that the cell may take.
    """

    cell: Cell
    arm: Arm
    data: DataSet
    truth: Any
    seed: str
    time_limit: float

    @property
    def post(self) -> Method | PostProcess | None:
        """The arm's post-processing on this data set."""
        post = self.arm.post
        return post.on(self.data) if isinstance(post, PerDataSet) else post

    @property
    def source(self) -> Source:
        """The research noise of this data set and replicate: the same for every arm and every epsilon."""
        return self.arm.source(f"{self.seed}: {self.cell.data}", self.cell.replicate)

    @property
    def parameters(self) -> dict[str, int | float | str]:
        return dict(self.cell.parameters)

    @property
    def noise(self) -> NoiseStep:
        """The arm's noise step at this epsilon."""
        if self.arm.noise is None or self.cell.epsilon is None:
            raise ExperimentError(
                f"arm {self.arm.label!r} has no noise step; give Arm(noise=...), and the scale epsilons"
            )
        return self.arm.noise(self.cell.epsilon, self.truth.hierarchy.n_levels)

    @property
    def mechanism(self) -> Mechanism:
        """The arm's noise step at this epsilon, then its post-processing on this data set."""
        post = self.post
        if post is None:
            raise ExperimentError(f"arm {self.arm.label!r} has no post-processing; give Arm(post=...)")
        return Mechanism(self.noise, post, self.arm.problem)


@dataclass(frozen=True)
class Task:
    """A cell with what is needed to compute it anywhere."""

    experiment: "Experiment"
    cell: Cell
    data: DataSet
    arm: Arm
    time_limit: float

    @property
    def memory(self) -> int:
        """The estimated peak memory of its process, in bytes."""
        return self.experiment.memory(self.data, self.arm, dict(self.cell.parameters))

    def compute(self) -> Record:
        """Compute the cell in this process. Apart from the columns in seconds, a sweep gives the same."""
        return self._measured(self.data.truth())

    def warm_up(self) -> None:
        """Compute the same cell on a toy data set, so that imports and compilation happen before."""
        self._measured(self.data.toy())

    def _measured(self, truth: Any) -> Record:
        prepare = self.experiment.prepare
        if prepare is not None:
            truth = prepare(truth, dict(self.cell.parameters))
        return self.experiment.measure(
            Trial(self.cell, self.arm, self.data, truth, self.experiment.seed, self.time_limit)
        )


class ComputedTask(Protocol):
    """What a worker computes: a cell of a sweep, or a method on an instance."""

    @property
    def time_limit(self) -> float: ...

    def warm_up(self) -> object: ...

    def compute(self) -> object: ...


def computed(task: ComputedTask, worker: Worker) -> TaskEnd:
    """Compute a task in a worker. Of tasks that share a process the first warms up for all."""
    warm_up = task.warm_up if worker.last is None else None
    return worker.compute(task.compute, warm_up, task.time_limit)


def release_memory(data: DataSet, arm: Arm, parameters: Mapping[str, Any]) -> int:
    """Estimate the peak memory of `release_record` in bytes: libraries, and the bytes per cell of the table.

    Fitted to measured peaks of Hc with matching, which needs the most memory of Kuo's methods, on 14 shapes. Metrics
    work in blocks, so large tables need less per cell, and large data sets are sparse (`pgsr.datasets`). Experiments
    with solvers need more and give a function of their own.

    Shown by `test_experiments_memory.py::test_the_memory_estimate`.
    """
    del arm, parameters
    cells, libraries, blocks = data.n_regions * (data.max_size + 1), 190_000_000, 6_000_000
    if 8 * cells > LARGEST_DENSE:
        return libraries + 9 * cells
    return libraries + 45 * min(cells, blocks) + 21 * max(0, cells - blocks)


@dataclass(frozen=True, eq=False)
class Experiment:
    """A table or figure: what runs, what is measured, how it is drawn and what it shows.

    Attributes:
        id: a short name such as "K8"; the name on the command line.
        title: a few words.
        paper: the paper it reproduces a part of, or goes beyond; None for one of your own.
        part: which table or figure of it, as "figure 4"; what it is beyond, where it reproduces nothing.
        question: what it answers, in a sentence.
        arms: the competitors.
        profiles: how large it is.
        plot: a figure of the frame that `Store.frame` loads. The file it is written in is the experiment's file.
        verdicts: what the frame says about the paper's claims and numbers.
        printed: the numbers that the paper prints, each with the means of ours that it stands beside.
        measure: from a trial to its record: plain values, lists and NumPy arrays. "status" and "reason" are read by the
            runner; "levels" maps a metric to one number per level; names ending in "_seconds" may differ between runs.
        prepare: changes the truth by free parameters, such as keeping sizes up to N.
        memory: estimated peak bytes from data set, arm and parameters.
        seed: keys the noise together with the name of the data set and the replicate.
        alone: measure one cell at a time, because seconds are the result. With a scheduler, give workers one thread.
        cells_of: the experiment that this one is another look at; make it by `dataclasses.replace`. Cells, results and
            digest are those of that one, so that running either runs both.
        file: the file that defines it, where no registry knows it; the command line calls it by that.
    """

    id: str
    title: str
    question: str
    arms: tuple[Arm, ...]
    profiles: Mapping[Profile, Scale]
    plot: "Callable[[pd.DataFrame], Figure]"
    verdicts: "Callable[[pd.DataFrame], list[Verdict]]"
    paper: Paper | None = None
    part: str = ""
    printed: tuple[Beside, ...] = field(default=(), repr=False)
    measure: Callable[[Trial], Record] = release_record
    prepare: Callable[[Any, Mapping[str, Any]], Any] | None = None
    memory: Callable[[DataSet, Arm, Mapping[str, Any]], int] = release_memory
    seed: str = "pgsr"
    alone: bool = False
    cells_of: "Experiment | None" = None
    file: str = ""

    def __post_init__(self) -> None:
        labels = [arm.label for arm in self.arms]
        if not labels or len(set(labels)) < len(labels):
            raise ExperimentError(f"experiment {self.id}: arms {labels}; give at least one, and each label once")
        for profile, scale in self.profiles.items():
            names = [data.name for each in scale.data for data in each.with_fallbacks()]
            if len(set(names)) < len(names):
                raise ExperimentError(f"experiment {self.id}, {profile}: data sets {names}; give each name once")

    @property
    def called(self) -> str:
        """The name that the command line knows it by."""
        return self.file or self.id

    @property
    def reproduces(self) -> str:
        """The paper and the part of it that this experiment reproduces, in words.

        Example:
            >>> from pgsr.experiments.registry import find
            >>> find("K5").reproduces
            'Kuo et al. 2018, figure 4'
        """
        return ", ".join(filter(None, ["" if self.paper is None else self.paper.name, self.part])) or "no paper"

    @property
    def owner(self) -> "Experiment":
        """The experiment whose cells these are: this one, unless it looks at another experiment's results."""
        return self if self.cells_of is None else self.cells_of

    def scale(self, profile: Profile) -> Scale:
        if profile not in self.profiles:
            raise ExperimentError(f"experiment {self.id} has no profile {profile}; use {', '.join(self.profiles)}")
        return self.profiles[profile]

    def available(self, profile: Profile) -> tuple["Experiment", list[str]]:
        """Find the experiment on the data that is present, and a sentence for each data set left out or replaced."""
        kept, notes = {}, []
        for data in self.scale(profile).data:
            try:
                found = data.resolved()
            except DataError as error:
                notes.append(f"{data.name} is left out: {error}")
                continue
            if found is not data:
                kind = "real" if found.real else "generated"
                where = "set PGSR_DATA for the real one (docs/study/data.md)"
                notes.append(f"{data.name} is absent; {found.name} ({kind}) stands in; {where}")
            kept[found.name] = found
        scale = replace(self.scale(profile), data=tuple(kept.values()))
        return replace(self, profiles={profile: scale}), notes

    def tasks(self, profile: Profile) -> list[Task]:
        """List every cell of a profile, replicate by replicate, so that a sweep cut short has results of all arms."""
        scale, owner = self.scale(profile), self.owner
        return [
            Task(owner, Cell(owner.id, data.name, epsilon, replicate, arm.label, free), data, arm, scale.time_limit)
            for replicate, data, free, epsilon, arm in product(
                range(scale.replicates), scale.data, scale.grid, scale.epsilons, self.arms
            )
            if replicate < OF_LARGE or data.name not in scale.large
        ]
