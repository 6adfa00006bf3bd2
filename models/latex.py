r"""The problems in LaTeX, for notebooks and papers: the programs of `formulate` in symbols."""

from pgsr.data.views import View
from pgsr.noise.measurement import Totals
from pgsr.problems.problem import Problem


def latex(problem: Problem) -> str:
    r"""The problem in a LaTeX `aligned` block; in a notebook: `display(Math(latex(problem)))`.

    Example:
        >>> from pgsr import CountOfCounts, Hierarchy, Problem, View
        >>> from pgsr.noise import Geometric
        >>> from pgsr.privacy import Seeded
        >>> truth = CountOfCounts(Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0]), [[0, 2, 0, 1], [0, 1, 1, 1]])
        >>> noisy = Geometric(View.COUNTS, epsilon=1).measure(truth, Seeded("demo"))
        >>> print(latex(Problem.m_h(noisy).relaxed()))
        \begin{aligned}
        \min_{x}\quad & \sum_{r \in R} \sum_{s=0}^{K} (x_{r,s} - y_{r,s})^2 && \text{M\_H\^{}r} \\
        \text{s.t.}\quad & x_{r,s} = \sum_{c \in \mathrm{ch}(r)} x_{c,s} && r \text{ inner},\ s = 0, \dots, K \\
        & \sum_{s=0}^{K} x_{\top,s} = G_{\top} && \\
        & x_{r,s} \ge 0 && r \in R,\ s = 0, \dots, K
        \end{aligned}
    """
    label = problem.label.replace("_", r"\_").replace("^", r"\^{}")
    lines = [rf"\min_{{x}}\quad & {_objective(problem)} && \text{{{label}}}"]
    conditions = _conditions(problem)
    for place, (formula, where) in enumerate(conditions):
        head = "" if place else r"\text{s.t.}\quad "
        lines.append(f"{head}& {formula} && {where}".rstrip())
    return "\\begin{aligned}\n" + " \\\\\n".join(lines) + "\n\\end{aligned}"


def _objective(problem: Problem) -> str:
    cells = r"\sum_{i=1}^{G_r}" if problem.view is View.RANKED else r"\sum_{s=0}^{K}"
    cell = "r,i" if problem.view is View.RANKED else "r,s"
    assert problem.weights is not None, "problems have weights"
    own = "w_r " if problem.weights.ndim == 1 else "w_{r,s} "
    weight = own if (problem.weights != 1).any() else ""
    size = rf"|x_{{{cell}}} - y_{{{cell}}}|"
    distance = size if problem.norm == 1 else rf"(x_{{{cell}}} - y_{{{cell}}})^2"
    return rf"\sum_{{r \in R}} {cells} {weight}{distance}"


def _conditions(problem: Problem) -> list[tuple[str, str]]:
    every, found = r"r \in R,\ s = 0, \dots, K", []
    if problem.view is View.RANKED:
        found.append((r"0 \le x_{r,1} \le x_{r,2} \le \dots \le x_{r,G_r} \le K", r"r \in R"))
    if problem.consistent:
        found.append((r"x_{r,s} = \sum_{c \in \mathrm{ch}(r)} x_{c,s}", r"r \text{ inner},\ s = 0, \dots, K"))
    if problem.monotone and problem.view is not View.RANKED:
        found.append((r"x_{r,s} \le x_{r,s+1}", r"r \in R,\ s = 0, \dots, K-1"))
    if problem.totals is not None and problem.view is not View.RANKED:
        region, where = (r"\top", "") if problem.totals is Totals.ROOT else ("r", r"r \in R")
        total = rf"x_{{{region},K}}" if problem.view is View.CUMULATIVE else rf"\sum_{{s=0}}^{{K}} x_{{{region},s}}"
        found.append((rf"{total} = G_{{{region}}}", where))
    if problem.nonnegative and problem.view is not View.RANKED:
        found.append((r"x_{r,0} \ge 0", r"r \in R") if problem.monotone else (r"x_{r,s} \ge 0", every))
    if problem.conditions is not None:
        stated = problem.conditions.stated or problem.conditions.names
        found += [(rf"\text{{{_escaped(name)}}}", "") for name in stated]
    if problem.integer:
        cell = "x_{r,i}" if problem.view is View.RANKED else "x_{r,s}"
        found.append((rf"{cell} \in \mathbb{{Z}}", ""))
    return found


def _escaped(text: str) -> str:
    """The text with characters replaced that LaTeX would read as commands."""
    named = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    return "".join(named.get(c, "\\" + c if c in "_%&#${}" else c) for c in text)
