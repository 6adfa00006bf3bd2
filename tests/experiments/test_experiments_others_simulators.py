"""Simulated populations, and the real ones of the National Household Travel Survey."""

from collections.abc import Callable
from itertools import pairwise
from math import comb, prod
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from smoke_cells import needs
from test_experiments_data import survey_files

from pgsr.errors import DataError
from pgsr.experiments.data.nhts2001 import HOUSEHOLDS, PERSONS, nhts2001
from pgsr.experiments.data.raw import nhts2001 as survey
from pgsr.experiments.others.simulators import households, referrals, related_households
from pgsr.synthesis import Population, Workload
from pgsr.synthesis.data.domain import COUNT, Attribute, SynthesisError

SIMULATORS = {
    "households": lambda n, size, seed: households(n, max_size=size, seed=seed),
    "related_households": lambda n, size, seed: related_households(n, max_children=size, seed=seed),
    "referrals": lambda n, size, seed: referrals(n, max_size=size, seed=seed),
}
Simulator = Callable[[int, int, int], Population]


def columns(population: Population) -> dict[Attribute, np.ndarray]:
    """Codes of every attribute, per group or per person."""
    domain, found = population.domain, {}
    for table, attributes in ((population.groups, domain.group), (population.persons, domain.individual)):
        found |= {attribute: table[:, number] for number, attribute in enumerate(attributes)}
    return found


def column(population: Population, name: str) -> np.ndarray:
    return next(codes for attribute, codes in columns(population).items() if attribute.name == name)


def correlation(x: np.ndarray, y: np.ndarray) -> float:
    return float(np.corrcoef(x, y)[0, 1])


def neighbours_in_group(population: Population, name: str) -> float:
    """Correlation of an attribute between members who follow each other in a group."""
    first = np.flatnonzero(np.diff(population.group_of) == 0)
    return correlation(column(population, name)[first], column(population, name)[first + 1])


@pytest.mark.parametrize("simulate", SIMULATORS.values(), ids=SIMULATORS)
def test_seeds_decide_and_arguments_are_checked(simulate: Simulator) -> None:
    first, again, other = simulate(200, 4, 1), simulate(200, 4, 1), simulate(200, 4, 2)
    for table in ("groups", "persons", "group_of"):
        assert np.array_equal(getattr(first, table), getattr(again, table))
    assert not np.array_equal(first.groups, other.groups)
    for n, size in ((0, 3), (3, 0), (2.5, 3), (True, 3)):
        with pytest.raises(SynthesisError, match="whole number from 1 up"):
            simulate(n, size, 0)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("simulate", SIMULATORS.values(), ids=SIMULATORS)
def test_every_size_and_value_occurs(simulate: Simulator) -> None:
    """The groups are 20,000; `Population` itself has checked that nothing lies outside the domain."""
    for size in (1, 2, 5):
        population = simulate(20_000, size, 3)
        assert population.n_groups == 20_000
        assert set(population.sizes) == set(population.domain.sizes)
        for attribute, codes in columns(population).items():
            if size == 1 and attribute.name == "age" and len(population.domain.roles) == 1:
                continue  # nobody below 18 lives alone
            assert set(codes) == {*range(len(attribute))}, attribute.name


def test_members_of_a_household_resemble_each_other() -> None:
    population = related_households(20_000, seed=5)
    age, education, sex = (column(population, name) for name in ("age", "education", "sex"))
    spouse = np.flatnonzero(population.role_of == 1)
    head = spouse - 1
    assert np.array_equal(population.group_of[head], population.group_of[spouse])
    assert (education[head] == education[spouse]).mean() > 0.65
    by_chance = sum((education[head] == e).mean() * (education[spouse] == e).mean() for e in range(4))
    assert by_chance < 0.4
    assert correlation(age[head], age[spouse]) > 0.7
    assert (sex[head] != sex[spouse]).mean() > 0.9
    child = np.flatnonzero(population.role_of == 2)
    parent = population.first[population.group_of[child]]
    assert (age[child] <= age[parent]).all()
    assert correlation(age[child], age[parent]) > 0.4


def test_referrals_have_a_long_tail_and_siblings() -> None:
    population = referrals(4_000, seed=7)
    share = [float((population.sizes >= size).mean()) for size in (1, 3, 6, 12)]
    assert all(a > b for a, b in pairwise(share))
    assert share[2] < 0.12
    assert share[3] > 0
    assert neighbours_in_group(population, "age") > 0.3
    assert neighbours_in_group(population, "race") > 0.7
    assert correlation(column(population, "earlier"), population.sizes) > 0.2


@pytest.mark.slow
@needs(PERSONS.file)
def test_travel_survey() -> None:
    population = nhts2001()
    assert (population.n_groups, population.n_persons) == (60_521, 144_884)
    assert population.sizes.max() == population.domain.max_size == 14
    sizes = np.bincount(population.sizes)
    assert sizes[1:6].tolist() == [15_812, 23_474, 9_040, 7_834, 3_100]
    age = population.domain.individual[0]
    assert (column(population, "age") == age.values.index("65+")).sum() == 23_289  # as in the file's own AgeGroup
    assert (column(population, "sex") == 2).sum() == 20
    income = population.domain.group[3]
    assert (column(population, "income") == income.values.index("missing")).sum() == 5_369
    assert Workload.k_way(population.domain, 3).n_queries >= 100_000
    reduced = nhts2001(reduced=True)
    assert reduced.domain.max_size == 3
    assert (reduced.n_groups, reduced.n_persons) == (15_812 + 23_474 + 9_040, 15_812 + 2 * 23_474 + 3 * 9_040)
    of_homes, of_persons = (prod(map(len, a)) for a in (reduced.domain.group, reduced.domain.individual))
    assert of_homes * sum(comb(of_persons + m - 1, m) for m in (1, 2, 3)) == 36_552, "types that can be listed"


def small_survey(folder: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Write the survey as converted from two households, its persons in another order than the households."""
    survey_files(folder)
    made = (convert([folder / "Ascii.zip"], folder) for convert in (survey.households, survey.persons))
    homes, people = map(pd.read_parquet, made)
    people = people.iloc[[2, 0, 1]]
    people.to_parquet(folder / PERSONS.file)
    return homes, people


def words(population: Population) -> tuple[list[list[object]], list[list[object]]]:
    domain = population.domain
    return (
        [[a.values[c] for a, c in zip(domain.group, row, strict=True)] for row in population.groups],
        [[a.values[c] for a, c in zip(domain.individual, row, strict=True)] for row in population.persons],
    )


def test_a_survey_of_two_households(tmp_path: Path) -> None:
    small_survey(tmp_path)
    homes, people = words(nhts2001(tmp_path))
    assert homes == [
        ["South Atlantic", 5, 2, "100KPlus", "Attached", 2, "4+"],
        ["Middle Atlantic", 6, 4, "missing", "Other", "missing", "0"],
    ]
    assert people == [
        ["20-29", "female", "yes", "no", "no", "8+"],
        ["missing", "male", "no", "yes", "yes", "0"],
        ["65+", "missing", "missing", "missing", "missing", "missing"],
    ]
    homes, people = words(nhts2001(tmp_path, reduced=True))
    assert homes == [["urban", "2+"], ["rural", "0-1"]]
    assert people == [["18-64", "female", "yes"], ["missing", "male", "no"], ["65+", "missing", "missing"]]


def test_another_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="does not exist"):
        nhts2001(tmp_path)
    homes, people = small_survey(tmp_path)
    for table, file, message in (
        (homes.drop(columns="Urban"), HOUSEHOLDS, "no column 'Urban'"),
        (homes.assign(Hometype="castle"), HOUSEHOLDS, "has values outside its domain"),
        (people.assign(R_sex=3), PERSONS, "column '?sex'? has values outside its domain"),
        (homes.assign(n_person_records=1), HOUSEHOLDS, f"column '?{COUNT}'? says"),
    ):
        small_survey(tmp_path)
        table.to_parquet(tmp_path / file.file)
        with pytest.raises(DataError, match=message):
            nhts2001(tmp_path)
