"""Which printed number stands beside which of our means.

An experiment says so with a function `printed(frame)` in its module (the file of its `plot`). It returns pairs
`(where, number)`: `where` maps "data" and "arm" to ours; "epsilon", "level", "metric" and free parameters may be given,
and the first three are else taken from the `Printed`. One number may stand beside several means. A third item is a
remark that says why the number is of other data; then no verdict is given. Where `where` is None the number stands
nowhere, and the remark says why. Without such a function nothing is matched.

    def printed(frame):
        return [({"data": TAXI.name, "arm": "Hc"}, number) for number in coco.K8 if number.data == "Taxi"]
"""

import importlib
import pkgutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from experiments import published
from experiments.engine.experiment import Experiment
from experiments.published.printed import Printed

if TYPE_CHECKING:
    import pandas as pd

    from experiments.report.means import Mean


@dataclass(frozen=True)
class Beside:
    """A printed number, the means it stands beside, and why it is of other data, if it is, or stands nowhere."""

    where: Mapping[str, Any] | None
    number: Printed
    remark: str = ""

    def fits(self, mean: "Mean") -> bool:
        if self.where is None:
            return False
        free = dict(mean.parameters)
        given = {name: value for name, value in self.where.items() if name not in ("data", "arm")}
        wanted = {"epsilon": self.number.epsilon, "level": self.number.level, "metric": self.number.metric} | given
        wanted["epsilon"] = _fraction(wanted["epsilon"])
        found = free | {"epsilon": mean.epsilon, "level": mean.level, "metric": mean.metric}
        same = (self.where["data"], self.where["arm"]) == (mean.data, mean.arm)
        return same and all(name in found and found[name] == value for name, value in wanted.items())


def besides(experiment: Experiment, frame: "pd.DataFrame") -> list[Beside]:
    """What the experiment says about printed numbers; nothing if it says nothing."""
    given = getattr(experiment, "printed", None) or getattr(_module(experiment.plot.__module__), "printed", None)
    if not callable(given):  # absent, or something else of this name
        return []
    pairs: Iterable[tuple[Any, ...]] = given(frame)  # type: ignore[assignment]
    return [Beside(*pair) for pair in pairs]


def reason(number: Printed, found: Sequence[Beside]) -> str:
    """Why no mean stands beside a number that none of these fits."""
    about = [each for each in found if each.number == number]
    wanted = [str(each.where["data"]) for each in about if each.where is not None]
    if wanted:
        return f"no results on {' or '.join(dict.fromkeys(wanted))}"
    return next((each.remark for each in about), "the experiment sets nothing beside it")


@lru_cache
def all_printed() -> tuple[Printed, ...]:
    """Every printed number of every paper, once, in the order of the files."""
    found = (number for _, module in _papers() for value in vars(module).values() for number in _numbers(value))
    return tuple(dict.fromkeys(found))


def sources() -> list[str]:
    """The papers, as their files name them."""
    return [(module.__doc__ or name).strip().partition("\n\n")[0] for name, module in _papers() if _has_numbers(module)]


def _papers() -> Iterator[tuple[str, Any]]:
    for info in sorted(pkgutil.iter_modules(published.__path__), key=lambda info: info.name):
        yield info.name, importlib.import_module(f"{published.__name__}.{info.name}")


def _has_numbers(module: Any) -> bool:
    return any(True for value in vars(module).values() for _ in _numbers(value))


def _numbers(value: object) -> Iterator[Printed]:
    if isinstance(value, Printed):
        yield value
    elif isinstance(value, tuple | list | frozenset | set):
        for each in value:
            yield from _numbers(each)
    elif isinstance(value, dict):
        for each in value.values():
            yield from _numbers(each)


def _fraction(epsilon: object) -> Fraction | None:
    """As cells have it. Floats are read as they are written: 0.1 is a tenth."""
    return None if epsilon in (None, "", "none") else Fraction(str(epsilon))


def _module(name: str) -> Any:
    return sys.modules.get(name)
