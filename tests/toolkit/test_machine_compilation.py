"""Compilation: measured apart from solving, outside every time limit, and done beforehand by `pgsr warmup`."""

import gc
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner
from waiting import until

from pgsr import Status, cli
from pgsr.algorithms import TreeProjection
from pgsr.comparison.table import COMPILING, Comparison, Row, words_frame
from pgsr.machine import compilation
from pgsr.methods import toys
from pgsr.methods.gate import Deadline
from pgsr.methods.method import Result, Seconds
from pgsr.warming import warmed

ROOT = Path(__file__).parents[2]

SOLVE = """
import json, sys
from pgsr.methods import toys
from pgsr.algorithms import Isotonic
from pgsr.estimators import Matching
if sys.argv[1] == "problem":
    problem = next(p for p in toys.problems() if Isotonic().supports(p) is None)
    answer = lambda: Isotonic().solve(problem, time_limit=0.5)
else:
    measurement = next(m for m in toys.measurements() if Matching().supports(m) is None)
    answer = lambda: Matching().apply(measurement, 0.5)
found = []
for _ in range(2):
    result = answer()
    found.append([result.status.name, result.seconds.total, result.seconds.compile])
print(json.dumps(found))
"""

WARM = """
import importlib, json
from pathlib import Path
import numpy as np
from instances import random_tree, random_truth
import pgsr
from pgsr import Problem, View
from pgsr.noise import Geometric
from pgsr.privacy import Seeded
from pgsr.warming import warm_up, warmed
from pgsr.methods import Method

n_warmed, home = len(list(warm_up())), Path(pgsr.__file__).parent
kernels = [".".join(["pgsr", *file.relative_to(home).with_suffix("").parts]) for file in home.rglob("*kernel.py")]

loops = {
    f"{kernel}.{name}": function
    for kernel in kernels
    for name, function in vars(importlib.import_module(kernel)).items()
    if hasattr(function, "signatures") and function.targetoptions.get("inline") != "always"
}

def variants():
    return {name: [str(signature) for signature in function.signatures] for name, function in loops.items()}

def reached(function, found):
    # What a loop calls has no signature of its own where the loop was read from the cache.
    if function not in found:
        found.add(function)
        for name in function.py_func.__code__.co_names:
            called = function.py_func.__globals__.get(name)
            if hasattr(called, "py_func"):
                reached(called, found)

found = set()
for function in loops.values():
    if function.signatures:
        reached(function, found)
left = [name for name, function in loops.items() if function not in found]
before = variants()

rng = np.random.default_rng(701)
for number in range(12):
    tree = random_tree(rng, max_regions=[1, 3, 12, 30][number % 4])
    truth = random_truth(rng, tree, max_size=[1, 7, 40][number % 3], max_count=20, name="warm")
    for totals in ("root", "regions"):
        cumulative, counts = (
            Geometric(view, 1, totals=totals).measure(truth, Seeded("warm")) for view in (View.CUMULATIVE, View.COUNTS)
        )
        problems = [Problem.m_h(counts, totals=totals), Problem.mean_consistency(counts)]
        problems += [Problem.isotonic(cumulative, norm=1)]
        problems += [Problem.m_c(cumulative, norm=norm, totals=totals) for norm in (1, 2)]
        if totals == "regions":
            problems.append(Problem.naive(counts))
        problems += [problem.relaxed() for problem in problems if problem.integer]
        for method in warmed():
            if isinstance(method, Method):
                for problem in problems:
                    if method.supports(problem) is None:
                        method.solve(problem)
            elif tree.n_levels > 1 and method.supports(cumulative) is None:
                method.apply(cumulative)

print(json.dumps([n_warmed, left, before, variants()]))
"""
"""Warm up, and solve trees and problems of all kinds: loops that were not reached, and the variants of all by types of
arguments, in between and at the end, whether compiled now or read from the cache."""


@pytest.mark.slow
@pytest.mark.parametrize(("of", "expected"), [("problem", "OPTIMAL"), ("measurement", "FEASIBLE")])
def test_a_first_solve_compiles_apart_and_outside_its_limit(of, expected, tmp_path):
    """The process starts with nothing compiled; half a second would not be enough to compile in."""
    (status, first, compiled), (_, _, again) = json.loads(run(SOLVE, of, cache=tmp_path))
    assert status == expected
    assert compiled > 0.5 > first
    assert again < 0.1 * compiled


@pytest.mark.slow
def test_the_warm_up_compiles_every_loop_and_nothing_is_left_to_compile():
    """Nothing that trees and problems of all kinds call afterwards is of another type; what is cached stays cached."""
    n_warmed, left, before, after = json.loads(run(WARM))
    assert n_warmed > len(warmed())
    assert len(before) > 60
    assert not left
    assert after == before


def test_toys_are_of_every_kind():
    assert {problem.view for problem in toys.problems()} == {measurement.view for measurement in toys.measurements()}
    for method in warmed():
        asked = toys.problems() if hasattr(method, "solve") else toys.measurements()
        assert any(method.supports(toy) is None for toy in asked), method


def test_warmup_names_what_it_compiled(monkeypatch):
    monkeypatch.setattr("pgsr.warming.warm_up", lambda: iter([("Isotonic()", 1.25), ("noise", 0.5)]))
    lines = CliRunner().invoke(cli.app, ["warmup"], catch_exceptions=False).stdout.splitlines()
    assert lines == ["  1.25 s  Isotonic()", "  0.50 s  noise"]


def test_deadlines_stand_still_while_functions_are_compiled():
    deadline = Deadline(0.5)
    with compilation.compilation() as spent, compiling():
        time.sleep(0.6)
        assert not deadline.passed
    assert spent.seconds >= 0.6
    assert deadline.compiling >= 0.6
    assert deadline.spent < 0.5
    until(lambda: deadline.passed)


def test_garbage_is_collected_again_after_compilation():
    before = gc.isenabled()
    try:
        for wanted in (True, False):
            (gc.enable if wanted else gc.disable)()
            with compiling(), compiling():
                assert not gc.isenabled()
            assert gc.isenabled() is wanted
    finally:
        (gc.enable if before else gc.disable)()


def test_threads_that_compile_at_once_are_counted_once():
    def compile_for_a_while():
        with compiling():
            time.sleep(0.1)

    begun = time.perf_counter()
    with compilation.compilation() as spent:
        threads = [threading.Thread(target=compile_for_a_while) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert 0.1 <= spent.seconds <= time.perf_counter() - begun


def test_compilation_is_no_part_of_the_total():
    seconds = Seconds(1.0, 2.0, 3.0, compile=10.0)
    assert seconds.total == 6.0
    assert Result(Status.FAILED, "", seconds=seconds).facts()["compile_s"] == 10.0
    assert TreeProjection().solve(toys.problems()[3]).seconds.compile >= 0.0


def test_comparisons_show_compilation_where_there_was_some():
    def table(*seconds):
        return Comparison([Row("a", "M_H", Result(Status.FAILED, "", seconds=s), 0) for s in seconds], "title")

    assert "compile" not in words_frame(table(Seconds(solve=1.0), Seconds(compile=0.1)))
    shown = table(Seconds(solve=1.0), Seconds(compile=2.0))
    assert list(words_frame(shown)["compile"]) == ["", "2.00 s"]
    assert COMPILING in str(shown)
    assert list(shown.to_frame()["compile_s"]) == [0.0, 2.0]


class compiling:
    """The lock of numba's compiler, held as numba says it."""

    def __enter__(self):
        from numba.core import event

        event.start_event("numba:compiler_lock")

    def __exit__(self, *_):
        from numba.core import event

        event.end_event("numba:compiler_lock")


def run(code: str, *arguments: str, cache: Path | None = None, beside: Path = ROOT / "tests" / "shared") -> str:
    """Run code in a process of its own, with an empty cache of compiled functions or the usual one."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(beside)])}
    environment |= {} if cache is None else {"NUMBA_CACHE_DIR": str(cache)}
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_code_of_an_older_version_on_disk_is_compiled_anew(tmp_path):
    """A class that the compiled code names has another name now, in a file that is not the loop's own."""
    (tmp_path / "loop.py").write_text(
        "from pgsr.machine.compilation import compiled\n\n@compiled\ndef total(of):\n    return of.values.sum()\n"
    )
    for name in ("Old", "New"):
        made = f"class {name}(NamedTuple):\n    values: np.ndarray\n"
        (tmp_path / "shapes.py").write_text(f"from typing import NamedTuple\nimport numpy as np\n\n\n{made}")
        code = f"import numpy as np, shapes, loop; print(loop.total(shapes.{name}(np.arange(4))))"
        assert run(code, beside=tmp_path).strip() == "6"
    assert list((tmp_path / "__pycache__").glob("loop.total*.nbi")), "the first code was kept"
