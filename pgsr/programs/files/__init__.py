"""The files of problems and their programs, one format per file of code, each written here without any solver.

.mps, .qps      `mps`   read by every solver; .qps is the same text under the name that some readers want
.lp             `lp`    the same, for people to read
.mof.json       `mof`   JuMP
.npz            `npz`   the problem itself, and the program's arrays
"""

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pgsr.errors import ArgumentError
from pgsr.programs.files import lp, mof, mps, npz
from pgsr.programs.files.reading import FileError
from pgsr.programs.named import NamedProgram, named
from pgsr.programs.statement import Statement

_TEXTS: dict[str, tuple[Callable[[NamedProgram], Iterator[bytes]], Callable[[Iterator[str]], NamedProgram]]] = {
    ".mps": (mps.write, mps.read),
    ".qps": (mps.write, mps.read),
    ".lp": (lp.write, lp.read),
    ".mof.json": (mof.write, mof.read),
}

ENDINGS = (*_TEXTS, ".npz")


def write_problem(problem: Statement, path: str | Path, names: str = "auto") -> None:
    """Write a problem in the format that the file's ending names; a file of that name is replaced in one step.

    Args:
        problem: any `pgsr.Problem`, which has this as its method `write`.
        path: ends in one of `ENDINGS`.
        names: "full", "short" or "auto", as in `pgsr.programs.named`.

    Raises:
        ArgumentError: another ending.
        ProblemError, TooLargeError: as `pgsr.programs.named`.
        OSError: the folder cannot be written to.
    """
    path = Path(path)
    ending = _ending(path)
    program = named(problem, names)
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
        try:
            if ending == ".npz":
                npz.write(problem, program, file)  # pyright: ignore[reportArgumentType]
            else:
                for text in _TEXTS[ending][0](program):
                    file.write(text)
            file.flush()
            os.fsync(file.fileno())
            os.replace(file.name, path)
        except BaseException:
            Path(file.name).unlink(missing_ok=True)
            raise


def read_program(path: str | Path) -> NamedProgram:
    """Read the program of a file that `Problem.write` made, in any of the formats.

    The unknowns x of problem and program are the same, cell by cell, row by row of regions; where distances are
    magnitudes others follow.

    Raises:
        ArgumentError: the file's ending is none of `ENDINGS`.
        FileError: the file is damaged, or holds what pgsr does not write.
        OSError: there is no such file.

    Example:
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> from pgsr import Hierarchy, Problem
        >>> problem = Problem.of([[0, 3], [1, 2]], Hierarchy.from_parents(["US", "GA"], [-1, 0]), groups=5)
        >>> with TemporaryDirectory() as folder:
        ...     problem.write(Path(folder) / "small.mps")
        ...     program = read_program(Path(folder) / "small.mps")
        >>> program.variables.texts(), program.constant
        (['x[US,0]', 'x[US,1]', 'x[US/GA,0]', 'x[US/GA,1]'], 14)
    """
    path = Path(path)
    ending = _ending(path)
    if ending == ".npz":
        with path.open("rb") as file:
            return npz.program(npz.arrays_of(file))
    with path.open(encoding="utf-8") as file:
        return _TEXTS[ending][1](file)


def read_fields(path: str | Path) -> dict[str, Any]:
    """Read the fields of a problem from an .npz file; `Problem.read` makes the problem.

    Raises:
        ArgumentError: another ending; the other formats hold programs, which do not say what tree they came from.
        FileError: the file is damaged or no problem.
    """
    path = Path(path)
    if _ending(path) != ".npz":
        raise ArgumentError(
            f"{path.name} holds a program, not the problem that it came from; read it with "
            "pgsr.programs.read_program, or write the problem as .npz"
        )
    with path.open("rb") as file:
        return npz.problem_fields(npz.arrays_of(file))


def _ending(path: Path) -> str:
    found = [ending for ending in ENDINGS if path.name.lower().endswith(ending)]
    if not found:
        raise ArgumentError(f"the file {path.name!r} ends in none of {', '.join(ENDINGS)}; rename it")
    return found[0]


__all__ = ["ENDINGS", "FileError", "read_fields", "read_program", "write_problem"]
