"""Values of the wrong kind where a stranger puts them: a sentence, never a wrong answer."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from pgsr import errors
from pgsr.privacy import Seeded
from pgsr.synthesis import (
    MWEM,
    AdaptiveBudget,
    Attribute,
    Domain,
    HPDFixed,
    HPDGen,
    Level,
    Marginal,
    Population,
    Workload,
)
from pgsr.synthesis.data.domain import Neighbours, Role, SynthesisError
from pgsr.synthesis.data.linked_tables import Binning, LinkedTableError
from pgsr.synthesis.queries.answers import answers, counts
from pgsr.synthesis.queries.mixture import Mixture
from pgsr.synthesis.queries.noise import sensitivity
from pgsr.synthesis.queries.transcript import MeasuredQuery, Privacy, Transcript
from pgsr.synthesis.queries.universe import TypeDistribution, Universe
from pgsr.synthesis.queries.workload import Relative

SEX = Attribute("sex", ("f", "m"))
DOMAIN = Domain.plain([Attribute("area", ("u", "r"))], [SEX], max_size=2)
UNIVERSE = Universe.of(DOMAIN)
MIXTURE = Mixture(DOMAIN, (np.full((1, 2), 0.5),), (np.full((1, 2, 2), 0.5),), (np.array([[0, 0.5, 0.5]]),))
PAID = Privacy.of(AdaptiveBudget(1, "1e-6", rounds=7), Neighbours.REPLACE, Seeded("kept"))
BINS = Binning("age", (0, 5))
ONE = Population(DOMAIN, np.array([[0]]), np.array([[0]]), np.zeros(1, int), np.zeros(1, int))
QUERIES = Workload(DOMAIN, (Marginal(Level.INDIVIDUAL, (), (0,)),))
ELSEWHERE = Workload(Domain.plain([], [Attribute("age", ("young", "old"))], 2), QUERIES.marginals)


def coded(**other: Any) -> Population:
    good = {"groups": [[0]], "persons": [[0], [1]], "group_of": [0, 0], "role_of": [0, 0]}
    return Population(DOMAIN, **{**good, **other})


def mixture(**other: Any) -> Mixture:
    return replace(MIXTURE, **other)


def of_groups(*attributes: Any) -> Workload:
    return Workload(DOMAIN, (Marginal(Level.GROUP, *attributes),))


REFUSED: list[tuple[Callable[[Any], Any], list[Any], str]] = [
    # Domains, populations and bins
    (lambda v: Attribute("sex", v), ["male", 5, (), (0.5, 1.5), (["f"], "m"), ("f", "f"), None], "attribute sex"),
    (lambda v: Attribute(v, ("a",)), [3, "", "COUNT"], "cannot be called"),
    (lambda v: Domain.plain([], [SEX], v), ["3", 2.5, True], "most of role person"),
    (lambda v: Role("guest", v, 1), [0.5], "least of role guest"),
    (lambda v: Domain.plain([], [v], 2), ["sex"], "made of attributes"),
    (lambda v: coded(groups=v), [0, [0]], "one column per attribute"),
    (lambda v: coded(persons=v), [[0, 1], [[0], [1, 1]]], "one column per attribute"),
    (lambda v: coded(role_of=v), [[[0], [0]]], "one entry per person"),
    (lambda v: coded(persons=np.array(v)), [[[0.5], [1]]], "whole numbers"),
    (lambda v: Binning("age", v), [(), (5, 5)], "increasing bounds"),
    (BINS.codes, [[1, None]], "missing in some rows"),
    (BINS.codes, [[1, -1]], "below its bins in some rows"),
    (BINS.codes, [["old"]], "no number"),
    # Queries
    (lambda v: Workload.k_way(DOMAIN, 2, [v]), ["house"], "level='house' is unknown; use 'group', 'individual'"),
    (lambda v: Workload.k_way(DOMAIN, 1, [v]), [Level.RELATION], "need roles"),
    (lambda v: Workload.k_way(DOMAIN, v), ["2"], "k='2'"),
    (lambda v: of_groups(*v), [((2,), (0,)), ((0,), (1,)), ((-1,), ()), ((), (-1,))], "does not have"),
    (lambda v: of_groups((), v), [(0, 0)], "once"),
    (Marginal, [Level.RELATION], "names its relation"),
    (lambda v: sensitivity(QUERIES, 2, 3, v), ["near"], "neighbours='near' is unknown; use 'replace'"),
    (lambda v: sensitivity(QUERIES, v, 5), [0, -1, 1.5, True], "n_groups="),
    (lambda v: counts(ONE, v), [ELSEWHERE], "different domains"),
    (lambda v: counts(ONE, QUERIES, np.array(v)), [[1, 2], [-1], [np.inf], [[1]]], "one per group"),
    (lambda v: answers(ONE, QUERIES, v), [np.zeros(1)], "at least one group"),
    # Methods and what they make
    (lambda v: HPDFixed(components=v), [0, 2.5], "components"),
    (lambda v: HPDFixed(steps=v), [0, "3"], "steps"),
    (lambda v: HPDFixed(batch=v), [0], "batch"),
    (lambda v: HPDGen(learning_rate=v), [0.0, "x"], "learning_rate"),
    (lambda v: HPDGen(threshold=v), [1.0], "threshold"),
    (lambda v: HPDGen(hidden=v), [(8, 0), 5], "hidden"),
    (lambda v: MWEM(iterations=v), [0], "whole number from 1 up"),
    (lambda v: MWEM(update=v), ["sideways"], "sideways"),
    (lambda v: TypeDistribution(UNIVERSE.types, v), [UNIVERSE.prior * 2, UNIVERSE.prior[:-1]], "sum to 1"),
    (lambda v: TypeDistribution(UNIVERSE.types, UNIVERSE.prior).sample(v, seed=0), [0], "whole number from 1 up"),
    (lambda v: Transcript(QUERIES, 3, 4, (MeasuredQuery(*v),), PAID), [(9, 0.5), (0, math.nan), (0, -0.1)], "no share"),
    (lambda v: mixture(group=v), [(np.full((1, 3), 1 / 3),)], "table of area has shape"),
    (lambda v: mixture(group=v), [(np.array([[0.5, 0.6]]),), (np.array([[np.nan, 1]]),)], "no probabilities"),
    (lambda v: mixture(group=v), [()], "group holds 0 tables"),
    (lambda v: mixture(sizes=v), [(np.array([[0.5, 0.5, 0]]),)], "at least 1 members"),
    (MIXTURE.answers, [ELSEWHERE], "different domains"),
    (lambda v: MIXTURE.sample(*v), [(0, 0), (2.5, 0), ("2", 0), (2, -1), (True, 0)], r"whole number from \d up"),
]


@pytest.mark.parametrize(("make", "values", "message"), REFUSED)
def test_values_of_the_wrong_kind_are_refused(make: Callable[[Any], Any], values: list[Any], message: str) -> None:
    for value in values:
        with pytest.raises((SynthesisError, ValueError), match=message):
            make(value)


def test_a_level_in_words_is_the_level() -> None:
    """Comparing texts by identity once counted persons in place of groups."""
    population = Population(DOMAIN, [[0], [1]], [[0], [1], [1]], [0, 0, 1], [0, 0, 0])  # pyright: ignore[reportArgumentType]
    in_words = Workload(DOMAIN, [Marginal("group", [0], [0])])  # pyright: ignore[reportArgumentType]
    proper = Workload(DOMAIN, (Marginal(Level.GROUP, (0,), (0,)),))
    assert in_words.marginals == proper.marginals
    np.testing.assert_array_equal(answers(population, in_words), [0.5, 0.5, 0, 0.5])
    assert sensitivity(in_words, 2, 3) == sensitivity(proper, 2, 3) == pytest.approx(1 / 2)
    related = Marginal("relation", (), (0,), "child", (0,))  # pyright: ignore[reportArgumentType]
    assert related == Marginal(Level.RELATION, (), (0,), Relative.CHILD, (0,))


def test_where_queries_start_is_found_once_and_not_written_to() -> None:
    workload = Workload.k_way(DOMAIN, 2)
    assert workload.starts is workload.starts
    with pytest.raises(ValueError, match="read-only"):
        workload.starts[0] = 1


def test_a_fault_of_a_table_is_caught_by_either_name() -> None:
    assert issubclass(LinkedTableError, errors.TableError)
    assert issubclass(LinkedTableError, SynthesisError)
