"""The findings of a comparison: one sentence, and a line for each question that a reader has next."""

import re
from collections import Counter
from statistics import median

from pgsr.comparison.runs import MethodRow, ProblemRows
from pgsr.comparison.wording import and_list, count, factor, short_part

AGREED = 1e-6
"""The relative difference up to which optima in real numbers agree."""


def headline(problems: list[ProblemRows], releases: dict[str, list[MethodRow]]) -> str:
    """Say in a sentence how many problems are proved, whether proofs agree, and who is first."""
    if not problems:
        return f"{count(sum(map(len, releases.values())), 'release')} side by side."
    solved = [problem for problem in problems if problem.proved]
    bad = [problem for problem in solved if problem.spread > AGREED]
    duels = [problem.duel for problem in problems if problem.duel is not None]
    if bad:
        places = [f"{problem.name}, {short_part(problem.part)}" if problem.part else problem.name for problem in bad]
        said = f"Proved optima DISAGREE on {count(len(bad), 'problem')}: {'; '.join(places)}"
    elif len(problems) == 1:
        said = f"{problems[0].name} is {'proved' if solved else 'not proved'}"
    else:
        all_of = f"All {len(problems)}" if len(solved) == len(problems) else f"{len(solved)} of {len(problems)}"
        said = f"{all_of} problems {'is' if len(solved) == 1 else 'are'} proved"
    if not bad and any(len(problem.proved) > 1 for problem in solved):
        said += " and all proofs agree"
    won = sum(times >= 1 for times in duels)
    if len(duels) > 1:
        said += f"; pgsr is first in {won} of the {len(duels)} that it and a solver proved"
    elif duels:
        times = factor(max(duels[0], 1 / duels[0]))
        said += f"; pgsr is {times} times {'faster' if won else 'slower'} than the best solver"
    return f"{said}."


def findings(
    problems: list[ProblemRows], releases: dict[str, list[MethodRow]], errors: dict[str, list[MethodRow]]
) -> dict[str, str]:
    """Collect the lines below the sentence, by heading."""
    runs = [run for problem in problems for run in problem.runs] + [run for part in releases.values() for run in part]
    found = {
        "Agreement": _agreement(problems),
        "Fastest": _fastest(problems),
        "Without pgsr": _without(problems),
        "No answer": _silent(runs),
        "Not proved": _relaxed([run for run in runs if run.status == "RELAXED"]),
        "Least error": " ".join(_least(part, those) for part, those in errors.items() if len(those) > 1),
    }
    return {heading: text for heading, text in found.items() if text}


def _agreement(problems: list[ProblemRows]) -> str:
    twice = [problem for problem in problems if len(problem.proved) > 1]
    if not twice or any(problem.spread > AGREED for problem in twice):
        return ""
    proofs = sum(len(problem.proved) for problem in twice)
    said = f"Two methods or more prove {count(len(twice), 'problem')}, {proofs} proofs in all: "
    whole = "whole numbers agree to the digit" if any(not problem.real for problem in twice) else ""
    apart = max((problem.spread for problem in twice if problem.real), default=None)
    real = "" if apart is None else f"real numbers to {max(apart, 1e-12):.0e} of the optimum"
    return said + ", ".join(filter(None, (whole, real))) + "."


def _fastest(problems: list[ProblemRows]) -> str:
    times = {(p.name, p.part): p.duel for p in problems if p.duel is not None}
    if not times:
        return ""
    said = f"pgsr is {factor(median(times.values()))} times faster than the next by the median"
    said = f"{said}, {factor(max(times.values()))} times at most." if median(times.values()) >= 1 else ""
    lost: dict[str, list[str]] = {}
    for problem in problems:
        other = problem.first(False)
        if problem.duel is not None and problem.duel < 1 and other:
            place = f"{problem.name} with {short_part(problem.part)} ({factor(1 / problem.duel)} times)"
            lost.setdefault(other.solver.name, []).append(place)
    said += "".join(f" {name} is faster on {and_list(places)}." for name, places in lost.items())
    alone = sum(bool(problem.proved) and problem.first(False) is None for problem in problems)
    return said + (f" On {count(alone, 'more problem')} no solver has a proof." if alone else "")


def _without(problems: list[ProblemRows]) -> str:
    first = Counter(problem.proved[0].solver.name for problem in problems if problem.proved and not problem.first(True))
    if not first:
        return ""
    return f"On {count(sum(first.values()), 'problem')} pgsr has no proof; first: {_counted(first)}."


def _silent(runs: list[MethodRow]) -> str:
    silent = [run for run in runs if not run.answered]
    if not silent:
        return f"None: {'the run has' if len(runs) == 1 else f'all {len(runs)} runs have'} one."
    why: dict[str, Counter[str]] = {}
    for run in silent:
        licence = " for the bundled licence" if run.status == "TOO_LARGE" and "licence" in run.reason else ""
        reason = run.status.lower().replace("_", " ") + licence
        why.setdefault(reason, Counter())[run.method.partition("(")[0] if run.ours else run.solver.name] += 1
    said = "; ".join(f"{reason} ({_counted(names)})" for reason, names in why.items())
    return f"{len(silent)} of {count(len(runs), 'run')}: {said}. Remedies are in the tables."


def _counted(names: Counter[str]) -> str:
    return and_list([f"{name} {n}" if n > 1 else name for name, n in names.most_common()])


def _relaxed(runs: list[MethodRow]) -> str:
    if not runs:
        return ""
    names = _counted(Counter(run.solver.name for run in runs))
    broken = sum(bool(run.broken) for run in runs)
    return (
        f"{count(len(runs), 'answer')} of relaxations, rounded ({names}); {broken or 'none'} break a condition. "
        "That is what these methods do, and no failure."
    )


def _least(part: str, runs: list[MethodRow]) -> str:
    said = []
    for level, name in enumerate(runs[0].levels):
        exact = [run for run in runs if run.error(level)[1]] or runs
        best = min(exact, key=lambda run: run.error(level)[0])
        said.append(f"at {'the ' * (name in ('root', 'leaves'))}{name} {release_name(best.method)[0]} "
                    f"({factor(best.error(level)[0])})")  # fmt: skip
    where = f", {short_part(part)}" if part else ""
    return f"Of {len(runs)} answers{where}: {and_list(said)} members to move per region. One draw of the noise."


def release_name(method: str) -> tuple[str, str]:
    """Split a label into a release's name and its shares of epsilon.

    Example:
        >>> release_name("Matching(TransportLp())  [H_c]  1/3 each")
        ('Matching, TransportLp [H_c]', '1/3 each')
    """
    name, *rest = method.split("  ")
    view, shares = " ".join(rest[:-1]), rest[-1] if rest else ""
    name = re.sub(r"\((?:\w+=)?(\w+)\)", r", \1", name.replace("()", ""))
    return ("M_c^dp" if "M_c^dp" in view else f"{name} {view}".strip()), shares
