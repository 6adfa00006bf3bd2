"""The numbers of entities of regions (persons, if groups are households): exact ones, noisy ones, and their limits."""

from collections.abc import Sequence

import numpy as np

from pgsr.checks import as_array, require_kind, require_source
from pgsr.data.counts import CountOfCounts
from pgsr.data.hierarchy import Hierarchy
from pgsr.errors import ProblemError
from pgsr.noise.group_totals import nearest_consistent, noisy_numbers
from pgsr.noise.measurement import Measurement, Totals
from pgsr.privacy.accounting import PureEpsilon
from pgsr.privacy.accounting.spending import Ledger
from pgsr.privacy.budget import Number, exact
from pgsr.privacy.laws import DoubleGeometric
from pgsr.privacy.neighbours import ONE_ENTITY, Unit
from pgsr.privacy.random import Source


def entity_totals(truth: CountOfCounts) -> np.ndarray:
    """Compute E[r] = sum over sizes s of s x[r, s], every region's number of entities; shape (regions,), int64.

    Where a public maximum size K truncates groups, `truth` holds the truncated ones, and so does E: a household of K +
    3 persons counts K. Published totals of all persons are larger, and no x of sizes 0..K has them.

    These are exact. Use them only where the numbers are public anyway, else `noisy_entities`.

    Example:
        >>> entity_totals(CountOfCounts(Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0]), [[0, 2, 1], [1, 1, 0]]))
        array([5, 4, 1])
    """
    require_kind(truth, CountOfCounts, "truth", "give CountOfCounts(hierarchy, counts)")
    leaves, sizes = truth.hierarchy.leaves, np.arange(truth.max_size + 1)
    below = [truth.rows(leaf, leaf + 1)[0] @ sizes for leaf in range(leaves.start, leaves.stop)]
    return truth.hierarchy.sum_up(np.array(below, np.int64))


def noisy_entities(
    truth: CountOfCounts, noisy: Measurement, epsilon: Number, source: Source, ledger: Ledger | None = None
) -> np.ndarray:
    """Draw noisy numbers of entities of all regions, consistent, non-negative, possible; shape (regions,), int64.

    They cost `epsilon` besides what `noisy` cost: one entity more or less changes the number of one region per level by
    1 (or by 0, in a group of more than K), an empty group none, so every level gets epsilon / levels and noise of scale
    levels / epsilon. The nearest consistent non-negative integers are found exactly, see `nearest_consistent`.

    Noise may ask for more entities than the public numbers of groups can hold. Then post-processing, which costs
    nothing, lowers the leaves to K G[leaf]; or where only the root's G is public, lowers the root's number to K G, and
    leaves to multiples of K if even that leaves too few groups.

    Args:
        truth: the data, the second place besides `Geometric.measure` that touches them.
        noisy: the measurement that the numbers go with; its public totals of groups are respected.
        epsilon: the total, spent in full.
        source: the same as for the measurement; streams are separate.
        ledger: charged before any noise is drawn.

    Raises:
        ProblemError: the measurement is of other data, protects another unit or relation than one entity more or less,
            or entities have quantities.
        BudgetError: epsilon is malformed, or the ledger has less left; nothing is drawn then.

    Example:
        >>> from pgsr import Geometric, Problem, Seeded, View
        >>> truth = CountOfCounts(Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0]), [[0, 2, 0, 1], [0, 1, 1, 1]])
        >>> ledger, source = Ledger(1), Seeded("demo")
        >>> noisy = Geometric(View.COUNTS, "9/10", totals="regions").measure(truth, source, ledger)
        >>> entities = noisy_entities(truth, noisy, "1/10", source, ledger)
        >>> ledger.left
        Fraction(0, 1)
        >>> Problem.m_h(noisy, totals="regions", entities=entities)
        Problem(M_H with entities, totals='regions', 12 unknowns)

    Sensitivity and the law: `tests/test_m_h_regions_entities.py::test_sensitivity_by_enumeration` and
    `test_noise_has_its_law` in the same file.
    """
    require_kind(truth, CountOfCounts, "truth", "give CountOfCounts(hierarchy, counts)")
    require_kind(noisy, Measurement, "noisy", "give what Geometric(...).measure returned")
    if noisy.hierarchy is not truth.hierarchy or noisy.max_size != truth.max_size:
        raise ProblemError("truth and measurement differ in hierarchy or sizes; measure this very truth")
    if truth.max_quantity > 1:
        raise ProblemError(
            f"one entity adds up to {truth.max_quantity} to a region's number here, and the noise is for 1; "
            "noisy numbers of entities need quantities of 0 and 1"
        )
    if noisy.unit != Unit.ENTITY or noisy.relation not in ONE_ENTITY:
        raise ProblemError(
            f"the measurement protects one {noisy.unit} under {noisy.relation}, and the noise here is for one entity "
            "more or less; measure both for that, or leave the numbers of entities out"
        )
    require_source(source)
    epsilon = exact(epsilon)
    law = DoubleGeometric(truth.hierarchy.n_levels / epsilon)  # refuses noise that is too large before it is paid for
    if ledger is not None:
        require_kind(ledger, Ledger, "ledger", "give Ledger(epsilon) or None")
        ledger.charge(PureEpsilon(epsilon), "measuring numbers of entities", noisy.unit, noisy.relation)
    drawn = noisy_numbers(truth, entity_totals(truth), "entities", law, source)
    found = nearest_consistent(truth.hierarchy, drawn)
    tree, largest = truth.hierarchy, noisy.max_size
    if noisy.public is not Totals.ROOT:
        return tree.sum_up(np.minimum(found[tree.leaves], largest * noisy.region_totals[tree.leaves]))
    if found[0] > largest * noisy.root_total:
        found = nearest_consistent(truth.hierarchy, drawn, largest * noisy.root_total)
    if _groups_needed(found[tree.leaves], largest) > noisy.root_total:
        found = tree.sum_up(found[tree.leaves] // largest * largest)
    return found


def checked_entities(entities: object, n_regions: int) -> np.ndarray:
    """Convert numbers of entities to int64 of shape (regions,), or (1,) for the root's alone.

    Raises:
        ProblemError: another shape, or no integers.
    """
    given = as_array(entities)
    if given.shape not in ((n_regions,), (1,)) or given.dtype.kind not in "iu":
        raise ProblemError(
            f"entities have shape {given.shape} and type {given.dtype}; give one integer per region, shape "
            f"({n_regions},), or the root's alone, shape (1,)"
        )
    return given.astype(np.int64)


def contradicting_entities(
    tree: Hierarchy, entities: np.ndarray, totals: np.ndarray | None, largest: int, nonnegative: bool, integer: bool
) -> str | None:
    """Say why no consistent counts of sizes 0..`largest` have these entities, or None if some do.

    With every region's total G, leaf by leaf: 0 <= E <= K G, and then E = q G + rest is met by groups of sizes q and q
    + 1. With the root's G the leaves share it: E groups need at least E / K, in integers ceil(E / K) per leaf, and
    groups of size 0 fill up. So feasibility is decided here; what is hard is the integer optimum.

    Args:
        entities: shape (regions,), or (1,).
        totals: public numbers of groups, shape (regions,) or (1,), consistent themselves; None if nobody's.
    """
    names = [" / ".join(path) for path in tree.paths[: len(entities)]]
    if len(entities) > 1:
        reason = _not_adding_up(tree, entities, names)
        if reason is not None:
            return reason
    if largest == 0 and entities.any():
        region = int(np.argmax(entities != 0))
        return f"{names[region]} has {int(entities[region]):,} entities, but the only size is 0"
    if not nonnegative:
        return None
    if (entities < 0).any():
        region = int(np.argmax(entities < 0))
        return f"{names[region]} has {int(entities[region]):,} entities, and no non-negative counts have less than 0"
    if totals is None:
        return None
    n = min(len(totals), len(entities))
    if (entities[:n] > largest * totals[:n]).any():
        region = int(np.argmax(entities[:n] > largest * totals[:n]))
        return (
            f"{names[region]} has {int(entities[region]):,} entities, more than {int(totals[region]):,} groups of up "
            f"to {largest:,} hold; truncate groups at {largest:,} before counting entities"
        )
    if integer and len(totals) == 1 and len(entities) > 1:
        needed = _groups_needed(entities[tree.leaves], largest)
        if needed > totals[0]:
            return (
                f"the entities of the leaves need {needed:,} groups of up to {largest:,}, {names[0]} has "
                f"{int(totals[0]):,}; give the root's entities alone, or multiples of {largest:,} at leaves"
            )
    return None


def _groups_needed(entities: np.ndarray, largest: int) -> int:
    """Count the fewest groups that hold the entities of every leaf."""
    return int((-(-entities // max(1, largest))).sum())


def _not_adding_up(tree: Hierarchy, entities: np.ndarray, names: Sequence[str]) -> str | None:
    for level in range(tree.n_levels - 1):
        here, below = entities[tree.level(level)], tree.sum_children(entities, level)
        if (here != below).any():
            first = int(np.argmax(here != below))
            return (
                f"{names[tree.level(level).start + first]} has {int(here[first]):,} entities, the regions below it add "
                f"up to {int(below[first]):,}, so no consistent counts have both"
            )
    return None
