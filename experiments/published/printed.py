"""A number as it was printed."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Printed:
    """One number of a paper.

    Attributes:
        experiment: our id of the table or figure.
        data: the paper's data set.
        arm: the paper's name of the competitor.
        epsilon: as the table or figure counts it, as text; "" without noise.
        level: 0 is the root; None where a number is not of a level.
        metric: ours, such as "emd" or "l1".
        value: as printed.
        source: where.
    """

    experiment: str
    data: str
    arm: str
    epsilon: str
    level: int | None
    metric: str
    value: float
    source: str
