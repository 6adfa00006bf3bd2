"""Methods side by side on the same noisy hierarchy."""

import re
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from math import nan

import numpy as np

from pgsr.certificates import Certificate, certify
from pgsr.certificates.certificate import OUR_PROOFS, is_decided
from pgsr.checks import checked_limit, require_kind
from pgsr.comparison.table import Comparison, Row
from pgsr.data.counts import CountOfCounts
from pgsr.errors import ArgumentError, ProblemError
from pgsr.machine import compilation
from pgsr.machine.extras import extra
from pgsr.machine.isolation import TaskEnd, Worker, session_worker
from pgsr.methods import metrics
from pgsr.methods.gate import Deadline
from pgsr.methods.method import ANSWERED, Method, PostProcess, Result, Seconds, Status
from pgsr.methods.toys import toy_of
from pgsr.noise.measurement import Measurement
from pgsr.privacy.budget import Number, exact
from pgsr.problems.problem import Problem
from pgsr.problems.tolerances import ACCEPTED_GAP

Arm = Method | PostProcess | tuple[str, Measurement | Problem, Method | PostProcess]

SOLVER_SHARE = 0.9
"""Part of an arm's time that its solver is told, so that it can hand over its best answer before it is killed."""


def compare(
    problem: Problem | Measurement,
    methods: Iterable[Arm],
    time_limit: float | None = 60,
    truth: CountOfCounts | None = None,
    progress: bool = True,
    epsilon: Number | None = None,
    isolate: bool = True,
) -> Comparison:
    """Run every arm in another process, and judge all answers alike: `pgsr.compare`, once methods have no names.

    Args:
        problem: what plain methods solve, or a measurement that plain post-processes estimate from.
        methods: methods on `problem`, or triples (label, measurement or problem, method or post-process) for others on
            the same truth.
        time_limit, progress, isolate: as there. The limit is hard: the process is killed.
        truth: for errors per level. Only this process sees it, never an arm.
        epsilon: what each arm's measurement spent in all to hide an entity that is added or removed.

    Returns:
        One row per arm, in order. An arm that cannot run is a row with its reason.
    """
    with extra("release"):
        from tqdm import tqdm

    remedy = "state one, for example Problem.m_h(measurement), or give a measurement"
    require_kind(problem, (Problem, Measurement), "the problem", remedy)
    if isinstance(methods, Method | PostProcess) or not isinstance(methods, Iterable):
        raise ArgumentError(f"methods is {methods!r}; give a list, for example [TreeProjection()]")
    arms = [_parsed(problem, arm) for arm in methods]
    if not arms:
        raise ArgumentError("there is nothing to compare; give at least one method")
    if truth is not None:
        _check_truth(truth, arms)
    if epsilon is not None:
        if truth is None:
            raise ArgumentError(f"epsilon={epsilon!r} is for bounds near a truth; give truth=..., or leave epsilon out")
        exact(epsilon)
    time_limit = checked_limit(time_limit)
    worker, rows = session_worker() if isolate else None, []
    bar = tqdm(arms, desc="compare", unit="arm", disable=None if progress else True)
    for label, target, solver in bar:
        bar.set_postfix_str(label)
        rows.append(row_of(label, target, *answered(target, solver, time_limit, worker), truth, epsilon))
    title = f"{problem.label} of {problem.hierarchy.n_regions:,} regions, sizes 0 to {problem.max_size:,}"
    return Comparison(with_best_bounds(rows, [target for _, target, _ in arms]), title, time_limit)


def row_of(
    label: str,
    target: Measurement | Problem,
    result: Result,
    outcome: TaskEnd,
    truth: CountOfCounts | None,
    epsilon: Number | None,
) -> Row:
    errors = errors_by_level(truth, result, epsilon) if truth is not None else {}
    name = target.label if isinstance(target, Problem) else f"{target.label} view"
    if result.certificate is not None:
        name = result.certificate.problem
    return Row(label, name, result, outcome.peak_bytes, errors, outcome.baseline_bytes)


def with_best_bounds(rows: list[Row], targets: list[Measurement | Problem]) -> list[Row]:
    """Give every answer the best bound that is proved of the same problem, whoever's answer proved it."""
    best: dict[int, Certificate] = {}
    for row, target in zip(rows, targets, strict=True):
        known = row.result.certificate
        if known is not None and known.bound is not None and known.bound_by in OUR_PROOFS:
            other = best.get(id(target))
            if other is None or other.bound is None or known.bound > other.bound:
                best[id(target)] = known
    return [_bounded(row, best.get(id(target))) for row, target in zip(rows, targets, strict=True)]


def _bounded(row: Row, best: Certificate | None) -> Row:
    known = row.result.certificate
    if best is None or best.bound is None or known is None or known.objective is None or row.status not in ANSWERED:
        return row
    if known.bound is not None and known.bound_by in OUR_PROOFS and known.bound >= best.bound:
        return row
    return replace(row, result=replace(row.result, certificate=known.with_bound(best.bound, best.bound_by)))


def _parsed(problem: Problem | Measurement, arm: Arm) -> tuple[str, Measurement | Problem, Method | PostProcess]:
    if isinstance(arm, tuple):
        if len(arm) != 3:
            raise ArgumentError(f"{arm!r} is no arm; give (label, measurement or problem, method or post-process)")
        label, target, solver = arm
        require_kind(target, (Measurement, Problem), f"{label}: the second entry", "give a measurement or a problem")
        wanted = Method if isinstance(target, Problem) else PostProcess
        if not isinstance(solver, wanted):
            raise ProblemError(
                f"{label}: a problem is solved by a method, a measurement needs a post-process, not {solver!r}"
            )
        return label, target, solver
    if isinstance(arm, type):
        raise ArgumentError(f"an arm is the class {arm.__name__}; write {arm.__name__}(...)")
    wanted = Method if isinstance(problem, Problem) else PostProcess
    if not isinstance(arm, wanted):
        advice = (
            "it is not a method, which has supports and solve; give (label, measurement, post-process)"
            if wanted is Method
            else "it is no post-process; give methods as (label, problem, method)"
        )
        raise ProblemError(f"{arm!r}: {advice}")
    return label_of(arm), problem, arm


def label_of(method: object) -> str:
    """The `repr` of a method, with the name of the class wherever an object has no `repr` of its own.

    Example:
        >>> class Toy: pass
        >>> label_of([Toy(), 3])
        '[Toy, 3]'
    """
    without = re.sub(r"<[^<>]*?(?:<\w+>[^<>]*?)*?(\w+) object at 0x[0-9a-fA-F]+>", r"\1", repr(method))
    return re.sub(r" at 0x[0-9a-fA-F]+", "", without)


def answered(
    target: Measurement | Problem, solver: Method | PostProcess, time_limit: float | None, worker: Worker | None
) -> tuple[Result, TaskEnd]:
    """Have an arm answered in a worker, after a toy of the same kind, or here; and judge the answer."""
    reason = solver.supports(target) if isinstance(solver, Method) and isinstance(target, Problem) else None
    if reason is not None:
        return Result(Status.UNSUPPORTED, reason), TaskEnd()
    if worker is None:
        return judged(target, _answer(target, solver, time_limit, compilation.seconds())), TaskEnd()
    limit = None if time_limit is None else time_limit * SOLVER_SHARE
    task, warm_up = partial(_answer, target, solver, limit), partial(_answer, toy_of(target), solver, limit)
    outcome = worker.compute(task, warm_up, time_limit)
    if not outcome.started:
        reason = "did not start in time (imports, a toy); run it on a less busy machine"
        return Result(Status.FAILED, reason), TaskEnd()
    if outcome.timed_out:
        return Result(Status.TIMED_OUT, f"stopped after {time_limit:g} s without an answer"), outcome
    if outcome.error:
        return Result(Status.FAILED, outcome.error), outcome
    return judged(target, outcome.value), outcome


def judged(target: Measurement | Problem, value: object) -> Result:
    """The result, once it is one and its status stands up to a certificate of our own."""
    if not isinstance(value, Result):
        return Result(Status.FAILED, f"the method returned {type(value).__name__}, not a Result")
    if not isinstance(target, Problem) or value.answer is None or value.status not in ANSWERED:
        return value
    ours = certify(target, value.answer)

    def refuse(reason: str) -> Result:
        says = f"says {value.status.name}, but {reason}"
        return Result(Status.FAILED, says, None, ours, value.seconds, refused=value.answer)

    if not ours.feasible and value.status is not Status.RELAXED:
        broken = ", ".join(f"{n:,} {kind}" for kind, n in ours.violations.items() if n)
        return refuse(f"violates {broken}")
    if value.status is Status.OPTIMAL and is_decided(target) and not ours.optimal:
        return refuse("our exact test refutes it")
    theirs = value.certificate
    if theirs is not None and theirs.bound is not None and not ours.optimal:
        ours = ours.with_bound(theirs.bound, theirs.bound_by)  # under the name of who gave it
    if value.status is Status.OPTIMAL and (ours.gap is None or ours.gap > ACCEPTED_GAP):
        return refuse(f"its relative gap is {ours.gap}")
    return replace(value, certificate=ours)


def _check_truth(truth: CountOfCounts, arms: list[tuple[str, Measurement | Problem, Method | PostProcess]]) -> None:
    require_kind(truth, CountOfCounts, "truth", "give CountOfCounts(hierarchy, counts)")
    for label, target, _ in arms:
        folded = not target.sizes.equal and target.max_size <= truth.max_size
        if target.hierarchy.paths != truth.hierarchy.paths or not (folded or target.max_size == truth.max_size):
            raise ArgumentError(
                f"{label}: the truth has other regions or sizes than {target!r}; give the truth that was measured"
            )


def _answer(
    target: Measurement | Problem, solver: Method | PostProcess, time_limit: float | None, compiled: float = 0.0
) -> Result:
    """The answer; one that reports no time gets ours, of the whole call. A worker may have compiled for a toy."""
    clock = Deadline()
    if isinstance(target, Problem):
        assert isinstance(solver, Method)
        result = solver.solve(target, time_limit)
    else:
        assert isinstance(solver, PostProcess)
        result = solver.apply(target, time_limit)
    # What is no Result is reported by `judged`, in the caller's process.
    if not isinstance(result, Result):
        return result
    seconds = result.seconds
    if result.status in ANSWERED and seconds.total == 0:
        seconds = Seconds(solve=clock.spent)
    return replace(result, seconds=replace(seconds, compile=compilation.seconds() - compiled))


def errors_by_level(truth: CountOfCounts, result: Result, epsilon: Number | None = None) -> dict[str, list[float]]:
    """Compute the errors of an answer by level, as `Row.errors` has them; none without an answer."""
    if result.answer is None or result.status not in ANSWERED:
        return {}
    totals = metrics.total_error(truth, result.answer)
    distance = metrics.level_means(truth, metrics.cumulative_l1(truth, result.answer))
    errors = {
        "l1": metrics.level_sums(truth, metrics.l1(truth, result.answer)),
        "cumulative_l1": distance,
        "total_error": metrics.level_sums(truth, np.abs(totals)),
    }
    if totals.any():
        return errors
    errors["emd"] = distance
    if epsilon is not None:
        from pgsr.bounds import lower_bound  # which imports numba

        sizes = result.answer.sizes.max_sizes
        folded = truth if truth.max_sizes == sizes else truth.folded(sizes)
        bound = metrics.level_means(truth, lower_bound(folded, epsilon).emd)
        errors["times_bound"] = [error / least if least else nan for error, least in zip(distance, bound, strict=True)]
    return errors
