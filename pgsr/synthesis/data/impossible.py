"""Combinations of values that no person has, as public facts of a domain: structural zeros."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np

from pgsr.synthesis.data.domain import Attribute, Domain, SynthesisError, Value

ROLE = "role"
"""The name by which a combination states the role of the person."""

MOST_CELLS = 10_000
"""Largest number of combinations of the attributes that chains of impossible combinations tie together."""


@dataclass(frozen=True)
class Impossible:
    """A combination that no person has: the person's attributes each have one of the values listed.

    Args:
        values: by the name of an attribute of persons, or "role", the values that do not occur together.

    Raises:
        SynthesisError: no attribute, or one without values.

    Example:
        >>> child_at_the_wheel = Impossible({"age": (0, 5), "driver": ("yes",)})
        >>> domain = Domain.plain([], [Attribute("age", (0, 5, 18)), Attribute("driver", ("yes", "no"))], max_size=2)
        >>> [block] = blocks_of(domain, [child_at_the_wheel])
        >>> block.attributes, block.allowed[:, 0]
        ((0, 1), array([False,  True, False,  True,  True,  True]))
    """

    values: Mapping[str, Sequence[Value]]

    def __post_init__(self) -> None:
        if not isinstance(self.values, Mapping) or not self.values:
            raise SynthesisError(f"an impossible combination is {self.values!r}; give values by the name of attributes")
        for name, values in self.values.items():
            if isinstance(values, str) or not isinstance(values, Sequence) or not len(values):
                raise SynthesisError(f"{name} of an impossible combination has values {values!r}; list at least one")
        object.__setattr__(self, "values", {name: tuple(values) for name, values in self.values.items()})

    def __hash__(self) -> int:
        return hash(tuple(self.values.items()))

    def masks(self, domain: Domain) -> tuple[dict[int, np.ndarray], np.ndarray]:
        """Find the values that do not occur together: a mask per individual attribute, and one of the slots concerned.

        Raises:
            SynthesisError: an attribute, a value or a role that the domain does not have.
        """
        slots, of_attribute = np.ones(domain.max_size, bool), {}
        numbers = {attribute.name: number for number, attribute in enumerate(domain.individual)}
        roles = Attribute(ROLE, tuple(role.name for role in domain.roles))
        for name, values in self.values.items():
            if name in numbers:
                attribute = domain.individual[numbers[name]]
                mask = np.zeros(len(attribute), bool)
                mask[[attribute.code(value) for value in values]] = True
                of_attribute[numbers[name]] = mask
            elif name == ROLE:
                slots[:] = False
                for value in values:
                    slots[domain.slots(roles.code(value))] = True
            else:
                raise SynthesisError(
                    f"an impossible combination names {name}, which is no attribute of persons; the domain has "
                    f"{', '.join(numbers)}"
                )
        if not of_attribute:
            raise SynthesisError("an impossible combination names a role alone; change the domain's roles instead")
        return of_attribute, slots


def implied(domain: Domain, when: Mapping[str, Sequence[Value]], then: Mapping[str, Sequence[Value]]) -> Impossible:
    """State that persons with the values of `when` have one of the values of `then`, as an impossible combination.

    Args:
        then: one attribute of persons, with all the values that are left to such persons.

    Raises:
        SynthesisError: `then` has more than one attribute or all its values, or the domain has no such attribute.

    Example:
        >>> domain = Domain.plain([], [Attribute("age", (0, 5, 18)), Attribute("driver", ("yes", "no"))], max_size=2)
        >>> implied(domain, {"age": [0, 5]}, {"driver": ["no"]}).values
        {'age': (0, 5), 'driver': ('yes',)}
    """
    named = {attribute.name: attribute for attribute in domain.individual}
    if len(then) != 1 or (name := next(iter(then))) not in named or name in when:
        raise SynthesisError("what is implied is one attribute of persons, and none of those it is implied by")
    allowed = {named[name].code(value) for value in then[name]}
    rest = [value for code, value in enumerate(named[name].values) if code not in allowed]
    if not rest:
        raise SynthesisError(f"all values of {name} are left, so nothing is implied; leave the implication out")
    return Impossible({**when, name: rest})


@dataclass(frozen=True, eq=False)
class AttributeBlock:
    """Individual attributes that impossible combinations tie together; most often a single one.

    Attributes:
        attributes: their numbers, increasing.
        shape: their numbers of values.
        allowed: shape (cells, M), whether a member in this slot can have these values; cells in C order.
    """

    attributes: tuple[int, ...]
    shape: tuple[int, ...]
    allowed: np.ndarray


def blocks_of(domain: Domain, impossible: Sequence[Impossible]) -> list[AttributeBlock]:
    """Divide the individual attributes into blocks, so that every impossible combination concerns one block.

    Raises:
        SynthesisError: a block is too large, nothing is left that a member could be, or a name is unknown.
    """
    masks = [zero.masks(domain) for zero in impossible]
    block_of = list(range(len(domain.individual)))
    for of_attribute, _ in masks:
        together = {block_of[number] for number in of_attribute}
        block_of = [min(together) if block in together else block for block in block_of]
    found = []
    for block in sorted(set(block_of)):
        attributes = tuple(number for number, own in enumerate(block_of) if own == block)
        shape = tuple(len(domain.individual[number]) for number in attributes)
        if prod(shape) > MOST_CELLS:
            names = ", ".join(domain.individual[number].name for number in attributes)
            raise SynthesisError(
                f"impossible combinations tie {names} together, which have {prod(shape):,} combinations, and the most "
                f"is {MOST_CELLS:,}; leave out one of the combinations"
            )
        allowed = np.ones((*shape, domain.max_size), bool)
        for of_attribute, slots in masks:
            if block_of[next(iter(of_attribute))] == block:
                per_attribute = [
                    of_attribute.get(number, np.ones(n, bool)) for number, n in zip(attributes, shape, strict=True)
                ]
                allowed &= ~_product([*per_attribute, slots])
        allowed = allowed.reshape(-1, domain.max_size)
        if not allowed.any(0).all():
            names = ", ".join(domain.individual[number].name for number in attributes)
            raise SynthesisError(f"impossible combinations leave no values of {names} to some member; leave one out")
        found.append(AttributeBlock(attributes, shape, allowed))
    return found


def violations(table: Mapping[str, Sequence[object]], impossible: Sequence[Impossible]) -> int:
    """Count the rows of a table of persons that have an impossible combination.

    Example:
        >>> people = {"age": [0, 18, 5], "driver": ["yes", "yes", "no"]}
        >>> violations(people, [Impossible({"age": (0, 5), "driver": ("yes",)})])
        1
    """
    found = 0
    for zero in impossible:
        hit = None
        for name, values in zero.values.items():
            here = np.array([value in values for value in table[name]], bool)
            hit = here if hit is None else hit & here
        found += 0 if hit is None else int(hit.sum())
    return found


def _product(masks: Sequence[np.ndarray]) -> np.ndarray:
    """Make the mask of all combinations of entries that are true in their own masks."""
    grid = np.zeros([len(mask) for mask in masks], bool)
    for cell in product(*(np.flatnonzero(mask) for mask in masks)):
        grid[cell] = True
    return grid
