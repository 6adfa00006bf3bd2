"""Find the smallest epsilon at which the configured release has at most a target error, on a public stand-in."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from pgsr.methods.expected_errors import EPSILONS, ExpectedErrors, least_epsilon, shown
from pgsr.release.configuration.release_config import ReleaseConfig
from pgsr.release.plan.forecast import READING, SIMULATING, errors_of
from pgsr.release.plan.stand_ins import stand_in_for
from pgsr.release.publishing.errors import ConfigError
from pgsr.release.terms.plan import Plan

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class EpsilonFound:
    """The smallest of `EPSILONS` that reaches all targets, and what was tried on the way.

    Attributes:
        epsilon: the one that was found.
        targets: the errors that were asked for, by level.
        level_names: of the levels, root first.
        tried: the expected errors by epsilon.
        about: a phrase that says what the stand-in is.
    """

    epsilon: Fraction
    targets: dict[str, float]
    level_names: tuple[str, ...]
    tried: dict[Fraction, ExpectedErrors]
    about: str

    @property
    def sentence(self) -> str:
        """Say which epsilon was found, and for which target."""
        found = self.tried[self.epsilon]
        reached = ", ".join(
            f"{name} {mean:,.4g} (standard error {error:,.2g}; at most {self.targets[name]:,g} was asked)"
            for name, mean, error in zip(self.level_names, found.mean, found.standard_error, strict=True)
            if name in self.targets
        )
        least = " It is the smallest that is tried." if self.epsilon == EPSILONS[0] else ""
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
            columns[name] = [errors.mean[level] for _, errors in rows]
            columns[f"{name} s.e."] = [errors.standard_error[level] for _, errors in rows]
        return pd.DataFrame(columns)


def epsilon_for(
    config: ReleaseConfig | str | Path,
    targets: Mapping[str, float],
    mean_size: float = 3.0,
    replicates: int = 5,
    say: Callable[[str], None] | None = None,
    groups: int | None = None,
) -> EpsilonFound:
    """Search the smallest epsilon at which the configured release's expected errors are at most the targets.

    Errors are those of `forecast`, with the same noise bits at every epsilon; the search is `least_epsilon`, from the
    configured epsilon on. No private table is opened, and nothing is charged.

    Args:
        config: the configuration, or the name of its TOML file.
        targets: by the name of a level, the largest expected earth mover's distance per region there.
        mean_size, replicates, say, groups: as in `forecast`.

    Raises:
        ArgumentError: as `least_epsilon`.
        ConfigError: the budget is no pure epsilon of entities; or as `forecast`.

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
        >>> found = epsilon_for(config, {"state": 10}, mean_size=1.5)
        >>> bool(found.tried[found.epsilon].mean[1] <= 10)
        True
    """
    config = config if isinstance(config, ReleaseConfig) else ReleaseConfig.read(config)
    tell, terms = say or (lambda _text: None), config.terms
    if terms.epsilon is None or not terms.plain:
        raise ConfigError(
            f"a target error searches a pure epsilon of entities, and the configured budget is {terms.total} of one "
            f"{terms.unit}; write epsilon alone, or try budgets with `pgsr plan`"
        )
    tell(READING)
    stand_in, about = stand_in_for(config, None, mean_size, groups)
    names = Plan.of(terms, stand_in.hierarchy.regions_per_level).names
    tell(SIMULATING)

    def errors_at(epsilon: Fraction) -> ExpectedErrors:
        return errors_of(replace(terms, epsilon=epsilon), stand_in, replicates)

    epsilon, tried = least_epsilon(errors_at, targets, names, terms.epsilon)
    return EpsilonFound(epsilon, dict(targets), names, tried, about)
