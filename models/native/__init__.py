"""The problems in the solvers' own interfaces, one family per file, named as in the papers.

    model = Gurobi().model(problem)     # model.native is a gurobipy.Model
    model.native.optimize()
    model.judge()                       # status, residuals and certificate by pgsr

`levels` cuts a problem into levels; `one_by_one` writes its rows with the operators of unknowns, for interfaces that
have one object per unknown; `model` brings solutions back. For scale there is `pgsr.models.formulate`, which states the
same program in sparse matrices at once.
"""

from pgsr.models.native.levels import Levels
from pgsr.models.native.model import NativeModel

__all__ = ["Levels", "NativeModel"]
