"""The sentences that refuse measurements whose levels have sizes of their own."""

from pgsr.noise.measurement import Measurement, Totals

ONE_LARGEST_SIZE = (
    "this post-process takes one largest size for all levels, and here levels have sizes of their own; take "
    "IsotonicTreeProjection(), Matching(), TwoStage() or Posterior()"
)


def refused_by_level(measurement: Measurement) -> str | None:
    """Give the reason why regions alone cannot be put together where levels have sizes of their own, or None."""
    if measurement.sizes.equal:
        return None
    if measurement.public is Totals.NOISY:
        return "levels have sizes of their own here, which goes with public totals; measure with totals='regions'"
    if measurement.public is Totals.ROOT:
        return (
            "only the root's total is public here, and levels have sizes of their own, so every region's is needed; "
            "measure with totals='regions'"
        )
    if any(noise is None for noise in measurement.noise):
        return "levels have sizes of their own here, so every level has to be measured; give each a share"
    if measurement.hierarchy.padded.any():
        return "levels have sizes of their own here, so every branch needs the same depth; give it without padding"
    return None
