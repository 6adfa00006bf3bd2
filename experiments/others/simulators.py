"""The generators of seeded populations that look like the data of Liu & Wu 2022, which may not be distributed.

The numbers below are chosen for plausible shapes, not estimated from any data. What they promise is structure: sizes
that go with attributes of the household, members who resemble each other, and the same population for the same seed.
"""

from dataclasses import dataclass

import numpy as np

from pgsr.synthesis.data.domain import Attribute, Domain, Population, require_whole
from pgsr.synthesis.data.linked_tables import Binning

AGE = Binning("age", (0, 5, 15, 25, 45, 65))
AREA = Attribute("area", ("urban", "suburban", "rural"))
TENURE = Attribute("tenure", ("owned", "rented"))
VEHICLES = Attribute("vehicles", ("0", "1", "2", "3+"))
INCOME = Attribute("income", ("lowest", "low", "high", "highest"))
SEX = Attribute("sex", ("female", "male"))
EDUCATION = Attribute("education", ("none", "school", "college", "degree"))
WORK = Attribute("work", ("no", "part time", "full time"))

HEAD, SPOUSE, CHILD, ADULT = range(4)


def households(n_groups: int, max_size: int = 6, seed: int = 0) -> Population:
    """Generate households of 1 to M members without relations: couples, families, singles, and other adults.

    Per household: area, tenure, vehicles and income; per person: age, sex, education and work. Couples resemble each
    other in age and education, children are 18 to 42 years younger than their parents, households with more adults have
    more vehicles and income, larger ones own their home more often and live in towns less often.

    Args:
        n_groups: N_G, from 1 up.
        max_size: M; larger households lose the members that were added last.
        seed: the same seed and arguments give the same population.

    Raises:
        SynthesisError: a number of groups or a size below 1.

    Example:
        >>> population = households(1_000, max_size=5, seed=1)
        >>> population.domain.max_size, population.n_groups
        (5, 1000)
    """
    require_whole(n_groups=n_groups, max_size=max_size)
    rng = np.random.default_rng(seed)
    people = _families(rng, n_groups, max_size, max_children=max_size, other_adults=True)
    domain = Domain.plain([AREA, TENURE, VEHICLES, INCOME], _INDIVIDUAL, max_size)
    return _population(rng, domain, people, np.zeros(len(people.kind), np.int64))


def related_households(n_groups: int, max_children: int = 4, seed: int = 0) -> Population:
    """Generate households of a head, perhaps a spouse, and children: `households` without other adults.

    Args:
        n_groups: N_G, from 1 up.
        max_children: M_C, from 1 up; larger families lose the children that were added last.
        seed: the same seed and arguments give the same population.

    Raises:
        SynthesisError: a number below 1.

    Example:
        >>> [role.name for role in related_households(10).domain.roles]
        ['head', 'spouse', 'child']
    """
    require_whole(n_groups=n_groups, max_children=max_children)
    rng = np.random.default_rng(seed)
    people = _families(rng, n_groups, 2 + max_children, max_children, other_adults=False)
    domain = Domain.household([AREA, TENURE, VEHICLES, INCOME], _INDIVIDUAL, max_children)
    return _population(rng, domain, people, people.kind)


def referrals(n_groups: int, max_size: int = 12, seed: int = 0) -> Population:
    """Generate child-welfare referrals: a few thousand groups of children, most of them small and a few large.

    The data of the Allegheny Family Screening Tool are confidential; this has their form only. Per referral: who
    reports, what is alleged, and earlier referrals; per child: age, sex, race and an earlier placement. Children of one
    referral are of similar age and nearly always of one race; where there were earlier referrals there are more
    children, and more of them have been placed before.

    Args:
        n_groups: N_G, from 1 up.
        max_size: M; sizes are 1 plus a number of long tail, cut at M.
        seed: the same seed and arguments give the same population.

    Raises:
        SynthesisError: a number below 1.

    Extends: the data of Liu & Wu 2022, section 5, by generated ones in the role of those that are confidential.

    Example:
        >>> referrals(100, seed=1).sizes.min()
        np.int64(1)
    """
    require_whole(n_groups=n_groups, max_size=max_size)
    rng = np.random.default_rng(seed)
    domain = Domain.plain(
        [
            Attribute("reporter", ("school", "police", "health", "family", "other")),
            Attribute("allegation", ("neglect", "abuse", "substance use", "behaviour", "other")),
            Attribute("earlier", ("0", "1", "2+")),
        ],
        [
            Attribute("age", ("0-2", "3-6", "7-12", "13-17")),
            SEX,
            Attribute("race", ("black", "white", "other")),
            Attribute("placed", ("never", "before")),
        ],
        max_size,
    )
    earlier = rng.choice(3, n_groups, p=(0.45, 0.25, 0.3))
    # A Poisson number whose mean is itself gamma distributed has the long tail.
    sizes = np.minimum(1 + rng.poisson(rng.gamma(0.9, 0.8 + 0.7 * earlier)), max_size)
    allegation = rng.choice(5, n_groups, p=(0.35, 0.2, 0.2, 0.15, 0.1))
    reporter = np.where(
        rng.random(n_groups) < 0.4, np.array([3, 1, 2, 0, 4])[allegation], rng.choice(5, n_groups)
    )  # who reports depends on what is alleged
    group_of = np.repeat(np.arange(n_groups), sizes)
    age = np.clip(rng.normal(8, 4.5, n_groups)[group_of] + rng.normal(0, 3.5, len(group_of)), 0, 17)
    race = rng.choice(3, n_groups, p=(0.45, 0.45, 0.1))[group_of]
    race = np.where(rng.random(len(group_of)) < 0.05, rng.choice(3, len(group_of)), race)
    placed = rng.random(len(group_of)) < np.array([0.03, 0.12, 0.3])[earlier[group_of]]
    sex = rng.integers(0, 2, len(group_of))
    persons = np.column_stack([np.searchsorted([3, 7, 13], age, side="right"), sex, race, placed]).astype(np.int64)
    return Population(
        domain, np.column_stack([reporter, allegation, earlier]), persons, group_of, np.zeros(len(group_of), np.int64)
    )


_INDIVIDUAL = [AGE.attribute, SEX, EDUCATION, WORK]


@dataclass(frozen=True)
class _People:
    """The persons, one entry each, household by household: head, spouse, children, other adults."""

    home: np.ndarray
    kind: np.ndarray
    age: np.ndarray
    sex: np.ndarray
    education: np.ndarray


def _families(rng: np.random.Generator, n: int, max_size: int, max_children: int, *, other_adults: bool) -> _People:
    head_age = np.clip(np.rint(rng.gamma(7, 7.2, n) + 4), 18, 95)
    couple = rng.random(n) < 0.25 + 0.4 * np.exp(-(((head_age - 48) / 20) ** 2))
    couple &= max_size > 1
    # Most children live where the head is about 40, and more often with a couple.
    fertile = np.exp(-(((head_age - 39) / 12) ** 2))
    n_children = np.minimum(
        rng.poisson((0.5 + 1.6 * couple) * fertile), np.minimum(max_children, max_size - 1 - couple)
    )
    n_adults = rng.poisson(np.where(couple, 0.12, 0.3)) if other_adults else np.zeros(n, np.int64)
    n_adults = np.minimum(n_adults, max_size - 1 - couple - n_children)
    numbers = np.column_stack([np.ones(n, np.int64), couple, n_children, n_adults])
    home = np.repeat(np.arange(n), numbers.sum(axis=1))
    kind = np.repeat(np.tile(np.arange(4), n), numbers.ravel())

    head_sex = rng.integers(0, 2, n)
    head_education = _education(rng, n)
    spouse_age = np.clip(np.rint(head_age + rng.normal(0, 4, n)), 18, 95)
    spouse_sex = np.where(rng.random(n) < 0.02, head_sex, 1 - head_sex)
    spouse_education = np.where(
        rng.random(n) < 0.6, head_education, _education(rng, n)
    )  # couples often have the same education
    parent_age = np.where(couple, np.minimum(head_age, spouse_age), head_age)

    m = len(home)
    is_child, is_adult = kind == CHILD, kind == ADULT
    # Between 18 and 42 years younger than the younger parent; a parent of 18 to 24 may have a child of age 0.
    child_age = np.maximum(0, parent_age[home] - rng.integers(18, 43, m))
    adult_age = np.clip(np.rint(rng.gamma(6, 6.5, m) + 6), 18, 95)
    by_kind = [kind == HEAD, kind == SPOUSE, is_child, is_adult]
    age = np.select(by_kind, [head_age[home], spouse_age[home], child_age, adult_age])
    sex = np.select(by_kind, [head_sex[home], spouse_sex[home], rng.integers(0, 2, m), rng.integers(0, 2, m)])
    learnt = np.where(
        rng.random(m) < 0.4, head_education[home], _education(rng, m)
    )  # the education of grown-up children
    of_child = np.select([age < 15, age < 22], [0, np.minimum(learnt, 1)], learnt)
    education = np.select(by_kind, [head_education[home], spouse_education[home], of_child, _education(rng, m)])
    return _People(home, kind, age, sex, education)


def _population(rng: np.random.Generator, domain: Domain, people: _People, role_of: np.ndarray) -> Population:
    n_groups = int(people.home[-1]) + 1
    home, age = people.home, people.age
    works = np.select([age < 15, age < 25, age < 65], [0.0, 0.5, 0.7 + 0.06 * people.education], 0.12)
    full_time = rng.random(len(home)) < np.where(age < 25, 0.3, 0.8)
    work = np.where(rng.random(len(home)) < works, 1 + full_time, 0)

    sizes = np.bincount(home, minlength=n_groups)
    adults = np.bincount(home, age >= 18, n_groups)
    earnings = np.bincount(home, work * (1 + people.education), n_groups) + rng.normal(0, 1.5, n_groups)
    income = np.searchsorted([2.0, 5.0, 9.0], earnings)
    in_town = rng.random(n_groups) < 0.55 - 0.06 * np.minimum(sizes, 5)
    area = np.where(in_town, 0, np.where(rng.random(n_groups) < 0.65, 1, 2))
    head_age = age[np.flatnonzero(people.kind == HEAD)]
    owns = 1 / (1 + np.exp(-(-2.2 + 0.035 * head_age + 0.25 * np.minimum(sizes, 5) + 0.4 * income - 1.0 * in_town)))
    tenure = (rng.random(n_groups) >= owns).astype(np.int64)
    vehicles = np.minimum(rng.poisson(0.75 * adults * np.where(in_town, 0.5, 1.1) + 0.2 * income), 3)
    return Population(
        domain,
        np.column_stack([area, tenure, vehicles, income]).astype(np.int64),
        np.column_stack([AGE.codes(age), people.sex, people.education, work]).astype(np.int64),
        home,
        role_of.astype(np.int64),
    )


def _education(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.choice(4, n, p=(0.08, 0.37, 0.28, 0.27))
