"""The benchmark of general solvers beside pgsr, each at its best formulation, from 10^4 to 3.2 million unknowns."""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pgsr import CountOfCounts, Problem, View
from pgsr.algorithms import CumulativeIntegers, CumulativeProjection, TreeProjection
from pgsr.comparison.findings import findings
from pgsr.comparison.runs import MethodRow, ProblemRows
from pgsr.comparison.wording import time
from pgsr.experiments.benchmarks import scale
from pgsr.experiments.benchmarks.scale import NationalProblem
from pgsr.methods import Method
from pgsr.models import CpSat, Cvxpy, Direct, Flow, Gurobi, MathOpt, Scip, Scipy
from pgsr.noise import Measurement

MAX_SIZES = (3, 30, 300, 1000)
"""The largest sizes K of 3,195 regions: 12,780 to 3.2 million unknowns."""

LIMIT = 120.0
"""The seconds that a solver may take; from there on it is not asked about more unknowns."""

FILE = "peers.json"


def m_c_l1_relaxed(noisy: Measurement, _: CountOfCounts) -> Problem:
    return Problem.m_c(noisy, norm=1, totals="regions").relaxed()


INTEGER: tuple[Method, ...] = (
    Scipy(), Direct("HIGHS"), MathOpt("GLOP"), Flow(), Gurobi(), MathOpt("GSCIP"), Scip(), CpSat(),
)  # fmt: skip
REAL: tuple[Method, ...] = (Direct("CLARABEL"), Cvxpy("CLARABEL"), MathOpt("PDLP"), Gurobi())
LINEAR: tuple[Method, ...] = (Scipy(), MathOpt("GLOP"), MathOpt("PDLP"), Gurobi())

QUESTIONS = (
    NationalProblem("M_H, integers", View.COUNTS, scale.m_h, TreeProjection(), INTEGER),
    NationalProblem("M_H^r", View.COUNTS, scale.m_h_relaxed, TreeProjection(), REAL),
    NationalProblem("M_H with every region's total, integers", View.COUNTS, scale.m_h_regions,
             TreeProjection(), INTEGER[:5]),
    NationalProblem("M_c, integers", View.CUMULATIVE, scale.m_c, CumulativeIntegers(),
             (Scipy(), MathOpt("GLOP"), Gurobi())),
    NationalProblem("M_c^r", View.CUMULATIVE, scale.m_c_relaxed, CumulativeProjection(gap=1e-6), REAL[:3]),
    NationalProblem("M_c L1^r, every region's total", View.CUMULATIVE, m_c_l1_relaxed, LINEAR[0],
             LINEAR[1:]),
)  # fmt: skip

HEADLINE = "M_H, integers"
"""The problem whose best peer pages quote."""

LEFT_TO_SOLVERS = ("M_c L1^r, every region's total",)
"""The problems that no algorithm of pgsr solves: the first method is a solver, too."""


@dataclass(frozen=True)
class PeerRow:
    """A row of the record: one method on one size of one problem."""

    problem: str
    method: str
    ours: bool
    unknowns: int
    seconds: float
    peak_mb: float
    text: str
    solved: bool


def main(folder: Path, say: Callable[[str], None], max_sizes: Sequence[int] = MAX_SIZES, limit: float = LIMIT) -> Path:
    """Measure every method of every problem from small to large; `folder`/peers.json grows with every row."""
    rows: list[PeerRow] = []
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / FILE
    for question in QUESTIONS:
        for method in (question.method, *question.peers):
            ours = method is question.method and question.name not in LEFT_TO_SOLVERS
            for max_size in max_sizes:
                found = scale.timing(question, method, "1", "counties", max_size, 3 if ours else 1, limit)
                unknowns = 3_195 * (max_size + 1)
                rows.append(PeerRow(question.name, repr(method), ours, unknowns, found.seconds, found.peak_mb,
                                    found.text, found.solved))  # fmt: skip
                lines = ",\n".join(" " + json.dumps(asdict(row)) for row in rows)
                path.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
                say(f"{question.name:42} {method!r:24} {unknowns:>9,}  {found.seconds:8.2f} s  {found.text[:60]}")
                if not found.solved:
                    break
    return path


def read(folder: Path) -> list[Mapping[str, Any]]:
    """Read the record from a folder of published results; no rows where there is none."""
    path = folder / FILE
    return json.loads(path.read_text("utf-8")) if path.exists() else []


def problems(rows: Iterable[Mapping[str, Any]]) -> list[ProblemRows]:
    """Read a record as a comparison: a problem per question and number of unknowns."""
    found: dict[tuple[str, int], ProblemRows] = {}
    for row in rows:
        name, n, times = row["problem"], row["unknowns"], {"formulate_s": 0, "solve_s": row["seconds"], "round_s": 0}
        status, reason = re.split("[:,]", row["text"])[0], row["text"]
        run = MethodRow({**times, "status": status, "reason": reason, "method": row["method"], "problem": name})
        found.setdefault((name, n), ProblemRows(f"{n:,} unknowns", name, "", "^r" in name, [])).runs.append(run)
    return list(found.values())


def quoted(rows: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Collect what pages quote of a record: the table, who is ahead, and of `HEADLINE` at its largest size the seconds.

    Example:
        >>> common = {"problem": "M_H, integers", "unknowns": 10, "peak_mb": 1.0, "text": "OPTIMAL", "solved": True}
        >>> rows = [{**common, "method": "Scipy()", "ours": False, "seconds": 3.0}]
        >>> rows += [{**common, "method": "TreeProjection()", "ours": True, "seconds": 0.5}]
        >>> found = quoted(rows)
        >>> found["peers.best"], found["peers.ours"], found["peers.ahead"]
        ('Scipy(), 3.00 s', '0.50 s', 'Nobody in this run.')
    """
    rows = list(rows)
    if not rows:
        return {}
    asked = problems(rows)
    said, found = findings(asked, {}, {}), {"peers": _table(rows, asked), "peers.ahead": _ahead(asked)}
    found |= {"peers.fastest": said["Fastest"], "peers.silent": said["No answer"].partition(" Remedies")[0]}
    for problem in asked:
        mine, other = problem.first(True), problem.first(False)
        if problem.name == HEADLINE and mine and other:  # the last one stays
            n = int(problem.part.split()[0].replace(",", ""))
            found["peers.size"] = f"{n / 1e6:.1f} million" if n > 500_000 else f"{n:,}"
            found |= {"peers.best": f"{other.method}, {time(other.seconds)}", "peers.ours": time(mine.seconds)}
    return found


def _table(rows: Sequence[Mapping[str, Any]], asked: Sequence[ProblemRows]) -> str:
    """Write a row per problem and method with an answer, ours first, and how many times longer others take."""
    sizes = sorted({row["unknowns"] for row in rows})
    heads = [f"{n:,}" for n in sizes] + ["memory"]
    lines = [f"| problem | method | {' | '.join(heads)} |", "|---|---|" + "--:|" * len(heads)]
    for name in dict.fromkeys(row["problem"] for row in rows):
        first, here = f"**{name}**", [row for row in rows if row["problem"] == name]
        answered = [row for row in here if row["solved"]]
        for method in dict.fromkeys(row["method"] for row in sorted(answered, key=lambda row: not row["ours"])):
            of = {row["unknowns"]: row for row in here if row["method"] == method}
            memory = max(row["peak_mb"] for row in of.values()) / 1_000
            lines.append(f"| {first} | `{method}` | {' | '.join(_cell(of.get(n)) for n in sizes)} | {memory:.1f} GB |")
            first = ""
        duels = {problem.part: problem.duel for problem in asked if problem.name == name and problem.duel}
        times = [duels.get(f"{n:,} unknowns") for n in sizes]
        if duels:
            lines.append(
                f"| | *best other / pgsr* | {' | '.join(f'*{ratio:,.0f}*' if ratio else '' for ratio in times)} | |"
            )
    return "\n".join(lines)


def _ahead(asked: Iterable[ProblemRows]) -> str:
    """Write a row per problem on which another proof is before ours, or where we have none."""
    lines = ["| problem | unknowns | first proof | pgsr |", "|---|--:|---|---|"]
    for problem in asked:
        first = next(iter(problem.proved), None)
        if first is None or first.ours:
            continue
        ours = min(
            (run for run in problem.runs if run.ours and run.answered), key=lambda run: run.seconds, default=None
        )
        mine = "no algorithm" if not any(run.ours for run in problem.runs) else "no answer"
        mine = mine if ours is None else _answer(ours.seconds, ours.reason)
        lines.append(
            f"| {problem.name} | {problem.part.split()[0]} | `{first.method}`, {time(first.seconds)} | {mine} |"
        )
    return "\n".join(lines) if len(lines) > 2 else "Nobody in this run."


def _cell(row: Mapping[str, Any] | None) -> str:
    if row is None:
        return ""
    return (
        _answer(row["seconds"], row["text"])
        if row["solved"]
        else row["text"].partition(":")[0].lower().replace("_", " ")
    )


def _answer(seconds: float, text: str) -> str:
    """Write the seconds of an answer, and its gap where it is not proved."""
    gap = re.search(r"proven gap ([\d.e-]+)", text)
    return time(seconds) + ("" if text.startswith("OPTIMAL") else f", gap {gap[1]}" if gap else ", no bound")
