"""The files of problems and their programs, one format per file of code, each written here without any solver.

.mps, .qps      `mps`   read by every solver; .qps is the same text under the name that some readers want
.lp             `lp`    the same, for people to read
.npz            `npz`   the problem itself, and the program's arrays
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pgsr.errors import ArgumentError, FileError
from pgsr.machine.whole_files import as_path, replacing
from pgsr.problems.fields import ProblemFields
from pgsr.problems.files import lp, mps, npz
from pgsr.problems.programs.formulation import NamedProgram, named

_TEXTS: dict[str, Callable[[NamedProgram], Iterator[bytes]]] = {".mps": mps.write, ".qps": mps.write, ".lp": lp.write}

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
            for text in _TEXTS[ending](program):
                file.write(text)


def read_fields(path: str | Path) -> dict[str, Any]:
    """Read the fields of a problem from an .npz file; `Problem.read` makes the problem.

    Raises:
        ArgumentError: another ending; the other formats hold programs, which do not say what tree they came from.
        FileError: there is no such file, or it is damaged or no problem.
    """
    path = as_path(path)
    if _ending(path) != ".npz":
        raise ArgumentError(
            f"{path.name} holds a program, not the problem that it came from; have HiGHS, Gurobi or SCIP read it, or "
            "write the problem as .npz"
        )
    try:
        with path.open("rb") as file:
            return npz.problem_fields(npz.arrays_of(file))
    except FileError as error:
        raise FileError(f"{path}: {error}") from error
    except FileNotFoundError as error:
        raise FileError(f"there is no file {path}; give the name of one that Problem.write made") from error
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror or error}; make it a readable file") from error
    except (ValueError, TypeError, LookupError) as error:  # of arrays that are missing, or say nothing
        raise FileError(f"{path} is damaged, or not one that pgsr writes; write it again") from error


def _ending(path: Path) -> str:
    found = [ending for ending in ENDINGS if path.name.lower().endswith(ending)]
    if not found:
        raise ArgumentError(f"the file {path.name!r} ends in none of {', '.join(ENDINGS)}; rename it")
    return found[0]
