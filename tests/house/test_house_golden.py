"""Golden files: what this version gives is what the version before gave, bit for bit, and it checks older folders.

A change that moves code or merges two ways into one must change no byte here. One that means to change an answer makes
the files again, and says in its message why: `python tests/house/test_house_golden.py`.
"""

import hashlib
import json
import tempfile
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from made_tables import config, release, write_tables

from pgsr import Problem
from pgsr.experiments.benchmarks.agreement import PROBLEMS, proving, random_problem
from pgsr.methods.method import Method
from pgsr.release import check
from pgsr.release.terms.kinds import Kind

HERE = Path(__file__).parent / "golden"
GOLDEN = json.loads((HERE / "golden.json").read_text("utf-8")) if (HERE / "golden.json").exists() else {}
FOLDERS = ("m_h", "kuo_with_sizes_per_level", "posterior_with_intervals")
METHODS = [method for method in proving() if type(method).__module__.startswith(("pgsr.algorithms", "pgsr.estimators"))]
SIZES = {"equal sizes": "4", "sizes per level": "{nation = 6, state = 4, county = 3}"}
SEEDS = (1, 2, 3)


def releases() -> Iterator[tuple[str, Kind, str, int]]:
    """Every mechanism, with equal sizes and with sizes per level where it can, on three data sets."""
    for kind, sizes, seed in product(Kind, SIZES, SEEDS):
        if sizes == "equal sizes" or kind.totals_by_level is not None:
            yield f"{kind}, {sizes}, data {seed}", kind, sizes, seed


def counts_digest(kind: Kind, sizes: str, seed: int) -> str:
    """Compute the digest of the published counts of a rehearsal, whose noise is the same every time."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write_tables(folder, seed)
        names = {"level_names": '["nation", "state", "county"]'} if sizes == "equal sizes" else {}
        made = release(config(folder, kind, max_size=SIZES[sizes], **names), rehearse=True)
        return hashlib.sha256((made / "counts.csv").read_bytes()).hexdigest()


def objectives(problem: str) -> list[dict[str, int | float | None]]:
    """Solve three random instances by every algorithm of this project that takes them; None without an objective."""
    return [
        {repr(method): _objective(method, instance) for method in METHODS if method.supports(instance) is None}
        for instance in (random_problem(problem, np.random.default_rng([9, i, *problem.encode()])) for i in range(3))
    ]


def _objective(method: Method, problem: Problem) -> int | float | None:
    certificate = method.solve(problem, 60).certificate
    return None if certificate is None else certificate.objective


@pytest.mark.few(4)
@pytest.mark.parametrize(("name", "kind", "sizes", "seed"), [*releases()])
def test_releases_are_the_same(name: str, kind: Kind, sizes: str, seed: int) -> None:
    assert counts_digest(kind, sizes, seed) == GOLDEN["counts"][name]


@pytest.mark.parametrize("problem", PROBLEMS)
def test_algorithms_take_the_same_problems_and_reach_the_same_objectives(problem: str) -> None:
    for found, golden in zip(objectives(problem), GOLDEN["objectives"][problem], strict=True):
        assert found.keys() == golden.keys()
        for method, value in found.items():
            assert value == (golden[method] if value is None else pytest.approx(golden[method], rel=1e-9)), method


@pytest.mark.parametrize("name", sorted(FOLDERS))
def test_published_folders_pass_the_check(name: str) -> None:
    """The noisy values were drawn by secure noise, and charged, before levels had one table each."""
    report = check(HERE / name)
    assert report.passed, report


def make() -> None:
    """Write the answers of the present version; folders stay those of the version that published them."""
    found = {
        "counts": {name: counts_digest(kind, sizes, seed) for name, kind, sizes, seed in releases()},
        "objectives": {problem: objectives(problem) for problem in PROBLEMS},
    }
    (HERE / "golden.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    make()
