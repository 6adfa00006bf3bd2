"""Says how much of the tests runs, and prints what tests marked with a target of reliability have counted.

`@pytest.mark.assure("R7")` marks a test that shows target R7. Such a test takes the fixture `counted` and calls
`counted(n, "what")` for what it checked; `pytest -m assure` ends with a table of it all.

`@pytest.mark.drawn(3)` lets three of many sets of parameters run in `make test`, see drawing_lots.py.

`@pytest.mark.slow` keeps a test out of `make test-fast`: it starts processes, runs experiments or takes seconds.
"""

import gc
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import drawing_lots
import pytest
from instances import FULL

if TYPE_CHECKING:
    from xdist.remote import Producer
    from xdist.scheduler import LoadFileScheduling


def pytest_configure() -> None:
    drawing_lots.settle_lot()


def pytest_report_header() -> str:
    if FULL:
        return "pgsr: all tests, full counts"
    lot = drawing_lots.settle_lot()
    return f"pgsr: a share of the counts, and of tests that repeat a path those drawn by {drawing_lots.LOT}={lot}"


SLOW_EXAMPLES = ("pgsr/comparison/comparing.py",)
"""Files whose examples in docstrings start processes."""


SMOKED = ("figures", "fioretto2019", "kuo2018", "publication", "report")
"""Of the files of experiments those that look at the cells of `smoke_cells`, which a process computes once."""

LONGEST = (
    *(f"tests/test_experiments_{name}.py" for name in SMOKED), "tests/test_house_site.py", "notebooks/",
    "tests/test_assurance_", "tests/test_nation", "tests/test_core_cli.py", "tests/test_release",
    "tests/test_posterior", "tests/test_experiments_", "tests/test_models", "tests/test_house_",
)  # fmt: skip
"""How files of many seconds begin. Their tests come first, so that no process works alone at the end."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: "Producer") -> "LoadFileScheduling | None":
    """Give every process whole files, in the order of the tests, and one all those that look at the same cells."""
    if config.getoption("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class WholeFiles(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return LONGEST[0] if nodeid.startswith(LONGEST[: len(SMOKED)]) else super()._split_scope(nodeid)

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


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: [item.nodeid.startswith(name) for name in LONGEST], reverse=True)
    if not FULL:
        items[:], left_out = drawing_lots.split(items, drawing_lots.settle_lot())
        config.hook.pytest_deselected(items=left_out)
    for item in items:
        if item.nodeid.startswith(SLOW_EXAMPLES):
            item.add_marker(pytest.mark.slow)
        target = _target(item)
        if target is None:
            continue
        if "counted" not in getattr(item, "fixturenames", ()):
            raise pytest.UsageError(f"{item.nodeid} shows {target} but counts nothing; give it the fixture `counted`")
        item.user_properties.append(("target", target))


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
def counted(request: pytest.FixtureRequest) -> Callable[[int, str], None]:
    """Notes that n cases of something were checked; nothing checked is a failure."""

    def note(n: int, what: str) -> None:
        assert n > 0, f"no {what}"
        request.node.user_properties.append((what, int(n)))

    return note


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """What was drawn; and the table: target, test, seconds, outcome, counts; tests with parameters in one line."""
    reports = [report for outcome in ("passed", "failed", "error") for report in terminalreporter.getreports(outcome)]
    for line in drawing_lots.summary([entry for report in reports for entry in getattr(report, "user_properties", ())]):
        terminalreporter.write_line(line)
    if not FULL and "assure" not in (config.option.markexpr or ""):
        return
    counts: dict[tuple[str, str], Counter] = defaultdict(Counter)
    seconds: Counter = Counter()
    outcomes: dict[tuple[str, str], set[str]] = defaultdict(set)
    for outcome in ("passed", "failed", "error", "skipped"):
        for report in terminalreporter.getreports(outcome):
            properties = list(getattr(report, "user_properties", ()))
            target = dict(properties).get("target")
            if target is None:
                continue
            row = target, report.nodeid.split("[")[0].split("::")[-1]
            outcomes[row].add(outcome)
            seconds[row] += report.duration
            for what, n in properties:
                if what != "target":
                    counts[row][what] += n
    terminalreporter.section("assurance")
    for row in sorted(outcomes, key=lambda row: (int(row[0][1:]), row[1])):
        worst = next(o for o in ("error", "failed", "skipped", "passed") if o in outcomes[row])
        checked = ", ".join(f"{n:,} {what}" for what, n in counts[row].items()) or "nothing counted"
        terminalreporter.write_line(f"{row[0]:<4} {row[1]:<58} {seconds[row]:7.1f} s  {worst:<8} {checked}")


def _target(item: pytest.Item) -> str | None:
    marker = item.get_closest_marker("assure")
    return None if marker is None else str(marker.args[0])
