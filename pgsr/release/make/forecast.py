"""Forecast the errors of a release on a stand-in before any budget is spent, and find the epsilon for given errors."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pgsr.checks import whole_number
from pgsr.data.counts import CountOfCounts
from pgsr.data.stand_in import geometric_law, spread_evenly, stand_in_of
from pgsr.errors import ArgumentError
from pgsr.figures.html import facts_table
from pgsr.methods.expected_errors import EPSILONS, ExpectedErrors, expected_errors, least_epsilon, shown
from pgsr.release.configuration.release_config import ReleaseConfig
from pgsr.release.publishing.errors import ConfigError
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

    Shown by `test_release_forecast.py`.
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


def stand_in_for(
    config: ReleaseConfig, size_law: Sequence[float] | None, mean_size: float, groups: int | None
) -> tuple[CountOfCounts, str]:
    """Make a stand-in from what a configuration states publicly, and a phrase that says what it is.

    The private rows are not opened.

    Raises:
        ConfigError, ArgumentError: as `forecast`.
    """
    terms, private = config.terms, config.private_groups or config.groups is None
    if private and groups is None:
        raise ConfigError(
            "with a private table of groups there are no public numbers of groups; give a public guess of how many "
            "groups there are, --groups (groups=...)"
        )
    if not private and groups is not None:
        raise ConfigError("the numbers of groups are public and are taken from the table of groups; leave out --groups")
    groups = None if groups is None else whole_number("groups", groups, 1, ArgumentError)
    if not mean_size > 0:
        raise ArgumentError(f"mean_size={mean_size!r}; give a number above 0")
    if size_law is None and not mean_size > terms.min_size:
        raise ArgumentError(
            f"mean_size={mean_size!r}, and min_size = {terms.min_size:,} says that no group is smaller; give a number "
            "above it"
        )
    guessed = size_law is None
    law = geometric_law(mean_size - terms.min_size, terms.max_excess) if guessed else _law_by_excess(size_law, terms)
    if groups is None:
        empty = config.count_public(terms.max_excess)
        tree, totals = empty.hierarchy, empty.totals[empty.hierarchy.leaves]
        whose = f"{int(empty.totals[0]):,} groups, as many in each region as are public"
    else:
        tree = config.tree()
        totals = spread_evenly(groups, tree.n_regions - tree.n_inner)
        whose = f"{groups:,} groups, a guess, spread evenly over the regions"
    law_said = "a law that was given" if size_law is not None else _law_text(mean_size, law, terms.min_size)
    sizes = f"{terms.min_size:,} to {terms.largest:,}"
    about = f"made-up groups in the public regions ({whose}) with sizes {sizes} by {law_said}"
    if terms.max_sizes is not None:
        shown = " / ".join(f"{k:,} or more" for k in terms.max_sizes)
        about += f", the last class by level {shown}"
    sizes_by_level = None if terms.max_sizes is None else [k - terms.min_size for k in terms.max_sizes]
    made = stand_in_of(tree, totals.tolist(), law, max_sizes=sizes_by_level)
    truth = CountOfCounts(tree, made.values, made.name, max_quantity=terms.max_quantity, private_groups=private)
    return truth, about


def _law_by_excess(size_law: Sequence[float], terms: Terms) -> list[float]:
    """Check a law of sizes 0..K, and put the sizes below `Terms.min_size` to it, as a release does."""
    law = list(size_law)
    if len(law) != terms.largest + 1:
        raise ArgumentError(f"the law of sizes has {len(law)} proportions; sizes 0..{terms.largest} need one each")
    return [sum(law[: terms.min_size + 1]), *law[terms.min_size + 1 :]]


def _law_text(mean_size: float, law: Sequence[float], min_size: int) -> str:
    reached, largest = f"{min_size + float(np.arange(len(law)) @ np.array(law)):.3g}", min_size + len(law) - 1
    text = f"a geometric law of mean {mean_size:g}" + (f" from {min_size:,} up" if min_size else "")
    if reached == f"{mean_size:.3g}":
        return text
    return f"{text} in which groups above {largest:,} count as {largest:,}, so of mean {reached}"
