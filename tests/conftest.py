"""Which tests a command runs, in which order, and the seed of random instances: the same at every commit.

| mark   | `make test` | `make test-slow` | `make test-all`          |
|--------|-------------|------------------|--------------------------|
| none   | runs        |                  | runs, with full counts   |
| `slow` |             | runs             | runs, with full counts   |
| `full` |             |                  | runs, with full counts   |

`@pytest.mark.few(3)`: of this test's sets of parameters three run as its other marks say, the first among them and the
others evenly spaced; the rest has the mark `full`.

A test that takes more than 120 seconds is stopped; one that needs more says so, `@pytest.mark.timeout(300)`.
"""

import gc
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from instances import FULL, SEED

if TYPE_CHECKING:
    from xdist.remote import Producer
    from xdist.scheduler import LoadFileScheduling

LONGEST = (
    "tests/experiments/", "tests/house/", "notebooks/", "tests/assurance/", "tests/nation/", "tests/release/",
    "tests/synthesis/", "tests/models/", "tests/estimators/",
)  # fmt: skip
"""Folders of many seconds. Their tests come first, so that no process works alone at the end."""

SHARED = tuple(
    f"tests/experiments/test_experiments_{name}.py" for name in ("report", "publication", "kuo2018", "fioretto2019")
)
"""Files that look at the same cells of experiments, which one process computes once."""


def pytest_report_header() -> str:
    return f"pgsr: {'full counts' if FULL else 'the usual counts'}, random instances of seed {SEED} (PGSR_SEED)"


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: "Producer") -> "LoadFileScheduling | None":
    """Give every process whole files, in the order of the tests."""
    if config.getoption("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class WholeFiles(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return SHARED[0] if nodeid.startswith(SHARED) else super()._split_scope(nodeid)

    config.option.loadscopereorder = False  # by the number of tests, of which a notebook has one
    return WholeFiles(config, log)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Look for no garbage among the million objects of all tests, which stay: it would take a quarter of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(tryfirst=True)  # before marks choose
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: [item.nodeid.startswith(name) for name in LONGEST], reverse=True)
    tests: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if item.get_closest_marker("few"):
            tests[item.nodeid.partition("[")[0]].append(item)
    for members in tests.values():
        kept = members[0].get_closest_marker("few").args[0]  # pyright: ignore[reportOptionalMemberAccess]
        chosen = {k * len(members) // kept for k in range(kept)}
        for place, item in enumerate(members):
            if place not in chosen:
                item.add_marker(pytest.mark.full)


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Builds three small instances of PGSR-LIB, one with its MPS file; a test that changes them takes a copy."""
    from lib_instances import INTEGER, MAGNITUDES, REAL

    from pgsr.experiments.lib.folder import build
    from pgsr.experiments.lib.instances import find

    out = tmp_path_factory.mktemp("lib")
    for name in (INTEGER, REAL, MAGNITUDES):
        build(find(name), out, with_mps=name == INTEGER)
    return out


@pytest.fixture
def counted() -> Callable[[int, str], None]:
    """Check that a test had cases to look at: none at all is a failure."""

    def check(n: int, what: str) -> None:
        assert n > 0, f"no {what}"

    return check
