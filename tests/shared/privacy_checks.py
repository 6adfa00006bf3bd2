"""The conditions of a privacy claim, each as a function that raises AssertionError where it does not hold.

Tests of the targets run them on the code as it is; `test_assurance_mutants` runs them on seeded bugs, too.
"""

from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass
from fractions import Fraction
from functools import partial
from math import gcd, lcm
from typing import Any

import numpy as np
from exact_law import Step, largest_ratio, law_of, loss, noise_by, steps, truth_steps
from neighbours import Table, joined, tables, truth_of, with_empty_group

from pgsr import CountOfCounts, Hierarchy
from pgsr.methods import Mechanism
from pgsr.methods.method import Method, Result
from pgsr.noise import Geometric, Measurement, Totals
from pgsr.privacy import Seeded
from pgsr.privacy.laws import DoubleGeometric
from pgsr.privacy.random import ByteStream


def check_losses(noise: Geometric, tree: Hierarchy, groups: Sequence[int], max_size: int) -> int:
    """No pair of neighbours loses more than epsilon in what is noised, some pair loses it all, public facts are equal.

    Returns the number of pairs. Totals are public here; where they are noisy vectors depend on noise, see
    `check_likelihood`.
    """
    known: dict[Table, tuple[list[Step], tuple]] = {}

    def of(table: Table) -> tuple[list[Step], tuple]:
        if table not in known:
            truth = truth_of(tree, table, max_size)
            known[table] = truth_steps(noise, truth), public_facts(noise.measure(truth, Seeded("facts")))
        return known[table]

    n_pairs, largest = 0, Fraction(0)
    for table in tables(groups, max_size):
        for other in joined(table, max_size, noise.max_quantity):
            (ours, our_facts), (theirs, their_facts) = of(table), of(other)
            lost = loss(ours, theirs)
            assert lost is not None, f"{table} and {other}: different cells get noise"
            assert lost <= noise.epsilon, f"{table} and {other} lose {lost} of {noise.epsilon}"
            assert our_facts == their_facts, f"{table} and {other} differ in what is public"
            largest = max(largest, lost)
            n_pairs += 1
    assert largest == noise.epsilon, f"at most {largest} of {noise.epsilon} is used"
    return n_pairs


def check_likelihood(
    mechanism: Mechanism,
    tree: Hierarchy,
    groups: Sequence[int],
    max_size: int,
    low: int,
    high: int,
    bases: Sequence[Fraction],
    release: Callable[[Measurement], object] | None = None,
) -> tuple[int, bool]:
    """P(release | D) <= e^epsilon P(release | D') for all releases and neighbours, in fractions.

    Returns the number of compared likelihoods, and whether equality is attained for some pair and release.
    """
    noise, known = mechanism.noise, {}
    post = release or (lambda measurement: published(answer(mechanism, measurement)))

    def released(measured: Any) -> object:
        key = public_facts(measured), frozen(measured.cells), frozen(measured.totals)
        if key not in known:
            known[key] = post(measured)
        return known[key]

    all_tables = list(tables(groups, max_size))
    pairs = [(t, o) for t in all_tables for o in joined(t, max_size, noise.max_quantity)]
    if noise.totals is Totals.NOISY:
        pairs += [(t, o) for t in all_tables for o in with_empty_group(t)]
    first = truth_of(tree, all_tables[0], max_size)
    unit = _common_unit([1 / step.scale for step in truth_steps(noise, first)])
    laws = {}
    for table in dict.fromkeys(table for pair in pairs for table in pair):
        truth = truth_of(tree, table, max_size)
        measured = partial(noise.measure, truth, Seeded("law"))
        laws[table] = law_of(measured, released, low, high, bases, unit)
    exponent = Fraction(noise.epsilon) / unit
    assert exponent.denominator == 1
    n, attained = 0, set()
    for table, other in pairs:
        for i, (b, ours, theirs) in enumerate(zip(bases, laws[table], laws[other], strict=True)):
            ratio, bound = largest_ratio(ours, theirs), 1 / b ** int(exponent)
            assert ratio is not None, f"{table} and {other}: a release that only one of them can give"
            assert ratio <= bound, f"{table} and {other}: likelihood ratio {float(ratio):.6g} > {float(bound):.6g}"
            if ratio == bound:
                attained.add(i)
            n += 2 * len(ours)
    return n, len(attained) == len(bases)


def check_replay(mechanism: Mechanism, ours: CountOfCounts, theirs: CountOfCounts, key: str | int) -> bool:
    """Check that with the noisy arrays of `ours` both truths give the same bytes, and neither is read for it.

    Returns whether there was an answer to release.
    """
    drawn: list[np.ndarray] = []
    add_to = DoubleGeometric.add_to

    def record(law: DoubleGeometric, values: np.ndarray, stream: ByteStream) -> None:
        add_to(law, values, stream)
        drawn.append(values.copy())

    def replay(law: DoubleGeometric, values: np.ndarray, stream: ByteStream) -> None:
        del law, stream
        values[:] = drawn.pop(0)

    with noise_by(record):
        first = _sealed_release(mechanism, ours, key)
    with noise_by(replay):
        second = _sealed_release(mechanism, theirs, key)
    assert not drawn
    assert published(first) == published(second), "two truths with the same noisy values are released differently"
    return first.answer is not None


class TruthReadError(AssertionError):
    """The truth was read after the noise step."""


class Sealed(CountOfCounts):
    """A truth that can be closed: its table is then garbage, and whatever asks it for anything gets an error."""

    def close(self) -> None:
        table = self._table
        table.flags.writeable = True
        table.fill(10**6)
        object.__setattr__(self, "closed", True)

    def __getattribute__(self, name: str) -> Any:
        if object.__getattribute__(self, "__dict__").get("closed") and name != "__class__":
            raise TruthReadError(f"the truth's {name} was read after the noise step")
        return object.__getattribute__(self, name)


def answer(mechanism: Mechanism, measurement: Measurement) -> Result:
    """The post-processing of a mechanism."""
    post = mechanism.post
    return post.solve(mechanism.stated(measurement)) if isinstance(post, Method) else post.apply(measurement)


def published(result: Result) -> object:
    """All of a result that is published, for comparison byte by byte; only the time it took is left out."""
    return tuple((f.name, frozen(getattr(result, f.name))) for f in fields(result) if f.name != "seconds")


def public_facts(measurement: Measurement) -> tuple:
    """All that a measurement publishes besides noisy values (and noisy totals)."""
    noisy = {"cells"} | ({"totals"} if measurement.public is Totals.NOISY else set())
    return tuple((f.name, frozen(getattr(measurement, f.name))) for f in fields(measurement) if f.name not in noisy)


def frozen(item: Any) -> object:
    """A hashable image of a value: arrays by type, shape and bytes, objects by their fields."""
    if isinstance(item, np.ndarray):
        return str(item.dtype), item.shape, item.tobytes()
    if isinstance(item, Hierarchy):
        return item.paths
    if isinstance(item, tuple | list):
        return tuple(map(frozen, item))
    if isinstance(item, dict):
        return tuple((key, frozen(value)) for key, value in item.items())
    if is_dataclass(item) and not isinstance(item, type):
        return type(item).__name__, tuple((f.name, frozen(getattr(item, f.name))) for f in fields(item))
    if hasattr(item, "toarray"):
        return frozen(item.toarray())
    return item


def _sealed_release(mechanism: Mechanism, truth: CountOfCounts, key: str | int) -> Result:
    sealed = Sealed(truth.hierarchy, truth.counts[truth.hierarchy.leaves], truth.name)
    measure = Geometric.measure

    def measure_and_close(noise: Geometric, *arguments: Any) -> Measurement:
        measurement = measure(noise, *arguments)
        sealed.close()
        return measurement

    import pytest

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Geometric, "measure", measure_and_close)
        result = mechanism.release(sealed, Seeded(key))
    assert "closed" in object.__getattribute__(sealed, "__dict__"), "the noise step did not run"
    return result


def _common_unit(values: list[Fraction]) -> Fraction:
    return Fraction(gcd(*(v.numerator for v in values)), lcm(*(v.denominator for v in values)))


def release_loss(release: Callable[[CountOfCounts], object], ours: CountOfCounts, theirs: CountOfCounts) -> Fraction:
    """The loss of everything that gets noise while two neighbours are released with the same (no) noise."""
    lost = loss(steps(lambda: release(ours)), steps(lambda: release(theirs)))
    assert lost is not None, "different cells get noise"
    return lost
