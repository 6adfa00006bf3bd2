"""The programs of problems: rows, bounds and names as arrays, and the files that hold them, without any solver."""

from pgsr.programs.files import read_program
from pgsr.programs.formulate import formulate
from pgsr.programs.named import NamedProgram, named
from pgsr.programs.program import Kind, Program

__all__ = ["Kind", "NamedProgram", "Program", "formulate", "named", "read_program"]
