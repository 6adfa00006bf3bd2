"""The noise step of a nation that is kept apart by state: every part measured by itself."""

from collections.abc import Sequence
from functools import partial
from hashlib import sha256

import numpy as np

from pgsr.checks import require_kind, require_source
from pgsr.data.counts import CountOfCounts
from pgsr.errors import ProblemError
from pgsr.machine.parallel import Mapper
from pgsr.machine.partitions import Engine, Partitions
from pgsr.nation.layout import KINDS, UPPER, NationTree, Truth
from pgsr.noise.measurement import Totals
from pgsr.noise.step import NoiseStep
from pgsr.privacy.accounting.memory_ledger import Ledger
from pgsr.privacy.random import Seeded, Source


def measure(
    truth: Truth,
    partitions: Partitions,
    noise: NoiseStep,
    source: Source,
    engine: Mapper | None = None,
    ledger: Ledger | None = None,
    totals_of: int | None = None,
) -> None:
    """Measure all levels with noise, part by part, and write the noisy counts and the public totals.

    The ledger is charged once, before anything is drawn. Parts that have been written are left alone, so that an
    interrupted run goes on; under seeded noise a part that is tried again gets the same noise. To go on with an
    interrupted run, leave the ledger out: the first call has charged it. A run goes on with the data set, the noise,
    the source and `totals_of` that it began with, of which a table keeps digests; with others it is refused.

    Tables are called noisy-l for counts of level l, cumulative-l for cumulative counts, and totals-l where the
    numbers of groups of its regions are public; noisy-terms or cumulative-terms has the digests.

    Args:
        totals_of: the level whose regions' numbers of groups are to be used as public ones, such as that of the states;
            of the last level they say those of all. If None the root's alone is used.

    Raises:
        BudgetError: the shares do not fit the levels, a level would get nothing, or the ledger lacks epsilon.
        ProblemError: the noise is of another view, or it is to pay for totals; `totals_of` is a level above the
            parts, or the noise says that the root's total alone is public; or there are tables that were measured
            otherwise. Nothing is charged then.
    """
    require_source(source)
    noise.laws_of_sizes(truth.max_sizes)
    if totals_of is not None and noise.totals is Totals.ROOT:
        raise ProblemError("the noise says that the root's total alone is public; give it totals='regions'")
    if totals_of is not None and not truth.upper.n_levels - 1 <= totals_of < len(truth.max_sizes):
        raise ProblemError(
            f"totals_of={totals_of}; give a level from {truth.upper.n_levels - 1}, that of the parts, to "
            f"{len(truth.max_sizes) - 1}, the last"
        )
    kind, last = KINDS[noise.one_view(truth.max_sizes)], len(truth.max_sizes) - 1
    terms = np.stack([_digest_of_noise(truth, noise), _digest_of_source(source, totals_of)])
    begun = _has_begun(truth, partitions, kind, terms)
    if ledger is not None:
        require_kind(ledger, Ledger, "ledger", "give Ledger(epsilon) or None")
        ledger.charge(noise.cost, "measuring counts by level", noise.unit, noise.relation)
    if not begun:
        partitions.write(UPPER, f"{kind}-terms", terms)
    names = [f"{kind}-{level}" for level in range(truth.upper.n_levels - 1)]
    if not all(partitions.has(UPPER, name) for name in ("total", *names)):
        above = truth.above()
        upper, about = above.hierarchy.down_to(above.hierarchy.n_levels - 2), (above.max_quantity, above.private_groups)
        shared = CountOfCounts(upper, above.tables[:-1], max_quantity=about[0], private_groups=about[1])
        noisy = noise.noisy_tables(shared, source, truth.name, 0, truth.max_sizes)
        _write_new(partitions, UPPER, kind, noisy, 0)
        partitions.write(UPPER, "total", above.tables[0].sum(keepdims=True, dtype=np.int64))
    left = [key for key in truth.keys if not partitions.has(key, f"{kind}-{last}")]
    for _ in (engine or Engine())(partial(_measure_part, truth, partitions, noise, source, totals_of), left):
        pass


def require_measured(tree: NationTree, partitions: Partitions, noise: NoiseStep) -> None:
    """Raise `ProblemError` unless the stored measurement is of this data set and of this noise."""
    kind = KINDS[noise.one_view(tree.max_sizes)]
    terms = _stored_terms(partitions, kind)
    if terms is None:
        raise ProblemError(
            f"there is no table {kind}-terms, which says how the tables {kind}-l were measured; measure into an empty "
            "folder"
        )
    if not np.array_equal(terms[0], _digest_of_noise(tree, noise)):
        raise ProblemError(
            f"the tables {kind}-l were measured of another data set or with other noise; give what they were measured "
            "with, or measure into an empty folder"
        )


def _has_begun(truth: Truth, partitions: Partitions, kind: str, terms: np.ndarray) -> bool:
    """Tell whether a run with these terms has begun; raise `ProblemError` if one with others has, or may have."""
    stored = _stored_terms(partitions, kind)
    if stored is not None:
        same = (stored == terms).all(axis=1)
        if same.all():
            return True
        other = "of another source or with other public totals" if same[0] else "of another data set or other noise"
        raise ProblemError(f"there are tables {kind}-l {other}; measure into an empty folder, or go on as it was begun")
    first = truth.upper.n_levels - 1
    if partitions.has(UPPER, f"{kind}-0") or any(partitions.has(key, f"{kind}-{first}") for key in truth.keys):
        raise ProblemError(
            f"there are tables {kind}-l, and none that says how they were measured; measure into an empty folder"
        )
    return False


def _stored_terms(partitions: Partitions, kind: str) -> np.ndarray | None:
    """Read the digests of a run, of its noise and of its source; None if there are none."""
    return partitions.read(UPPER, f"{kind}-terms") if partitions.has(UPPER, f"{kind}-terms") else None


def _digest_of_noise(tree: NationTree, noise: NoiseStep) -> np.ndarray:
    """Compute a digest of the data set, its parts and sizes, and of the noise of every level; shape (32,)."""
    laws = noise.laws_of_sizes(tree.max_sizes)
    sizes = [*map(int, tree.max_sizes)]
    return _digest([tree.name, [*tree.keys], sizes, laws, str(noise.unit), str(noise.relation), noise.max_quantity])


def _digest_of_source(source: Source, totals_of: int | None) -> np.ndarray:
    """Compute a digest of the source of noise and of the level of public totals; shape (32,).

    A seeded source counts with its seed; all secure ones are alike.
    """
    level = None if totals_of is None else int(totals_of)
    return _digest([source if isinstance(source, Seeded) else source.secure, level])


def _digest(parts: list[object]) -> np.ndarray:
    """Compute SHA-256 of how Python writes these parts, a table's row of 32 bytes."""
    return np.frombuffer(sha256(repr(parts).encode()).digest(), np.uint8).astype(np.int64)


def _measure_part(
    truth: Truth, partitions: Partitions, noise: NoiseStep, source: Source, totals_of: int | None, key: str
) -> None:
    first, exact = truth.upper.n_levels - 1, truth.part(key)
    if totals_of is not None:
        of_regions = exact.tables[totals_of - first].sum(axis=1, keepdims=True, dtype=np.int64)
        partitions.write(key, f"totals-{totals_of}", of_regions)
    noisy = noise.noisy_tables(exact, source, truth.name, first, truth.max_sizes)
    _write_new(partitions, key, KINDS[noise.one_view(truth.max_sizes)], noisy, first)


def _write_new(partitions: Partitions, key: str, kind: str, noisy: Sequence[np.ndarray], first_level: int) -> None:
    """Write the tables that are not there: what a broken attempt wrote may have been seen, and secure noise differs."""
    for level, table in enumerate(noisy, first_level):
        if not partitions.has(key, f"{kind}-{level}"):
            partitions.write(key, f"{kind}-{level}", table)
