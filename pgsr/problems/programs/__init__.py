"""The programs of problems: rows, bounds and names as arrays, without any solver."""

from pgsr.problems.programs.formulation import named

__all__ = ["named"]
