"""The traps, declared: a problem of ours or a bare program, and the choices whose cases its proof goes through."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from pgsr import Hierarchy, Problem
from pgsr.errors import ArgumentError
from pgsr.models.program import SolverProgram
from pgsr.problems.conditions import cells, either
from pgsr.problems.conditions.expressions import Condition

Choice = Sequence[Sequence[Condition]]
"""The alternatives of a choice, each the conditions that hold together."""


@dataclass(frozen=True)
class Trap:
    """A tiny instance that solvers get wrong.

    Attributes:
        name: of its file.
        about: what makes it hard, in a sentence.
        base: the problem without its choices, or None of a bare program.
        choices: the alternatives that the proof tries one by one, in the order in which the problem states them.
        program: of a bare program, as solvers get it.
    """

    name: str
    about: str
    base: Problem | None = None
    choices: tuple[Choice, ...] = ()
    program: SolverProgram | None = None

    def problem(self) -> Problem:
        """State the problem, choices included."""
        assert self.base is not None
        return self.base.where(*(either(*choice) for choice in self.choices)) if self.choices else self.base


A, B, C = (("US", name) for name in "ABC")


def _three_leaves(scale: int, norm: int) -> Trap:
    """Nation and three leaves at counts of this scale, with three choices between what is far apart."""
    tree = Hierarchy.from_paths([A, B, C])
    values = [[9 * scale, 3 * scale], [4 * scale, scale], [3 * scale, -2], [2 * scale, scale]]
    base = replace(Problem.of(np.array(values), tree, groups=12 * scale, label="M_H"), norm=norm)
    first = [cells(A, size=0) <= scale], [cells(B, size=1) >= 2 * scale]
    kept = tuple(([cells(C, size=s) == 0], [cells(C, size=s) >= 3 * scale // 2]) for s in range(2))
    kind = "squares" if norm == 2 else "magnitudes"
    about = (
        f"Three choices at counts of {scale:,}, in {kind}: an alternative that does not hold is far below tolerances"
    )
    return Trap(f"choices-{kind}-{scale:.0e}".replace("e+0", "e"), about, base, (first, *kept))


def _two_leaves(name: str, scale: int, values: list[list[int]], size: int) -> Trap:
    """Nation and two leaves with four choices, all numbers multiplied by `scale`: what the adversary found.

    Args:
        size: of the other alternative in the first choice.
    """
    tree = Hierarchy.from_paths([A, B])
    most = [cells(path, size=s) <= 8 * scale for path in (A, B) for s in range(3)]
    base = Problem.of(scale * np.array(values), tree, groups=10 * scale, label="M_H").where(*most)
    first = [cells(A, size=0) <= 0], [cells(A, size=size) >= 3 * scale]
    kept = tuple(([cells(B, size=s) == 0], [cells(B, size=s) >= 2 * scale]) for s in range(3))
    about = f"Four choices of two leaves at counts of {scale:,}: squares exceed 10^18"
    return Trap(f"{name}-{scale:.0e}".replace("e+0", "e"), about, base, (first, *kept))


def _presolve() -> Trap:
    """min 3 z + 2 x with x + z >= 9/2, both in [0, 10], z whole: the optimum is 9 at x = 9/2."""
    nothing = sparse.csr_array((0, 2))
    return Trap(
        "presolve-half",
        "min 3 z + 2 x, x + z >= 9/2, 0 <= x, z <= 10, z whole: a presolve rounds x, too",
        program=SolverProgram(
            quadratic=np.zeros(2),
            linear=np.array([3.0, 2.0]),
            matrix=nothing,
            right=np.zeros(0),
            order=sparse.csr_array([[-1.0, -1.0]]),
            order_right=np.array([-4.5]),
            lower=np.zeros(2),
            upper=np.array([10.0, 10.0]),
            integer=np.array([True, False]),
            reach=(np.zeros(2), np.array([10.0, 10.0])),
        ),
    )


TRAPS: tuple[Trap, ...] = (
    _three_leaves(10**7, 2),
    _three_leaves(10**8, 1),
    _three_leaves(3 * 10**8, 1),
    _two_leaves("choices-two-leaves", 10**9, [[3, 2, 3], [2, 0, 1], [0, 2, 2]], 1),
    _two_leaves("choices-some-point", 10**9, [[5, 3, 2], [2, 1, 0], [1, 2, 1]], 2),
    _presolve(),
)
"""All traps. Names are for ever, as those of instances."""


def find(name: str) -> Trap:
    """Find a trap by its name.

    Raises:
        ArgumentError: there is none.
    """
    for trap in TRAPS:
        if trap.name == name:
            return trap
    raise ArgumentError(f"trap {name!r} is unknown; there are {', '.join(trap.name for trap in TRAPS)}")
