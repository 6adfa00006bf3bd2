"""Forecast the errors of a release before any budget is spent, on a public stand-in for the data."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pgsr.data.counts import CountOfCounts
from pgsr.data.hierarchy import Hierarchy
from pgsr.errors import ArgumentError
from pgsr.figures.html import facts_table
from pgsr.noise.measurement import Totals
from pgsr.privacy.accounting.shares import starting_shares
from pgsr.privacy.laws import GeometricNoise
from pgsr.privacy.laws.per_level import GaussianNoise
from pgsr.release.configuration.release_config import ReleaseConfig
from pgsr.release.plan.interval_widths import USUAL_LEVEL, SizeCells, cell_of, median_width, publishing
from pgsr.release.plan.planning import ExpectedErrors, expected_errors, splits_of_all, usual_splits
from pgsr.release.plan.share_search import choose_shares
from pgsr.release.plan.split_reasons import split_reasons
from pgsr.release.plan.stand_ins import stand_in_for
from pgsr.release.publishing.errors import ConfigError
from pgsr.release.stated.kinds import Kind
from pgsr.release.stated.least_error import least_error_sentence, least_errors
from pgsr.release.stated.plan import Plan
from pgsr.release.stated.preflight import bytes_needed
from pgsr.release.stated.terms import Terms
from pgsr.release.stated.thresholds import BY_ROOT

if TYPE_CHECKING:
    import pandas as pd

READING, SIMULATING = "reading the public tables", "drawing noise and post-processing, again and again"
"""The stages of a forecast, as they are told."""

DROPPED_BEYOND = 2.0
"""Choices whose largest ratio after two replicates is more than this many times the least get no more replicates.

After one it is the square of this number.
"""

Progress = bool | Callable[[int, int], None]


@dataclass(frozen=True)
class Choice:
    """A release that could be configured.

    Attributes:
        terms: of it.
        shares: of epsilon per level, root first.
        configured: whether it is the one that the configuration asks for.
        searched: whether its shares were found by a search on the stand-in.
    """

    terms: Terms
    shares: tuple[Fraction, ...]
    configured: bool = False
    searched: bool = False

    @property
    def mechanism(self) -> str:
        """The mechanism, and whether its view is split."""
        return str(self.terms.kind) if self.terms.threshold is None else f"{self.terms.kind}, split"

    @property
    def split(self) -> str:
        """The shares as text, root first."""
        return ", ".join(map(str, self.shares))

    @property
    def keys(self) -> str:
        """The keys of a configuration that ask for it."""
        shares = ", ".join(f'"{share}"' for share in self.shares)
        at = "" if self.terms.threshold is None else f", threshold = {json.dumps(self.terms.threshold)}"
        return f'mechanism = "{self.terms.kind}"{at}, shares = [{shares}]'

    @property
    def toml(self) -> str:
        """The same keys as lines of a TOML file, one per line; the threshold where there is one."""
        shares = ", ".join(f'"{share}"' for share in self.shares)
        at = "" if self.terms.threshold is None else f"threshold = {json.dumps(self.terms.threshold)}\n"
        return f'mechanism = "{self.terms.kind}"\n{at}shares = [{shares}]'

    @property
    def mark(self) -> str:
        """The words behind a choice's name that tell it from others: " (configured)", " (searched)" or none."""
        return " (configured)" if self.configured else " (searched)" if self.searched else ""

    def __str__(self) -> str:
        return f"{self.mechanism}; {self.split}{self.mark}"


@dataclass(frozen=True, eq=False)
class Forecast(ExpectedErrors):
    """The expected errors of choices on a stand-in, level by level, and which of them to take.

    Attributes:
        choices: what was compared, in the order of `labels`.
        level_names: of the levels, root first.
        about: a phrase that says what the stand-in is.
        peak_bytes: an estimate of the most memory that a release of the configured choice holds.
        tree: the regions, for the reasons of a split; None to give none.
        cell: whose intervals `widths` are of, and `interval_level` the chance that they hold the truth.
        widths: of the published interval of this cell, the median over the level's regions in the first replicate, in
            the order of `labels`; NaN where none can be published.
        bound: of the error of any release near the stand-in, by level, if the configuration has a pure epsilon.
    """

    choices: tuple[Choice, ...]
    level_names: tuple[str, ...]
    about: str
    peak_bytes: int
    tree: Hierarchy | None = field(default=None, kw_only=True)
    cell: SizeCells | None = field(default=None, kw_only=True)
    interval_level: Fraction = field(default=USUAL_LEVEL, kw_only=True)
    widths: tuple[float, ...] = field(default=(), kw_only=True)
    bound: tuple[float, ...] | None = field(default=None, kw_only=True)

    @property
    def effort(self) -> str:
        """Say what memory a release needs, and how long noise and post-processing take."""
        own = next((place for place, choice in enumerate(self.choices) if choice.configured), 0)
        return (
            f"A release of {self.choices[own].mechanism} needs about {self.peak_bytes / 2**30:,.2f} GiB of memory. "
            f"Noise and post-processing took {self.seconds[own]:,.3g} s on the stand-in; the check repeats the latter."
        )

    @property
    def limit(self) -> str:
        """Say below which errors no release of this epsilon is near the stand-in; empty if there is no bound."""
        if self.bound is None:
            return ""
        return least_error_sentence(self.bound, self.level_names, self.choices[0].terms.epsilon, "the stand-in")

    def recommended(self, weights: Mapping[str, float] | None = None) -> Choice:
        """Give the choice that `recommendation` speaks of."""
        return self.choices[int(self.worst_regret(weights_of(self.level_names, weights or {})).argmin())]

    def recommendation(self, weights: Mapping[str, float] | None = None) -> str:
        """Say which choice to take and why: `ExpectedErrors.choice`, on these levels' weights.

        Args:
            weights: of levels by name, 1 for those that are not named; 0 disregards a level.

        Raises:
            ArgumentError: a name is of no level, a weight is negative, or all are 0.
        """
        importance = weights_of(self.level_names, weights or {})
        worst = self.worst_regret(importance)
        best = int(worst.argmin())
        by_level = zip(self.level_names, self.regret[best], strict=True)
        ratios = ", ".join(f"{name} {ratio:,.2f}" for name, ratio in by_level)
        weighted = ""
        if weights:
            named = ", ".join(f"{name} {w:g}" for name, w in zip(self.level_names, importance, strict=True))
            weighted = f", each raised to the weight of its level ({named})"
        found = (
            f"Of {len(self.choices)} choices take {self.choices[best].keys}. On the stand-in the largest of its ratios "
            f"to the smallest error of any choice at the same level{weighted} is the least of all: {ratios}."
        )
        if self.tree is not None:
            reasons = split_reasons(self.choices[best].terms, self.tree, self.level_names)
            found += f" {reasons}" if reasons else ""
        own = next((place for place, choice in enumerate(self.choices) if choice.configured), None)
        if self.choices[best].searched:
            found += " Its shares were searched for on the same stand-in and noise, which flatters them a little."
        if own == best:
            found += " It is the configured one."
        elif own is not None:
            found += (
                f" The configured one, {self.choices[own].mechanism} with {self.choices[own].split}, has ratios up "
            )
            found += f"to {self.regret[own].max():,.2f}."
        close = [self.choices[place] for place in self._as_good_as(best, worst, importance) if place != best]
        if close:
            few = "; ".join(f"{choice.mechanism} with {choice.split}" for choice in close[:3])
            more = f"; and {len(close) - 3} more" if len(close) > 3 else ""
            found += f" Within two standard errors of the recommended one: {few}{more}."
        if self.made:
            found += (
                f" {sum(each < max(self.made) for each in self.made)} choices got fewer replicates: one, those with "
                f"more than {DROPPED_BEYOND**2:g} times the least of these largest ratios; two, those with more than "
                f"{DROPPED_BEYOND:g} times."
            )
        return f"{found} All this is about the stand-in, {self.about}, and not about your data, whose sizes may differ."

    def _as_good_as(self, best: int, worst: np.ndarray, importance: Sequence[float]) -> list[int]:
        """The choices that chance may have put behind the best one, the nearest first."""
        error = (np.asarray(importance) * self.standard_error / np.maximum(self.mean, 1e-9)).max(axis=1)
        near = np.log(worst / worst[best]) <= 2 * np.hypot(error, error[best])
        return [int(place) for place in np.argsort(worst, kind="stable") if near[place]]

    def to_frame(self) -> "pd.DataFrame":
        """Make a table, a row per choice; the public totals stand in it where they differ between choices."""
        frame = super().to_frame()
        for level, name in enumerate(self.level_names):
            frame = frame.rename(columns={f"level {level}{end}": f"{name}{end}" for end in ("", " s.e.")})
        frame["mechanism"] = [choice.mechanism + choice.mark for choice in self.choices]
        frame.insert(1, "split", [choice.split for choice in self.choices])
        totals = [str(choice.terms.totals) for choice in self.choices]
        if len(set(totals)) > 1:
            frame.insert(2, "public totals", totals)
        if self.cell is not None:
            frame[f"{float(self.interval_level):.4g} interval, width at {self.cell}"] = self.widths
        return frame

    def _repr_html_(self) -> str:
        worst = self.worst_regret()
        best = int(worst.argmin())
        own = next((place for place, choice in enumerate(self.choices) if choice.configured), None)
        return facts_table(
            "Forecast",
            {
                "stand-in": self.about,
                "levels, root first": " / ".join(self.level_names),
                "choices": len(self.choices),
                "choice to take": self.choices[best].keys,
                "its largest ratio to the best error of a level": f"{worst[best]:,.2f}",
                "the configured choice": None if own is None else self.choices[own],
                "its largest ratio": None if own is None else f"{worst[own]:,.2f}",
                "memory, time": self.effort,
            },
        )


def forecast(
    config: ReleaseConfig | str | Path,
    size_law: Sequence[float] | None = None,
    mean_size: float = 3.0,
    replicates: int = 5,
    progress: Progress = True,
    say: Callable[[str], None] | None = None,
    groups: int | None = None,
    mechanisms: Sequence[str] | None = None,
    weights: Mapping[str, float] | None = None,
    cell: str | None = None,
    search: bool = False,
) -> Forecast:
    """Estimate the errors of all mechanisms, by each of their views and some splits of epsilon over levels.

    The stand-in has the public regions and numbers of groups and a public law of sizes. The private table is not even
    opened: what is chosen by this forecast costs nothing. Choosing by errors on the data would.

    Args:
        config: its tables of groups and regions are read; or the name of its TOML file. Its epsilon is that of all.
        size_law: proportions of sizes 0..K, from earlier published tables; geometric with `mean_size` if None, and what
            lies beyond K counted as K.
        mean_size: entities per group, before larger groups are counted as K.
        replicates: draws of the noise.
            Choices that are clearly worse after one or two of them get no more (`DROPPED_BEYOND`), the configured one
            apart.
        progress: whether to show a progress bar; or what is told how many of how many draws are done.
        say: is told in a few words what is going on.
        groups: a public guess of the number of groups, spread evenly; only where the table of groups is private.
        mechanisms: the names of those to compare with the configured one; all if None.
        weights: that `Forecast.recommendation` will be asked with; by them it is decided which choices are dropped, and
            what is wrong with them is said before the simulations.
        cell: the level and the size whose intervals are compared, "county:2"; the last level and the size nearest to
            the mean size if None.
        search: whether shares of epsilon are searched for the best of the compared mechanisms and views that have a
            choice of shares (`choose_shares`), so that it is among the choices with these shares, too. That takes
            some fifty more releases of the stand-in, as often as `replicates` says.

    Raises:
        ArgumentError: of weights, as `Forecast.recommendation`; a size law or a mean size is none; or there is no such
            cell.
        ConfigError: the table of groups is private and `groups` is not given, or the other way round; or a name is of
            no mechanism, or of one that has no sizes per level where the configuration has.

    Example:
        >>> import pandas as pd
        >>> from pgsr.tables import Entities, Groups
        >>> homes = pd.DataFrame({"group": range(90), "nation": "US", "state": ["GA", "MI", "MI"] * 30})
        >>> people = pd.DataFrame({"group": [1, 1, 2]})
        >>> config = ReleaseConfig(
        ...     terms=Terms("demo", max_size=3, epsilon="1", kind="m_h"),
        ...     entities=Entities(people, entity=None),
        ...     groups=Groups(homes, region=("nation", "state")),
        ...     output="release",
        ...     ledger="ledger.jsonl",
        ... )
        >>> found = forecast(config, mean_size=1.5, mechanisms=["kuo"], progress=False)
        >>> found.labels[:3]
        ('m_h; 1/2, 1/2 (configured)', 'kuo; 1/3, 2/3', 'kuo; 1/2, 1/2')
        >>> found.recommendation({"nation": 0})[:45]
        'Of 6 choices take mechanism = "kuo", shares ='
    """
    config = config if isinstance(config, ReleaseConfig) else ReleaseConfig.read(config)
    others = _compared(config.terms, mechanisms)
    tell = say or (lambda _text: None)
    tell(READING)
    stand_in, about = stand_in_for(config, size_law, mean_size, groups)
    regions = stand_in.hierarchy.regions_per_level
    configured = Plan.of(config.terms, regions)
    names = configured.names
    importance = weights_of(names, weights or {})
    mean = mean_size if size_law is None else float(np.average(np.arange(len(size_law)), weights=size_law))
    about_cell = cell_of(cell, configured, mean)
    interval_level = config.terms.intervals or USUAL_LEVEL
    choices = _choices(config.terms, others, stand_in)
    tell(SIMULATING)
    widths: dict[str, float] = {}

    def compared(some: Sequence[Choice]) -> ExpectedErrors:
        named = {str(choice): choice.terms for choice in some}
        labelled = {label: Plan.of(terms, regions).mechanism for label, terms in named.items()}
        with_intervals = {label: publishing(terms, interval_level, stand_in) for label, terms in named.items()}
        first = {label: plan.mechanism for label, plan in with_intervals.items() if plan is not None}

        def look(label: str, measurement: object, result: object) -> None:
            plan = with_intervals[label]
            widths[label] = float("nan") if plan is None else median_width(plan, about_cell, measurement, result)

        kept = [str(choice) for choice in some if choice.configured]
        dropping = {"dropped_beyond": DROPPED_BEYOND, "importance": importance, "kept": kept}
        return expected_errors(stand_in, labelled, replicates, progress=progress, first=first, look=look, **dropping)

    plan = compared(choices)
    if search and (searched := _searched(choices, plan, stand_in, importance, replicates, progress)) is not None:
        plan = plan.beside(compared([searched]))
        choices.append(searched)
    bound = None
    if config.terms.plain:  # by entities and a pure epsilon, what the bound is about
        assert config.terms.epsilon is not None
        bound = least_errors(stand_in, config.terms.epsilon)
    needed = bytes_needed(configured, stand_in.hierarchy, stand_in)
    return Forecast(
        plan.labels,
        plan.mean,
        plan.standard_error,
        plan.seconds,
        tuple(choices),
        names,
        about,
        needed,
        made=plan.made,
        tree=stand_in.hierarchy,
        cell=about_cell,
        interval_level=interval_level,
        widths=tuple(widths[label] for label in plan.labels),
        bound=bound,
    )


def weights_of(level_names: Sequence[str], weights: Mapping[str, float]) -> tuple[float, ...]:
    """Order weights by level, 1 for levels that are not named.

    Raises:
        ArgumentError: a name is of no level, a weight is negative or no finite number, or all are 0.

    Example:
        >>> weights_of(("nation", "state"), {"state": 2})
        (1.0, 2.0)
    """
    for name, weight in weights.items():
        level_index(level_names, name)
        if not 0 <= weight < float("inf"):
            raise ArgumentError(f"the weight of level {name!r} is {weight:g}; give a number from 0 up")
    ordered = tuple(float(weights.get(name, 1)) for name in level_names)
    if not any(ordered):
        raise ArgumentError("the weights of all levels are 0; give one of them a number above 0")
    return ordered


def level_index(level_names: Sequence[str], name: str) -> int:
    """Find a level by its name.

    Raises:
        ArgumentError: there is none of this name; the message lists all.
    """
    if name not in level_names:
        raise ArgumentError(f"no level is called {name!r}; write one of {', '.join(level_names)}")
    return list(level_names).index(name)


def splits_for(terms: Terms, tree: Hierarchy) -> list[tuple[Fraction, ...]]:
    """List the splits that are compared: the usual ones, and `starting_shares` for these regions and this noise.

    With sizes per level, where all levels are measured, none of them leaves out a level.
    """
    levels = Plan.of(terms, tree.regions_per_level).levels
    gaussian = any(isinstance(level.noise, GaussianNoise) for level in levels)
    family = GaussianNoise if gaussian else GeometricNoise
    found = starting_shares(tree, [level.sensitivity for level in levels], family)
    if terms.max_sizes is not None:
        return [split for split in dict.fromkeys([*splits_of_all(tree.n_levels), found]) if all(split)]
    return list(dict.fromkeys([*usual_splits(tree.n_levels), found]))


def _compared(terms: Terms, mechanisms: Sequence[str] | None) -> list[Kind]:
    """List the mechanisms to compare with the configured one; with sizes per level those that have them."""
    if mechanisms is None:
        return [kind for kind in Kind if terms.max_sizes is None or kind.totals_by_level]
    kinds = [Kind(name) for name in mechanisms]
    for kind in kinds:
        if terms.max_sizes is not None and not kind.totals_by_level:
            raise ConfigError(
                f"mechanism {kind} has the same sizes on all levels, and the configuration has sizes per level; leave "
                "it out, or write one max_size"
            )
    return kinds


def _searched(
    choices: Sequence[Choice],
    plan: ExpectedErrors,
    stand_in: CountOfCounts,
    importance: Sequence[float],
    replicates: int,
    progress: Progress,
) -> Choice | None:
    """Search shares for the best choice of those that have some; None if none has, or they are among the choices."""
    with_shares = [place for place, choice in enumerate(choices) if choice.terms.kind is not Kind.BOTTOM_UP]
    if not with_shares:
        return None
    worst = plan.worst_regret(importance)
    best = choices[min(with_shares, key=lambda place: worst[place])]
    regions = stand_in.hierarchy.regions_per_level
    found = choose_shares(
        stand_in,
        lambda shares: Plan.of(replace(best.terms, shares=shares, intervals=None), regions).mechanism,
        importance=importance,
        least=plan.mean.min(axis=0),
        zeros=best.terms.max_sizes is None and not best.terms.by_root,
        replicates=replicates,
        seed="plan",
        progress=progress is True,
    )
    terms = replace(best.terms, shares=found.shares, intervals=None)
    known = [(choice.terms.kind, choice.terms.threshold, choice.shares) for choice in choices]
    return None if (terms.kind, terms.threshold, terms.shares) in known else Choice(terms, found.shares, searched=True)


def _choices(terms: Terms, kinds: Sequence[Kind], stand_in: CountOfCounts) -> list[Choice]:
    """List what to compare: the configured one, and of each mechanism all views and splits with its usual totals.

    Split views are left out where no threshold is configured, or none that the mechanism takes.
    """
    n_levels = stand_in.hierarchy.n_levels
    own = tuple(level.share for level in Plan.of(terms, stand_in.hierarchy.regions_per_level).levels)
    choices = [Choice(replace(terms, intervals=None), own, True)]
    leaves_only, splits = usual_splits(n_levels)[-1], splits_for(terms, stand_in.hierarchy)
    for kind in kinds:
        noisy = terms.totals is Totals.NOISY
        totals = terms.totals if noisy or kind is terms.kind else kind.totals[0]
        thresholds = (None, terms.threshold) if terms.has_thresholds_for(kind) else (None,)
        for threshold in thresholds:
            for shares in [leaves_only] if kind is Kind.BOTTOM_UP else splits:
                rootless = threshold == BY_ROOT and not shares[0]
                if rootless or (kind, threshold, shares) == (terms.kind, terms.threshold, own):
                    continue
                about = {"threshold": threshold, "shares": shares, "totals": totals, "intervals": None}
                choices.append(Choice(replace(terms, kind=kind, **about), shares))
    return choices
