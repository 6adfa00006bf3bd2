"""Installed? Licensed? How large? Answered without starting a solver."""

from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

from models import flow_, gurobi_, mathopt_


@dataclass(frozen=True)
class SolverInfo:
    """One solver of models/ on this machine.

    Attributes:
        method: what to write, e.g. `Cvxpy("CLARABEL")`.
        solves: which problems, and how well.
        package: what to install.
        version: the installed version, "" if it is missing.
        licence: its state.
        limit: largest problem.
        remedy: what to do to use it, "" if nothing.
    """

    method: str
    solves: str
    package: str
    version: str
    licence: str
    limit: str
    remedy: str

    @property
    def installed(self) -> bool:
        return bool(self.version)


def solvers() -> list[SolverInfo]:
    """Every solver that models/ knows, installed or not."""
    relaxed = "M_H^r; M_H rounded"
    return [
        _info("Flow()", "M_H, exact", "ortools", "open (Apache 2.0)", f"{flow_.LARGEST:,} unknowns"),
        _info("MathOpt('GSCIP')", "M_H, exact", "ortools", "open (Apache 2.0)", f"{mathopt_.LARGEST:,} unknowns"),
        _info("Cvxpy('CLARABEL')", relaxed, "clarabel", "open (Apache 2.0)", "memory", "cvxpy"),
        _info("Cvxpy('HIGHS')", relaxed, "highspy", "open (MIT)", "memory", "cvxpy"),
        _info("Cvxpy('OSQP')", relaxed, "osqp", "open (Apache 2.0)", "memory", "cvxpy"),
        _info("Cvxpy('PIQP')", relaxed, "piqp", "open (BSD)", "memory", "cvxpy"),
        _info("Cvxpy('SCS')", relaxed, "scs", "open (MIT)", "memory", "cvxpy"),
        _gurobi(),
    ]


def _info(method: str, solves: str, package: str, licence: str, limit: str, through: str = "") -> SolverInfo:
    missing = [name for name in filter(None, (through, package)) if not _version(name)]
    requirement = {"highspy": "'highspy<1.15'"}
    remedy = "pip install " + " ".join(requirement.get(name, name) for name in missing) if missing else ""
    return SolverInfo(method, solves, package, "" if missing else _version(package), licence, limit, remedy)


def _gurobi() -> SolverInfo:
    info = _info("Gurobi()", "M_H, exact; M_H^r", "gurobipy", "", "")
    own = gurobi_.license_file()
    if own is not None:
        licence, limit, remedy = f"commercial, file {own.name}", "that of the licence", info.remedy
    else:
        licence, remedy = "commercial, bundled with the package", info.remedy or gurobi_.REMEDY
        limit = f"{gurobi_.BUNDLED_QUADRATIC_LIMIT} unknowns"
    return SolverInfo(info.method, info.solves, info.package, info.version, licence, limit, remedy)


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
