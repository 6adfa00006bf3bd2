"""The files of problems and their programs, one format per file of code, each written here without any solver.

.mps, .qps      `mps`   read by every solver; .qps is the same text under the name that some readers want
.lp             `lp`    the same, for people to read
.npz            `npz`   the problem itself, and the program's arrays
"""

import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pgsr.errors import ArgumentError
from pgsr.machine.whole_files import as_path, replacing
from pgsr.problems.fields import ProblemFields
from pgsr.problems.files import lp, mps, npz
from pgsr.problems.files.builder import FileError
from pgsr.problems.programs.formulation import NamedProgram, named

_TEXTS: dict[str, tuple[Callable[[NamedProgram], Iterator[bytes]], Callable[[Iterator[str]], NamedProgram]]] = {
    ".mps": (mps.write, mps.read),
    ".qps": (mps.write, mps.read),
    ".lp": (lp.write, lp.read),
}

ENDINGS = (*_TEXTS, ".npz")


def write_problem(problem: ProblemFields, path: str | Path, names: str, shifted: bool) -> None:
    """Write a problem in the format that the file's ending names; a file of that name is replaced in one step.

    Args:
        problem: any `pgsr.Problem`, which has this as its method `write`.
        path: ends in one of `ENDINGS`.
        names, shifted: as in `pgsr.problems.programs.named`.

    Raises:
        ArgumentError: another ending.
        ProblemError, TooLargeError: as `pgsr.problems.programs.named`.
        FileError: there is no such folder, or the file cannot be written.
    """
    path = as_path(path)
    ending = _ending(path)
    program = named(problem, names, shifted)
    with replacing(path, FileError) as file:
        if ending == ".npz":
            npz.write(problem, program, file)
        else:
            for text in _TEXTS[ending][0](program):
                file.write(text)


def read_program(path: str | Path) -> NamedProgram:
    """Read the program of a file that `Problem.write` made, in any of the formats.

    The unknowns x of problem and program are the same, cell by cell, row by row of regions; where distances are
    magnitudes others follow.

    Raises:
        ArgumentError: the file's ending is none of `ENDINGS`.
        FileError: there is no such file, or it is damaged, or holds what pgsr does not write.

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
    path = as_path(path)
    ending = _ending(path)
    with _naming(path):
        if ending == ".npz":
            with path.open("rb") as file:
                return npz.program(npz.arrays_of(file))
        with path.open(encoding="utf-8") as file:
            return _TEXTS[ending][1](file)


def read_fields(path: str | Path) -> dict[str, Any]:
    """Read the fields of a problem from an .npz file; `Problem.read` makes the problem.

    Raises:
        ArgumentError: another ending; the other formats hold programs, which do not say what tree they came from.
        FileError: there is no such file, or it is damaged or no problem.
    """
    path = as_path(path)
    if _ending(path) != ".npz":
        raise ArgumentError(
            f"{path.name} holds a program, not the problem that it came from; read it with "
            "pgsr.problems.programs.read_program, or write the problem as .npz"
        )
    with _naming(path), path.open("rb") as file:
        return npz.problem_fields(npz.arrays_of(file))


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Turn what goes wrong while a file is read into errors that name it."""
    try:
        yield
    except FileError as error:
        raise FileError(f"{path}: {error}") from error
    except FileNotFoundError as error:
        raise FileError(f"there is no file {path}; give the name of one that Problem.write made") from error
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror or error}; make it a readable file") from error
    except (ValueError, TypeError, LookupError, zlib.error) as error:  # of numbers, names and text that are none
        raise FileError(f"{path} is damaged, or not one that pgsr writes; write it again") from error


def _ending(path: Path) -> str:
    found = [ending for ending in ENDINGS if path.name.lower().endswith(ending)]
    if not found:
        raise ArgumentError(f"the file {path.name!r} ends in none of {', '.join(ENDINGS)}; rename it")
    return found[0]
