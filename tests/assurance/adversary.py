"""The judge of the adversary: what a result may say of a problem whose optimum is known, by whatever method."""

import contextlib
from dataclasses import dataclass

from plain_problems import Plain, nearly, optimum, real_optimum
from transformations import Moved

from pgsr import Problem, Result, Status
from pgsr.errors import TooLargeError
from pgsr.methods.catalogue import Entry, Proof
from pgsr.methods.method import Method
from pgsr.models.catalogue import SOLVERS
from pgsr.own_methods import METHODS

SECONDS = 20.0
"""Time limit of every solve."""

SILENT = (
    Status.UNSUPPORTED,
    Status.NOT_INSTALLED,
    Status.UNLICENSED,
    Status.TOO_LARGE,
    Status.TIMED_OUT,
    Status.FAILED,
)
"""Statuses that say nothing of the problem, which a general solver may always give."""

REFUSING = (Status.UNSUPPORTED, Status.TOO_LARGE)
"""Those that methods of our own may give."""


@dataclass(frozen=True)
class Known:
    """The interval in which the optimum of a problem lies, a point where it is known."""

    least: float
    most: float


def known(plain: Plain) -> Known:
    """Compute the optimum slowly."""
    value = optimum(plain) if plain.integer else real_optimum(plain)
    return Known(value, value)


def moved_optimum(plain: Plain, before: Known, moved: Moved) -> Known:
    """Say where the optimum is after a change."""
    if moved.exact:
        return Known(before.least * moved.times, before.most * moved.times)
    return Known(real_optimum(plain) * moved.times, before.most * moved.times)


def methods() -> dict[str, Entry]:
    """The methods of the catalogue that solve stated problems, our own first, by their labels."""
    return {repr(entry.method): entry for entry in (*METHODS, *SOLVERS) if isinstance(entry.method, Method)}


def is_own(entry: Entry) -> bool:
    """Whether the answer of this method is proved by us, so that it may not fail."""
    return entry in METHODS


def stated(plain: Plain) -> Problem | None:
    """State a changed problem, or None where its numbers are refused for their size."""
    with contextlib.suppress(TooLargeError):
        return plain.problem()
    return None


def wrong(entry: Entry, problem: Problem, result: Result, where: Known) -> str | None:
    """Say what is wrong in a result, or None.

    OPTIMAL has the optimum and a proof that is not the solver's word; FEASIBLE has a feasible answer, RELAXED a bound;
    whatever has a bound of ours has none above the optimum; nothing is called infeasible; methods of our own do not
    fail, but in reals at counts from 10^9 on, whose last digits 64 bits do not hold.
    """
    status, certificate = result.status, result.certificate
    least, most = where.least - nearly(where.least), where.most + (0 if problem.integer else nearly(where.most))
    if status is Status.INFEASIBLE:
        return f"INFEASIBLE, but the optimum is {where.most:,}"
    if status in SILENT:
        if is_own(entry) and status not in REFUSING and not _beyond_digits(problem):
            return f"{status.name} by a method of our own: {result.reason}"
        return None if result.reason else f"{status.name} without a reason"
    if certificate is None or certificate.objective is None:
        return f"{status.name} without a certificate"
    claimed = status is Status.FEASIBLE and "word" in certificate.bound_by  # then the bound says whose claim it is
    if certificate.bound is not None and not claimed and certificate.bound > most + nearly(most) * problem.integer:
        return f"bound {certificate.bound:,} by {certificate.bound_by} above the optimum {where.most:,}"
    if status is Status.RELAXED:
        return None
    if problem.integer and not certificate.feasible:
        return f"{status.name} with violations {certificate.violations}"
    if certificate.objective < least:
        return f"{status.name} at {certificate.objective:,}, which is below the optimum {where.least:,}"
    if status is Status.FEASIBLE:
        exact = entry.answer is Proof.OPTIMUM
        return (
            f"FEASIBLE by a method that proves optima: {result.reason}"
            if exact and is_own(entry) and not _beyond_digits(problem)
            else None
        )
    if certificate.objective > most:
        return f"OPTIMAL at {certificate.objective:,}, the optimum is {where.most:,}; by {certificate.bound_by}"
    return None


def rests_on_a_word(result: Result) -> str | None:
    """Say whose word is all the proof that an OPTIMAL has, or None."""
    by = "" if result.certificate is None else result.certificate.bound_by
    return f"OPTIMAL by {by}" if result.status is Status.OPTIMAL and "word" in by else None


def _beyond_digits(problem: Problem) -> bool:
    """Whether numbers in reals are so large that a method of our own may say less: 10^9, the docstrings say."""
    return not problem.integer and max(abs(int(y)) for y in problem.cells) >= 10**9
