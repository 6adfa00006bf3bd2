"""The mathematics of a problem, as LaTeX."""

import numpy as np

from pgsr.data.views import View
from pgsr.noise.measurement import Totals
from pgsr.problems.fields import ProblemFields

LINES = {
    "consistent": (
        r"x_{r,s} = \sum_{c \in \mathrm{children}(r)} x_{c,s}",
        r"\text{at every region } r \text{ with children}",
    ),
    "folded": (
        r"x_{r,s} = \sum_{c} x_{c,s},\ s < k_r, \quad \sum_{s \ge k_r} x_{r,s} = \sum_{c} x_{c,k_r}",
        r"\text{at every region } r \text{ whose children } c \text{ have the sizes } 0, \dots, k_r",
    ),
    "monotone": (r"x_{r,s} \le x_{r,s+1}", r"\text{in every region } r \text{, for every } s \text{ but the last}"),
    "nonnegative": (r"x_{r,s} \ge 0", r"\text{everywhere}"),
    "integer": (r"x_{r,s} \in \mathbb{Z}", r"\text{everywhere}"),
}
"""A condition, and where it holds."""


def latex_of(problem: ProblemFields) -> str:
    r"""Write the problem as LaTeX, to be set as a display.

    Example:
        >>> from pgsr import Hierarchy, Problem
        >>> tree = Hierarchy.from_paths([("US", "GA"), ("US", "MI")])
        >>> print(latex_of(Problem.of([[1, 9], [0, 5], [-1, 4]], tree, groups=10)))
        \begin{aligned}
        \min_x \quad & \sum_{r} \sum_{s} (x_{r,s} - y_{r,s})^2 \\
        & x_{r,s} = \sum_{c \in \mathrm{children}(r)} x_{c,s} && \text{at every region } r \text{ with children} \\
        & \sum_{s} x_{1,s} = 10 && \text{groups of the root} \\
        & x_{r,s} \ge 0 && \text{everywhere} \\
        & x_{r,s} \in \mathbb{Z} && \text{everywhere}
        \end{aligned}
    """
    ranked = problem.view is View.RANKED
    consistency = [LINES["consistent" if problem.sizes.equal else "folded"]] * problem.consistent
    conditions = consistency + _totals(problem)
    conditions += [LINES[name] for name in ("monotone", "nonnegative", "integer") if getattr(problem, name)]
    lines = [rf"& {formula} && {where}" for formula, where in conditions]
    if problem.conditions is not None:
        lines.append(rf"& \text{{{_plain(problem.conditions.text)}}}")
    index = "i" if ranked else "s"
    first = rf"\min_x \quad & \sum_{{r}} \sum_{{{index}}} {_distance(problem)}"
    if ranked:
        lines = [line.replace("r,s", "r,i") for line in lines]
        first = first.replace("r,s", "r,i")
    return "\\begin{aligned}\n" + " \\\\\n".join([first, *lines]) + "\n\\end{aligned}"


def _distance(problem: ProblemFields) -> str:
    assert problem.weights is not None, "problems have weights"
    weight = "" if np.all(problem.weights == 1) else r"w_r\, " if problem.is_plain else r"w_{r,s}\, "
    return weight + ("(x_{r,s} - y_{r,s})^2" if problem.norm == 2 else "|x_{r,s} - y_{r,s}|")


def _totals(problem: ProblemFields) -> list[tuple[str, str]]:
    """The condition on public numbers of groups, if there is one; of ranked sizes it is their number."""
    if problem.totals is None or problem.view is View.RANKED:
        return []
    root = problem.totals is Totals.ROOT
    number = f"{problem.root_total:,}".replace(",", "{,}") if root else "G_r"
    region = "1" if root else "r"
    left = rf"\sum_{{s}} x_{{{region},s}}" if problem.view is View.COUNTS else f"x_{{{region},K}}"
    return [(f"{left} = {number}", r"\text{groups of the root}" if root else r"\text{groups of every region } r")]


def _plain(text: str) -> str:
    """Escape the characters that LaTeX reads as commands; a % in a region's name is %25 in its id."""
    named = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    return "".join("\\" + c if c in "&%$#_{}" else named.get(c, c) for c in text.replace("%25", "%"))
