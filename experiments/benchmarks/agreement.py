"""The agreement matrix: every method on every problem it supports, on random instances, objectives compared."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd
from tqdm import tqdm

from pgsr import CountOfCounts, Hierarchy, Problem, View
from pgsr.data.views import AnyView
from pgsr.methods.catalogue import Proof, Use
from pgsr.methods.method import Method, Result, Status
from pgsr.models import Cvxpy
from pgsr.models.catalogue import all_entries
from pgsr.noise import Geometric, Measurement
from pgsr.privacy import Seeded
from pgsr.problems.conditions import cells, either, entities, groups, total, zero_or_at_least

COUNTS, STEPS, SIZES = View.COUNTS, View.CUMULATIVE, View.RANKED


def with_entities(noisy: Measurement, truth: CountOfCounts) -> Problem:
    """Make the M_H problem with every region's total and number of entities."""
    lowest = truth.hierarchy.n_levels - 1
    people = truth.counts[truth.hierarchy.leaves] @ np.arange(truth.max_size + 1)
    return Problem.m_h(noisy, totals="regions").where(entities(level=lowest) == people)


def with_entities_of_root(noisy: Measurement, truth: CountOfCounts) -> Problem:
    """Make the M_H problem with the root's total and number of entities."""
    return Problem.m_h(noisy).where(entities(level=0) == int(truth.counts[0] @ np.arange(truth.max_size + 1)))


def with_conditions(problem: Problem, truth: CountOfCounts) -> Problem:
    """State facts of the truth besides: a cell, bounds of a size and of a total, and cells that compare."""
    counts = truth.counts if problem.view is COUNTS else truth.counts.cumsum(axis=1)
    leaf = truth.hierarchy.paths[-1]
    first, last = cells(leaf, size=0), cells(leaf, size=truth.max_size)
    less = first <= last if counts[-1, 0] <= counts[-1, -1] else first >= last
    return problem.where(
        cells(level=0, size=0) == int(counts[0, 0]),
        cells(size=1) <= int(counts[:, 1].max()),
        total(leaf) >= int(truth.counts[-1].sum()),
        groups(size=truth.max_size) + groups(size=0) >= int((truth.counts[:, -1] + truth.counts[:, 0]).min()),
        less,
    )


def with_bounds(problem: Problem, truth: CountOfCounts) -> Problem:
    """State facts of the truth about single cells besides: zeros and invariants, minima and maxima, at all levels."""
    counts = truth.counts if problem.view is COUNTS else truth.counts.cumsum(axis=1)
    leaf = truth.hierarchy.paths[-1]
    return problem.where(
        cells(level=0, size=0) == int(counts[0, 0]),
        cells(leaf, size=1) == int(counts[-1, 1]),
        cells(size=1) <= int(counts[:, 1].max()),
        cells(leaf) >= int(counts[-1].min()),
    )


def with_choices(problem: Problem, truth: CountOfCounts) -> Problem:
    """State choices that the truth keeps: small counts of a leaf are suppressed, and one of two cells is bounded."""
    counts = truth.counts if problem.view is COUNTS else truth.counts.cumsum(axis=1)
    leaf, first = truth.hierarchy.paths[-1], truth.hierarchy.paths[truth.hierarchy.n_inner]
    least = int(counts[-1, -1]) if counts[-1, -1] else 2
    return problem.where(
        zero_or_at_least(cells(leaf, size=truth.max_size), least),
        either(cells(leaf, size=0) <= int(counts[-1, 0]), cells(first, size=0) >= int(counts[:, 0].max()) + 1),
    )


OF_TRUTH = {
    "M_H, entities": with_entities,
    "M_H^r, entities": lambda noisy, truth: with_entities(noisy, truth).relaxed(),
    "M_H, entities of root": with_entities_of_root,
    "M_H^r, entities of root": lambda noisy, truth: with_entities_of_root(noisy, truth).relaxed(),
    "M_H, conditions": lambda noisy, truth: with_conditions(Problem.m_h(noisy), truth),
    "M_H^r, conditions": lambda noisy, truth: with_conditions(Problem.m_h(noisy), truth).relaxed(),
    "M_H, bounds": lambda noisy, truth: with_bounds(Problem.m_h(noisy), truth),
    "M_H^r, bounds": lambda noisy, truth: with_bounds(Problem.m_h(noisy), truth).relaxed(),
    "H_c L1, bounds": lambda noisy, truth: with_bounds(Problem.isotonic(noisy, norm=1), truth),
    "H_c L2, bounds": lambda noisy, truth: with_bounds(Problem.isotonic(noisy), truth),
    "M_c, conditions": lambda noisy, truth: with_conditions(Problem.m_c(noisy), truth),
    "M_c^r, conditions": lambda noisy, truth: with_conditions(Problem.m_c(noisy), truth).relaxed(),
    "M_H, choices": lambda noisy, truth: with_choices(Problem.m_h(noisy), truth),
    "M_c L1, choices": lambda noisy, truth: with_choices(Problem.m_c(noisy, norm=1), truth),
}
"""Problems with public facts that no measurement holds."""

PROBLEMS: dict[str, tuple[AnyView, Callable[..., Problem]]] = {
    "naive": (COUNTS, Problem.naive),
    "naive^r": (COUNTS, lambda noisy: Problem.naive(noisy).relaxed()),
    "H_c L1": (STEPS, lambda noisy: Problem.isotonic(noisy, norm=1)),
    "H_c L1^r": (STEPS, lambda noisy: Problem.isotonic(noisy, norm=1).relaxed()),
    "H_c L2": (STEPS, Problem.isotonic),
    "H_c L2^r": (STEPS, lambda noisy: Problem.isotonic(noisy).relaxed()),
    "H_g L1": (SIZES, lambda noisy: Problem.isotonic(noisy, norm=1)),
    "H_g L2": (SIZES, Problem.isotonic),
    "mean consistency": (COUNTS, Problem.mean_consistency),
    "M_H": (COUNTS, Problem.m_h),
    "M_H^r": (COUNTS, lambda noisy: Problem.m_h(noisy).relaxed()),
    "M_H, regions": (COUNTS, lambda noisy: Problem.m_h(noisy, totals="regions")),
    "M_H^r, regions": (COUNTS, lambda noisy: Problem.m_h(noisy, totals="regions").relaxed()),
    **{name: (COUNTS if name.startswith("M_H") else STEPS, state) for name, state in OF_TRUTH.items()},
    "M_c": (STEPS, Problem.m_c),
    "M_c^r": (STEPS, lambda noisy: Problem.m_c(noisy).relaxed()),
    "M_c, regions": (STEPS, lambda noisy: Problem.m_c(noisy, totals="regions")),
    "M_c^r, regions": (STEPS, lambda noisy: Problem.m_c(noisy, totals="regions").relaxed()),
    "M_c L1": (STEPS, lambda noisy: Problem.m_c(noisy, norm=1)),
    "M_c L1^r": (STEPS, lambda noisy: Problem.m_c(noisy, norm=1).relaxed()),
    "M_c L1, regions": (STEPS, lambda noisy: Problem.m_c(noisy, norm=1, totals="regions")),
    "M_c L1^r, regions": (STEPS, lambda noisy: Problem.m_c(noisy, norm=1, totals="regions").relaxed()),
}

BY_LEVEL = ("naive", "H_c L1", "H_c L2", "mean consistency", "M_H", "M_H^r", "M_H, regions", "M_H^r, regions")
"""The problems that are asked with sizes of their own on every level, too."""

PROBLEMS |= {f"{name}, by level": PROBLEMS[name] for name in BY_LEVEL}

RELATIVE = 1e-6

CANNOT_RUN = (Status.NOT_INSTALLED, Status.UNLICENSED, Status.TOO_LARGE)


@dataclass
class Pair:
    """The outcome of one method on one problem.

    Attributes:
        asked: instances given that the method can take on this machine.
        solved: instances answered.
        agreed: of these, how many agree with the best known objective, exactly for integers, to 1e-6 for reals; a
            rounded relaxation agrees if its bound lies between the relaxed optimum and that objective. Integers that a
            solver alone calls optimal have to agree like proved ones.
        how: "exact" or "rounded".
        seconds: time spent in the method.
        failures: what was not answered or did not agree.
    """

    asked: int = 0
    solved: int = 0
    agreed: int = 0
    how: str = "exact"
    seconds: float = 0.0
    failures: list[str] = field(default_factory=list)


def proving() -> list[Method]:
    """List the methods of the catalogue that prove optima, or round the optimum of the relaxation."""
    entries = [entry for entry in all_entries() if Use.AGREEMENT in entry.uses and entry.answer is Proof.OPTIMUM]
    return [entry.method for entry in entries if isinstance(entry.method, Method)]


def agreement(
    instances: int,
    problems: Sequence[str] = tuple(PROBLEMS),
    methods: Sequence[Method] | None = None,
    seed: int = 0,
    time_limit: float = 60,
    progress: bool = True,
) -> dict[tuple[str, str], Pair]:
    """Solve `instances` random instances of every problem by every method of `methods`, or `proving`, that supports it.

    Instances that a method cannot take because it is not installed, not licensed or not licensed for the size are not
    counted as asked, and named in the pair's failures once.
    """
    pairs: dict[tuple[str, str], Pair] = {}
    asked = proving() if methods is None else methods
    bar = tqdm(total=len(problems) * instances, desc="agreement", disable=None if progress else True)
    for name in problems:
        for instance in range(instances):
            bar.set_postfix_str(name)
            problem = random_problem(name, np.random.default_rng([seed, instance, *name.encode()]))
            answers = []
            for method in asked:
                if method.supports(problem) is None:
                    start = time.perf_counter()
                    result = method.solve(problem, time_limit)
                    answers.append((method, result, time.perf_counter() - start))
            _compare(pairs, name, problem, answers)
            bar.update()
    bar.close()
    return pairs


def frame(pairs: dict[tuple[str, str], Pair]) -> pd.DataFrame:
    """Make a data frame of one row per pair."""
    return pd.DataFrame(
        {
            "method": method,
            "problem": problem,
            "how": pair.how,
            "asked": pair.asked,
            "solved": pair.solved,
            "agreed": pair.agreed,
            "seconds": pair.seconds,
            "failures": len(pair.failures),
            "first_failure": pair.failures[0] if pair.failures else "",
        }
        for (method, problem), pair in pairs.items()
    )


def table(pairs: dict[tuple[str, str], Pair]) -> pd.DataFrame:
    """Make a table of methods in rows and problems in columns.

    Entries are agreed of solved; "r" marks rounded relaxations, and "-" problems that the method does not support.
    """
    methods = list(dict.fromkeys(method for method, _ in pairs))
    problems = list(dict.fromkeys(problem for _, problem in pairs))
    columns = {problem: [_cell(pairs.get((method, problem))) for method in methods] for problem in problems}
    return pd.DataFrame({"method": methods} | columns)


def is_relaxed(name: str) -> bool:
    """Say whether the problem is one in real numbers."""
    return "^r" in name or name.startswith("mean consistency")


def random_problem(name: str, rng: np.random.Generator) -> Problem:
    """Make a random problem: up to 7 regions on 1 to 3 levels, up to 5 sizes, and noise at epsilon 1/2, 2 or 8.

    In reals epsilon 1/1000 occurs, too. Where regions are tied together, some instances have no noise budget above the
    leaves, and some have random weights, 0 at inner regions included. Where levels have sizes of their own, every level
    is measured and has a weight.
    """
    view, state = PROBLEMS[name]
    levels = int(rng.integers(1, 4))
    paths: list[tuple[str, ...]] = [("nation",)] if levels == 1 else []
    for state_name in range(int(rng.integers(1, 4)) if levels > 1 else 0):
        if levels == 2:
            paths.append(("nation", f"{state_name}"))
        else:
            paths += [("nation", f"{state_name}", f"{county}") for county in range(int(rng.integers(1, 3)))]
    tree = Hierarchy.from_paths(paths)
    counts = rng.integers(0, 7, (len(paths), int(rng.integers(2, 6)))) * (rng.random() < 0.9)
    counts *= rng.random(counts.shape) < 0.6
    truth = CountOfCounts(tree, counts)
    epsilon = str(rng.choice(["1/2", "2", "8", "1/1000"][: 4 if is_relaxed(name) else 3]))
    tied, by_level = name.startswith("M_"), name.endswith("by level")
    shares = (*(0 for _ in range(levels - 1)), 1) if tied and not by_level and rng.random() < 0.2 else None
    max_sizes = sorted(rng.integers(0, truth.max_size + 1, levels).tolist(), reverse=True) if by_level else None
    noise = Geometric(view, epsilon, shares, max_sizes=max_sizes)
    noisy = noise.measure(truth, Seeded(f"agreement {rng.integers(2**60)}"))
    problem = state(noisy, truth) if name in OF_TRUTH else state(noisy)
    if not tied or rng.random() < 0.7:
        return problem
    weights = rng.integers(int(by_level), 4, tree.n_regions)
    weights[tree.leaves] += 1
    return replace(problem, weights=weights)


def _compare(
    pairs: dict[tuple[str, str], Pair], name: str, problem: Problem, answers: list[tuple[Method, Result, float]]
) -> None:
    exact = [
        result.certificate.objective
        for _, result, _ in answers
        if result.status in (Status.OPTIMAL, Status.FEASIBLE) and result.certificate is not None
    ]
    best = min((value for value in exact if value is not None), default=None)
    least = _relaxed_optimum(problem) if any(result.status is Status.RELAXED for _, result, _ in answers) else None
    for method, result, seconds in answers:
        pair = pairs.setdefault((_label(method), name), Pair())
        if result.status in CANNOT_RUN:
            if result.reason not in pair.failures:
                pair.failures.append(result.reason)
            continue
        pair.asked += 1
        pair.seconds += seconds
        certificate = result.certificate
        claims = result.status is Status.FEASIBLE and result.claimed.startswith("optimal")
        if certificate is None or not (claims or result.status in (Status.OPTIMAL, Status.RELAXED)):
            pair.failures.append(f"{result.status.name}: {result.reason}")
            continue
        pair.solved += 1
        if result.status is Status.RELAXED:
            pair.how = "rounded"
            bound = certificate.bound
            agrees = best is not None and bound is not None and bound <= best + RELATIVE * max(1.0, abs(best))
            agrees = agrees and (least is None or bound >= least - 2 * RELATIVE * max(1.0, least))  # pyright: ignore
            value = bound
        else:
            value = certificate.objective
            assert value is not None
            assert best is not None
            agrees = value == best if problem.integer else abs(value - best) <= RELATIVE * max(1.0, abs(best))
        pair.agreed += agrees
        if not agrees:
            pair.failures.append(f"{value} against {best}")


def _relaxed_optimum(problem: Problem) -> float | None:
    """Compute a proved bound that every optimum of the relaxation has to reach; None for ranked sizes."""
    relaxed = problem.relaxed()
    certificate = None if problem.view is SIZES else Cvxpy("CLARABEL").solve(relaxed).certificate
    return None if certificate is None or certificate.bound is None else float(certificate.bound)


def _label(method: Method) -> str:
    return f"{type(method).__name__}({method.solver!r})" if isinstance(method, Cvxpy) else repr(method)


def _cell(pair: Pair | None) -> str:
    if pair is None:
        return "-"
    return f"{pair.agreed}/{pair.asked}" + (" r" if pair.how == "rounded" else "")
