"""The members of groups whose attributes are given: what a mixture of K components says about them.

A group of kind h belongs to component k with probability proportional to the exponential of the sum of the logits that
its attributes' values have in k. Given k, its numbers of members per role (its way) are drawn, unless its size leaves
no choice, and its members are independent; within a member, attributes are independent but for impossible combinations,
which have probability 0.

The formulas serve arrays of NumPy and of torch alike. Components come last.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import pairwise, product

import numpy as np

from pgsr.synthesis.data.domain import Domain
from pgsr.synthesis.data.impossible import AttributeBlock
from pgsr.synthesis.queries.tables import Array, joined
from pgsr.synthesis.queries.workload import PAIRS, Level, Marginal

Given = tuple[int, ...]
"""Numbers of group attributes, without COUNT."""


@dataclass(frozen=True, eq=False)
class Filling:
    """The ways to fill a group, and the answers of a mixture that fills given groups.

    Attributes:
        domain: public.
        blocks: of individual attributes (`blocks_of`).
        with_sizes: whether the size of a group is given.
    """

    domain: Domain
    blocks: Sequence[AttributeBlock]
    with_sizes: bool

    @cached_property
    def ways(self) -> np.ndarray:
        """The numbers of members per role that a group can have, shape (ways, roles), by increasing size."""
        listed = product(*(range(role.least, role.most + 1) for role in self.domain.roles))
        return np.array(sorted(listed, key=lambda way: (sum(way), way)), np.int64)

    @cached_property
    def size_of(self) -> np.ndarray:
        """The code of the size of every way."""
        return self.ways.sum(1) - self.domain.min_size

    @property
    def forced(self) -> bool:
        """Whether the given size of a group leaves it one way."""
        return self.with_sizes and len(self.ways) == len(self.domain.sizes)

    def slot_tables(self, logits: Array) -> list[Array]:
        """Compute the probabilities of all values of every block, from logits of single values of shape (values, M, K).

        Returns:
            Per block an array of shape (cells, M, K).
        """
        lengths = [len(attribute) for attribute in self.domain.individual]
        first = np.cumsum([0, *lengths]).tolist()
        tables = []
        for block in self.blocks:
            parts = [logits[first[i] : first[i + 1]] for i in block.attributes]
            joint = reduce(lambda a, b: (a[:, None] + b[None]).reshape(-1, *b.shape[1:]), parts)
            tables.append(softmax(joint, block.allowed[..., None]))
        return tables

    def way_table(self, logits: Array) -> Array:
        """Compute the probabilities of ways, shape (ways, K): among those of one size where sizes are given."""
        if not self.with_sizes:
            return softmax(logits, np.ones((len(self.ways), 1), bool))
        parts = [logits[self.size_of == code] for code in range(len(self.domain.sizes))]
        return joined([softmax(part, np.ones((len(part), 1), bool)) for part in parts])

    def of_members(self, tables: Sequence[Array], attributes: tuple[int, ...]) -> Array:
        """Compute P(the member in this slot has these values), shape (cells, M, K), cells in attributes' order."""
        parts, order = [], []
        for block, table in zip(self.blocks, tables, strict=True):
            asked = [i for i in block.attributes if i in attributes]
            if asked:
                rest = tuple(axis for axis, i in enumerate(block.attributes) if i not in asked)
                whole = table.reshape(*block.shape, *table.shape[1:])
                marginal = whole.sum(rest) if rest else whole
                parts.append(marginal.reshape(-1, *table.shape[1:]))
                order += asked
        joint = reduce(lambda a, b: (a[:, None] * b[None]).reshape(-1, *b.shape[1:]), parts)
        if tuple(order) == attributes:
            return joint
        split = joint.reshape(*(len(self.domain.individual[i]) for i in order), *joint.shape[1:])
        axes = [order.index(i) for i in attributes]
        turned = _permuted(split, [*axes, len(order), len(order) + 1])
        return turned.reshape(-1, *joint.shape[1:])

    def curves(self, tables: Sequence[Array], level: Level, sets: Sequence[tuple[int, ...]]) -> list[Array]:
        """Compute what a group counts at group or individual level, by its way: shape (cells, ways, K) per set.

        That is P(some member has these values), or the expected number of members who have them.
        """
        own = [self.of_members(tables, attributes) for attributes in sets]
        stacked = joined(own)
        if level is Level.GROUP:
            curve = 1 - reduce(lambda a, b: a * b, self._by_way(1 - stacked, "cumprod"))
        else:
            curve = reduce(lambda a, b: a + b, self._by_way(stacked, "cumsum"))
        ends = np.cumsum([0, *(len(p) for p in own)]).tolist()
        return [curve[start:stop] for start, stop in pairwise(ends)]

    def related(self, tables: Sequence[Array], marginal: Marginal) -> Array:
        """Compute the expected number of members who have such a relative, by way: shape (own x relative, ways, K)."""
        assert marginal.relation is not None
        names = [role.name for role in self.domain.roles]
        theirs = self.of_members(tables, marginal.relative)
        own = self.of_members(tables, marginal.individual) if marginal.individual else theirs[:1] * 0 + 1
        mine, nobody = self._by_way(own, "cumsum"), self._by_way(1 - theirs, "cumprod")
        total = None
        for role, name in enumerate(names):
            others = [names.index(b) for a, b in PAIRS[marginal.relation] if a == name]
            if others:
                alone = reduce(lambda a, b: a * b, [nobody[other] for other in others])
                here = mine[role][:, None] * (1 - alone)[None]
                total = here if total is None else total + here
        assert total is not None
        return total.reshape(-1, *total.shape[2:])

    def answers(
        self,
        marginals: Sequence[Marginal],
        tables: Sequence[Array],
        ways: Array,
        weights: Mapping[Given, Array],
        most: int | None = None,
    ) -> list[Array]:
        """Compute the expected counts of whole marginals, each in the order of its cells.

        Args:
            tables: of `slot_tables`.
            ways: of `way_table`.
            weights: per set of group attributes that is asked for, the expected number of groups by cell, size (one
                entry where sizes are not given) and component, shape (cells, sizes, K).
            most: largest number of sets of individual attributes that are handled together.
        """
        out: list[Array] = [None] * len(marginals)
        full = {given: self._by_ways(table, ways) for given, table in weights.items()}
        asked: dict[tuple, list[int]] = {}
        for number, m in enumerate(marginals):
            asked.setdefault((m.level, m.relation, m.individual, m.relative), []).append(number)
        sets: dict[Level, list[tuple[int, ...]]] = {}
        for level, _, own, _ in asked:
            if own and level is not Level.RELATION:
                sets.setdefault(level, []).append(own)
        for level, listed in sets.items():
            for start in range(0, len(listed), most or len(listed)):
                part = listed[start : start + (most or len(listed))]
                for own, curve in zip(part, self.curves(tables, level, part), strict=True):
                    self._answer(out, marginals, asked.pop((level, None, own, ())), curve, full)
        for (level, relation, _, _), numbers in asked.items():
            if relation is not None:
                curve = self.related(tables, marginals[numbers[0]])
            else:
                members = self.ways.sum(1) if level is Level.INDIVIDUAL else np.ones(len(self.ways))
                like = next(iter(full.values()))[:1] * 0
                curve = like + as_like(members[None, :, None], like)
            self._answer(out, marginals, numbers, curve, full)
        return out

    def _answer(
        self,
        out: list[Array],
        marginals: Sequence[Marginal],
        numbers: Sequence[int],
        curve: Array,
        full: Mapping[Given, Array],
    ) -> None:
        """Answer the marginals of these numbers, which ask the same of members."""
        flat = [n for n in numbers if self.domain.count not in marginals[n].group]
        if flat:
            tables = [full[marginals[n].group] for n in flat]
            stacked = joined(tables)
            found = stacked.reshape(len(stacked), -1) @ curve.reshape(len(curve), -1).T
            start = 0
            for n, table in zip(flat, tables, strict=True):
                out[n] = found[start : start + len(table)].reshape(-1)
                start += len(table)
        for n in numbers:
            group = marginals[n].group
            if self.domain.count in group:
                given = tuple(g for g in group if g != self.domain.count)
                by_way = curve.swapaxes(0, 1) @ _permuted(full[given], [1, 2, 0])  # ways, members' cells, groups' cells
                if len(self.ways) > len(self.domain.sizes):
                    one = np.arange(len(self.domain.sizes))[:, None] == self.size_of
                    by_size = (as_like(one.astype(float), by_way) @ by_way.reshape(len(by_way), -1)).reshape(
                        len(self.domain.sizes), *by_way.shape[1:]
                    )
                else:
                    by_size = by_way
                lengths = [self.domain.group_values(g) for g in given]
                split = by_size.reshape(len(by_size), len(curve), *lengths)
                axis_of = {g: 2 + i for i, g in enumerate(given)} | {self.domain.count: 0}
                out[n] = _permuted(split, [*(axis_of[g] for g in group), 1]).reshape(-1)

    def _by_ways(self, weights: Array, ways: Array) -> Array:
        if self.forced:
            return weights
        spread = weights[:, self.size_of.tolist()] if self.with_sizes else weights
        return spread * ways[None]

    def _by_way(self, p: Array, accumulate: str) -> list[Array]:
        """Accumulate over the slots that each way fills: per role an array (cells, ways, K)."""
        found = []
        for role in range(len(self.domain.roles)):
            slots = self.domain.slots(role)
            here = p[:, slots.start : slots.stop]
            upto = getattr(here, accumulate)(1)
            numbers = self.ways[:, role]
            if len(self.domain.roles) == 1 and self.domain.min_size == 1:
                found.append(upto)  # ways are 1 .. M members
                continue
            none = here[:, :1] * 0 + (1 if accumulate == "cumprod" else 0)
            found.append(joined([none, upto], axis=1)[:, numbers.tolist()])
        return found


def softmax(logits: Array, allowed: np.ndarray) -> Array:
    """Compute probabilities along the first axis, 0 where something is not allowed."""
    if isinstance(logits, np.ndarray):
        masked = np.where(allowed, logits, -np.inf)
        weights = np.exp(masked - masked.max(0))
        return weights / weights.sum(0)
    return (logits if allowed.all() else logits.masked_fill(~as_like(allowed, logits).bool(), float("-inf"))).softmax(0)


def as_like(values: np.ndarray, like: Array) -> Array:
    """Convert an array of NumPy to the kind, type and place of another array."""
    if isinstance(like, np.ndarray):
        return values
    import torch

    return torch.as_tensor(values).to(like.device, like.dtype)


def _permuted(x: Array, axes: Sequence[int]) -> Array:
    return x.transpose(axes) if isinstance(x, np.ndarray) else x.permute(*axes)
