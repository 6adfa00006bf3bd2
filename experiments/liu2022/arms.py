"""The methods that the experiments after Liu and Wu 2022 compare, and the measurement of one cell.

The number of rounds is part of the privacy analysis. The papers choose it per epsilon by the errors that they report,
which is not private; here it follows from public numbers (`rounds`), or is one number for all, chosen on other noise.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from time import perf_counter
from typing import TYPE_CHECKING, Any

from pgsr.errors import MemoryNeededError, MissingPackageError
from pgsr.experiments.engine.experiment import Arm, DataSet, ExperimentError, Parameters, Profile, Scale
from pgsr.synthesis import (
    MWEM,
    AdaptiveBudget,
    HPDFixed,
    HPDGen,
    IndependentMarginals,
    Level,
    Population,
    Workload,
    errors,
    fit,
)
from pgsr.synthesis.queries.adaptive import Distribution, Family
from pgsr.synthesis.queries.mwem import Output, Update
from pgsr.synthesis.queries.noise import sensitivity
from pgsr.synthesis.queries.torch_runs import Device

if TYPE_CHECKING:
    from pgsr.experiments.engine.experiment import Trial
    from pgsr.experiments.engine.release_record import Record

Method = Family | IndependentMarginals

QUERIES: Mapping[str, tuple[Level, ...]] = {
    "Q_G + Q_I": (Level.GROUP, Level.INDIVIDUAL),
    "Q_R": (Level.RELATION,),
    "Q_G + Q_I + Q_R": (Level.GROUP, Level.INDIVIDUAL, Level.RELATION),
}
"""Sets of queries by the name of the free parameter "queries"."""

K_WAY = 3
NOISE_ALLOWED = Fraction(1, 100)
FEWEST_ROUNDS = 10

PAPERS_EPSILONS = (Fraction(1, 10), Fraction(1, 5), Fraction(1, 2), Fraction(1))
PAPERS_COMPONENTS, PAPERS_ROUNDS = 1_000, 300
"""Components as in the code of the paper's predecessors, and the largest number of rounds that the paper tries."""

ENOUGH_ROUNDS = 100
"""Rounds with which a claim is judged: a number that the paper's predecessors try, too."""

SEARCHED_COMPONENTS = (50, 400, 1_000)
SEARCHED_RATES: Mapping[str, tuple[float, ...]] = {"HPD-Fixed": (0.03, 0.1), "HPD-Gen": (0.0001, 0.001)}
"""The settings that experiment HP0 tries, as many of one method as of the other."""

CHOSEN: Mapping[str, tuple[int, float]] = {"HPD-Fixed": (1_000, 0.03), "HPD-Gen": (400, 0.0001)}
"""The components and the rate with the smallest largest errors there, which all other experiments use."""

SEARCHED_MWEM = tuple((rounds, *factors) for rounds in (30, 100) for factors in ((100, 1), (10, 30), (100, 30)))
"""Rounds, gamma (most factors per pass) and passes per round of MWEM that HP0 tries: as many as of either HPD."""

CHOSEN_MWEM = (100, 100, 30)
"""Those with the smallest largest errors there."""


@dataclass(frozen=True, kw_only=True)
class SynthesisArm(Arm):
    """A method of synthesis as an arm.

    Attributes:
        method: from the largest number of components that the profile allows; only mixtures have components.
        rounds: of an adaptive method, where it is not the function `rounds` that says how many; a number of its own is
            kept below what the profile allows, too.
    """

    method: Callable[[int], Method] = field(repr=False)
    rounds: int | None = None


RULE = "rounds: rho (0.01 / Delta)^2, so that the noise of an answer has standard deviation 0.01; 10 at least, and at "
RULE += "most what the profile allows. The papers choose them afterwards by the errors, which is not private"

Fit = Callable[..., HPDFixed | HPDGen]
HPD: Mapping[str, Fit] = {"HPD-Fixed": HPDFixed, "HPD-Gen": HPDGen}


def hpd(name: str, components: int, rate: float, label: str = "", note: str = "") -> SynthesisArm:
    """Make an arm of HPD with this number of components, or fewer where the profile allows fewer.

    Args:
        name: a key of `HPD`.
        rate: of Adam.
        label, note: of the arm; the name, if no label is given.
    """

    def method(most: int) -> HPDFixed | HPDGen:
        # One device for all: another one gives other last digits.
        return HPD[name](components=min(components, most), learning_rate=rate, device=Device.CPU)

    return SynthesisArm(label=label or name, method=method, note=note)


HPD_FIXED, HPD_GEN = (
    hpd(name, *chosen, note=f"{chosen[0]:,} components, rate {chosen[1]:g}, chosen in HP0 on other noise; {RULE}")
    for name, chosen in CHOSEN.items()
)
PRINTED = SynthesisArm(
    label="MWEM as printed",
    method=lambda _: MWEM(update=Update.LITERAL, output=Output.AVERAGE),
    note="the update that the paper prints, and the average of the distributions of all rounds; rounds as HPD-Fixed",
)
MULTIPLICATIVE = SynthesisArm(
    label="MWEM, linearised",
    method=lambda _: MWEM(),
    note="linearised update, last distribution (the printed update can move shares of persons the wrong way); rounds "
    "as HPD-Fixed",
)


def mwem(rounds: int, gamma: int, passes: int, label: str = "", note: str = "") -> SynthesisArm:
    """Make an arm of MWEM with the linearised update and these settings."""
    settings = f"{rounds} rounds, gamma {gamma}, {passes} {'pass' if passes == 1 else 'passes'}"
    return SynthesisArm(
        label=label or f"MWEM, {settings}",
        method=lambda _: MWEM(iterations=gamma, passes=passes),
        note=f"{settings}{note}",
        rounds=rounds,
    )


TUNED = mwem(*CHOSEN_MWEM, "MWEM, tuned", ", chosen in HP0 on other noise; linearised update, last distribution")
MARGINALS = SynthesisArm(
    label="independent marginals", method=lambda _: IndependentMarginals(), note="baseline of ours, no rounds"
)


def query_grid(asked: Sequence[str], components: int, most_rounds: int) -> tuple[Parameters, ...]:
    """List the free parameters of cells, one set per set of queries in `asked`, which are keys of `QUERIES`.

    Example:
        >>> query_grid(["Q_R"], 10, 20)
        ((('queries', 'Q_R'), ('most components', 10), ('most rounds', 20)),)
    """
    return tuple((("queries", name), ("most components", components), ("most rounds", most_rounds)) for name in asked)


def scales(
    asked: Sequence[str],
    small: DataSet,
    quick: Scale,
    paper: tuple[DataSet, ...],
    epsilons: tuple[Fraction, ...] = PAPERS_EPSILONS,
) -> dict[Profile, Scale]:
    """List the profiles of an experiment, from few small cells to the paper's models and rounds.

    Args:
        asked: sets of queries, keys of `QUERIES`.
        small: the data of the profile smoke.
        quick: the profile of that name.
        paper: the data of the profiles reduced and paper. Both have the paper's models; the first has `ENOUGH_ROUNDS`.
        epsilons: of the profile paper; reduced has the smallest and the largest of the paper's.
    """
    smoke = Scale((small,), (Fraction(1),), replicates=2, time_limit=60, grid=query_grid(asked, 10, 10))
    enough, grid = (query_grid(asked, PAPERS_COMPONENTS, most) for most in (ENOUGH_ROUNDS, PAPERS_ROUNDS))
    ends = PAPERS_EPSILONS[0], PAPERS_EPSILONS[-1]
    return {
        Profile.SMOKE: smoke,
        Profile.QUICK: quick,
        Profile.REDUCED: Scale(paper, ends, replicates=5, time_limit=1_200, grid=enough),
        Profile.PAPER: Scale(paper, epsilons, replicates=5, time_limit=3_600, grid=grid),
    }


def rounds(population: Population, workload: Workload, budget: AdaptiveBudget, most: int) -> int:
    """Compute T, the number of rounds, from public numbers alone.

    With alpha = 1/2 a measurement has noise of standard deviation Delta sqrt(T / rho). T = rho (tau / Delta)^2 makes
    that tau = `NOISE_ALLOWED`; it is kept between `FEWEST_ROUNDS` and `most`, and one query is measured once.

    Example:
        >>> from pgsr.experiments.others.simulators import households
        >>> population = households(4_000, 3)
        >>> workload = Workload.k_way(population.domain, 2)
        >>> [rounds(population, workload, AdaptiveBudget(e, "1e-8", rounds=1), most=100) for e in ("1/10", 1, 10)]
        [10, 21, 100]
    """
    delta = sensitivity(workload, population.n_groups, population.n_persons)
    wanted = round(budget.rho * (NOISE_ALLOWED / delta) ** 2)
    return min(max(FEWEST_ROUNDS, wanted), most, workload.n_queries)


def synthesis_record(trial: "Trial") -> "Record":
    """Fit with (epsilon, 1 / N_I^2)-differential privacy and compare all answers with the truth.

    Free parameters: "queries" (a name of `QUERIES`, of 3 attributes each), "most components" and "most rounds" (limits
    for K and T).

    Returns:
        largest_error, mean_error: over all queries, in shares of 1.
        largest_error_of_groups and so on: over those of a level.
        rounds, queries, fit_seconds. Or status and reason where a method cannot run.
    """
    population, free = trial.truth, trial.parameters
    workload = Workload.k_way(population.domain, K_WAY, QUERIES[str(free["queries"])])
    if trial.cell.epsilon is None:
        raise ExperimentError("experiments on synthesis need epsilons; give them to the scale")
    budget = AdaptiveBudget(trial.cell.epsilon, Fraction(1, population.n_persons**2), rounds=1)
    budget = replace(budget, rounds=_rounds(trial, workload, budget))
    start = perf_counter()
    try:
        found = fitted(trial, workload, budget)
    except MissingPackageError as error:
        return {"status": "NOT_INSTALLED", "reason": str(error)}
    except MemoryNeededError as error:
        return {"status": "TOO_LARGE", "reason": str(error)}
    seconds = perf_counter() - start
    by_level = errors(found, population, workload)
    n_queries = sum(e.n_queries for e in by_level.values())
    return {
        "largest_error": max(e.largest for e in by_level.values()),
        "mean_error": sum(e.mean * e.n_queries for e in by_level.values()) / n_queries,
        **{f"largest_error_{OF[level]}": e.largest for level, e in by_level.items()},
        **{f"mean_error_{OF[level]}": e.mean for level, e in by_level.items()},
        "rounds": budget.rounds,
        "number_of_queries": n_queries,
        "fit_seconds": seconds,
    }


def _rounds(trial: "Trial", workload: Workload, budget: AdaptiveBudget) -> int:
    most, own = int(trial.parameters["most rounds"]), trial.arm.rounds if isinstance(trial.arm, SynthesisArm) else None
    return rounds(trial.truth, workload, budget, most) if own is None else min(own, most, workload.n_queries)


OF = {Level.GROUP: "of_groups", Level.INDIVIDUAL: "of_persons", Level.RELATION: "of_relations"}
"""The parts of column names by the level of a query."""


def fitted(trial: "Trial", workload: Workload, budget: AdaptiveBudget) -> Distribution:
    """Fit the trial's method to its population with its noise.

    Raises:
        MissingPackageError: torch is needed and absent.
        MemoryNeededError: the universe is too large.
    """
    arm, population = trial.arm, trial.truth
    if not isinstance(arm, SynthesisArm):
        raise ExperimentError(f"arm {arm.label!r} has no method of synthesis; make it a Competitor")
    method, seed = arm.method(int(trial.parameters["most components"])), trial.cell.replicate
    if isinstance(method, IndependentMarginals):
        return method.fit(population, budget, source=trial.source)
    return fit(population, workload, method, budget, source=trial.source, seed=seed).distribution


def synthesis_memory(data: DataSet, arm: Arm, parameters: Mapping[str, Any]) -> int:
    """Estimate peak bytes: libraries, tables with their gradients and moments, answers in blocks."""
    del arm
    return 900_000_000 + 400_000 * int(parameters["most components"]) + 500 * data.groups
