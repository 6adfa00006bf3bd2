"""The tolerances of all judging code: how near counts as equal, and how small a gap counts as optimal."""

CONDITION = 1e-6
"""By how much a real number may miss a condition, in units of the noise that it was fitted to, and 1 at least."""

RELATIVE = 1e-9
"""By how much it may miss besides, relative to its own size: numbers of 1e9 have no more digits after sums."""

PROVED_GAP = 1e-9
"""Largest proven relative gap (objective - bound) / max(1, bound) at which an exact algorithm calls reals optimal."""

ACCEPTED_GAP = 1e-6
"""The same for answers of iterative and general solvers. Answers in integers have an exact test, or no gap at all."""

RESIDUAL = 1e-6
"""Largest violated condition of a general solver's reals, relative to the largest right-hand side of an equality."""
