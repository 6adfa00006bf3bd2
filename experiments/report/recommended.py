"""The table of recommendations: by what matters, the release that is never far from the best one."""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from pgsr.experiments.engine.summary import LevelErrors

Wanted = Callable[[int, int], bool]
"""Whether a level counts, from its number and the number of levels."""

AIMS: dict[str, Wanted] = {
    "the whole alone: the root": lambda level, levels: level == 0,
    "the smallest regions alone: the leaves": lambda level, levels: level == levels - 1,
    "all levels alike": lambda level, levels: True,
}
"""What may matter to who reads a release, in words."""


def recommended(errors: LevelErrors, arms: Mapping[str, str], epsilons: Sequence[Fraction]) -> str:
    """Write a table of the arm with the least worst case, by aim and epsilon.

    An arm's worst case is its largest multiple of the smallest mean error, over the places (data sets and levels) that
    count for the aim. The smallest error is that of any of the arms; one that has no result at some place is not
    recommended.

    Args:
        errors: of one metric.
        arms: the labels to choose among, each with its name in the table.
        epsilons: of the columns.
    """
    lines = [f"| what matters | epsilon {' | '.join(map(str, epsilons))} |", f"|---|{'---|' * len(epsilons)}"]
    for words, counts in AIMS.items():
        cells = [_cell(worst_cases(errors, arms, float(epsilon), counts), arms) for epsilon in epsilons]
        lines.append(f"| {words} | {' | '.join(cells)} |")
    return "\n".join(lines)


def worst_cases(errors: LevelErrors, arms: Mapping[str, str], epsilon: float, counts: Wanted) -> dict[str, float]:
    """Compute the worst case of every arm that has results at all places that count; by label."""
    means: dict[tuple[str, int], dict[str, float]] = {}
    for data in errors.where(epsilon=epsilon).values_of("data"):
        here = errors.where(data=data, epsilon=epsilon)
        for row in here:
            if row.arm in arms and counts(row.level, here.n_levels):
                means.setdefault((data, row.level), {})[row.arm] = row.mean
    found = {}
    for arm in arms:
        if means and all(arm in at for at in means.values()):
            found[arm] = max(_multiple(at[arm], min(at.values())) for at in means.values())
    return found


def _multiple(mean: float, least: float) -> float:
    return mean / least if least else 1.0 if not mean else float("inf")


def _cell(cases: Mapping[str, float], arms: Mapping[str, str]) -> str:
    if not cases:
        return ""
    best = min(cases, key=lambda arm: cases[arm])
    return f"{arms[best]}: {cases[best]:.1f}"
