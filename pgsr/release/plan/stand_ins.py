"""Stand-ins for the data of a release, made from what its configuration states publicly."""

from collections.abc import Sequence

import numpy as np

from pgsr.checks import whole_number
from pgsr.data.counts import CountOfCounts
from pgsr.data.stand_in import geometric_law, spread_evenly, stand_in_of
from pgsr.errors import ArgumentError
from pgsr.release.configuration.release_config import ReleaseConfig
from pgsr.release.publishing.errors import ConfigError
from pgsr.release.terms.terms import Terms


def stand_in_for(
    config: ReleaseConfig, size_law: Sequence[float] | None, mean_size: float, groups: int | None
) -> tuple[CountOfCounts, str]:
    """Make a stand-in from what a configuration states publicly, and a phrase that says what it is.

    The private rows are not opened.

    Raises:
        ConfigError, ArgumentError: as `pgsr.release.plan.forecast`.
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
