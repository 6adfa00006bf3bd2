"""Errors that the adversary finds and nobody has mended yet, by method and change, each with its sentence."""

NO_POINT = "HiGHS says that choices at counts of 10^9 have no point, and INFEASIBLE rests on its word"

CAST = "a solver's finite numbers beyond 64 bits are cast to integers in the judge, instead of being a failure"

WRONG: dict[tuple[str, str], str] = {("Cvxpy('PDLP')", "rows_that_hold 1e6"): CAST} | dict.fromkeys(
    ((label, "units_changed 1e9") for label in ("Scipy()", "MathOpt('HIGHS')")), NO_POINT
)

WORDS: dict[str, str] = dict.fromkeys(
    (
        "Cvxpy('HIGHS')",
        "Cvxpy('GUROBI')",
        "Cvxpy('SCIP')",
        "Cvxpy('SCIPY')",
        "Gurobi()",
        "MathOpt('GSCIP')",
        "MathOpt('HIGHS')",
        "CpSat()",
        "Scipy()",
        "Scip()",
    ),
    "OPTIMAL on the solver's word; what a solver alone claims is FEASIBLE and says whose claim it is",
)

RAISED = "weights are rounded to whole numbers of at least 1, so the smallest are raised by any factor"
LOST = "values of 1e-10, rates and shares are rounded to units that are too coarse for them"

OF_RECONCILE: dict[str, str] = {
    **dict.fromkeys((f"weights_far_apart {k}" for k in ("1e-09", "1e-06", "1e+06", "1e+09")), RAISED),
    "units_changed 1e-09": LOST,
}
OF_RECONCILE_BY_SOLVERS: dict[str, str] = dict.fromkeys(("weights_far_apart 1e+06", "weights_far_apart 1e+09"), RAISED)
