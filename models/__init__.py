"""The post-processing problems as optimisation models, one solver family per file, imported when used."""

if __name__ == "models":  # by its folder in a checkout; the package is pgsr.models
    from pgsr.machine.checkout import one_name

    one_name(__name__)

from pgsr.models.adapter import Squares
from pgsr.models.copt_ import Copt
from pgsr.models.cpsat_ import CpSat
from pgsr.models.cvxpy_ import Cvxpy
from pgsr.models.direct_ import Direct
from pgsr.models.flow_ import Flow
from pgsr.models.gurobi_ import Gurobi
from pgsr.models.matching_ import Assignment, TransportFlow, TransportLp
from pgsr.models.mathopt_ import MathOpt
from pgsr.models.qpsolvers_ import QpSolvers
from pgsr.models.scip_ import Scip
from pgsr.models.scipy_ import Scipy
from pgsr.models.table_constraints import TableConstraints
from pgsr.models.xpress_ import Xpress

__all__ = [
    "Assignment",
    "Copt",
    "CpSat",
    "Cvxpy",
    "Direct",
    "Flow",
    "Gurobi",
    "MathOpt",
    "QpSolvers",
    "Scip",
    "Scipy",
    "Squares",
    "TableConstraints",
    "TransportFlow",
    "TransportLp",
    "Xpress",
]
