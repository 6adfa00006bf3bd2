"""The measurement of most experiments: one release, judged by its certificate and compared with the truth."""

from typing import TYPE_CHECKING, Any

from pgsr import Result, Status

# The same judge and the same errors as `pgsr.compare`.
from pgsr.comparison.side_by_side import ANSWERED, SOLVER_SHARE, errors_by_level, judged
from pgsr.methods import Method

if TYPE_CHECKING:
    from pgsr.experiments.engine.experiment import Trial

Record = dict[str, Any]


def release_record(trial: "Trial") -> Record:
    """Measure the truth with noise, post-process, and return the errors and the certificate as plain values.

    Returns:
        status, reason: as `pgsr.Result`, after our own certificate.
        objective, bound, bound_by, violations: of the certificate; violations by kind.
        levels: "emd" (only if all totals are right) and "cumulative_l1", means over a level's regions in entities;
            "l1" and "total_error", sums in groups; one number per level each. Empty without an accepted answer.
        formulate_seconds, solve_seconds, round_seconds: of the post-processing.
    """
    result = released(trial)
    return result_record(result) | {"levels": errors_by_level(trial.truth, result)}


def released(trial: "Trial") -> Result:
    """Make a release by the trial's mechanism and judge it; for experiments that look at the estimate, too."""
    mechanism, measurement = trial.mechanism, trial.noise.measure(trial.truth, trial.source)
    reason = mechanism.refusal(measurement)
    if reason is not None:
        return Result(Status.UNSUPPORTED, reason)
    target = mechanism.stated(measurement) if isinstance(mechanism.post, Method) else measurement
    return judged(target, mechanism.post_process(measurement, SOLVER_SHARE * trial.time_limit))


def result_record(result: Result) -> Record:
    """Write a result as plain values, for experiments that measure something else besides."""
    certificate = result.certificate if result.status in ANSWERED else None
    return {
        "status": result.status.name,
        "reason": result.reason,
        "objective": None if certificate is None else certificate.objective,
        "bound": None if certificate is None else certificate.bound,
        "bound_by": "" if certificate is None else certificate.bound_by,
        "violations": {} if certificate is None else dict(certificate.violations),
        "formulate_seconds": result.seconds.formulate,
        "solve_seconds": result.seconds.solve,
        "round_seconds": result.seconds.round,
    }
