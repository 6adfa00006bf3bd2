"""Solvers on instances: each in a process that is killed at the limit, what they say against what is so; resumable."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from pgsr import Problem, Result, Status, __version__
from pgsr.certificates.certificate import objective, violations
from pgsr.comparison.side_by_side import SOLVER_SHARE, label_of
from pgsr.data.estimate import Estimate
from pgsr.errors import ArgumentError
from pgsr.experiments.engine.experiment import computed
from pgsr.experiments.lib.folder import BuiltInstance, is_built, problem_of, read
from pgsr.machine.isolation import Worker
from pgsr.methods.catalogue import Use
from pgsr.methods.method import Method
from pgsr.methods.toys import toy_of
from pgsr.models.adapter import Route, Run, SolverModel
from pgsr.models.availability import solvers
from pgsr.models.catalogue import all_entries
from pgsr.models.judge import SolverClaim

NOT_TRIED = "NOT_TRIED"
"""The status of an instance larger than one of the same kind that the solver did not finish."""


@dataclass(frozen=True)
class Solve:
    """A task for a worker: one method on one instance."""

    folder: Path
    method: Method
    time_limit: float

    def warm_up(self) -> None:
        """Solve a toy of the same problem, so that imports and compilation happen before."""
        self.method.solve(toy_of(problem_of(self.folder)), self.time_limit)  # pyright: ignore[reportArgumentType]

    def compute(self) -> dict[str, Any]:
        """Solve, and measure the answer against the instance."""
        claims: list[SolverClaim] = []
        problem = problem_of(self.folder)
        result = listening(self.method, claims).solve(problem, SOLVER_SHARE * self.time_limit)
        return measured(problem, read(self.folder), result, claims[-1] if claims else None)


def all_methods() -> list[Method]:
    """List the methods of the catalogue for large instances, then solvers of other packages; all that is installed."""
    known = {repr(info.method): info for info in solvers()}
    listed = [entry.method for entry in all_entries() if Use.LIBRARY in entry.uses and not entry.small]
    ours = {repr(method): method for method in listed if isinstance(method, Method)}
    others = {name: info.method for name, info in known.items() if name not in ours}
    return [method for name, method in (ours | others).items() if name not in known or known[name].installed]


def chosen(names: Sequence[str]) -> list[Method]:
    """Choose methods by name: `Cvxpy('CLARABEL')`, or clarabel, which is every method with that word in it.

    Raises:
        ArgumentError: no method has such a name.
    """
    methods, out = all_methods(), []
    for name in names:
        plain = name.replace('"', "'")
        found = [method for method in methods if repr(method) == plain]
        found = found or [method for method in methods if plain.lower() in repr(method).lower()]
        if not found:
            known = ", ".join(repr(method) for method in methods)
            raise ArgumentError(f"solver {name!r} is not installed or unknown; installed are {known}")
        out += [method for method in found if method not in out]
    return out


def takes(method: Method, problem: Problem) -> bool:
    """Say whether a method solves a problem as it is stated: not by rounding its relaxation."""
    if method.supports(problem) is not None:
        return False
    if isinstance(method, SolverModel):
        return method.route(problem) is not Route.RELAXED
    return not (problem.integer and getattr(method, "rounds_relaxation", False))


def run(
    folders: Sequence[Path], methods: Sequence[Method], time_limit: float, out: Path, say: Callable[[str], None] = print
) -> pd.DataFrame:
    """Run every method on every instance that it takes, smallest first, and append a line of JSON per pair to `out`.

    Pairs that `out` has from the same version, with the same limit and of the same problem.npz, are not run again. An
    instance is not tried where the method ran into the limit on a smaller one of the same kind (LP, QP, MILP, MIQP) and
    family; that counts as not solved.
    """
    built = sorted((read(folder) for folder in folders if is_built(folder)), key=lambda one: (one.unknowns, one.name))
    if not built:
        raise ArgumentError("no instance is built there; python -m pgsr.experiments lib build makes them")
    where = {folder.name: folder for folder in folders}
    problems = {one.name: problem_of(where[one.name]) for one in built}
    done = {(row["instance"], row["method"]): row for row in _kept(out, time_limit, built)}
    out.parent.mkdir(parents=True, exist_ok=True)
    torn = out.is_file() and out.read_bytes()[-1:] not in (b"", b"\n")
    with out.open("a") as file:
        file.write("\n" * torn)  # else the next line would be torn with it
        for method in methods:
            label, late, worker = label_of(method), set[tuple[str, str]](), Worker.of_several(None)
            for one in built:
                if not takes(method, problems[one.name]):
                    continue
                group = one.facts["kind"], one.name.split("-1e")[0]
                row = done.get((one.name, label))
                if row is None:
                    if group in late:
                        answer = {"status": NOT_TRIED, "reason": "it ran into the limit on a smaller one"}
                    else:
                        answer = _outcome(worker, Solve(where[one.name], method, time_limit))
                    row = _about(one, label, time_limit) | answer
                    file.write(json.dumps(row) + "\n")
                    file.flush()
                    done[one.name, label] = row
                    if row["status"] != NOT_TRIED:
                        say(f"{label:28} {one.name:40} {row['status']:10} {row.get('seconds', time_limit):8.2f} s")
                if row["status"] in (Status.TIMED_OUT.name, NOT_TRIED):
                    late.add(group)
            worker.close()
    wanted, labels = {one.name for one in built}, {label_of(method) for method in methods}
    return pd.DataFrame([row for (name, label), row in done.items() if name in wanted and label in labels])


def measured(problem: Problem, known: BuiltInstance, result: Result, claim: SolverClaim | None) -> dict[str, Any]:
    """Measure an answer by what is known of the instance, whatever was made of it.

    said_solved: the solver's own word, or OPTIMAL of methods that have none but ours.
    violated: conditions that an integer answer violates, counted exactly; primal: the largest residual of a real one,
    relative. error: (objective - optimum) / max(1, optimum), absolute; the optimum is the interval [bound, objective]
    that the instance proves, and inside of it the error is 0.
    """
    estimate = result.answer if result.answer is not None else result.refused
    said = claim is SolverClaim.OPTIMAL if claim is not None else result.status is Status.OPTIMAL
    if result.claimed:
        said = result.claimed.startswith("optimal")
    elif result.status in (Status.FEASIBLE, Status.RELAXED, Status.TIMED_OUT):
        # Its last word was on one of several linear programs, not on the instance.
        said = False
    row: dict[str, Any] = {
        "status": result.status.name,
        "said_solved": said,
        "reason": result.reason,
        "seconds": result.seconds.total,
        "primal": None,
        "dual": None,
        "gap": None,
        "violated": None,
        "error": None,
    }
    if result.residuals is not None:
        row |= {"primal": result.residuals.primal, "dual": result.residuals.dual, "gap": result.residuals.gap}
    if estimate is None:
        return row
    row["violated"] = int(sum(_violations(problem, estimate).values()))
    value = float(_objective(problem, estimate, result))
    low, high = float(known.bound), float(known.objective)
    row["objective"] = value
    row["error"] = max(low - value, value - high, 0.0) / max(1.0, low)
    return row


def listening(method: Method, claims: list[SolverClaim]) -> Method:
    """The same method, writing down what its solver claims; for the life of this process."""
    if isinstance(method, SolverModel):
        inner = type(method).run

        def run(self: SolverModel, *arguments: Any) -> Run:
            claims.clear()
            outcome = inner(self, *arguments)
            claims.append(outcome.answer.claim)
            return outcome

        listening = type(type(method).__name__, (type(method),), {"run": run})
        heard = object.__new__(listening)
        heard.__dict__.update(method.__dict__)
        return heard
    return method


def _violations(problem: Problem, estimate: Estimate) -> dict[str, int]:
    from pgsr.certificates import certify

    return certify(problem, estimate).violations if estimate.view is not problem.view else violations(problem, estimate)


def _objective(problem: Problem, estimate: Estimate, result: Result) -> float:
    if estimate.view is not problem.view:  # ranked sizes, answered by counts
        assert result.certificate is not None
        assert result.certificate.objective is not None
        return result.certificate.objective
    return objective(problem, estimate)


def _outcome(worker: Worker, task: Solve) -> dict[str, Any]:
    """The row of a task."""
    found = computed(task, worker)
    if found.timed_out:
        return {"status": Status.TIMED_OUT.name, "reason": "killed at the limit"}
    if found.error:
        return {"status": Status.FAILED.name, "reason": found.error}
    return found.value


def _about(one: BuiltInstance, label: str, time_limit: float) -> dict[str, Any]:
    return {
        "instance": one.name,
        "method": label,
        "kind": one.facts["kind"],
        "unknowns": one.unknowns,
        "limit": time_limit,
        "pgsr": __version__,
        "sha256": _digest(one),
    }


def _digest(one: BuiltInstance) -> str:
    """The digest of the problem's file: an instance that was built anew may be another one of the same name."""
    return one.facts["sha256"]["problem.npz"]


def _kept(out: Path, time_limit: float, built: Sequence[BuiltInstance]) -> list[dict[str, Any]]:
    """The rows of an earlier run with the same limit, version and problem; a line that was torn is left out."""
    rows, digests = [], {one.name: _digest(one) for one in built}
    for line in out.read_text().splitlines() if out.is_file() else ():
        try:
            row = json.loads(line)
        except json.JSONDecodeError:
            continue
        same = row["limit"] == time_limit and row["pgsr"] == __version__
        if same and row.get("sha256") == digests.get(row["instance"], ""):
            rows.append(row)
    return rows
