"""The problems in the solvers' own interfaces, for whoever reads, changes and solves them there.

    model = Gurobi().model(problem)     # model.native is a gurobipy.Model
    model.native.optimize()
    model.judge()                       # status, residuals and certificate by pgsr

`program` writes a problem as a program with names, which a solver model makes in its interface as it makes any other
(`pgsr.models.solver_object`); `model` brings solutions back.
"""
