"""Values of the wrong kind where a stranger puts them: a sentence, never a wrong answer."""

from typing import Any

import numpy as np
import pytest

from pgsr import errors
from pgsr.synthesis import Attribute, Domain, Level, Marginal, Population, Workload
from pgsr.synthesis.data.domain import Role, SynthesisError
from pgsr.synthesis.data.linked_tables import LinkedTableError
from pgsr.synthesis.queries.answers import answers
from pgsr.synthesis.queries.sensitivity import sensitivity
from pgsr.synthesis.queries.workload import Relative

SEX = Attribute("sex", ("f", "m"))
DOMAIN = Domain.plain([Attribute("area", ("u", "r"))], [SEX], max_size=2)


@pytest.mark.parametrize("values", ["male", 5, (), (0.5, 1.5), (["f"], "m"), ("f", "f"), None])
def test_values_of_an_attribute(values: Any) -> None:
    with pytest.raises(SynthesisError, match="attribute sex"):
        Attribute("sex", values)


def test_names_and_numbers_of_a_domain() -> None:
    for name in (3, "", "COUNT"):
        with pytest.raises(SynthesisError, match="cannot be called"):
            Attribute(name, ("a",))  # pyright: ignore[reportArgumentType]
    for most in ("3", 2.5, True):
        with pytest.raises(SynthesisError, match="most of role person"):
            Domain.plain([], [SEX], most)  # pyright: ignore[reportArgumentType]
    with pytest.raises(SynthesisError, match="least of role guest"):
        Role("guest", 0.5, 1)  # pyright: ignore[reportArgumentType]
    with pytest.raises(SynthesisError, match="made of attributes"):
        Domain.plain([], ["sex"], 2)  # pyright: ignore[reportArgumentType]


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


def test_unknown_choices_name_the_known_ones() -> None:
    with pytest.raises(SynthesisError, match=r"'house'; give one of Level.GROUP, Level.INDIVIDUAL"):
        Workload.k_way(DOMAIN, 2, ["house"])  # pyright: ignore[reportArgumentType]
    with pytest.raises(SynthesisError, match=r"'near'; give one of Neighbours.REPLACE"):
        sensitivity(Workload.k_way(DOMAIN, 1), 2, 3, "near")  # pyright: ignore[reportArgumentType]
    with pytest.raises(SynthesisError, match="k is '2'"):
        Workload.k_way(DOMAIN, "2")  # pyright: ignore[reportArgumentType]
    one_level = Workload.k_way(DOMAIN, 2, "group")  # pyright: ignore[reportArgumentType]
    assert {marginal.level for marginal in one_level.marginals} == {Level.GROUP}


def test_codes_of_another_shape() -> None:
    good = {"groups": [[0]], "persons": [[0], [1]], "group_of": [0, 0], "role_of": [0, 0]}
    assert Population(DOMAIN, **good).n_persons == 2  # pyright: ignore[reportArgumentType]
    for wrong in ({"groups": [0]}, {"persons": [0, 1]}, {"groups": 0}, {"persons": [[0], [1, 1]]}):
        with pytest.raises(SynthesisError, match="one column per attribute"):
            Population(DOMAIN, **{**good, **wrong})
    with pytest.raises(SynthesisError, match="one entry per person"):
        Population(DOMAIN, **{**good, "role_of": [[0], [0]]})  # pyright: ignore[reportArgumentType]


def test_where_queries_start_is_found_once_and_not_written_to() -> None:
    workload = Workload.k_way(DOMAIN, 2)
    assert workload.starts is workload.starts
    with pytest.raises(ValueError, match="read-only"):
        workload.starts[0] = 1


def test_a_fault_of_a_table_is_caught_by_either_name() -> None:
    assert issubclass(LinkedTableError, errors.TableError)
    assert issubclass(LinkedTableError, SynthesisError)
