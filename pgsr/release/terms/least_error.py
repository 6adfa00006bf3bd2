"""The least error that any release of an epsilon can be expected to have, near given counts, in a sentence.

The counts are made up (`pgsr plan`) or published (a release's summary), never those of the private tables: the bound of
`pgsr.bounds` is a function of the counts that it is computed at, so it would tell about them.
"""

from collections.abc import Sequence
from fractions import Fraction

from pgsr.bounds import lower_bound
from pgsr.data.counts import CountOfCounts
from pgsr.methods import metrics
from pgsr.privacy.budget import Number

LEAST_EPSILON = Fraction(1, 100)
"""The smallest epsilon at which a summary states the bound; it takes a few seconds there, and ten at 1/1000."""


def least_errors(counts: CountOfCounts, epsilon: Number) -> tuple[float, ...]:
    """Bound the mean earth mover's distance of a region of every level from below, root first; see `lower_bound`.

    Example:
        >>> from pgsr import Hierarchy
        >>> tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
        >>> released = CountOfCounts(tree, [[0, 90, 40], [0, 80, 30]])
        >>> found = least_errors(released, 1)
        >>> print(least_error_sentence(found, ("nation", "state"), 1, "the published counts"))
        On the mean over data near the published counts no release of epsilon 1, by whatever mechanism, has a smaller \
error than nation 1.64, state 1.64, even if all of it goes to one level.
    """
    return tuple(metrics.level_means(counts, lower_bound(counts, epsilon).emd))


def least_error_sentence(errors: Sequence[float], names: Sequence[str], epsilon: object, near: str) -> str:
    """Say below which errors no release of this epsilon is.

    Args:
        errors: of `least_errors`.
        names: of the levels, root first.
        epsilon: as it is written.
        near: what the counts are that the errors were computed at.
    """
    least = ", ".join(f"{name} {error:,.3g}" for name, error in zip(names, errors, strict=True))
    return (
        f"On the mean over data near {near} no release of epsilon {epsilon}, by whatever mechanism, has a smaller "
        f"error than {least}, even if all of it goes to one level."
    )
