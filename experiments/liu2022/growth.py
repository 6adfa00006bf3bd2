"""The experiment HP4: growth of MWEM and HPD with household size and number of attributes (Liu and Wu 2022, section 5).

What a method has to keep is counted: the universe of MWEM, as ordered households and as the types that it collapses
to here, and the parameters of HPD. Seconds are measured: of a fit with few rounds on a small population.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise, takewhile
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from pgsr.errors import MemoryNeededError, MissingPackageError
from pgsr.experiments.engine.causes import Cause
from pgsr.experiments.engine.experiment import (
    Arm,
    DataSet,
    Experiment,
    ExperimentError,
    Parameters,
    Profile,
    Scale,
    Trial,
)
from pgsr.experiments.engine.figures import error_axis
from pgsr.experiments.engine.looks import arm_looks
from pgsr.experiments.engine.verdicts import TestOutcome, Verdict, exactly, in_every_replicate
from pgsr.experiments.liu2022 import published as liu
from pgsr.experiments.liu2022.arms import HPD_FIXED, HPD_GEN, MULTIPLICATIVE, SynthesisArm
from pgsr.experiments.liu2022.data import FEW_HOUSEHOLDS, only, up_to
from pgsr.figures.drawing import finish, head, legend_below, new_figure
from pgsr.synthesis import (
    AdaptiveBudget,
    Domain,
    HPDFixed,
    HPDGen,
    IndependentMarginals,
    Population,
    Workload,
    fit,
)
from pgsr.synthesis.queries.hpd import FixedLogits, LogitNetwork
from pgsr.synthesis.queries.universe import n_types

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from pgsr.experiments.engine.release_record import Record

ARMS = (MULTIPLICATIVE, HPD_FIXED, HPD_GEN)
SIZE, ATTRIBUTES = "largest size M", "number of attributes"

OF_PERSONS, OF_HOUSEHOLDS = ("sex", "work", "education", "age"), ("tenure", "area", "vehicles")
"""Attributes in the order in which they are added."""

M_OF_ATTRIBUTES = 2
"""Largest size while attributes are added."""

CLEAR = 0.5
"""Exponents of seconds that differ by less are not told apart."""

_COUNTS = ("universe", "types", "parameters")


@dataclass(frozen=True)
class ScalingFit:
    """The outcome of one fit of a cell, at one point of the axis.

    Attributes:
        universe: ordered households. types: those whose order of members does not count. Both of the domain.
        parameters: of the model; None for MWEM.
        seconds: of the fit; None where it did not run.
    """

    data: str
    arm: str
    replicate: int
    axis: str
    x: int
    persons: int
    universe: int
    types: int
    parameters: int | None
    seconds: float | None
    reason: str


def growth(trial: Trial) -> "Record":
    """Measure one cell: fit populations that grow along the axis, in order; a refusal does not end the climb.

    Free parameters: "axis"; "climb", text like "1 2 3"; "rounds"; "most components".

    Returns:
        steps, universe, types, parameters, step_seconds, reasons, kinds_of_person: lists, one entry per step. Or status
        and reason where torch is absent.
    """
    free, arm = trial.parameters, trial.arm
    if not isinstance(arm, SynthesisArm) or trial.cell.epsilon is None:
        raise ExperimentError(f"arm {arm.label!r} has no method of synthesis, or the scale no epsilon")
    record: Record = {name: [] for name in ("steps", *_COUNTS, "step_seconds", "reasons", "kinds_of_person")}
    method = arm.method(int(free["most components"]))
    if isinstance(method, IndependentMarginals):
        raise ExperimentError(f"arm {arm.label!r} has no rounds to time; use MWEM or HPD")
    for x in map(int, str(free["climb"]).split()):
        if x > _largest(trial.truth, str(free["axis"])):
            break
        population = along(trial.truth, str(free["axis"]), x)
        workload = Workload.k_way(population.domain, 2)
        n_rounds = min(int(free["rounds"]), workload.n_queries)
        budget = AdaptiveBudget(trial.cell.epsilon, Fraction(1, population.n_persons**2), rounds=n_rounds)
        start, seconds, reason = perf_counter(), None, ""
        try:
            fit(population, workload, method, budget, source=trial.source, seed=trial.cell.replicate)
            seconds = perf_counter() - start
        except MissingPackageError as error:
            return {"status": "NOT_INSTALLED", "reason": str(error)}
        except MemoryNeededError as error:
            reason = str(error)
        domain = population.domain
        found = (x, domain.universe, n_types(domain), n_parameters(method, domain), seconds, reason, _kinds(domain))
        for name, value in zip(record, found, strict=True):
            record[name].append(value)
    return record


def _largest(population: Population, axis: str) -> int:
    """Find how far a population reaches along an axis; the toy of the warm-up has few attributes and sizes."""
    domain = population.domain
    names = {attribute.name for attribute in (*domain.group, *domain.individual)}
    attributes = list(takewhile(names.__contains__, (*OF_PERSONS, *OF_HOUSEHOLDS)))
    return domain.max_size if axis == SIZE else len(attributes)


def along(population: Population, axis: str, x: int) -> Population:
    """Cut the population: up to size x with age, sex and tenure, or up to size 2 with the first x attributes.

    Example:
        >>> from pgsr.experiments.others.simulators import households
        >>> along(households(50, 4), ATTRIBUTES, 5).domain.universe  # 2 tenures; 144 kinds of person, 1 or 2 of them
        41760
    """
    if axis == SIZE:
        return only(up_to(population, x), ("tenure",), ("age", "sex"))
    of_persons, of_households = OF_PERSONS[:x], OF_HOUSEHOLDS[: max(0, x - len(OF_PERSONS))]
    return only(up_to(population, M_OF_ATTRIBUTES), of_households, of_persons)


def n_parameters(method: Any, domain: Domain) -> int | None:
    """Count the parameters in the model itself; None for methods without parameters."""
    if isinstance(method, HPDFixed):
        model: Any = FixedLogits(domain, method.components, 0, "cpu")
    elif isinstance(method, HPDGen):
        model = LogitNetwork(domain, method.components, method.embedding, method.hidden, 0, "cpu")
    else:
        return None
    return sum(part.numel() for part in model.parameters)


def _kinds(domain: Domain) -> int:
    """Compute |X_I|, the number of kinds of individuals."""
    return int(np.prod([len(attribute) for attribute in domain.individual]))


def plot(frame: "pd.DataFrame") -> "Figure":
    """Draw a column per axis of growth: the numbers that a method stores, and below them the seconds of a fit."""
    steps = steps_of(frame)
    figure = new_figure(9, 7)
    grid = figure.subplots(2, 2, squeeze=False)
    style = arm_looks(["MWEM, ordered universe", *(arm.label for arm in ARMS)])
    for (above, below), axis in zip(grid.T, (SIZE, ATTRIBUTES), strict=True):
        part = [step for step in steps if step.axis == axis]
        _line(above, style, "MWEM, ordered universe", [(s.x, s.universe) for s in part])
        for arm in ARMS:
            of = [s for s in part if s.arm == arm.label]
            kept = [(s.x, s.types if s.parameters is None else s.parameters) for s in of]
            _line(above, style, arm.label, kept)
            _line(below, style, arm.label, [(s.x, s.seconds) for s in of if s.seconds is not None])
        for axes in (above, below):
            error_axis(axes)
            axes.set_xticks(sorted({step.x for step in part}))
        finish(above, "", "kinds of households or parameters, log" if axis == SIZE else "", axis)
        finish(below, axis, "time of a fit (s), log" if axis == SIZE else "", "")
    legend_below(figure, grid.ravel(), 4)
    head(figure, "HP4: section 5, what MWEM and HPD keep, and seconds of a fit; generated households")
    return figure


def verdicts(frame: "pd.DataFrame") -> list[Verdict]:
    """Judge exponential and linear growth, exactly; and how seconds grow."""
    steps = steps_of(frame)
    return [*_counted(steps), *_timed(steps)]


def steps_of(frame: "pd.DataFrame") -> list[ScalingFit]:
    """Make one entry per cell and step, of cells that ran. Parquet reads whole numbers beside None as floats."""
    rows: list[dict[Any, Any]] = frame.to_dict("records")
    return [
        ScalingFit(
            row["data"],
            row["arm"],
            int(row["replicate"]),
            row["axis"],
            x,
            persons,
            universe,
            types,
            None if kept is None else int(kept),
            s,
            reason,
        )
        for row in rows
        if isinstance(row.get("universe"), list)
        for x, universe, types, kept, s, reason, persons in zip(
            *(row[name] for name in ("steps", *_COUNTS, "step_seconds", "reasons", "kinds_of_person")),
            strict=True,
        )
    ]


def _line(axes: "Axes", style: Mapping[str, Any], label: str, points: list[tuple[int, Any]]) -> None:
    """Draw the means by x."""
    look = style[label]
    xs = sorted({x for x, _ in points})
    means = [np.mean([float(y) for x, y in points if x == at]) for at in xs]
    axes.plot(xs, means, linestyle="-", label=label, markersize=5, **look.marks)


def _counted(steps: list[ScalingFit]) -> Iterator[Verdict]:
    for data in dict.fromkeys(step.data for step in steps):
        by_size = sorted({(s.x, s.universe, s.types, s.persons) for s in steps if (s.data, s.axis) == (data, SIZE)})
        if len(by_size) > 2:
            factors = [(b[1] / a[1]) ** (1 / (b[0] - a[0])) for a, b in pairwise(by_size)]  # per member
            kinds = by_size[0][3]
            found = exactly(min(factors) >= kinds, "growth per member, counted in the domain")
            words = f"x {min(factors):.4g} to {max(factors):.4g} per member, |X_I| = {kinds}; types at "
            words += f"M = {by_size[-1][0]}: {by_size[-1][2]:,} of {by_size[-1][1]:,} ordered"
            yield Verdict(liu.CLAIMS["section 5"], data, found, words, Cause.CLAIM)
        for arm in (HPD_FIXED, HPD_GEN):
            of = [s for s in steps if (s.data, s.axis, s.arm) == (data, SIZE, arm.label)]
            kept = sorted({(s.x, s.parameters) for s in of if s.parameters is not None})
            if len(kept) > 2:
                slopes = {Fraction(b[1] - a[1], b[0] - a[0]) for a, b in pairwise(kept)}
                found = exactly(len(slopes) == 1, "parameters counted in the model")
                words = f"{', '.join(f'{float(slope):,.6g}' for slope in sorted(slopes))} more per member"
                yield Verdict(liu.CLAIMS["section 5b"], f"{data}, {arm.label}", found, words, Cause.CLAIM)


def _timed(steps: list[ScalingFit]) -> Iterator[Verdict]:
    """Judge whether seconds of MWEM grow faster than those of HPD-Fixed, in every replicate that has both.

    Seconds are fitted as c x^p by least squares on logarithms; for MWEM also as a power of its types. Those of HPD-Gen
    are told beside them and not judged; it may have reached other points.
    """
    for data, axis in dict.fromkeys((s.data, s.axis) for s in steps):
        mwem, fixed, gen = (
            [s for s in steps if (s.data, s.axis, s.arm) == (data, axis, arm.label) and s.seconds is not None]
            for arm in (MULTIPLICATIVE, HPD_FIXED, HPD_GEN)
        )
        pairs = list(_paired(mwem, fixed))
        if not pairs:
            continue
        power, ours = (_growth([step for pair in pairs for step in pair[side]]) for side in (0, 1))
        every = [step for pair in pairs for step in pair[0]]
        of_types = exponent([s.types for s in every], [s.seconds for s in every])
        words = f"seconds grow as x^{power:.2g} (MWEM; types^{of_types:.2g}), x^{ours:.2g} (HPD-Fixed)"
        words += _range(every)
        words += f"; x^{_growth(gen):.2g} (HPD-Gen){_range(gen)}" if len({s.x for s in gen}) > 2 else ""
        gaps = [_growth(of_mwem) - _growth(of_fixed) for of_mwem, of_fixed in pairs]
        found = in_every_replicate(min(gaps) > CLEAR, len(gaps), f"fitted exponents {CLEAR} apart")
        if found.finding is TestOutcome.FAILS and max(gaps) >= -CLEAR:
            found = replace(found, finding=TestOutcome.UNDECIDED)
        yield Verdict("seconds of MWEM grow faster than those of HPD-Fixed", f"{data}, {axis}", found, words)


def _paired(these: list[ScalingFit], those: list[ScalingFit]) -> Iterator[tuple[list[ScalingFit], list[ScalingFit]]]:
    """Yield, for every replicate, the steps at the points that both have, if these are three or more.

    A method that stops early would otherwise be judged on small points alone, where seconds hardly grow.
    """
    for replicate in dict.fromkeys(s.replicate for s in these):
        one, other = ({s.x: s for s in part if s.replicate == replicate} for part in (these, those))
        shared = sorted(one.keys() & other.keys())
        if len(shared) > 2:
            yield [one[x] for x in shared], [other[x] for x in shared]


def _growth(steps: list[ScalingFit]) -> float:
    return exponent([s.x for s in steps], [s.seconds for s in steps])


def _range(steps: list[ScalingFit]) -> str:
    return f", x from {min(s.x for s in steps)} to {max(s.x for s in steps)}"


def exponent(x: Any, y: Any) -> float:
    """Fit the exponent p of the power law y = c x^p, by least squares on logarithms.

    Example:
        >>> round(exponent([1, 2, 4], [3.0, 12.0, 48.0]), 6)
        2.0
    """
    return float(np.polyfit(np.log(np.asarray(x, float)), np.log(np.asarray(y, float)), 1)[0])


def growth_memory(data: DataSet, arm: Arm, parameters: Mapping[str, Any]) -> int:
    """Estimate peak bytes: libraries with torch, and the largest universe that `MWEM` builds."""
    del data, arm, parameters
    return 1_500_000_000


def _grid(sizes: str, attributes: str, components: int, n_rounds: int) -> tuple[Parameters, ...]:
    rest = (("most components", components), ("rounds", n_rounds))
    return ((("axis", SIZE), ("climb", sizes), *rest), (("axis", ATTRIBUTES), ("climb", attributes), *rest))


EXPERIMENT = Experiment(
    id="HP4",
    title="Scaling of synthesis",
    paper=liu.PAPER,
    part="section 5",
    question="What does it cost to let households be larger, or to add attributes?",
    arms=ARMS,
    profiles={
        Profile.SMOKE: Scale((FEW_HOUSEHOLDS,), (Fraction(1),), 1, 60, _grid("1 2 3", "1 2 3", 10, 5)),
        Profile.QUICK: Scale((FEW_HOUSEHOLDS,), (Fraction(1),), 1, 120, _grid("1 2 3 4 5 6", "1 2 3 4 5 6", 100, 10)),
        Profile.REDUCED: Scale(
            (FEW_HOUSEHOLDS,), (Fraction(1),), 5, 600, _grid("1 2 3 4 5 6 7 8", "1 2 3 4 5 6 7", 1_000, 10)
        ),
        Profile.PAPER: Scale(
            (FEW_HOUSEHOLDS,), (Fraction(1),), 5, 3_600, _grid("1 2 3 4 5 6 7 8", "1 2 3 4 5 6 7", 1_000, 50)
        ),
    },
    plot=plot,
    verdicts=verdicts,
    measure=growth,
    memory=growth_memory,
    seed="HP4",
    alone=True,
)
