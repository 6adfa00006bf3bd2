"""Forecast the errors of a release before any budget is spent, on a public stand-in for the data."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pgsr.data.counts import CountOfCounts
from pgsr.figures.html import facts_table
from pgsr.methods.expected_errors import ExpectedErrors, expected_errors
from pgsr.release.configuration.release_config import ReleaseConfig
from pgsr.release.plan.stand_ins import stand_in_for
from pgsr.release.terms.least_error import least_error_sentence, least_errors
from pgsr.release.terms.plan import Plan
from pgsr.release.terms.preflight import bytes_needed
from pgsr.release.terms.terms import Terms

if TYPE_CHECKING:
    import pandas as pd

READING, SIMULATING = "reading the public tables", "drawing noise and post-processing, again and again"
"""The stages of a forecast, as they are told."""


@dataclass(frozen=True, eq=False)
class Forecast:
    """The expected errors of a release on a stand-in, level by level.

    Attributes:
        terms: of the release.
        errors: the earth mover's distances, and the seconds of noise and post-processing.
        level_names: of the levels, root first.
        regions: their number by level.
        about: a phrase that says what the stand-in is.
        peak_bytes: an estimate of the most memory that the release holds.
        bound: of the error of any release near the stand-in, by level; None unless the budget is a pure epsilon.
    """

    terms: Terms
    errors: ExpectedErrors
    level_names: tuple[str, ...]
    regions: tuple[int, ...]
    about: str
    peak_bytes: int
    bound: tuple[float, ...] | None

    @property
    def effort(self) -> str:
        """Say what memory a release needs, and how long noise and post-processing take."""
        return (
            f"The release needs about {self.peak_bytes / 2**30:,.2f} GiB of memory. Noise and post-processing took "
            f"{self.errors.seconds:,.3g} s on the stand-in; the check repeats the latter."
        )

    @property
    def limit(self) -> str:
        """Say below which errors no release of this epsilon is near the stand-in; empty if there is no bound."""
        if self.bound is None:
            return ""
        return least_error_sentence(self.bound, self.level_names, self.terms.epsilon, "the stand-in")

    @property
    def sentence(self) -> str:
        """Say what the errors are about."""
        chosen = " The noisy root chose the shares of epsilon, as yours will." if self.terms.shares_by_root else ""
        return f"All this is about the stand-in, {self.about}, and not about your data, whose sizes may differ.{chosen}"

    def to_frame(self) -> "pd.DataFrame":
        """Make a table, a row per level."""
        import pandas as pd

        columns = {
            "level": self.level_names,
            "regions": self.regions,
            "expected error": self.errors.mean,
            "s.e.": self.errors.standard_error,
        }
        return pd.DataFrame(columns)

    def _repr_html_(self) -> str:
        by_level = zip(self.level_names, self.errors.mean, strict=True)
        return facts_table(
            "Forecast",
            {
                "release": f"{self.terms.kind}, {self.terms.total}",
                "expected error": ", ".join(f"{name} {error:,.3g}" for name, error in by_level),
                "stand-in": self.about,
                "memory, time": self.effort,
            },
        )


def forecast(
    config: ReleaseConfig | str | Path,
    size_law: Sequence[float] | None = None,
    mean_size: float = 3.0,
    replicates: int = 5,
    say: Callable[[str], None] | None = None,
    groups: int | None = None,
) -> Forecast:
    """Estimate the errors of the configured release.

    The stand-in has the public regions and numbers of groups and a public law of sizes. The private table is not even
    opened: what is chosen by this forecast costs nothing. Choosing by errors on the data would.

    Args:
        config: its tables of groups and regions are read; or the name of its TOML file.
        size_law: proportions of sizes 0..K, from earlier published tables; geometric with `mean_size` if None, and what
            lies beyond K counted as K.
        mean_size: entities per group, before larger groups are counted as K.
        replicates: draws of the noise.
        say: is told in a few words what is going on.
        groups: a public guess of the number of groups, spread evenly; only where the table of groups is private.

    Raises:
        ArgumentError: a size law or a mean size is none.
        ConfigError: the table of groups is private and `groups` is not given, or the other way round.

    Example:
        >>> import pandas as pd
        >>> from pgsr.tables import Entities, Groups
        >>> homes = pd.DataFrame({"group": range(90), "nation": "US", "state": ["GA", "MI", "MI"] * 30})
        >>> people = pd.DataFrame({"group": [1, 1, 2]})
        >>> config = ReleaseConfig(
        ...     terms=Terms("demo", max_size=3, epsilon="1", kind="kuo"),
        ...     entities=Entities(people, entity=None),
        ...     groups=Groups(homes, region=("nation", "state")),
        ...     output="release",
        ...     ledger="ledger.jsonl",
        ... )
        >>> found = forecast(config, mean_size=1.5)
        >>> found.level_names, found.errors.mean.shape
        (('nation', 'state'), (2,))
    """
    config = config if isinstance(config, ReleaseConfig) else ReleaseConfig.read(config)
    tell = say or (lambda _text: None)
    tell(READING)
    stand_in, about = stand_in_for(config, size_law, mean_size, groups)
    terms, tree = config.terms, stand_in.hierarchy
    plan = Plan.of(terms, tree.regions_per_level)
    tell(SIMULATING)
    errors = errors_of(terms, stand_in, replicates)
    bound = None
    if terms.plain:  # by entities and a pure epsilon, what the bound is about
        assert terms.epsilon is not None
        bound = least_errors(stand_in, terms.epsilon)
    needed = bytes_needed(plan, tree, stand_in)
    return Forecast(terms, errors, plan.names, tuple(tree.regions_per_level), about, needed, bound)


def errors_of(terms: Terms, stand_in: CountOfCounts, replicates: int) -> ExpectedErrors:
    """Estimate the errors of a release under these terms."""
    plan = Plan.of(replace(terms, intervals=None), stand_in.hierarchy.regions_per_level)
    return expected_errors(stand_in, plan.mechanism, replicates)
