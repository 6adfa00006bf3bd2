"""The catalogue of methods continued: those with a solver inside, and the models of general solvers.

What is not installed or has no licence stays in it, and in the lists: a solve then says what is missing.
"""

from pgsr import own_methods
from pgsr.algorithms import CostTables, RegionTotalsProjection, TreeProjection
from pgsr.data.views import View
from pgsr.estimators import Matching
from pgsr.methods.catalogue import Entry, Use, words_of_class
from pgsr.models.copt_ import Copt
from pgsr.models.cpsat_ import CpSat
from pgsr.models.cvxpy_ import SOLVERS as OF_CVXPY
from pgsr.models.cvxpy_ import Cvxpy
from pgsr.models.direct_ import SOLVERS as OF_PACKAGES
from pgsr.models.direct_ import Direct
from pgsr.models.flow_ import Flow
from pgsr.models.gurobi_ import Gurobi
from pgsr.models.matching_ import Assignment, TransportFlow, TransportLp
from pgsr.models.mathopt_ import SOLVERS as OF_MATHOPT
from pgsr.models.mathopt_ import MathOpt
from pgsr.models.qpsolvers_ import SOLVERS as OF_QPSOLVERS
from pgsr.models.qpsolvers_ import QpSolvers
from pgsr.models.scip_ import Scip
from pgsr.models.scipy_ import Scipy
from pgsr.models.table_constraints import TableConstraints
from pgsr.models.xpress_ import Xpress

NOT_COMPARED = Use.EVERYWHERE & ~Use.COMPARE
"""Eleven general solvers are enough for the default table of a comparison; any other is compared by name."""

USES_BY_CVXPY = {
    "CLARABEL": Use.EVERYWHERE,
    "SCIP": Use.EVERYWHERE,
    "PDLP": NOT_COMPARED & ~Use.AGREEMENT,  # not six digits: there and in comparisons it comes through MathOpt
    "MOSEK": NOT_COMPARED & ~Use.AGREEMENT,  # says nothing without a licence
    "CUOPT": NOT_COMPARED & ~Use.AGREEMENT,  # says nothing without a graphics processor
    "CUCLARABEL": NOT_COMPARED & ~Use.AGREEMENT,
}

ELSEWHERE = {"GUROBI", "SCIP", "SCIPY", "GLOP", "PDLP", *OF_PACKAGES}
"""Solvers of CVXPY whose plain name is another model's: of their own interface, or of the one that takes more."""

SOLVERS: tuple[Entry, ...] = (
    Entry(Flow()),
    Entry(Flow(around=TreeProjection()), uses=Use.AGREEMENT, name="flow:m_h"),
    Entry(
        Flow(around=RegionTotalsProjection()), uses=Use.AGREEMENT | Use.PAGE, needs="ortools", name="flow:m_h_regions"
    ),
    *(
        Entry(
            Matching(matcher=matcher),
            measured={View.CUMULATIVE: f"Matching({matcher!r})  [H_c]"},
            needs=needs,
            name=f"matching:{words_of_class(matcher)}",
            page="../notebooks/06_matching.ipynb",
        )
        for matcher, needs in ((TransportFlow(), "ortools"), (TransportLp(), "ortools"), (Assignment(), "scipy"))
    ),
    Entry(
        CostTables(3, TableConstraints()),
        uses=Use.PAGE,  # a comparison would see it time out: even a hundred unknowns take it minutes
        small=True,
        needs="ortools",
        name="table_constraints",
    ),
    *(Entry(Direct(name), uses=Use.EVERYWHERE if name == "HIGHS" else NOT_COMPARED) for name in OF_PACKAGES),
    *(
        Entry(
            Cvxpy(name),
            uses=USES_BY_CVXPY.get(name, NOT_COMPARED),
            name=f"cvxpy:{name.lower()}" if name in ELSEWHERE else "",
        )
        for name in OF_CVXPY
    ),
    Entry(Gurobi()),
    *(Entry(MathOpt(name), name="mathopt:highs" if name == "HIGHS" else "") for name in OF_MATHOPT),
    Entry(CpSat(), name="cp-sat"),
    Entry(Scipy()),
    Entry(Scip()),
    *(Entry(QpSolvers(name), uses=NOT_COMPARED) for name in OF_QPSOLVERS),
    # After a dozen other solvers in one process COPT stops with an illegal instruction, so its agreement is tested in a
    # process of its own (test_models_more_solvers.py), as `pgsr.compare` runs every method.
    Entry(Copt(), uses=NOT_COMPARED & ~Use.AGREEMENT),
    Entry(Xpress(), uses=NOT_COMPARED),
)
"""The methods that need a solver, in the order of tables."""


def all_entries() -> tuple[Entry, ...]:
    """List our own methods (`pgsr.own_methods.METHODS`), then those that need a solver."""
    return (*own_methods.METHODS, *SOLVERS)
