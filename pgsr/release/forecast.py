"""Forecast the errors of a release before any budget is spent, on a public stand-in for the data."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from pgsr.errors import ArgumentError
from pgsr.planning import Plan, expected_errors, stand_in_of
from pgsr.release.configuration.release_config import ReleaseConfig
from pgsr.release.errors import ConfigError
from pgsr.release.terms import Kind, Measured

READING, SIMULATING = "reading the public tables", "drawing noise and post-processing, again and again"
"""The stages of a forecast, as they are told."""


def forecast(
    config: ReleaseConfig | str | Path,
    size_law: Sequence[float] | None = None,
    mean_size: float = 3.0,
    replicates: int = 5,
    progress: bool | Callable[[int, int], None] = True,
    say: Callable[[str], None] | None = None,
) -> Plan:
    """Estimate the errors of the configured mechanism and of the others at the same epsilon, by each of their views.

    The stand-in has the public regions and numbers of groups and a public law of sizes. The private table is not even
    opened: what is chosen by this forecast costs nothing. Choosing by errors on the data would.

    Args:
        config: its tables of groups and regions are read; or the name of its TOML file.
        size_law: proportions of sizes 0..K, from earlier published tables; geometric with `mean_size` if None.
        mean_size: entities per group.
        replicates: draws of the noise.
        progress: whether to show a progress bar; or what is told how many of how many draws are done.
        say: is told in a few words what is going on.

    Raises:
        ConfigError: the table of groups is private, so there is no public stand-in.

    Example:
        >>> import pandas as pd
        >>> from pgsr.release import Terms
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
        >>> forecast(config, mean_size=1.5, progress=False).labels
        ('m_h (configured)', 'm_c_dp', 'kuo', 'kuo, by_groups', 'bottom_up', 'bottom_up, by_groups', 'posterior',
        'two_stage')
    """
    config = ReleaseConfig.of(config)
    terms, tell = config.terms, say or (lambda _text: None)
    if config.private_groups or config.groups is None:
        raise ConfigError("with a private table of groups there is no public stand-in; plan with pgsr.planning instead")
    if not mean_size > 0:
        raise ArgumentError(f"mean_size={mean_size!r}; give a number above 0")
    tell(READING)
    empty = config.count_public(terms.max_size)
    tree = empty.hierarchy
    ratio = mean_size / (1 + mean_size)
    law = list(size_law) if size_law is not None else [ratio**size for size in range(terms.max_size + 1)]
    if len(law) != terms.max_size + 1:
        raise ArgumentError(f"the law of sizes has {len(law)} proportions; sizes 0..{terms.max_size} need one each")
    stand_in = stand_in_of(tree, empty.totals[tree.leaves].tolist(), law)
    chosen = {f"{_label(terms.kind, terms.measures)} (configured)": terms.mechanism(tree.n_levels)}
    for other, view in [(kind, view) for kind in Kind for view in kind.views]:
        if (other, view) != (terms.kind, terms.measures):
            own = {} if other is terms.kind else {"shares": None, "totals": other.totals[0], "totals_share": None}
            usual = replace(terms, kind=other, view=view, **own)
            chosen[_label(other, view)] = usual.mechanism(tree.n_levels)
    tell(SIMULATING)
    return expected_errors(stand_in, chosen, replicates, progress=progress)


def _label(kind: Kind, view: Measured) -> str:
    return str(kind) if view is kind.views[0] else f"{kind}, {view}"
