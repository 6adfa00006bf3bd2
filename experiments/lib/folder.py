"""A folder of an instance: what is written into it, and what is read from it."""

import json
import shutil
import time
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from pgsr import __version__
from pgsr.experiments.lib import verify
from pgsr.experiments.lib.instances import Instance
from pgsr.experiments.lib.optimum import optimum_of
from pgsr.problems.problem import Problem
from pgsr.problems.programs.formulation import named

FILES = ("problem.npz", "certificate.npz", "optimum.json", "verify.py")


@dataclass(frozen=True)
class BuiltInstance:
    """What is known of an instance that was built.

    Attributes:
        name: of the instance.
        unknowns, rows: of its program.
        bound, objective: exact; equal where the optimum is proved.
        facts: all that optimum.json says.
    """

    name: str
    unknowns: int
    rows: int
    bound: Fraction
    objective: Fraction
    facts: dict[str, Any]

    @property
    def gap(self) -> float:
        """(objective - bound) / max(1, bound)."""
        return float((self.objective - self.bound) / max(1, self.bound))


def build(instance: Instance, out: Path, with_mps: bool) -> BuiltInstance:
    """Write the folder of an instance: problem, answer, proof, and the program that checks them, which runs once here.

    The folder appears whole or not at all.

    Raises:
        DataError: the data are not there.
        NotSolvedError: no method answered.
        Refused: the check found a mistake.
    """
    start = time.perf_counter()
    problem = instance.problem()
    program = named(problem)
    found = optimum_of(problem, program)
    solved = time.perf_counter()
    partial = out / f".{instance.name}.partial"
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    problem.write(partial / "problem.npz")
    if with_mps:
        problem.write(partial / "problem.mps", shifted=True)
    np.savez_compressed(
        partial / "certificate.npz",
        solution=found.solution,
        solution_unit=found.solution_unit,
        prices=found.prices,
        prices_unit=found.prices_unit,
    )
    stated = verify.ProblemArrays(partial / "problem.npz")
    objective = verify.check_solution(stated, verify.whole(found.solution, "solution"), found.solution_unit)
    bound = verify.check_bound(stated, verify.whole(found.prices, "prices"), found.prices_unit)
    facts = {
        "name": instance.name,
        **verify.proved(stated, objective, bound),
        "found_by": found.found_by,
        "proved_by": found.proved_by,
        "seed": instance.seed,
        "epsilon": instance.epsilon,
        "data": instance.data,
        "pgsr": __version__,
        "seconds": round(solved - start, 2),
        "sha256": {path.name: verify.digest(path) for path in sorted(partial.glob("problem.*"))},
    }
    (partial / "optimum.json").write_text(json.dumps(facts, indent=1) + "\n")
    shutil.copyfile(verify.__file__, partial / "verify.py")
    shutil.rmtree(out / instance.name, ignore_errors=True)
    partial.rename(out / instance.name)
    return read(out / instance.name)


def is_built(folder: Path) -> bool:
    """Say whether the folder has all its files."""
    return all((folder / name).is_file() for name in FILES)


def read(folder: Path) -> BuiltInstance:
    """Read what is known of a built instance."""
    facts = json.loads((folder / "optimum.json").read_text())
    return BuiltInstance(
        facts["name"], facts["unknowns"], facts["rows"], Fraction(facts["bound"]), Fraction(facts["objective"]), facts
    )


def problem_of(folder: Path) -> Problem:
    """Read the problem of a built instance."""
    return Problem.read(folder / "problem.npz")
