"""Every stream of noise is asked for exactly once per charge, by everything that draws noise."""

import ast
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from counting import Counting
from instances import rng_of
from made_tables import TABLES, release, write_config, write_tables
from neighbours import ALONE, CHAIN, PAIR
from parsed import core
from planned import planned

from pgsr import CountOfCounts, Hierarchy, View
from pgsr.datasets.census_blocks import CensusBlocks
from pgsr.estimators import Matching, NoConsistency
from pgsr.experiments.kuo2018.choosing import ChosenByScore, ChosenByStatistic
from pgsr.machine.partitions import ParquetFolder
from pgsr.methods import Mechanism
from pgsr.methods.expected_errors import expected_errors
from pgsr.nation import measure
from pgsr.noise import Geometric, Totals
from pgsr.noise.group_totals import noisy_totals
from pgsr.noise.measurement import measured_regions
from pgsr.privacy import Secure, Seeded
from pgsr.privacy.laws import DoubleGeometric
from pgsr.privacy.random import ByteStream, StreamId
from pgsr.release import ReleaseConfig, Terms
from pgsr.release.terms.kinds import Kind
from pgsr.synthesis import (
    MWEM,
    AdaptiveBudget,
    Attribute,
    Domain,
    IndependentMarginals,
    Level,
    Population,
    Workload,
    fit,
)
from pgsr.synthesis.data.domain import Neighbours
from pgsr.synthesis.queries.independent_marginals import Histogram, noisy_shares
from pgsr.synthesis.queries.transcript import RhoLedger

DEEP = Hierarchy.from_paths([("root", "a", "x"), ("root", "b", "x"), ("root", "b", "y")])
RAGGED = Hierarchy.from_paths(
    [("root", "a"), ("root", "b", "x"), ("root", "b", "y"), ("root", "c", "x", "1")], pad_ragged=True
)
TREES = {"alone": ALONE, "chain": CHAIN, "pair": PAIR, "deep": DEEP, "ragged": RAGGED}


def truth_on(tree: Hierarchy, largest: int = 4, seed: int = 0) -> CountOfCounts:
    n_leaves = tree.n_regions - tree.n_inner
    return CountOfCounts(tree, rng_of(seed).integers(0, largest + 1, (n_leaves, 4)), "streams")


def of_regions(tree: Hierarchy, what: str, data_set: str = "streams") -> set[StreamId]:
    """One per region that is no copy made by padding."""
    return {StreamId(data_set, what, int(tree.level_of[r]), tree.paths[r]) for r in np.flatnonzero(~tree.padded)}


def of_measurement(noise: Geometric, tree: Hierarchy, data_set: str = "streams", mark: str = "") -> set[StreamId]:
    """The views of all regions that are measured, and their totals where these are noisy."""
    views = noise.view if isinstance(noise.view, tuple) else (noise.view,) * tree.n_levels
    measured = measured_regions(tree, noise.levels(tree.n_levels))
    found = {
        StreamId(data_set, f"{views[tree.level_of[r]].value}{mark}", int(tree.level_of[r]), tree.paths[r])
        for r in np.flatnonzero(measured)
    }
    return found | (of_regions(tree, f"totals{mark}", data_set) if noise.totals is Totals.NOISY else set())


def noises(n_levels: int) -> Iterator[Geometric]:
    """All views and tuples of views, all totals, and levels with epsilon 0."""
    leaves_alone = (*("0",) * (n_levels - 1), "1")
    every = [*View, *(views for views in product(View, repeat=n_levels) if len(set(views)) > 1)]
    for view, totals, shares in product(every, Totals, (None, leaves_alone)):
        views = view if isinstance(view, tuple) else (view,)
        if totals is not Totals.ROOT or View.RANKED not in views:  # ranked sizes tell every region's total
            yield Geometric(view, "1", shares, totals)


def secure_streams(monkeypatch: pytest.MonkeyPatch) -> Counting:
    """Note the streams that are asked of the secure source."""
    source, stream = Counting(), Secure.stream

    def noted(secure: Secure, identity: StreamId) -> ByteStream:
        source.asked.append(identity)
        return stream(secure, identity)

    monkeypatch.setattr(Secure, "stream", noted)
    return source


@pytest.mark.few(2)
@pytest.mark.parametrize("name", TREES)
def test_measurements(name: str, counted: Callable[[int, str], None]) -> None:
    """The regions are full, empty and all but empty."""
    tree = TREES[name]
    for noise in noises(tree.n_levels):
        for truth, epsilon in ((truth_on(tree), "1"), (truth_on(tree, 0), "1"), (truth_on(tree, 1), "1/50")):
            source = Counting()
            again = Geometric(noise.view, epsilon, noise.shares, noise.totals)
            again.measure(truth, source)
            counted(source.assert_once(of_measurement(again, tree)), "streams of measurements")


@pytest.mark.parametrize("name", TREES)
def test_measurements_by_region(name: str, counted: Callable[[int, str], None]) -> None:
    """A region asks for the stream of its own view, and for no other."""
    tree = TREES[name]
    truth = truth_on(tree)
    for few in (0, 5, 9, 100):
        source = Counting()
        views = tuple(View.RANKED if total <= few else View.CUMULATIVE for total in truth.totals.tolist())
        measured = Geometric(views, "1").measure(truth, source).measured
        wanted = {
            StreamId("streams", "ranked" if truth.totals[r] <= few else "cumulative", int(tree.level_of[r]), path)
            for r, path in enumerate(tree.paths)
            if measured[r]
        }
        counted(source.assert_once(wanted), "streams of measurements by region")


@pytest.mark.few(3)
@pytest.mark.parametrize("kind", Kind)
@pytest.mark.parametrize("name", TREES)
def test_mechanisms_of_releases(kind: Kind, name: str, counted: Callable[[int, str], None]) -> None:
    """The counts are 0 and more, at scales where noisy totals are clipped at 0."""
    tree = TREES[name]
    for totals, largest, epsilon in product(kind.totals, (0, 3), (Fraction(1), Fraction(1, 40))):
        mechanism = planned(Terms("streams", 3, epsilon, kind, totals=totals), tree).mechanism
        source = Counting(Secure())
        mechanism.release(truth_on(tree, largest), source)
        counted(source.assert_once(of_measurement(mechanism.noise, tree)), "streams of mechanisms")


@pytest.mark.few(2)
@pytest.mark.parametrize("kind", Kind)
@pytest.mark.parametrize("private", [False, True])
def test_releases(kind, private, tmp_path, monkeypatch, counted) -> None:
    """The noise is of the secure source, from tables to the checked folder, also with branches of different depth."""
    write_tables(tmp_path, leaves=[("US", "GA", "GA0"), ("US", "DC"), ("US", "MI", "MI0"), ("US", "MI", "MI1")])
    keys = {"tables": TABLES + "pad_ragged = true\n"}
    if private:
        keys = {"tables": keys["tables"].replace('"groups.parquet"', '"groups.parquet"\nprivate = true')}
        keys["totals"] = '"noisy"'
    config = ReleaseConfig.read(write_config(tmp_path, kind, **keys))
    source = secure_streams(monkeypatch)
    release(config)
    tree = config.tree()
    noise = planned(config.terms, tree).mechanism.noise
    counted(source.assert_once(of_measurement(noise, tree, "made")), "streams of releases")


@pytest.mark.parametrize("name", TREES)
def test_totals(name: str, counted: Callable[[int, str], None]) -> None:
    """The regions are with and without groups; negative noisy totals are clipped."""
    for largest, epsilon in product((0, 4), (Fraction(1), Fraction(1, 100))):
        source = Counting()
        noisy_totals(truth_on(TREES[name], largest), DoubleGeometric(3 / epsilon), source)
        counted(source.assert_once(of_regions(TREES[name], "totals")), "streams of totals")


def test_choices(counted: Callable[[int, str], None]) -> None:
    """Candidates that are alike, that differ in view, and that measure leaves alone."""
    truth = truth_on(DEEP)
    steps, sizes = (Mechanism(Geometric(view, "1"), Matching()) for view in (View.CUMULATIVE, View.RANKED))
    leaves = Mechanism(Geometric(View.CUMULATIVE, "1", (0, 0, 1)), NoConsistency())
    mixed = Mechanism(Geometric((View.CUMULATIVE, View.RANKED, View.CUMULATIVE), "1"), Matching())
    for candidates in ([steps], [steps, steps], [steps, sizes, mixed], [leaves, steps, leaves]):
        source = Counting()
        ChosenByScore(candidates, "1").release(truth, source)
        marked = [of_measurement(c.noise, DEEP, mark=f", candidate {i}") for i, c in enumerate(candidates)]
        scores = {StreamId("streams", "selection score", 0, (str(i),)) for i in range(len(candidates))}
        counted(source.assert_once(scores.union(*marked)), "streams of choices")
        for chosen in candidates:
            source = Counting()
            ChosenByStatistic(candidates, lambda t, chosen=chosen: chosen, "1").release(truth, source)
            statistic = {StreamId("streams", "selection statistic", 0, ("distinct sizes",))}
            counted(source.assert_once(statistic | of_measurement(chosen.noise, DEEP)), "streams of choices")


def test_plans(monkeypatch: pytest.MonkeyPatch, counted: Callable[[int, str], None]) -> None:
    """Once per replicate, on public data."""
    asked: dict[Seeded, Counting] = {}
    stream = Seeded.stream

    def noted(source: Seeded, identity: StreamId) -> ByteStream:
        asked.setdefault(source, Counting()).asked.append(identity)
        return stream(source, identity)

    monkeypatch.setattr(Seeded, "stream", noted)
    noise = Geometric(View.CUMULATIVE, 1)
    expected_errors(truth_on(PAIR), Mechanism(noise, Matching()), replicates=3)
    assert asked.keys() == {Seeded("plan", replicate) for replicate in range(3)}
    for source in asked.values():
        counted(source.assert_once(of_measurement(noise, PAIR)), "streams of plans")


def couples(domain: Domain, n_groups: int = 30) -> Population:
    """Heads with a spouse each; every value occurs."""
    rng = rng_of(0)
    persons = np.column_stack([rng.integers(0, len(a), 2 * n_groups) for a in domain.individual])
    homes = np.column_stack([rng.integers(0, len(a), n_groups) for a in domain.group])
    return Population(domain, homes, persons, np.repeat(np.arange(n_groups), 2), np.tile([0, 1], n_groups))


# Names and values that read alike: an attribute called as the number of a role, and a number beside its text.
ALIKE = Domain.household(
    [Attribute("number of spouse", ("x", "y")), Attribute("number of child", ("x", "y"))],
    [Attribute("age", (1, "1")), Attribute("sex", ("f", "m, age=1", "m"))],
    max_children=2,
)
BUDGET = AdaptiveBudget(1, "1e-6", rounds=20)


@pytest.mark.parametrize("repeated", [False, True])
def test_fits(repeated: bool, counted: Callable[[int, str], None]) -> None:
    """Also of workloads with a marginal twice, and of queries that are described by the same words."""
    marginals = Workload.k_way(ALIKE, 1, [Level.INDIVIDUAL]).marginals
    workload = Workload(ALIKE, (*marginals, *marginals) if repeated else marginals)
    assert len({workload.describe(q) for q in range(workload.n_queries)}) < workload.n_queries
    rounds = workload.n_queries
    source = Counting()
    fit(couples(ALIKE), workload, MWEM(iterations=1), AdaptiveBudget(1, "1e-6", rounds), source=source)
    assert len(source.asked) == 2 * rounds
    counted(source.assert_once(source.asked), "streams of fits")


@pytest.mark.parametrize("neighbours", Neighbours)
def test_baselines(neighbours: Neighbours, counted: Callable[[int, str], None]) -> None:
    """Histograms of attributes and of role sizes whose names read alike."""
    source = Counting()
    IndependentMarginals().fit(couples(ALIKE), BUDGET, source=source, neighbours=neighbours)
    assert len(source.asked) == 2 + 2 + 2
    counted(source.assert_once(source.asked), "streams of histograms")
    source = Counting()
    twice = [Histogram("a", np.array([1, 2]), 2)] * 3
    noisy_shares(twice, Fraction(1, 10), source, RhoLedger(1), "set")
    counted(source.assert_once(source.asked), "streams of histograms")


def test_levels_in_parts(tmp_path: Path) -> None:
    """Every level of every part has a stream of its own, and so has every level above the parts."""
    nation, source = CensusBlocks(blocks=3_200, groups=10_000, max_sizes=(9,) * 7 + (7,)), Counting()
    measure(nation, ParquetFolder(str(tmp_path)), Geometric(View.COUNTS, 1), source, map)
    expected = {StreamId(nation.name, "counts", level, ("United States",)) for level in range(3)}
    expected |= {StreamId(nation.name, "counts", level, (key,)) for key in nation.keys for level in range(3, 8)}
    assert source.assert_once(expected) == 3 + 51 * 5


def test_releases_by_level(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every level has one stream of the secure source."""
    write_tables(tmp_path)
    config = ReleaseConfig.read(write_config(tmp_path, max_size="{nation = 6, state = 3, county = 2}"))
    source = secure_streams(monkeypatch)
    release(config)
    assert source.assert_once({StreamId("made", "counts", level, ("US",)) for level in range(3)}) == 3


def test_nothing_else_asks_for_streams() -> None:
    """Whatever calls `stream` in pgsr is one of the above, or adds no noise to data."""
    above = {f"noise/{name}.py" for name in ("tables", "step", "group_totals")}
    above |= {f"synthesis/queries/{name}.py" for name in ("curator", "independent_marginals")}
    without_data = {"release/checks/rehearsals.py", "release/make/selftest.py", "warming.py"}
    asking = set()
    for file, tree in core().items():
        calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
        if any(isinstance(call.func, ast.Attribute) and call.func.attr == "stream" for call in calls):
            asking.add(file.removeprefix("pgsr/"))
    assert asking == above | without_data
