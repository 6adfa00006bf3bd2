"""Expected errors of a release before any budget is spent, on a public stand-in."""

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa

from pgsr.errors import ArgumentError
from pgsr.planning import Plan, expected_errors, stand_in_of
from pgsr.release.config import ReleaseConfig
from pgsr.release.errors import ConfigError
from pgsr.release.terms import Kind
from pgsr.tables import Entities, Limits, count_groups
from pgsr.tables.ids import IdKind, id_kind
from pgsr.tables.session import Session


def forecast(
    config: ReleaseConfig,
    size_law: Sequence[float] | None = None,
    mean_size: float = 3.0,
    replicates: int = 5,
    progress: bool = True,
) -> Plan:
    """Expected errors of the configured mechanism and of the others at the same epsilon.

    The stand-in has the public regions and numbers of groups and a public law of sizes. The private table is not even
    opened: what is chosen by this forecast costs nothing. Choosing by errors on the data would.

    Args:
        config: its tables of groups and regions are read.
        size_law: proportions of sizes 0..K, from earlier published tables; geometric with `mean_size` if None.
        mean_size: entities per group.
        replicates: draws of the noise.
        progress: whether to show a progress bar.

    Raises:
        ConfigError: the table of groups is private, so there is no public stand-in.
    """
    terms = config.terms
    if config.private_groups or config.groups is None:
        raise ConfigError("with a private table of groups there is no public stand-in; plan with pgsr.planning instead")
    if not mean_size > 0:
        raise ArgumentError(f"mean_size={mean_size!r}; give a number above 0")
    groups = config.groups.table
    with Session(config.limits or Limits(), [groups], public=[groups]) as session:
        types = session.require(groups, [config.groups.group], "the table of groups")
        kind = id_kind(types, config.groups.group, "the table of groups")
    nobody = pa.table({"group": pa.array([], pa.string() if kind is IdKind.TEXT else pa.int64())})
    empty = count_groups(Entities(nobody, entity=None), config.groups, config.regions, max_size=terms.max_size)
    tree = empty.hierarchy
    ratio = mean_size / (1 + mean_size)
    law = list(size_law) if size_law is not None else [ratio**size for size in range(terms.max_size + 1)]
    if len(law) != terms.max_size + 1:
        raise ArgumentError(f"the law of sizes has {len(law)} proportions; sizes 0..{terms.max_size} need one each")
    stand_in = stand_in_of(tree, empty.totals[tree.leaves].tolist(), law)
    chosen = {f"{terms.kind} (configured)": terms.mechanism(tree.n_levels)}
    for other in Kind:
        if other is not terms.kind:
            usual = replace(terms, kind=other, shares=None, totals=other.totals[0], totals_share=None)
            chosen[str(other)] = usual.mechanism(tree.n_levels)
    return expected_errors(stand_in, chosen, replicates, progress=progress)
