"""The experiments after Liu and Wu 2022 run, draw and judge; rounds follow from public numbers; scales are counted."""

import sys
from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest
from smoke_cells import one_quick, runs_draws_and_judges, smoke_cells, stored

from pgsr.errors import DataError
from pgsr.experiments.engine.causes import Cause
from pgsr.experiments.engine.digest import code_digest, covered
from pgsr.experiments.engine.experiment import Profile
from pgsr.experiments.engine.runner import CellCondition, conditions
from pgsr.experiments.engine.store import Store, StoredCell, to_frame
from pgsr.experiments.engine.summary import LevelError
from pgsr.experiments.engine.verdicts import TestOutcome
from pgsr.experiments.liu2022 import errors, growth, relations
from pgsr.experiments.liu2022.arms import HPD_FIXED, HPD_GEN, MARGINALS, MULTIPLICATIVE, PRINTED, TUNED, rounds
from pgsr.experiments.liu2022.data import FEW_HOUSEHOLDS, NHTS, REFERRALS, RELATED, SIMULATED_REDUCED, only, up_to
from pgsr.experiments.liu2022.error_figures import cause_of
from pgsr.experiments.liu2022.growth import ATTRIBUTES, SIZE, ScalingFit, along, n_parameters, steps_of
from pgsr.experiments.others.simulators import households
from pgsr.experiments.registry import EXPERIMENTS, find
from pgsr.synthesis import AdaptiveBudget, HPDFixed, HPDGen, Workload

needs_torch = pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed")


@needs_torch
@pytest.mark.parametrize("name", one_quick(("HP0", "HP1", "HP2", "HP3", "HP3b", "HP4"), "HP4"))
def test_smoke_runs_draws_and_judges(name):
    runs_draws_and_judges(find(name))


def entries(identity: str) -> list[StoredCell]:
    """The smoke cells of an experiment."""
    return [stored(task, record, code_digest(find(identity))) for task, record in smoke_cells(find(identity))]


@pytest.mark.slow
@needs_torch
def test_errors_are_of_all_levels_and_repeat():
    tasks = {dict(task.cell.parameters)["queries"]: task for task in relations.EXPERIMENT.tasks(Profile.SMOKE)}
    assert "Q_R" in tasks
    for queries, task in tasks.items():
        record, levels = task.compute(), ["relations"] if queries == "Q_R" else ["groups", "persons", "relations"]
        largest = [record[f"largest_error_of_{level}"] for level in levels]
        assert record["largest_error"] == max(largest)
        assert 0 < record["mean_error"] < record["largest_error"] <= 1
        assert sum(name.startswith("mean_error_of_") for name in record) == len(levels)
    place = errors.ARMS.index(HPD_FIXED)
    task = errors.EXPERIMENT.tasks(Profile.SMOKE)[place]
    assert task.arm is HPD_FIXED
    again = replace(entries("HP1")[place], record=task.compute())
    assert again.content() == entries("HP1")[place].content()


@pytest.mark.slow
@needs_torch
def test_another_look_has_the_cells_of_its_owner(tmp_path):
    store = Store(tmp_path)
    for entry in entries("HP1"):
        store.save(entry, Profile.SMOKE)
    tasks = errors.MEANS.tasks(Profile.SMOKE)
    assert {condition for _, condition in conditions(tasks, Profile.SMOKE, store)} == {CellCondition.FINISHED}
    assert code_digest(errors.MEANS) == code_digest(errors.EXPERIMENT) != code_digest(relations.EXPERIMENT)
    there, _ = errors.MEANS.available(Profile.SMOKE)
    assert [t.cell for t in there.tasks(Profile.SMOKE)] == [t.cell for t in tasks]


@pytest.mark.slow
def test_other_experiments_do_not_depend_on_synthesis():
    for experiment in EXPERIMENTS:
        files = covered(experiment.owner.plot.__module__, experiment.owner.id)
        assert any("synthesis" in name for name in files) == experiment.id.startswith("HP")


@pytest.mark.slow
def test_without_torch_hpd_fails_with_a_sentence_and_the_rest_runs(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    for task in errors.EXPERIMENT.tasks(Profile.SMOKE)[: len(errors.ARMS)]:
        record = task.compute()
        if task.arm in (PRINTED, TUNED, MARGINALS):
            assert record["largest_error"] > 0
        else:
            assert record["status"] == "NOT_INSTALLED"
            assert 'pip install ".[synthesis]"' in record["reason"]


def test_what_is_too_large_says_so():
    experiment = errors.EXPERIMENT
    task = next(t for t in experiment.tasks(Profile.QUICK) if t.arm is TUNED and t.data is REFERRALS)
    record = task.compute()
    assert record["status"] == "TOO_LARGE"
    assert "types of groups" in record["reason"]


def test_rounds_are_public_and_keep_the_noise_small():
    population = households(30_000, 3)
    workload = Workload.k_way(population.domain, 3)
    for epsilon in ("1/10", "1/2", "1"):
        budget = AdaptiveBudget(epsilon, "1e-9", rounds=1)
        t = rounds(population, workload, budget, most=10_000)
        deviation = (t / float(budget.rho)) ** 0.5 / population.n_groups  # Delta = 1 / N_G
        assert t == 10 or deviation == pytest.approx(0.01, rel=0.05)
    other = households(30_000, 3, seed=5)
    assert rounds(other, workload, budget, 10_000) == t  # other people, as many groups
    assert rounds(population, workload, budget, 17) == 17


@pytest.mark.slow
def test_populations_are_what_is_declared():
    for data in (SIMULATED_REDUCED, REFERRALS, RELATED, FEW_HOUSEHOLDS):
        assert data.truth().n_persons == data.persons
        assert data.toy().n_groups < 100
    with pytest.raises(DataError, match="declared"):
        replace(REFERRALS, persons=1).truth()
    found = NHTS.resolved()
    assert found.name in [each.name for each in NHTS.with_fallbacks()]
    assert found.truth().n_groups == found.groups


def test_cut_populations():
    population = households(200, 5)
    small = up_to(population, 2)
    kept = np.flatnonzero(population.sizes <= 2)
    assert small.n_groups == len(kept)
    assert (small.groups == population.groups[kept]).all()
    members = [population.persons[population.group_of == g] for g in kept]
    assert (small.persons == np.concatenate(members)).all()
    few = only(small, ("income",), ("work", "age"))
    assert (few.persons == small.persons[:, [3, 0]]).all()
    assert (few.groups[:, 0] == small.groups[:, 3]).all()
    assert along(population, SIZE, 3).domain.max_size == 3
    assert len(along(population, ATTRIBUTES, 6).domain.group) == 2


@pytest.mark.slow
@needs_torch
def test_scaling_is_counted_in_the_models():
    domain = along(households(50, 4), SIZE, 4).domain
    # tenure 2; age 6 and sex 2 in each of 4 slots; sizes 1 to 4
    assert n_parameters(HPDFixed(components=7), domain) == 7 * (2 + 4 * 8 + 4)
    body = 3 * 5 + 5 + 5 + 5  # a block of 5 units on noise of length 3: weights, bias, gain and shift
    heads = (3 + 5) * (2 + 4 * 8 + 4) + (2 + 4 * 8 + 4)
    assert n_parameters(HPDGen(components=7, embedding=3, hidden=(5,)), domain) == body + heads
    by_size = {s.x: s for s in steps_of(to_frame(entries("HP4"))) if s.axis == SIZE}
    assert [by_size[m].universe for m in (1, 2, 3)] == [2 * 12, 2 * (12 + 144), 2 * (12 + 144 + 1728)]
    assert [by_size[m].types for m in (1, 2)] == [2 * 12, 2 * (12 + 78)]
    exact = [v for v in growth.verdicts(to_frame(entries("HP4"))) if not v.claim.startswith("seconds")]
    assert [v.finding for v in exact] == [TestOutcome.HOLDS] * 3


def timed(arm, replicate, power, largest):
    """Steps whose seconds grow with this power up to a largest size."""
    facts = {"axis": SIZE, "persons": 12, "universe": 10, "types": 10, "parameters": None, "reason": ""}
    return [
        ScalingFit("families", arm.label, replicate, x=x, seconds=float(x**power), **facts | {"types": x})
        for x in range(1, largest + 1)
    ]


@pytest.mark.parametrize(
    ("fixed", "finding"),
    [
        ([(replicate, 1, 8) for replicate in range(5)], TestOutcome.HOLDS),
        ([(replicate, 5, 8) for replicate in range(5)], TestOutcome.FAILS),
        ([(replicate, 3, 8) for replicate in range(5)], TestOutcome.UNDECIDED),
        ([*((replicate, 1, 8) for replicate in range(4)), (4, 5, 8)], TestOutcome.UNDECIDED),  # not in every replicate
        ([(0, 1, 8)], TestOutcome.NOT_JUDGED),  # the other one ran in a single replicate
        ([(replicate, 1, 8) for replicate in range(5, 10)], None),  # none has both
        ([(replicate, 1, 2) for replicate in range(5)], None),  # too few points that both have
    ],
)
def test_growth_is_judged_in_replicates_that_have_both(fixed, finding):
    """MWEM has 5 replicates throughout; those are no replicates of a comparison with a method that has fewer."""
    steps = [step for replicate in range(5) for step in timed(MULTIPLICATIVE, replicate, 3, 6)]
    steps += [step for replicate, power, largest in fixed for step in timed(HPD_FIXED, replicate, power, largest)]
    found = list(growth._timed(steps))
    assert [verdict.finding for verdict in found] == ([] if finding is None else [finding])


def test_growth_is_compared_over_the_points_that_both_reached():
    """HPD-Fixed hardly grows up to 3, and as x^3 after it: MWEM, which stops at 3 and grows as x^2, is the faster."""
    steps = [step for replicate in range(5) for step in timed(MULTIPLICATIVE, replicate, 2, 3)]
    for replicate in range(5):
        slow = timed(HPD_FIXED, replicate, 3, 10)
        steps += [replace(step, seconds=1.0) if step.x <= 3 else step for step in slow]
        steps += timed(HPD_GEN, replicate, 1, 5)
    [verdict] = growth._timed(steps)
    assert verdict.finding is TestOutcome.HOLDS
    assert "x^2 (MWEM" in verdict.words
    assert "(HPD-Fixed), x from 1 to 3;" in verdict.words
    assert verdict.words.endswith("x^1 (HPD-Gen), x from 1 to 5")


def test_no_data_are_the_papers_and_small_models_wait_for_the_larger_profile():
    wanted = {(1_000, 100): Cause.STAND_IN, (999, 300): Cause.PROFILE, (1_000, 99): Cause.PROFILE}
    for (components, most), cause in wanted.items():
        free = (("queries", "Q_R"), ("most components", components), ("most rounds", most))
        row = LevelError("families", False, 1.0, "HPD-Gen", free, 0, {0: 0.1})
        assert cause_of(row, Cause.CLAIM) is cause
        assert cause_of(row, Cause.OURS) is Cause.OURS
