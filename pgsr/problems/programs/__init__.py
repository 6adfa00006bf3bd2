"""The programs of problems: rows, bounds and names as arrays, and the files that hold them, without any solver."""

from pgsr.problems.files import read_program
from pgsr.problems.programs.formulation import named

__all__ = ["named", "read_program"]
