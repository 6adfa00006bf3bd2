"""NumPy's format: the problem itself, to the last field, and its program as arrays for whoever has NumPy alone.

problem_*           the fields of `pgsr.Problem`, K of every level among them, and where the cells of every region
                    start; hierarchy_* the regions, ranks_* its fitted ranks
P, q, constant      the objective 1/2 sum P x^2 + q x + constant; P is the diagonal, constant decimal text
A_data, A_indices, A_indptr, A_shape    the rows, compressed: row i has the entries A_indptr[i] : A_indptr[i + 1]
l, u                l <= A x <= u
lower, upper        lower <= x <= upper
integer             which x are integers
x_stems, x_stem, x_ends, x_end          the name of x[j] is x_stems[x_stem[j]] + x_ends[x_end[j]], encoded
row_stems, ...                          the same of rows
origin              of a program in deviations: the problem's x is origin plus its unknowns
"""

import json
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any, BinaryIO

import numpy as np
from scipy import sparse

from pgsr.data.hierarchy import Hierarchy
from pgsr.data.sizes import Sizes
from pgsr.data.views import View
from pgsr.errors import FileError
from pgsr.noise.measurement import Totals
from pgsr.privacy.laws.per_level import noise_of
from pgsr.problems.conditions.choices import Choices
from pgsr.problems.conditions.matrices import Conditions
from pgsr.problems.fields import ProblemFields
from pgsr.problems.programs.formulation import NamedProgram


def write(problem: ProblemFields, program: NamedProgram, file: BinaryIO) -> None:
    """Write the arrays of a problem and its program. The same problem gives the same bytes."""
    with zipfile.ZipFile(file, "w") as archive:
        for name, array in (*_of_problem(problem), *_of_program(program)):
            entry = zipfile.ZipInfo(f"{name}.npy")  # without the time of day
            entry.compress_type = zipfile.ZIP_DEFLATED
            with archive.open(entry, "w", force_zip64=True) as part:
                np.lib.format.write_array(part, np.asanyarray(array), allow_pickle=False)


def _of_program(program: NamedProgram) -> Iterator[tuple[str, Any]]:
    matrix = program.matrix
    yield from (
        ("P", 2 * program.quadratic), ("q", program.linear), ("constant", str(program.constant)),
        ("A_data", matrix.data), ("A_indices", matrix.indices), ("A_indptr", matrix.indptr), ("A_shape", matrix.shape),
        ("l", program.row_lower), ("u", program.row_upper), ("lower", program.lower), ("upper", program.upper),
        ("integer", program.integer), ("label", program.label), ("notes", json.dumps(program.notes)),
    )  # fmt: skip
    if program.origin is not None:
        yield "origin", program.origin
    for key, names in (("x", program.variables), ("row", program.rows)):
        for part in ("stems", "stem", "ends", "end"):
            yield f"{key}_{part}", getattr(names, part)


def _of_problem(problem: ProblemFields) -> Iterator[tuple[str, Any]]:
    """The fields of a problem by the kind of their values; one that is None is left out."""
    tree = problem.hierarchy
    yield "hierarchy_names", json.dumps([path[-1] for path in tree.paths])
    for name in ("parent", "first_child", "level_start", "order", "padded"):
        yield f"hierarchy_{name}", getattr(tree, name)
    for field in fields(problem):
        value = getattr(problem, field.name)
        if value is None:
            continue
        if isinstance(value, Sizes):
            yield "problem_sizes", np.array(value.max_sizes, np.int64)
            yield "problem_first_cell", problem.first_cell
        elif isinstance(value, Conditions):
            yield from _of_conditions(value)
        elif field.name == "noise":
            yield "problem_noise", json.dumps([level and str(level) for level in value])
        elif isinstance(value, View | Totals):
            yield f"problem_{field.name}", value.name
        else:
            yield f"problem_{field.name}", value


def _of_conditions(conditions: Conditions) -> Iterator[tuple[str, Any]]:
    for name in ("lower", "upper", "row_lower", "row_upper"):
        yield f"conditions_{name}", getattr(conditions, name)
    for name in ("data", "indices", "indptr", "shape"):
        yield f"conditions_rows_{name}", getattr(conditions.rows, name)
    yield "conditions_texts", json.dumps([conditions.names, conditions.stated])
    if conditions.sources is not None:
        yield "conditions_sources", conditions.sources
    if conditions.choices is not None:
        for name in ("data", "indices", "indptr", "shape"):
            yield f"choices_rows_{name}", getattr(conditions.choices.rows, name)
        for name in ("lower", "upper", "alternative", "choice"):
            yield f"choices_{name}", getattr(conditions.choices, name)
        yield "choices_names", json.dumps(conditions.choices.names)


def _conditions(arrays: Mapping[str, np.ndarray]) -> Conditions:
    part = {key.removeprefix("conditions_"): value for key, value in arrays.items() if key.startswith("conditions_")}
    rows = _compressed(part, "rows")
    names, stated = map(tuple, json.loads(str(part["texts"])))
    low, high = part["row_lower"], part["row_upper"]
    return Conditions(
        part["lower"], part["upper"], rows, low, high, names, stated, part.get("sources"), _choices(arrays)
    )


def _choices(arrays: Mapping[str, np.ndarray]) -> Choices | None:
    if "choices_names" not in arrays:
        return None
    sides = {name: arrays[f"choices_{name}"] for name in ("lower", "upper", "alternative", "choice")}
    names = tuple(json.loads(str(arrays["choices_names"])))
    return Choices(_compressed(arrays, "choices_rows"), **sides, names=names)


def _compressed(arrays: Mapping[str, np.ndarray], prefix: str) -> sparse.csr_array:
    parts = tuple(arrays[f"{prefix}_{name}"] for name in ("data", "indices", "indptr"))
    return sparse.csr_array(parts, shape=tuple(arrays[f"{prefix}_shape"].tolist()))


def problem_fields(arrays: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """Read the fields of a problem, as `pgsr.Problem` takes them."""
    parent, paths = arrays["hierarchy_parent"], []
    for name, above in zip(json.loads(str(arrays["hierarchy_names"])), parent.tolist(), strict=True):
        paths.append((name,) if above < 0 else (*paths[above], name))
    names = ("first_child", "level_start", "order", "padded")
    first_child, level_start, order, padded = (arrays[f"hierarchy_{name}"] for name in names)
    tree, out = Hierarchy(tuple(paths), parent, first_child, level_start, order, padded), dict[str, Any]()
    for key, value in arrays.items():
        name = key.removeprefix("problem_")
        if name in (key, "first_cell"):
            continue
        out[name] = value if value.ndim else value.item()
    out["view"], out["sizes"] = View[out["view"]], Sizes(tree, tuple(out["sizes"].tolist()))
    if "totals" in out:
        out["totals"] = Totals[out["totals"]]
    if "noise" in out:
        out["noise"] = tuple(level and noise_of(level) for level in json.loads(out["noise"]))
    if "conditions_texts" in arrays:
        out["conditions"] = _conditions(arrays)
    return out


def arrays_of(file: BinaryIO) -> dict[str, np.ndarray]:
    """Read all arrays of a file; it executes nothing.

    Raises:
        FileError: it is damaged, or no file of pgsr.
    """
    try:
        with np.load(file, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except (ValueError, OSError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise FileError(f"the file is damaged or no .npz: {error}; copy or write it again") from error
    if "problem_label" not in arrays or "A_shape" not in arrays:
        raise FileError("the file holds arrays, but no problem; give one that Problem.write made")
    return arrays
