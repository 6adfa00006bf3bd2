"""Find the smallest epsilon at which the configured release has at most a target error, on a public stand-in."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pgsr.errors import ArgumentError
from pgsr.release.configuration.release_config import ReleaseConfig
from pgsr.release.plan.forecast import READING, SIMULATING, Progress, level_index
from pgsr.release.plan.planning import expected_errors
from pgsr.release.plan.stand_ins import stand_in_for
from pgsr.release.publishing.errors import ConfigError
from pgsr.release.stated.plan import Plan

if TYPE_CHECKING:
    import pandas as pd

DIGITS = tuple(range(10, 100))
"""The two leading digits of the epsilons that are tried: 1.0, 1.1, ..., 9.9, times a power of ten."""

SMALLEST, LARGEST = -3, 2
"""The powers of ten of the smallest epsilon that is tried, 1/1000, and of the largest, 100."""


@dataclass(frozen=True)
class EpsilonFound:
    """The smallest epsilon of `readable` ones that reaches all targets, and what was tried on the way.

    Attributes:
        epsilon: the one that was found.
        targets: the errors that were asked for, by level.
        level_names: of the levels, root first.
        tried: by epsilon, the expected error and its standard error per level, root first; (levels,) each.
        about: a phrase that says what the stand-in is.
    """

    epsilon: Fraction
    targets: dict[str, float]
    level_names: tuple[str, ...]
    tried: dict[Fraction, tuple[np.ndarray, np.ndarray]]
    about: str

    @property
    def sentence(self) -> str:
        """Say which epsilon was found, and for which target."""
        mean, error = self.tried[self.epsilon]
        reached = ", ".join(
            f"{name} {mean[level]:,.4g} (standard error {error[level]:,.2g}; at most {self.targets[name]:,g} was asked)"
            for level, name in enumerate(self.level_names)
            if name in self.targets
        )
        least = " It is the smallest that is tried." if self.epsilon == readable(0) else ""
        return (
            f'epsilon = "{shown(self.epsilon)}" has expected errors of {reached}, on the stand-in: {self.about}.{least}'
            " Your data's sizes may differ, so leave a margin; nothing was spent or read that is private."
        )

    def to_frame(self) -> "pd.DataFrame":
        """Make a table of what was tried, a row per epsilon."""
        import pandas as pd

        rows = sorted(self.tried.items())
        columns: dict[str, object] = {"epsilon": [shown(epsilon) for epsilon, _ in rows]}
        for level, name in enumerate(self.level_names):
            columns[name] = [mean[level] for _, (mean, _) in rows]
            columns[f"{name} s.e."] = [error[level] for _, (_, error) in rows]
        return pd.DataFrame(columns)


def epsilon_for(
    config: ReleaseConfig | str | Path,
    targets: Mapping[str, float],
    mean_size: float = 3.0,
    replicates: int = 5,
    progress: Progress = True,
    say: Callable[[str], None] | None = None,
    groups: int | None = None,
) -> EpsilonFound:
    """Search the smallest epsilon at which the configured release's expected errors are at most the targets.

    Errors are those of `forecast`, with the same noise bits at every epsilon. Starting at the configured epsilon, it is
    doubled or halved until the targets lie between two, and then bisected over the fractions with two leading digits
    (`readable`), so what is found was simulated itself, and the next smaller one misses a target. No private table is
    opened, and nothing is charged.

    Args:
        config: the configuration, or the name of its TOML file.
        targets: by the name of a level, the largest expected earth mover's distance per region there.
        mean_size, replicates, progress, say, groups: as in `forecast`; progress begins anew for every epsilon.

    Raises:
        ArgumentError: a name is of no level, or a target is not above 0.
        ConfigError: not even the largest epsilon reaches a target; or as `forecast`.

    Example:
        >>> import pandas as pd
        >>> from pgsr.release import Terms
        >>> from pgsr.tables import Entities, Groups
        >>> homes = pd.DataFrame({"group": range(900), "nation": "US", "state": ["GA", "MI", "MI"] * 300})
        >>> people = pd.DataFrame({"group": [1, 1, 2]})
        >>> config = ReleaseConfig(
        ...     terms=Terms("demo", max_size=3, epsilon="1", kind="kuo"),
        ...     entities=Entities(people, entity=None),
        ...     groups=Groups(homes, region=("nation", "state")),
        ...     output="release",
        ...     ledger="ledger.jsonl",
        ... )
        >>> found = epsilon_for(config, {"state": 10}, mean_size=1.5, progress=False)
        >>> bool(found.tried[found.epsilon][0][1] <= 10)
        True
    """
    config = config if isinstance(config, ReleaseConfig) else ReleaseConfig.read(config)
    tell = say or (lambda _text: None)
    if not targets:
        raise ArgumentError("there is no target; give an error by the name of a level")
    for name, target in targets.items():
        if not 0 < target < float("inf"):
            raise ArgumentError(f"the target error of {name} is {target!r}; give a number above 0")
    configured = config.terms.epsilon
    if configured is None or not config.terms.plain:
        raise ConfigError(
            f"a target error searches a pure epsilon of entities, and the configured budget is {config.terms.total} of "
            f"one {config.terms.unit}; write epsilon alone, or compare budgets with `pgsr plan`"
        )
    tell(READING)
    stand_in, about = stand_in_for(config, None, mean_size, groups)
    regions = stand_in.hierarchy.regions_per_level
    names = Plan.of(config.terms, regions).names
    wanted = {level_index(names, name): target for name, target in targets.items()}
    tried: dict[Fraction, tuple[np.ndarray, np.ndarray]] = {}

    def reached(place: int) -> bool:
        epsilon = readable(place)
        if epsilon not in tried:
            terms = replace(config.terms, epsilon=epsilon, intervals=None)
            label = {f"epsilon {shown(epsilon)}": Plan.of(terms, regions).mechanism}
            plan = expected_errors(stand_in, label, replicates, progress=progress)
            tried[epsilon] = plan.mean[0], plan.standard_error[0]
        return all(tried[epsilon][0][level] <= target for level, target in wanted.items())

    tell(SIMULATING)
    place = _search(reached, _next_readable(configured))
    if place is None:
        mean = tried[readable(_LAST)][0]
        missed = next(level for level, target in wanted.items() if mean[level] > target)
        raise ConfigError(
            f"not even epsilon {shown(readable(_LAST))} reaches an error of {wanted[missed]:g} at {names[missed]!r}, "
            f"where it is {mean[missed]:,.4g}; give a larger target, or another mechanism or split (`pgsr plan` "
            "compares them)"
        )
    return EpsilonFound(readable(place), dict(targets), names, tried, about)


def readable(place: int) -> Fraction:
    """The epsilon at a place in the list of those that are tried, the smallest first.

    Example:
        >>> [str(readable(place)) for place in (0, 1, 90, 271)]
        ['1/1000', '11/10000', '1/100', '11/10']
    """
    power, digit = divmod(place, len(DIGITS))
    return Fraction(DIGITS[digit], 10) * Fraction(10) ** (SMALLEST + power)


def shown(epsilon: Fraction) -> str:
    """Write a readable epsilon as a decimal number, exactly.

    Example:
        >>> shown(Fraction(13, 10)), shown(Fraction(100)), shown(Fraction(1, 1000))
        ('1.3', '100', '0.001')
    """
    return f"{float(epsilon):.6f}".rstrip("0").rstrip(".")


_LAST = (LARGEST - SMALLEST) * len(DIGITS)
"""The place of the largest epsilon."""


def _next_readable(epsilon: Fraction) -> int:
    """The place of the smallest readable epsilon that is at least this one, or of the largest of all."""
    low, high = 0, _LAST
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if readable(middle) >= epsilon else (middle + 1, high)
    return low


def _search(reached: Callable[[int], bool], start: int) -> int | None:
    """Find the smallest place that is reached, if `reached` is monotone; None if the last one is not.

    Example:
        >>> _search(lambda place: place >= 123, 200), _search(lambda place: False, 200)
        (123, None)
    """
    high = start
    while not reached(high):
        if high == _LAST:
            return None
        high = _next_readable(2 * readable(high))
    low, factor = high, Fraction(1, 2)
    while low >= 0 and reached(low):
        high = low
        low = -1 if low == 0 else min(_next_readable(factor * readable(low)), low - 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if reached(middle) else (middle, high)
    return high
