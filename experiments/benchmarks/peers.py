"""The benchmark of general solvers beside pgsr, each at its best formulation, from 10^4 to 3.2 million unknowns."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pgsr import CountOfCounts, Problem, View
from pgsr.algorithms import CumulativeIntegers, CumulativeProjection, TreeProjection
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


def quoted(rows: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Collect what pages quote of a record: the table, and of `HEADLINE` the best peer at the largest size, and ours.

    Example:
        >>> common = {"problem": "M_H, integers", "unknowns": 10, "peak_mb": 1.0, "text": "OPTIMAL", "solved": True}
        >>> rows = [{**common, "method": "X()", "ours": False, "seconds": 3.0}]
        >>> rows += [{**common, "method": "Y()", "ours": True, "seconds": 0.5}]
        >>> found = quoted(rows)
        >>> found["peers.best"], found["peers.ours"]
        ('X(), 3.0 s', '0.50 s')
    """
    rows, found, lines = list(rows), {}, []
    sizes = sorted({row["unknowns"] for row in rows})
    if not rows:
        return {}
    for problem in dict.fromkeys(row["problem"] for row in rows):
        here = [row for row in rows if row["problem"] == problem]
        methods = dict.fromkeys(row["method"] for row in sorted(here, key=lambda row: not row["ours"]))
        for method in methods:
            cells = [_cell(next((r for r in here if (r["method"], r["unknowns"]) == (method, n)), None)) for n in sizes]
            first = problem if method == next(iter(methods)) else ""
            lines.append(f"| {first} | `{method}` | {' | '.join(cells)} |")
        ratios = [_best(here, n) for n in sizes]
        if any(row["ours"] for row in here):
            cells = ["" if best is None else f"**{best[2]:,.0f}**" for best in ratios]
            lines.append(f"| | *best of the others by ours* | {' | '.join(cells)} |")
    headline = [row for row in rows if row["problem"] == HEADLINE]
    last = next((best for n in reversed(sizes) if (best := _best(headline, n)) is not None), None)
    if last is not None:
        method, seconds, ratio = last
        found |= {"peers.best": f"{method}, {_seconds(seconds)}", "peers.ours": _seconds(seconds / ratio)}
    head = f"| problem | method | {' | '.join(f'{n:,}' for n in sizes)} |"
    found["peers"] = "\n".join([head, "|---|---|" + "--:|" * len(sizes), *lines])
    return found


def read(folder: Path) -> list[Mapping[str, Any]]:
    """Read the record from a folder of published results; no rows where there is none."""
    path = folder / FILE
    return json.loads(path.read_text("utf-8")) if path.exists() else []


def _best(rows: Sequence[Mapping[str, Any]], unknowns: int) -> tuple[str, float, float] | None:
    """Find the fastest of the others at a size, with its seconds and how many times longer than ours these are."""
    here = [row for row in rows if row["unknowns"] == unknowns and row["solved"]]
    ours, others = ([row for row in here if row["ours"] is own] for own in (True, False))
    proved = [row for row in others if row["text"].startswith("OPTIMAL")]
    if not ours or not proved:
        return None
    best = min(proved, key=lambda row: row["seconds"])
    return best["method"], best["seconds"], best["seconds"] / ours[0]["seconds"]


def _cell(row: Mapping[str, Any] | None) -> str:
    if row is None:
        return ""
    if not row["solved"]:
        word = row["text"].partition(":")[0]
        return "licence" if word == "TOO_LARGE" and "licence" in row["text"] else word.lower().replace("_", " ")
    word = row["text"].partition(",")[0]
    kind = "" if word == "OPTIMAL" else f" {word.lower()}"
    memory = f", {row['peak_mb'] / 1_000:.1f} GB" if row["peak_mb"] else ""
    return f"{_seconds(row['seconds'])}{memory}{kind}"


def _seconds(value: float) -> str:
    if value < 0.1:
        return f"{1_000 * value:.0f} ms"
    return f"{value:.0f} s" if value >= 10 else f"{value:.1f} s" if value >= 1 else f"{value:.2f} s"
