"""The papers, the numbers that they print, and which of our means stands beside which of them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from typing import Any


@dataclass(frozen=True)
class Printed:
    """A number as a paper prints it.

    Attributes:
        experiment: our id of the table or figure.
        data: the paper's data set.
        arm: the paper's name of the competitor.
        epsilon: as the table or figure counts it, as text; "" without noise.
        level: 0 is the root; None where a number is not of a level.
        metric: ours, such as "emd" or "l1".
        value: as printed.
        source: where.
        runs: independent runs that it is a mean of; 0 where no noise is in it.
    """

    experiment: str
    data: str
    arm: str
    epsilon: str
    level: int | None
    metric: str
    value: float
    source: str
    runs: int


@dataclass(frozen=True)
class Claim:
    """A statement of a paper about a table, a figure or a method, in few words.

    Attributes:
        experiment: our id of the table or figure; the experiment that judges the claim.
        words: the claim.
        source: where.
    """

    experiment: str
    words: str
    source: str


@dataclass(frozen=True)
class Absent:
    """A part of a paper that this project lacks, and the reason."""

    what: str
    source: str
    why: str


@dataclass(frozen=True)
class Paper:
    """A publication that experiments reproduce.

    Attributes:
        name: as sentences call it, "Kuo et al. 2018".
        title, authors, venue: of the publication; the venue with its arXiv identifier.
        numbers: what it prints, as far as experiments use it.
        claims: what it says, as far as experiments judge it.
        absent: what it has and this project lacks.
    """

    name: str
    title: str
    authors: str
    venue: str
    numbers: tuple[Printed, ...] = field(default=(), repr=False)
    claims: tuple[Claim, ...] = field(default=(), repr=False)
    absent: tuple[Absent, ...] = field(default=(), repr=False)

    @property
    def reference(self) -> str:
        return f"{self.authors}: {self.title}. {self.venue}"


@dataclass(frozen=True)
class StandsFor:
    """The data set of a paper that one of our data sets is, or takes the place of.

    Attributes:
        name: the paper's name of it.
        why_other: why numbers of the paper are of other data than ours; "" where the data is the paper's own.
        by_recipe: made as the paper says, at its size, so that its claims can be tested there, if not its numbers.
        tried: False where files of the paper's data can be read, but nobody has run the reader on the real ones yet.
    """

    name: str
    why_other: str = ""
    by_recipe: bool = False
    tried: bool = True

    @property
    def is_the_papers(self) -> bool:
        return not self.why_other


@dataclass(frozen=True)
class Beside:
    """A printed number, and the description of the means that it stands beside.

    Attributes:
        where: "data" and "arm" are ours; "epsilon", "level" and "metric" are the number's own unless given; free
            parameters may be given. None where the number stands beside nothing.
        number: what is printed.
        remark: why the number is of other data, so that it is not compared, or why it stands beside nothing.
        reading: how ours is computed where that is not what the paper states, in a few words.
    """

    where: Mapping[str, Any] | None
    number: Printed
    remark: str = ""
    reading: str = ""

    def fits(self, data: str, arm: str, found: Mapping[str, Any]) -> bool:
        """Tell whether a mean stands beside the number.

        Args:
            data, arm: of the mean.
            found: its epsilon (a fraction, or None), level, metric and free parameters by name.
        """
        if self.where is None or (self.where["data"], self.where["arm"]) != (data, arm):
            return False
        given = {name: value for name, value in self.where.items() if name not in ("data", "arm")}
        wanted = {"epsilon": self.number.epsilon, "level": self.number.level, "metric": self.number.metric} | given
        wanted["epsilon"] = _fraction(wanted["epsilon"])
        return all(name in found and found[name] == value for name, value in wanted.items())


def stand_beside(
    numbers: Iterable[Printed],
    data_sets: Iterable[Any],
    arms: Mapping[str, Iterable[str]],
    where: Mapping[str, Any] | None = None,
    remark: str = "",
    reading: str = "",
) -> tuple[Beside, ...]:
    """Put every printed number beside each data set that is, or stands for, the one it was printed for.

    Args:
        data_sets: ours, `DataSet`s, with their fallbacks; those that stand for nothing are passed over.
        arms: from the paper's name of a competitor to labels of ours.
        where: what else picks our mean, if it is not as the number has it.
        remark: said before the reason why the data is other.
        reading: of all of these.

    Example:
        >>> from pgsr.experiments.kuo2018.data import TAXI_ROOT
        >>> from pgsr.experiments.kuo2018.published import K3
        >>> first = stand_beside(K3, [TAXI_ROOT], {"Hc": ["Hc"]})[0]
        >>> first.where, first.number.value, first.remark
        ({'data': 'taxi, root', 'arm': 'Hc'}, 2819.8, '')
    """
    return tuple(
        Beside(
            {"data": data.name, "arm": label} | dict(where or {}), number, remark + data.stands_for.why_other, reading
        )
        for number, data in product(numbers, (each for data in data_sets for each in data.with_fallbacks()))
        if data.stands_for is not None and number.data == data.stands_for.name
        for label in arms.get(number.arm, ())
    )


def _fraction(epsilon: object) -> Fraction | None:
    """Read the budget as cells have it. Floats are read as they are written: 0.1 is a tenth."""
    return None if epsilon in (None, "", "none") else Fraction(str(epsilon))
