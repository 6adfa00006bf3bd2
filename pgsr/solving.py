"""What all methods do before and after a solve."""

from pgsr.certificates import Certificate, broken_conditions
from pgsr.estimate import Estimate
from pgsr.measurement import Measurement
from pgsr.method import Result, Seconds, Status


def judged_release(measurement: Measurement, estimate: Estimate, seconds: Seconds) -> Result:
    """The result of a post-process that optimises no stated problem: FEASIBLE if it can be released, else RELAXED.

    Its certificate has no objective and counts what keeps the estimate from being a release.
    """
    broken = broken_conditions(measurement, estimate)
    certificate = Certificate("release", None, None, "", broken)
    if certificate.feasible:
        return Result(Status.FEASIBLE, "", estimate, certificate, seconds)
    reason = "the estimate is no release: " + ", ".join(f"{n:,} {kind}" for kind, n in broken.items() if n)
    return Result(Status.RELAXED, reason, estimate, certificate, seconds)
