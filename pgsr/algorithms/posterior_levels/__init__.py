"""Posterior with other sizes on every level: the law of a region's groups, by its level's sizes.

A region of a level with sizes 0..K is a chain of cumulative counts as in `pgsr.algorithms.posterior`, whose loops,
windows and prior these are; its last class is "K or more". What differs is what regions say about each other:

- **Upwards.** A parent with sizes 0..K has children with sizes 0..k. Their counts join its own size by size below k,
  and their last classes join the sum of its tail, from k on; within the tail the parent's own counts alone say how it
  is spread.
- **Downwards.** A parent's shape, folded to the sizes of its children, is the shape that they share.

So tails are linked: what a parent expects from k on and what its children expect in their last class add up. The
posterior means then go together by `pgsr.algorithms.m_c_levels`, and integers are found from the root down.

Files: `method` is `LevelPosterior`, `prior` the prior means, `kernel` the loop over regions, `uncertainty` the
intervals.
"""

from pgsr.algorithms.posterior_levels.method import LevelPosterior

__all__ = ["LevelPosterior"]
