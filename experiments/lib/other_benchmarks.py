"""The instances for two other benchmarks: a test set of qpbenchmark, a data set and an objective of benchopt.

Both read nothing but the files. Integrality is beyond both, so they get the instances in reals.
"""

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from pgsr.errors import ArgumentError
from pgsr.experiments.lib.folder import BuiltInstance, is_built, read
from pgsr.machine.extras import extra

LARGEST = 150_000
"""The most unknowns of an instance that these benchmarks get."""


def real_instances(folder: str | Path) -> list[BuiltInstance]:
    """List the built instances without integers of at most `LARGEST` unknowns, smallest first.

    Raises:
        ArgumentError: there is none.
    """
    places = [place for place in sorted(Path(folder).iterdir()) if is_built(place)] if Path(folder).is_dir() else []
    known = [read(place) for place in places]
    found = [one for one in known if not one.facts["kind"].startswith("MI") and one.unknowns <= LARGEST]
    if not found:
        raise ArgumentError(f"no instance in reals is built in {folder}; python -m pgsr.experiments lib build")
    return sorted(found, key=lambda one: (one.unknowns, one.name))


def quadratic_program(folder: Path) -> dict[str, Any]:
    """Read a program as qpsolvers writes them: 1/2 z P z + q z, G z <= h, A z = b, lb <= z <= ub; None where none is.

    The unknowns are z = x - y, differences from the noisy values: then nothing is of the size of counts of 1e8 or of
    their squares, at which 64-bit floats see no optimum, and no constant is left.
    """
    with np.load(folder / "problem.npz", allow_pickle=False) as file:
        rows = sparse.csr_array((file["A_data"], file["A_indices"], file["A_indptr"]), shape=tuple(file["A_shape"]))
        squares, y = file["P"], np.zeros(len(file["q"]), np.int64)
        y[: file["problem_cells"].size] = file["problem_cells"]
        moved = rows.astype(np.int64) @ y
        l, u = file["l"] - moved, file["u"] - moved
        out: dict[str, Any] = {"q": (file["q"] + squares * y).astype(float)}
        out |= {"lb": file["lower"] - y, "ub": file["upper"] - y}
    equal = l == u
    above, below = np.isfinite(u) & ~equal, np.isfinite(l) & ~equal
    some = bool(above.any() or below.any())
    out["P"] = sparse.csc_matrix(sparse.diags_array(squares.astype(float)))
    out["G"] = sparse.csc_matrix(sparse.vstack([rows[above], -rows[below]])) if some else None
    out["h"] = np.concatenate([u[above], -l[below]]) if some else None
    out["A"] = sparse.csc_matrix(rows[equal]) if equal.any() else None
    out["b"] = l[equal] if equal.any() else None
    return out


def qpbenchmark_test_set(folder: str | Path) -> Any:
    """Make a class that qpbenchmark takes for a test set, of the instances in a folder.

    qpbenchmark finds it by the name of its file: let pgsr_lib.py have the two lines

        from pgsr.experiments.lib.other_benchmarks import qpbenchmark_test_set
        PgsrLib = qpbenchmark_test_set("results/pgsr-lib")

    Raises:
        ArgumentError: qpbenchmark is not installed, or nothing is built there.
    """
    package = _required("qpbenchmark")
    instances, where = real_instances(folder), Path(folder)

    class PgsrLib(package.TestSet):
        @property
        def description(self) -> str:
            return "Group size release: projections of noisy counts onto consistent ones, with proved optima."

        @property
        def title(self) -> str:
            return "PGSR-LIB"

        @property
        def sparse_only(self) -> bool:
            return True

        def __iter__(self) -> Iterator[Any]:
            for one in instances:
                yield package.Problem(**quadratic_program(where / one.name), name=one.name)

    return PgsrLib


def benchopt_dataset(folder: str | Path) -> Any:
    """Make the class that a file among the data sets of a benchopt benchmark calls `Dataset`.

    Raises:
        ArgumentError: benchopt is not installed, or nothing is built there.
    """
    package = _required("benchopt")
    where, names = Path(folder), [one.name for one in real_instances(folder)]

    class Dataset(package.BaseDataset):
        name = "PGSR-LIB"
        parameters = {"instance": names}  # noqa: RUF012, benchopt reads it from the class

        def get_data(self) -> dict[str, Any]:
            known = read(where / self.instance)
            return quadratic_program(where / known.name) | {"optimum": float(known.objective)}

    return Dataset


def benchopt_objective() -> Any:
    """Make the class that objective.py of a benchopt benchmark calls `Objective`; solvers give {"x": point}.

    value is (objective - proved optimum) / max(1, optimum), primal the largest violation.

    Raises:
        ArgumentError: benchopt is not installed.
    """
    package = _required("benchopt")

    class Objective(package.BaseObjective):
        name = "Convex quadratic program with a proved optimum"
        min_benchopt_version = "1.5"

        def set_data(self, optimum: float, **program: Any) -> None:
            self.optimum, self.program = optimum, program

        def get_objective(self) -> dict[str, Any]:
            return dict(self.program)

        def get_one_result(self) -> dict[str, Any]:
            return {"x": np.zeros(len(self.program["q"]))}

        def evaluate_result(self, x: np.ndarray) -> dict[str, float]:
            p = self.program
            value = 0.5 * x @ (p["P"] @ x) + p["q"] @ x
            broken = [np.maximum(p["lb"] - x, 0), np.maximum(x - p["ub"], 0)]
            broken += [] if p["A"] is None else [np.abs(p["A"] @ x - p["b"])]
            broken += [] if p["G"] is None else [np.maximum(p["G"] @ x - p["h"], 0)]
            primal = max(float(part.max(initial=0.0)) for part in broken)
            return {"value": abs(float(value) - self.optimum) / max(1.0, self.optimum), "primal": primal}

    return Objective


def _required(package: str) -> Any:
    with extra("other-benchmarks"):
        return import_module(package)
