"""The worst case of a release: how far it is at most from the best one, over data sets and levels."""

from collections.abc import Callable, Iterable

from pgsr.experiments.engine.summary import LevelErrors

Wanted = Callable[[int, int], bool]
"""Whether a level counts, from its number and the number of levels."""


def at_root(level: int, levels: int) -> bool:
    """Say whether a level is the root alone."""
    del levels
    return level == 0


def at_leaves(level: int, levels: int) -> bool:
    """Say whether a level is that of the leaves."""
    return level == levels - 1


def everywhere(level: int, levels: int) -> bool:
    """Say of every level that it counts."""
    del level, levels
    return True


def worst_cases(
    errors: LevelErrors, arms: Iterable[str], epsilon: float, counts: Wanted = everywhere
) -> dict[str, float]:
    """Compute the worst case of every arm that has results at all places that count; by label.

    It is the largest multiple of the smallest mean error, over the places (data sets and levels) that count. The
    smallest error is that of any of the arms.

    Args:
        errors: of one metric.
        arms: the labels to compare.
        epsilon: of the errors that are looked at.
        counts: whether a level does.
    """
    labels = list(arms)
    means: dict[tuple[str, int], dict[str, float]] = {}
    for data in errors.where(epsilon=epsilon).values_of("data"):
        here = errors.where(data=data, epsilon=epsilon)
        for row in here:
            if row.arm in labels and counts(row.level, here.n_levels):
                means.setdefault((data, row.level), {})[row.arm] = row.mean
    found = {}
    for arm in labels:
        if means and all(arm in at for at in means.values()):
            found[arm] = max(_multiple(at[arm], min(at.values())) for at in means.values())
    return found


def _multiple(mean: float, least: float) -> float:
    return mean / least if least else 1.0 if not mean else float("inf")
