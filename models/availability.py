"""The facts about solvers that need no solver to start: installed or not, licence, largest size, kinds of problems.

Solvers are found through the entry points of the group `pgsr.solvers`: every installed package may declare a function
without arguments that returns a list of `SolverInfo`, and pgsr declares its own in the same way, in pyproject.toml.
"""

import os
import warnings
from dataclasses import dataclass, replace
from importlib.metadata import EntryPoint, PackageNotFoundError, entry_points
from pathlib import Path

from pgsr.errors import PgsrError
from pgsr.machine.extras import DISTRIBUTION, version_of
from pgsr.methods.method import Method
from pgsr.models import copt_, cpsat_, direct_, flow_, gurobi_, qpsolvers_, scip_, xpress_
from pgsr.models.adapter import Route, SolverModel
from pgsr.models.copt_ import Copt
from pgsr.models.cpsat_ import CpSat
from pgsr.models.cvxpy_ import SOLVERS as CVXPY_SOLVERS
from pgsr.models.cvxpy_ import Cvxpy
from pgsr.models.cvxpy_program import REMEDIES as CVXPY_REMEDIES
from pgsr.models.direct_ import SOLVERS as DIRECT_SOLVERS
from pgsr.models.direct_ import Direct
from pgsr.models.flow_ import Flow
from pgsr.models.gurobi_ import Gurobi
from pgsr.models.mathopt_ import SOLVERS as MATHOPT_SOLVERS
from pgsr.models.mathopt_ import MathOpt
from pgsr.models.program import ProgramKind
from pgsr.models.qpsolvers_ import SOLVERS as QPSOLVERS_SOLVERS
from pgsr.models.qpsolvers_ import QpSolvers
from pgsr.models.scip_ import Scip
from pgsr.models.scipy_ import Scipy
from pgsr.models.xpress_ import Xpress
from pgsr.problems.problem import Problem

GROUP = "pgsr.solvers"
"""The group of entry points by which packages declare solvers."""


@dataclass(frozen=True)
class SolverInfo:
    """One solver on this machine.

    Attributes:
        method: the value itself, e.g. `Cvxpy("CLARABEL")`.
        package: what to install.
        version: the installed version, "" if it is missing.
        licence: its state.
        limit: largest problem.
        remedy: what to do to use it, "" if nothing.
        through: another package that calls the solver, "" if none.
    """

    method: Method
    package: str
    version: str
    licence: str
    limit: str
    remedy: str
    through: str

    @property
    def installed(self) -> bool:
        return bool(self.version)


def solvers() -> list[SolverInfo]:
    """List every solver that an installed package declares, installed itself or not: ours first, then by name.

    A package whose declaration cannot be read, or returns something else, is left out with a warning that names it.

    Raises:
        PgsrError: pgsr's own solvers are not declared, because pgsr runs from a folder without being installed, or
            was installed from an older version.

    >>> print(*sorted({info.package for info in solvers() if "Cvxpy" in repr(info.method)}))
    clarabel cuopt-cu12 cupy-cuda12x gurobipy highspy mosek ortools osqp piqp pyscipopt qoco scipy scs
    """
    declared = [(_package(point), point) for point in entry_points(group=GROUP)]
    declared.sort(key=lambda pair: (pair[0] != DISTRIBUTION, pair[1].name))
    if not declared or declared[0][0] != DISTRIBUTION:
        raise PgsrError(
            "this Python does not know the solvers of pgsr, since pgsr is not installed in it, or was before they were "
            "declared; run pip install --editable . in the folder of pgsr"
        )
    return [info for package, point in declared for info in _declared_by(package, point)]


def solver_info(method: Method, package: str, licence: str, limit: str, through: str = "") -> SolverInfo:
    """Look up which version of `package` is installed, and what to install if it or `through` is missing.

    The arguments are attributes of `SolverInfo`; packages are called as pip calls them.
    """
    missing = [name for name in filter(None, (through, package)) if not _version(name)]
    requirement = {**direct_.REQUIREMENTS, "coptpy": copt_.REQUIREMENT}
    remedy = "pip install " + " ".join(requirement.get(name, name) for name in missing) if missing else ""
    found = "" if missing else _version(package)
    return SolverInfo(method, package, found, licence, limit, remedy, through)


def cvxpy() -> list[SolverInfo]:
    """Describe the solvers that CVXPY calls, and those of them that are called without it as well."""
    packages = {"GLOP": "ortools", "PDLP": "ortools", "HIGHS": "highspy", "GUROBI": "gurobipy", "SCIP": "pyscipopt"}
    packages |= {"CUOPT": "cuopt-cu12", "CUCLARABEL": "cupy-cuda12x"}
    licences = {"HIGHS": "MIT", "PIQP": "BSD", "SCS": "MIT", "SCIPY": "BSD", "QOCO": "BSD"}
    ways = (*((Direct, name, "") for name in DIRECT_SOLVERS), *((Cvxpy, name, "cvxpy") for name in CVXPY_SOLVERS))
    infos = [
        solver_info(of(name), packages.get(name, name.lower()), licences.get(name, "Apache 2.0"), "memory", through)
        for of, name, through in ways
    ]
    none = "commercial, none found", "nothing without a licence", CVXPY_REMEDIES["MOSEK"]
    commercial = {"gurobipy": _gurobi, "mosek": lambda info: _commercial(info, mosek_license_file(), *none)}
    return [commercial.get(info.package, lambda info: info)(info) for info in infos]


def mosek_license_file() -> Path | None:
    """Find the file in which MOSEK looks for its licence, or None."""
    place = Path(os.environ.get("MOSEKLM_LICENSE_FILE") or Path.home() / "mosek" / "mosek.lic")
    return place if place.is_file() else None


def copt() -> list[SolverInfo]:
    """Describe COPT and its licence."""
    info = solver_info(Copt(), "coptpy", "", "")
    limit = f"{copt_.UNLICENSED_LIMIT:,} unknowns or rows; {copt_.UNLICENSED_LINEAR_LIMIT:,} in linear programs"
    licence = "commercial, none needed for small problems"
    return [_commercial(info, copt_.license_file(), licence, limit, copt_.REMEDY)]


def gurobi() -> list[SolverInfo]:
    """Describe Gurobi and its licence."""
    return [_gurobi(solver_info(Gurobi(), "gurobipy", "", ""))]


def ortools() -> list[SolverInfo]:
    """Describe the solvers inside OR-tools."""
    return [
        solver_info(Flow(), "ortools", "Apache 2.0", f"{flow_.LARGEST:,} unknowns"),
        *(solver_info(MathOpt(name), "ortools", "Apache 2.0", "memory") for name in MATHOPT_SOLVERS),
        solver_info(CpSat(), "ortools", "Apache 2.0", f"{cpsat_.LARGEST:,} unknowns, steps included"),
    ]


def qpsolvers() -> list[SolverInfo]:
    """Describe the solvers that qpsolvers calls."""
    licences = {"proxqp": "BSD", "qpalm": "LGPL", "daqp": "MIT"}
    return [
        solver_info(
            QpSolvers(name),
            qpsolvers_.PACKAGES.get(name, name),
            licences.get(name, "GPL"),
            f"{qpsolvers_.LARGEST_DENSE:,} unknowns or rows" if known.dense else "memory",
            "qpsolvers",
        )
        for name, known in QPSOLVERS_SOLVERS.items()
    ]


def scip() -> list[SolverInfo]:
    """Describe SCIP."""
    return [solver_info(Scip(), "pyscipopt", "Apache 2.0", f"{scip_.LARGEST:,} unknowns")]


def scipy() -> list[SolverInfo]:
    """Describe the solver inside SciPy."""
    return [solver_info(Scipy(), "scipy", "BSD", "memory")]


def xpress() -> list[SolverInfo]:
    """Describe FICO Xpress and its licence."""
    info = solver_info(Xpress(), "xpress", "", "")
    limit = f"{xpress_.COMMUNITY_QUADRATIC_LIMIT} unknowns and rows; {xpress_.COMMUNITY_LIMIT:,} if linear"
    licence = "commercial, bundled with the package"
    return [_commercial(info, xpress_.license_file(), licence, limit, xpress_.REMEDY)]


def name_of(problem: Problem) -> str:
    """Name a problem as in the tables of methods, with whose totals it keeps: "M_H^r, regions"."""
    totals = "" if problem.totals is None or not problem.consistent else f", {problem.totals}"
    return f"{problem.label}{totals}"


def _gurobi(info: SolverInfo) -> SolverInfo:
    """Fill in Gurobi's licence, for its own interface and for others that call it."""
    limit = f"{gurobi_.BUNDLED_QUADRATIC_LIMIT} unknowns; {gurobi_.BUNDLED_LIMIT:,} if linear"
    return _commercial(info, gurobi_.license_file(), "commercial, bundled with the package", limit, gurobi_.REMEDY)


def _commercial(info: SolverInfo, own: Path | None, licence: str, limit: str, remedy: str) -> SolverInfo:
    """Fill in the licence of a commercial solver: its own file, or what holds without one."""
    if own is not None:
        return replace(info, licence=f"commercial, file {own.name}", limit="that of the licence")
    return replace(info, licence=licence, limit=limit, remedy=info.remedy or remedy)


def way(method: Method, problem: Problem) -> str:
    """Say how a method solves a problem: "exact", "window" for linear pieces, "rounded" for a relaxation, or ""."""
    if method.supports(problem) is not None:
        return ""
    if isinstance(method, SolverModel):
        stated = problem.conditions
        network = stated is None or stated.bounds_alone
        if method.route(problem) is Route.WINDOW and not network and ProgramKind.MILP not in method.takes:
            return "rounded"  # vertices of the linear programs may be fractional
        return {Route.DIRECT: "exact", Route.WINDOW: "window", Route.RELAXED: "rounded", None: ""}[
            method.route(problem)
        ]
    return "rounded" if problem.integer and getattr(method, "rounds_relaxation", False) else "exact"


def _package(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else ""


def _declared_by(package: str, point: EntryPoint) -> list[SolverInfo]:
    try:
        infos = list(point.load()())
    except Exception as error:  # whatever somebody else's package does while it is imported
        reason = f"{type(error).__name__}: {error}"
    else:
        if all(isinstance(info, SolverInfo) for info in infos):
            return infos
        reason = "it returns something else than SolverInfo"
    warnings.warn(
        f"the solvers {point.name!r} of the package {package} are left out, {reason}; update or remove it",
        stacklevel=3,
    )
    return []


def _version(package: str) -> str:
    try:
        return version_of(package)
    except PackageNotFoundError:
        return ""
