"""Bugs of where noise comes from and how often it is drawn, as patches of the real code."""

import hashlib
import os
import random
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import wraps
from typing import Any

import numpy as np
from planted_bugs import around, replacing, with_row
from planted_traces import trimmed
from pytest import MonkeyPatch  # noqa: PT013

import pgsr.noise.group_totals as numbers
import pgsr.noise.step
from pgsr import CountOfCounts, View
from pgsr.data import Split
from pgsr.estimators import Matching
from pgsr.experiments.kuo2018.choosing import ChosenByScore
from pgsr.experiments.kuo2018.choosing import mechanisms as selection
from pgsr.experiments.kuo2018.choosing.score import Branch
from pgsr.machine.parallel import Threads
from pgsr.methods import Mechanism
from pgsr.noise import Geometric, Measurement, Totals
from pgsr.noise.step import NoiseStep
from pgsr.privacy import Ledger, Secure, Seeded
from pgsr.privacy.budget import Budget, exact
from pgsr.privacy.laws import DoubleGeometric, inversion
from pgsr.privacy.random import ByteStream, StreamId

# Bytes


@replacing(Secure, "stream")
def seeded_when_there_are_no_bytes(stream: Callable, source: Secure, identity: StreamId) -> ByteStream:
    """A service that must not fail."""
    try:
        return stream(source, identity)
    except (OSError, NotImplementedError):
        return Seeded("fallback").stream(identity)


def key_of_two_bytes(patch: MonkeyPatch) -> None:
    patch.setattr(Secure, "stream", lambda source, identity: ByteStream(os.urandom(2) * 16))


def key_of_a_general_generator(patch: MonkeyPatch) -> None:
    """Seeded by the operating system, and to be computed from a few outputs."""
    generator = random.Random(os.urandom(32))
    patch.setattr(Secure, "stream", lambda source, identity: ByteStream(generator.randbytes(32)))


def keys_of_a_pool(patch: MonkeyPatch) -> None:
    """Drawn once for all, to save calls; a forked process has a copy."""
    pool, count = os.urandom(32), [0]

    def stream(source: Secure, identity: StreamId) -> ByteStream:
        del source, identity
        count[0] += 1
        return ByteStream(hashlib.sha256(pool + count[0].to_bytes(8, "big")).digest())

    patch.setattr(Secure, "stream", stream)


def streams_remembered(patch: MonkeyPatch) -> None:
    """Who asks for the same stream again in this process gets the same key."""
    known: dict[StreamId, bytes] = {}
    patch.setattr(Secure, "stream", lambda source, identity: ByteStream(known.setdefault(identity, os.urandom(32))))


def candidates_with_one_noise(patch: MonkeyPatch) -> None:
    patch.setattr(Branch, "stream", lambda branch, identity: branch.source.stream(identity))


def candidates_that_claim_privacy(patch: MonkeyPatch) -> None:
    patch.setattr(Branch, "secure", property(lambda branch: True))


# How often


def totals_with_the_noise_of_counts(patch: MonkeyPatch) -> None:
    """One stream for both: who knows the noise of the counts knows that of the totals."""
    around(patch, numbers, "StreamId", lambda make: lambda name, what, *rest: make(name, View.COUNTS.value, *rest))


@replacing(Geometric, "measure")
def measured_until_plausible(
    measure: Callable, noise: Geometric, truth: CountOfCounts, source: Any, ledger: Any = None
) -> Measurement:
    """Drawn anew while some value is far below 0, five times at most."""
    found = measure(noise, truth, source, ledger)
    for _ in range(4):
        if min((int(np.min(row, initial=0)) for row in found.rows), default=0) >= -5:
            break
        found = measure(noise, truth, source)
    return found


@replacing(DoubleGeometric, "add_to")
def drawn_until_plausible(add_to: Callable, law: DoubleGeometric, values: np.ndarray, stream: ByteStream) -> None:
    """The same from one stream: a vector is drawn again while its sum is below that of the data."""
    exact_values = values.copy()
    for _ in range(3):
        values[...] = exact_values
        add_to(law, values, stream)
        if values.sum() >= exact_values.sum():
            break


@replacing(selection, "draw")
def choice_without_noise(_: Callable, law: DoubleGeometric, source: Any, identity: StreamId) -> int:
    """The stream is asked for, and nothing is drawn from it."""
    source.stream(identity)
    return 0


# Charging


@replacing(Geometric, "measure")
def totals_for_nothing(
    measure: Callable, noise: Geometric, truth: CountOfCounts, source: Any, ledger: Ledger | None = None
) -> Measurement:
    """The values are charged, noisy totals are not."""
    if ledger is not None:
        noise.check(truth, source)
        ledger.charge(noise.budget(truth.hierarchy.n_levels).total, "measuring")
    return measure(noise, truth, source)


@replacing(ChosenByScore, "release")
def choices_charged_afterwards(release: Callable, choice: ChosenByScore, *given: Any) -> Any:
    """The ledger is the last argument."""
    found = release(choice, *given[:-1], None)
    given[-1].charge(choice.epsilon, "afterwards")
    return found


# Scales and signs


@replacing(DoubleGeometric, "add_to")
def noise_clipped_at_zero(add_to: Callable, law: DoubleGeometric, values: np.ndarray, stream: ByteStream) -> None:
    """Counts only grow, which looks more plausible."""
    noise = np.zeros_like(values)
    add_to(law, noise, stream)
    values += np.maximum(noise, 0)


@replacing(DoubleGeometric, "add_to")
def negative_values_clipped(add_to: Callable, law: DoubleGeometric, values: np.ndarray, stream: ByteStream) -> None:
    """Counts are not negative, so noise takes at most what is there."""
    add_to(law, values, stream)
    np.maximum(values, 0, out=values)


@replacing(inversion, "decide")
def tails_cut_off(decide: Callable, law: DoubleGeometric, *given: Any) -> int:
    """Noise beyond ten scales is cut: a value that far away then rules a data set out."""
    return min(decide(law, *given), int(10 * law.scale))


@replacing(inversion, "thresholds")
def thresholds_cut_at_2_to_the_20(thresholds: Callable, law: Any) -> list[int]:
    """A limit on memory that only the largest scales reach: all that lies beyond comes out as the last size."""
    found = thresholds(law)
    return found if len(found) <= 2**20 else [*found[: 2**20 - 1], found[-1]]


@replacing(Geometric, "measure")
def scale_from_the_data(measure: Callable, noise: Geometric, truth: CountOfCounts, *rest: Any) -> Measurement:
    """Large counts bear more noise, small ones need less."""
    small = truth.counts.max(initial=0) < 3
    return measure(replace(noise, epsilon=2 * exact(noise.epsilon)) if small else noise, truth, *rest)


@replacing(DoubleGeometric, "add_to")
def scale_from_the_vector(add_to: Callable, law: DoubleGeometric, values: np.ndarray, stream: ByteStream) -> None:
    """Half the noise where the counts are few."""
    add_to(law if values.sum() > 20 else DoubleGeometric(law.scale / 2), values, stream)


@replacing(Geometric, "budget")
def level_in_floats(budget: Callable, noise: Geometric, n_levels: int) -> Budget:
    """The share of a level goes through a float on its way to the noise."""
    return Budget(tuple(Fraction(float(level)) for level in budget(noise, n_levels).levels))


@replacing(pgsr.noise.step, "noisy_totals")
def totals_epsilon_on_every_level(draw: Callable, truth: CountOfCounts, law: DoubleGeometric, source: Any) -> Any:
    return draw(truth, DoubleGeometric(law.scale / truth.hierarchy.n_levels), source)


@replacing(numbers, "noisy_numbers")
def numbers_epsilon_on_every_level(draw: Callable, truth: CountOfCounts, law: DoubleGeometric, source: Any) -> Any:
    """The same below, where the numbers are drawn."""
    return draw(truth, DoubleGeometric(law.scale / truth.hierarchy.n_levels), source)


def values_epsilon_not_reduced(patch: MonkeyPatch) -> None:
    """Noisy totals are paid for, and the values get the whole of epsilon all the same."""
    patch.setattr(Geometric, "budget", lambda noise, n: Budget.split(noise.epsilon, n, noise.shares))


# Beside noisy totals


def totals_ignored_by_vectors(patch: MonkeyPatch) -> None:
    """Ranked sizes as many as there truly are, and cumulative counts from below."""
    for kind in (View, Split):
        around(patch, kind, "vector", lambda f: lambda view, counts, total: f(view, counts, None))


# What is measured


def largest_size_by_quantile(patch: MonkeyPatch) -> None:
    """K is where nine tenths of the groups are."""
    around(patch, Geometric, "measure", lambda f: lambda noise, truth, *rest: f(noise, trimmed(truth, 0.9), *rest))


@replacing(Geometric, "measure")
def last_of_many_regions_exact(measure: Callable, noise: Geometric, truth: CountOfCounts, *rest: Any) -> Measurement:
    """The last region of a tree of 1,000 regions and more gets no noise, as where a loop ends one too early."""
    found, last = measure(noise, truth, *rest), truth.hierarchy.n_regions - 1
    if last >= 999 and found.view is View.COUNTS:
        return with_row(found, last, truth.row(last))
    return found


@replacing(pgsr.noise.step, "noisy_tables")
def last_of_many_regions_exact_by_level(
    measure: Callable, view: View, laws: Any, tree: Any, tables: Any, *rest: Any
) -> Any:
    """The same where levels have sizes of their own."""
    found = measure(view, laws, tree, tables, *rest)
    if tree.n_regions >= 1000:
        found[-1][-1] = tables[-1][-1]
    return found


def on_threads(call: Callable[[Callable, list], list]) -> Callable[[MonkeyPatch], None]:
    """Make a bug of noise that is drawn on several cores, which `call` draws with the right mapper."""

    class Wrong(Threads):
        def __call__(self, function: Callable, items: Any) -> list:
            return call(lambda some: Threads.__call__(self, function, some), list(items))

    return wraps(call)(lambda patch: patch.setattr(pgsr.noise.step, "Threads", Wrong))


@on_threads
def last_of_many_cells_exact(each: Callable, items: list) -> list:
    """The last region gets no noise where regions are shared out to cores."""
    found = each(items[:-1])
    with MonkeyPatch.context() as patch:
        patch.setattr(DoubleGeometric, "add_to", lambda *_: None)
        return [*found, *each(items[-1:])]


@on_threads
def one_stream_of_many_cells(each: Callable, items: list) -> list:
    """All regions have one stream of noise where they are shared out to cores."""
    with MonkeyPatch.context() as patch:
        around(patch, Seeded, "stream", lambda f: lambda s, identity: f(s, replace(identity, path=(), level=0)))
        return each(items)


@replacing(NoiseStep, "sensitivity")
def law_of_the_last_level_s_sizes(right: Callable, noise: NoiseStep, view: Any, max_size: int) -> Any:
    """All levels get the noise of the sizes of the leaves, which are fewer than those of the root."""
    return right(noise, view, max_size if noise.max_sizes is None else noise.max_sizes[-1])


@replacing(Geometric, "measure")
def dull_level_skipped(measure: Callable, noise: Geometric, truth: CountOfCounts, *rest: Any) -> Measurement:
    """A level whose regions are all but empty gets no noise, and its epsilon goes to the leaves."""
    n_levels = truth.hierarchy.n_levels
    entities = truth.counts[0] @ np.arange(truth.max_size + 1)
    if n_levels > 1 and noise.shares is None and entities < truth.totals[0]:
        noise = replace(noise, shares=(*(Fraction(0),) * (n_levels - 1), Fraction(1)))
    return measure(noise, truth, *rest)


@replacing(Geometric, "measure")
def unmeasured_levels_exact(measure: Callable, noise: Geometric, truth: CountOfCounts, *rest: Any) -> Measurement:
    """A level without epsilon keeps its values as they are."""
    found = measure(noise, truth, *rest)
    if found.view is not View.COUNTS:
        return found
    return replace(found, cells=np.where(found.measured[:, None], found.matrix, truth.counts).ravel())


@replacing(Geometric, "measure")
def totals_of_regions_exact(measure: Callable, noise: Geometric, truth: CountOfCounts, *rest: Any) -> Measurement:
    """Only the root's total is public, and every region's is handed on."""
    return replace(measure(noise, truth, *rest), public=Totals.REGIONS, totals=truth.totals.copy())


# Post-processing


@replacing(Mechanism, "release")
def ties_broken_by_the_truth(
    release: Callable, mechanism: Mechanism, truth: CountOfCounts, *rest: Any, **names: Any
) -> Any:
    """Give the sizes that fit better to either of two leaves with as many groups, in the matching."""
    result = release(mechanism, truth, *rest, **names)
    if not isinstance(mechanism.post, Matching) or result.answer is None:
        return result
    counts, leaves = result.answer.counts().counts.copy(), truth.hierarchy.leaves
    ours = counts[leaves]
    for i in range(1, len(ours)):
        if ours[i].sum() == ours[i - 1].sum():
            kept = np.abs(ours[i - 1 : i + 1] - truth.counts[leaves][i - 1 : i + 1]).sum()
            swapped = np.abs(ours[i - 1 : i + 1][::-1] - truth.counts[leaves][i - 1 : i + 1]).sum()
            if swapped < kept:
                ours[[i - 1, i]] = ours[[i, i - 1]]
    answer = replace(result.answer, view=View.COUNTS, values=truth.hierarchy.sum_up(ours))
    return replace(result, answer=answer)


@replacing(Mechanism, "release")
def error_in_the_reason(release: Callable, mechanism: Mechanism, truth: CountOfCounts, *rest: Any, **names: Any) -> Any:
    """A result that says how good it is."""
    result = release(mechanism, truth, *rest, **names)
    if result.answer is None:
        return result
    error = np.abs(result.answer.counts().counts - truth.counts).sum()
    return replace(result, reason=f"{result.reason}; error {error}")


@replacing(pgsr.noise.step, "finer_noise")
def root_drawn_anew(_: Callable, noise: np.ndarray, scale: Fraction, finer: Fraction, stream: ByteStream) -> np.ndarray:
    """A second measurement beside the first, which costs its own epsilon."""
    del scale
    drawn = np.zeros(len(noise), np.int64)
    DoubleGeometric(finer).add_to(drawn, stream)
    return drawn
