"""The post-processing problems as optimisation models, one solver family per file, imported when used."""

if __name__ == "models":  # by its folder in a checkout; the package is pgsr.models
    from pgsr.checkout import one_name

    one_name(__name__)

from models.cpsat_ import CpSat
from models.cumulative_flow import CumulativeFlow
from models.cvxpy_ import Cvxpy
from models.flow_ import Flow
from models.gurobi_ import Gurobi
from models.matching_ import Assignment, TransportFlow, TransportLp
from models.mathopt_ import MathOpt
from models.scip_ import Scip
from models.scipy_ import Scipy
from models.table_constraints import TableConstraints
from models.two_stage import MidpointBottomUp, TwoStage

__all__ = [
    "Assignment",
    "CpSat",
    "CumulativeFlow",
    "Cvxpy",
    "Flow",
    "Gurobi",
    "MathOpt",
    "MidpointBottomUp",
    "Scip",
    "Scipy",
    "TableConstraints",
    "TransportFlow",
    "TransportLp",
    "TwoStage",
]
