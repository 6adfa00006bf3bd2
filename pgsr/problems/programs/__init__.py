"""The programs of problems: rows, bounds and names as arrays, and the files that hold them, without any solver."""

from pgsr.problems.programs.files import read_program
from pgsr.problems.programs.named import NamedProgram, named, names_of, row_names
from pgsr.problems.programs.program import Program, ProgramKind
from pgsr.problems.programs.rows import program_of

__all__ = ["NamedProgram", "Program", "ProgramKind", "named", "names_of", "program_of", "read_program", "row_names"]
