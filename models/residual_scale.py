"""The one scale against which residuals of solvers' answers are judged, of the data and of the unknowns."""

import numpy as np

from pgsr.problems.programs.program import Program
from pgsr.problems.tolerances import RELATIVE, RESIDUAL


def scale_of(program: Program, z: np.ndarray) -> float:
    """Give the size beside which a residual of `RESIDUAL` counts as none.

    It is 1, or the largest right-hand side of an equality, or the largest deviation z, which are of the size of the
    noise. Numbers x = origin + z themselves count with `RELATIVE`, as in certificates: what is 1e9 has no more digits
    after sums. Right-hand sides of inequalities are no size of anything: they may be as far away as one likes.

    Args:
        program: the program.
        z: the unknowns of an answer.
    """
    own = np.abs(program.origin + z)[: program.n_cells]
    sizes = (np.abs(program.right), np.abs(z), RELATIVE / RESIDUAL * own)
    return 1.0 + max(float(part.max(initial=0.0)) for part in sizes)
