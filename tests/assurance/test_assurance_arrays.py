"""No array of a public result can be changed behind the result's back: it is read-only, or a copy."""

import pickle
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import pytest

import pgsr
from pgsr import CountOfCounts, Hierarchy, Problem, Status, View
from pgsr.noise import Geometric
from pgsr.privacy import Seeded

TREE = Hierarchy.from_paths([("US", "GA"), ("US", "MI")])
TRUTH = CountOfCounts(TREE, [[0, 3, 1, 0, 1], [1, 6, 0, 2, 0]])
TABLE = {"n": ["US"] * 3, "s": [None, "GA", "MI"], "v": [10, 4, 4]}


def results() -> dict[str, Any]:
    noisy, steps = (Geometric(view, 1).measure(TRUTH, Seeded("d")) for view in (View.COUNTS, View.CUMULATIVE))
    problem = Problem.m_h(noisy)
    relaxed, posterior = pgsr.solve(problem.relaxed()), pgsr.estimate(steps, "posterior")
    made = {"truth": TRUTH, "measurement": noisy, "cumulative": steps, "problem": problem, "relaxed": relaxed}
    made |= {"result": pgsr.solve(problem), "matching": pgsr.estimate(steps, "matching"), "posterior": posterior}
    made |= {"intervals": posterior.intervals("count"), "duals": relaxed.duals}
    made["reconciled"] = pgsr.reconcile(TABLE, ["n", "s"], "v", noise="geometric", scale=2.0, draws=5)
    return made


def arrays(one: Any, seen: set[int], way: str) -> Iterator[tuple[str, Any, str, np.ndarray]]:
    """Yield every array that a user can reach by names: its way, its owner, its name there, and itself."""
    if id(one) in seen or not type(one).__module__.startswith("pgsr") or way.count(".") > 4:
        return
    seen.add(id(one))
    names = {name for name in dir(type(one)) if isinstance(getattr(type(one), name), property)}
    names |= {name for name, value in vars(type(one)).items() if hasattr(value, "func")}
    names |= {field.name for field in fields(one)} if is_dataclass(one) else set()
    for name in sorted(name for name in names if not name.startswith("_")):
        try:
            value = getattr(one, name)
        except (pgsr.PgsrError, ValueError, AttributeError):
            continue
        for part in value if isinstance(value, tuple) else (value,):
            if isinstance(part, np.ndarray):
                yield f"{way}.{name}", one, name, part
            else:
                yield from arrays(part, seen, f"{way}.{name}")


INSIDE = ("layout", "paths", "posterior.sizes")
"""Places of work that is still going on, no results."""


def test_every_array_is_read_only_or_a_copy() -> None:
    found = 0
    made = results()
    for name, one in {**made, "pickled": pickle.loads(pickle.dumps(made["result"]))}.items():
        for way, owner, last, array in arrays(one, set(), name):
            if any(f".{place}." in way for place in INSIDE) or not array.size:
                continue
            found += 1
            again = getattr(owner, last)
            again = again if isinstance(again, np.ndarray) else None
            copied = again is not None and not np.shares_memory(array, again)
            assert not array.flags.writeable or copied, way
    assert found > 100


def test_what_was_proved_stays_what_it_was() -> None:
    noisy = pgsr.measure(TRUTH, "counts", epsilon=1, seed="d")
    problem, matrix = Problem.m_h(noisy), noisy.matrix
    before = pgsr.solve(problem)
    for array in (matrix, before.estimate.values):
        with pytest.raises(ValueError, match="read-only"):
            array[array < 0] = 0
    given = np.array([[1, 9], [0, 5], [-1, 4]])
    stated = Problem.of(given, TREE, groups=10)
    given[:] = 0
    assert stated.target.tolist() == [[1, 9], [0, 5], [-1, 4]]
    assert before.status is Status.OPTIMAL
