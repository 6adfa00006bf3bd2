"""One level matched to the one below it, and the sizes of matched groups merged."""

from collections.abc import Iterator
from enum import StrEnum

import numpy as np

from pgsr.algorithms.groups import GroupRuns
from pgsr.data.hierarchy import Hierarchy
from pgsr.estimators.matching.precisions import MatchedPrecisions
from pgsr.estimators.matching.runs import Runs
from pgsr.estimators.matching.sorted_matching import Matcher, NoMatchError, SortedMatching
from pgsr.methods.gate import NO_LIMIT, Deadline, Stopped


class Merge(StrEnum):
    """The rule by which two estimates of one group become one: inverse variance, or the plain average."""

    WEIGHTED = "weighted"
    AVERAGE = "average"


def merged(
    parents: Runs,
    children: Runs,
    tree: Hierarchy,
    level: int,
    last: int,
    merge: Merge = Merge.WEIGHTED,
    matcher: Matcher | None = None,
    deadline: Deadline = NO_LIMIT,
) -> Runs:
    """Match the groups of the regions above to those of their children on this level, and merge their sizes.

    Args:
        parents: of level - 1, with sizes as they were merged before.
        children: of the level, each fitted alone.
        last: the last class of the level; the children's groups in it are of this size or any larger one.
        merge: the rule.
        matcher: finds the pairs; `SortedMatching` if None.
        deadline: asked between regions.

    Raises:
        Stopped: out of time, or the matcher has no answer.
    """
    pairs = _sorted_pairs if matcher is None or matcher == SortedMatching() else _found_pairs(matcher)
    found = [*pairs(parents, children, tree, level, deadline)]
    top, bottom, count = map(np.concatenate, zip(*found, strict=True))
    by_child = np.argsort(children.owner[bottom], kind="stable")
    top, bottom, count = top[by_child], bottom[by_child], count[by_child]
    x, y = parents.size[top], children.size[bottom]
    precisions = MatchedPrecisions(parents.precision, children.precision, top, bottom, (y == last) & (x > last))
    averaged = merge is Merge.AVERAGE
    size = precisions.averaged(x, y) if averaged else precisions.weighted(x, y)
    return Runs.merged(children.owner[bottom], size, count, precisions, averaged, children.n_regions)


Pairs = Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]
"""Matched runs above and below and how many of their groups, region above by region above."""


def _sorted_pairs(parents: Runs, children: Runs, tree: Hierarchy, level: int, deadline: Deadline) -> Pairs:
    """Match sorted sizes, as `match_groups` does."""
    from pgsr.estimators.matching.kernel import match_runs

    for there, below in _families(parents, children, tree, level, deadline):
        order = below.start + np.argsort(children.size[below], kind="stable")
        top, place, count = match_runs(parents.count[there], children.size[order], children.count[order])
        yield there.start + top, order[place], count


def _found_pairs(matcher: Matcher):
    """Let a matcher find the pairs, region by region."""

    def pairs(parents: Runs, children: Runs, tree: Hierarchy, level: int, deadline: Deadline) -> Pairs:
        region, starts = tree.level(level - 1).start, children.first
        for there, below in _families(parents, children, tree, level, deadline):
            own = tree.children(region)
            first = tree.level(level).start
            regions = [slice(*starts[child - first : child - first + 2]) for child in own]
            groups = [GroupRuns(children.size[here], children.count[here]) for here in regions]
            try:
                found = matcher.match(GroupRuns(parents.size[there], parents.count[there]), groups, deadline.left)
            except NoMatchError as error:
                raise Stopped(error.status, f"region {' / '.join(tree.paths[region])}: {error}") from error
            yield there.start + found.top, below.start + found.bottom, found.count
            region += 1

    return pairs


def _families(
    parents: Runs, children: Runs, tree: Hierarchy, level: int, deadline: Deadline
) -> Iterator[tuple[slice, slice]]:
    """Yield the runs of every region above, and those of its children together."""
    above = tree.level(level - 1)
    starts = np.append(tree.first_child[above] - above.stop, children.n_regions)
    ends_above, ends = parents.first, children.first[starts]
    for parent in range(parents.n_regions):
        deadline.check(f"region {above.start + parent} of {tree.n_inner} reached")
        yield slice(*ends_above[parent : parent + 2]), slice(*ends[parent : parent + 2])
