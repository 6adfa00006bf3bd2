"""A solver's word is not a result: its answer is judged here before anything is called solved."""

import numpy as np

from models.formulate import multipliers
from models.program import Program
from pgsr.certificate import certify
from pgsr.estimate import Estimate
from pgsr.method import Result, Seconds, Status
from pgsr.problem import Problem
from pgsr.rounding import nearest

RESIDUAL = 1e-6
"""Largest violated condition of a continuous answer, relative to the largest right-hand side or noisy value."""

RELATIVE_GAP = 1e-6
"""Largest proven relative gap of a continuous answer."""


def judge_continuous(
    solver: str, problem: Problem, program: Program, z: np.ndarray, duals: np.ndarray, seconds: Seconds
) -> Result:
    """Accept or refuse a continuous answer; for an integer problem round it to the nearest integers, as the papers do.

    The answer passes if its own residuals are within `RESIDUAL` and its objective is within `RELATIVE_GAP` of the
    Lagrangian bound of its duals. Otherwise the result is FAILED and says by how much.
    """
    if not (np.isfinite(z).all() and np.isfinite(duals).all()):
        return Result(Status.FAILED, f"{solver} returned numbers that are not finite", seconds=seconds)
    prices = multipliers(problem, duals)
    relaxed = problem.relaxed()
    continuous = _estimate(problem, program.origin + z)
    certificate = certify(relaxed, continuous, prices)
    residual = primal_residual(program, z)
    # Not certificate.gap: that is for answers feasible to the last digit, this one is feasible to RESIDUAL.
    assert certificate.bound is not None
    assert certificate.objective is not None
    gap = (certificate.objective - certificate.bound) / max(1.0, abs(certificate.bound))
    if residual > RESIDUAL or abs(gap) > RELATIVE_GAP:
        reason = (
            f"{solver} says it solved the relaxation, but its relative residual is {residual:.1e} (allowed "
            f"{RESIDUAL:g}) and its gap {gap:.1e} (allowed {RELATIVE_GAP:g}); tighten its tolerances"
        )
        return Result(Status.FAILED, reason, None, certificate, seconds)
    if not problem.integer:
        return Result(Status.OPTIMAL, "", continuous, certificate, seconds)
    rounded = _estimate(problem, program.origin + nearest(z))
    judged = certify(problem, rounded, prices)
    bound = "our exchange test proves the result optimal" if judged.optimal else "the bound is the relaxation's"
    reason = f"relaxation solved, then every cell rounded to the nearest integer; {bound}"
    return Result(Status.RELAXED, reason, rounded, judged, seconds)


def judge_integer(
    solver: str, problem: Problem, program: Program, z: np.ndarray, seconds: Seconds, proved: bool, bound: float | None
) -> Result:
    """Accept an integer answer if it is one and satisfies every condition; OPTIMAL only if we can prove it too."""
    whole = nearest(z)
    if np.abs(whole - z).max(initial=0.0) > 1e-4:
        return Result(Status.FAILED, f"{solver} returned counts that are not whole numbers", seconds=seconds)
    estimate = _estimate(problem, program.origin + whole)
    certificate = certify(problem, estimate)
    if not certificate.feasible:
        return Result(Status.FAILED, f"{solver} returned an infeasible answer", None, certificate, seconds)
    if certificate.optimal:
        reason = "" if proved else f"{solver} ran out of time before proving it; our exchange test proves it"
        return Result(Status.OPTIMAL, reason, estimate, certificate, seconds)
    if proved:
        reason = f"{solver} claims an optimum that our exchange test refutes"
        return Result(Status.FAILED, reason, None, certificate, seconds)
    bounded = certificate.with_bound(bound, solver) if bound is not None and np.isfinite(bound) else certificate
    return Result(Status.FEASIBLE, f"{solver} reached the time limit", estimate, bounded, seconds)


def primal_residual(program: Program, z: np.ndarray) -> float:
    """Largest violation of a row or a bound, relative to 1 + the largest right-hand side."""
    scale = 1.0 + float(np.abs(program.right).max(initial=0.0))
    rows = float(np.abs(program.matrix @ z - program.right).max(initial=0.0))
    signs = 0.0 if program.lower is None else float(np.maximum(program.lower - z, 0.0).max(initial=0.0))
    return max(rows, signs) / scale


def _estimate(problem: Problem, x: np.ndarray) -> Estimate:
    return Estimate(problem.hierarchy, problem.view, x.reshape(problem.target.shape))
