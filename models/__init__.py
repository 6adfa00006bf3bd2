"""The post-processing problems as optimisation models, one solver family per file, imported when used."""

from models.cvxpy_ import Cvxpy
from models.flow_ import Flow
from models.gurobi_ import Gurobi
from models.mathopt_ import MathOpt

__all__ = ["Cvxpy", "Flow", "Gurobi", "MathOpt"]
