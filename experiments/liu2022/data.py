"""The populations of the experiments after Liu and Wu 2022, whose own data is not available."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from pgsr.experiments.data.nhts2001 import nhts2001
from pgsr.experiments.engine.papers import StandsFor
from pgsr.experiments.engine.population_data import PopulationData
from pgsr.experiments.others.simulators import households, referrals, related_households
from pgsr.synthesis.data.domain import Domain, Population


def only(population: Population, group: tuple[str, ...], individual: tuple[str, ...]) -> Population:
    """Keep some of the attributes of the same groups.

    Example:
        >>> few = only(households(10), ("tenure",), ("age", "sex"))
        >>> [attribute.name for attribute in (*few.domain.group, *few.domain.individual)]
        ['tenure', 'age', 'sex']
    """
    domain = population.domain
    of_group = [[a.name for a in domain.group].index(name) for name in group]
    of_person = [[a.name for a in domain.individual].index(name) for name in individual]
    kept = Domain(
        tuple(domain.group[i] for i in of_group), tuple(domain.individual[i] for i in of_person), domain.roles
    )
    groups, persons = population.groups[:, of_group], population.persons[:, of_person]
    return Population(kept, groups, persons, np.asarray(population.group_of), np.asarray(population.role_of))


def up_to(population: Population, max_size: int) -> Population:
    """Drop households larger than `max_size`, over the domain of that size."""
    domain = population.domain
    kept = population.sizes <= max_size
    persons = kept[population.group_of]
    number = np.cumsum(kept) - 1
    return Population(
        Domain.plain(domain.group, domain.individual, max_size),
        population.groups[kept],
        population.persons[persons],
        number[population.group_of[persons]],
        population.role_of[persons],
    )


def few_attributes(simulate: Callable[[int, int], Population], n_groups: int, largest: int) -> Population:
    """Simulate households with area, tenure, age and sex only, so that all kinds of households can be listed."""
    return only(simulate(n_groups, largest), ("area", "tenure"), ("age", "sex"))


_LOST = "its extract, attributes and sizes are not published"
ACS_REDUCED, ACS, ACS_RELATED = (
    StandsFor(name, _LOST) for name in ("ACS (red.) NY-19", "ACS NY-19", "ACS (rel.) NY-19")
)
AFST = StandsFor("AFST", "its data are confidential")
"""The paper's data sets. None can be had, so no claim is tested on the paper's own."""

Load = Callable[[], Population]
TOY: Load = partial(few_attributes, households, 20, 2)


def _simulated(
    name: str, load: Load, max_size: int, groups: int, persons: int, note: str, small: Load, of: StandsFor
) -> PopulationData:
    return PopulationData(
        name=name,
        load=load,
        max_size=max_size,
        groups=groups,
        real=False,
        note=note,
        persons=persons,
        small=small,
        stands_for=of,
    )


SIMULATED_REDUCED = _simulated(
    "households reduced, generated",
    partial(few_attributes, households, 48_000, 3),
    3,
    48_000,
    95_193,
    "simulators.households with area, tenure, age and sex, M = 3: 2,724 kinds of households",
    TOY,
    ACS_REDUCED,
)

SIMULATED = _simulated(
    "households, generated",
    partial(households, 60_000, 6),
    6,
    60_000,
    133_153,
    "simulators.households: 4 attributes of households, 4 of persons, M = 6",
    TOY,
    ACS,
)

NHTS_REDUCED = PopulationData(
    name="NHTS 2001 reduced, real",
    load=partial(nhts2001, reduced=True),
    max_size=3,
    groups=48_326,
    real=True,
    note="nhts2001(reduced=True): households of 1 to 3 members; stands in for ACS (red.) NY-19",
    fallback=SIMULATED_REDUCED,
    stands_for=ACS_REDUCED,
    persons=89_880,
    small=TOY,
)

NHTS = PopulationData(
    name="NHTS 2001, real",
    load=nhts2001,
    max_size=14,
    groups=60_521,
    real=True,
    note="nhts2001(): 7 attributes of households, 6 of persons, M = 14; stands in for ACS NY-19",
    fallback=SIMULATED,
    stands_for=ACS,
    persons=144_884,
    small=TOY,
)

REFERRALS = _simulated(
    "referrals, generated",
    partial(referrals, 4_000),
    12,
    4_000,
    9_144,
    "simulators.referrals: 3 attributes of referrals, 4 of children, M = 12; stands in for AFST, which is confidential",
    TOY,
    AFST,
)

RELATED = _simulated(
    "related households, generated",
    partial(related_households, 60_000),
    6,
    60_000,
    120_690,
    "simulators.related_households: a head, perhaps a spouse, up to 4 children; stands in for ACS (rel.) NY-19",
    partial(few_attributes, related_households, 20, 1),
    ACS_RELATED,
)


SMALL_REDUCED = replace(
    SIMULATED_REDUCED,
    name="few households, reduced",
    load=partial(few_attributes, households, 2_000, 2),
    max_size=2,
    groups=2_000,
    persons=3_340,
    note="the same with M = 2, to see that everything works",
)

SMALL_RELATED = replace(
    RELATED,
    name="few related households",
    load=partial(few_attributes, related_households, 1_000, 1),
    max_size=3,
    groups=1_000,
    persons=1_820,
    note="the same with at most one child, to see that everything works",
)

FEW_HOUSEHOLDS = replace(
    SIMULATED,
    stands_for=None,
    name="households up to 8, generated",
    load=partial(households, 4_000, 8),
    max_size=8,
    groups=4_000,
    persons=8_915,
    note="simulators.households, M = 8: cut to smaller sizes and fewer attributes",
    small=partial(few_attributes, households, 40, 2),
)
