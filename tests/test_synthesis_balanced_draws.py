"""Balanced draws against a slow twin with dictionaries, and their chances."""

from collections import defaultdict
from itertools import combinations

import numpy as np
import pytest
from test_synthesis_filled_households import CASES, random_model

from pgsr.synthesis import FilledHouseholds, Population
from pgsr.synthesis.data.domain import Neighbours
from pgsr.synthesis.marginals import balanced_draws
from pgsr.synthesis.marginals import balanced_draws as draws
from pgsr.synthesis.marginals.balanced_kernel import draw_values


def inverted(chance: list[float], u: float) -> int:
    left, last = u * sum(chance), -1
    for value, p in enumerate(chance):
        if p > 0:
            last, left = value, left - p
            if left < 0:
                break
    return last


def best_of(candidates: list[int], score: dict[int, float]) -> int:
    return min(dict.fromkeys(candidates), key=lambda value: score[value])


@pytest.mark.parametrize("n_contexts", [1, 2, 3])
def test_values_equal_dictionaries(n_contexts: int) -> None:
    rng = np.random.default_rng(n_contexts)
    lengths = np.array([2, 3, 2])[:n_contexts]
    contexts = np.column_stack([rng.integers(0, n, 60) for n in lengths])
    chances = rng.dirichlet(np.ones(4), 3)
    chances[0, 1] = 0
    row_of, order, uniforms = rng.integers(0, 3, 60), rng.permutation(60), rng.random((60, 3))
    pairs = list(combinations(range(n_contexts), 2)) or [(0, 0)]
    found = np.zeros(60, np.int64)
    draw_values(contexts, lengths, np.array(pairs), chances, row_of, order, uniforms, found)
    behind: dict = defaultdict(float)
    for turn, entry in enumerate(order):
        chance = chances[row_of[entry]].tolist()
        cells = [(a, b, contexts[entry, a], contexts[entry, b]) for a, b in pairs]
        score = {value: sum((behind[c, value] for c in cells), 0.0) for value in range(4)}
        value = best_of([inverted(chance, u) for u in uniforms[turn]], score)
        for c in cells:
            for other in range(4):
                behind[c, other] -= chance[other]
            behind[c, value] += 1
        assert found[entry] == value
    assert not (found[row_of == 0] == 1).any()


@pytest.mark.parametrize("case", range(len(CASES)))
def test_members_equal_dictionaries(case: int, monkeypatch: pytest.MonkeyPatch) -> None:
    domain, impossible = CASES[case]
    model = random_model(domain, impossible, Neighbours.REPLACE)
    told: dict = {}
    members, generator = draws._members, np.random.default_rng

    def noted(model, kinds, component, numbers, order, rng) -> Population:
        told.update(kinds=kinds, component=component, numbers=numbers, order=order)
        told["rng"] = generator(7)
        return members(model, kinds, component, numbers, order, generator(7))

    monkeypatch.setattr(draws, "_members", noted)
    monkeypatch.setattr(balanced_draws, "SWEEPS", 0)
    monkeypatch.setattr(draws, "GROUPS_AT_ONCE", 5)  # in several parts, over which differences are kept
    found = model.sample(12, seed=1)
    assert found.persons.tolist() == one_by_one(model, **told)


def one_by_one(model: FilledHouseholds, kinds, component, numbers, order, rng) -> list[list[int]]:
    """Draw the members with dictionaries of named cells; slow and obvious."""
    domain = model.domain
    drawn_in = [i for block in model.filling.blocks for i in block.attributes]
    block_of = {i: b for b, block in enumerate(model.filling.blocks) for i in block.attributes}
    people: dict[int, list[dict[int, int]]] = {}
    of_persons, of_groups = defaultdict(float), defaultdict(float)
    for start in range(0, len(order), draws.GROUPS_AT_ONCE):
        part = order[start : start + draws.GROUPS_AT_ONCE]
        uniforms = iter(rng.random((int(numbers[part].sum()), len(drawn_in), draws.CANDIDATES)))
        for g in part:
            slots = [slot for role, n in enumerate(numbers[g]) for slot in list(domain.slots(role))[:n]]
            people[g] = []
            for slot in slots:
                me: dict[int, int] = {}
                given = [*(("group", i, c) for i, c in enumerate(kinds[g][: len(domain.group)])), ("size", len(slots))]
                given += [("component", component[g]), ("slot", slot)]
                for i, us in zip(drawn_in, next(uniforms), strict=True):
                    b = block_of[i]
                    before = tuple(j for j in model.filling.blocks[b].attributes if j in me)
                    joint = model.filling.of_members(model.slot_tables, (*before, i))[:, slot, component[g]]
                    joint = joint.reshape(*(len(domain.individual[j]) for j in before), -1)
                    weights = joint[tuple(me[j] for j in before)]
                    chance = (weights / weights.sum()).tolist()
                    contexts = [*given, *(("own", j, me[j]) for j in me)]
                    cells = list(combinations(contexts, 2))

                    def fresh(cell, value, i=i, g=g) -> bool:
                        if any(part[0] == "slot" for part in cell):
                            return True
                        wanted = {part[1]: part[2] for part in cell if part[0] == "own"} | {i: value}
                        return not any(all(e[j] == v for j, v in wanted.items()) for e in people[g])

                    score = {}
                    for value in range(len(chance)):
                        total = 0.0
                        for cell in cells:
                            total += of_persons[cell, i, value]
                            if fresh(cell, value):
                                total += of_groups[cell, i, value]
                        score[value] = round(total, 9)
                    best = best_of([inverted(chance, u) for u in us], score)
                    for cell in cells:
                        for value, p in enumerate(chance):
                            of_persons[cell, i, value] -= p
                            of_groups[cell, i, value] -= p * fresh(cell, value)
                        of_persons[cell, i, best] += 1
                        of_groups[cell, i, best] += fresh(cell, best)
                    me[i] = best
                people[g].append(me)
    return [[me[i] for i in range(len(domain.individual))] for g in sorted(people) for me in people[g]]
