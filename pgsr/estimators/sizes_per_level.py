"""The sentence that refuses measurements whose levels have sizes of their own."""

from pgsr.noise.measurement import Measurement


def refused_sizes(measurement: Measurement) -> str | None:
    """Give the reason why a measurement with sizes per level cannot be used, or None."""
    if measurement.sizes.equal:
        return None
    return (
        "this post-process takes one largest size for all levels, and here levels have sizes of their own; take "
        "IsotonicTreeProjection() or Matching()"
    )
