"""The compiled loops behind proofs of isotonic fits."""

import numpy as np

from pgsr.machine.compilation import compiled

UNLIMITED = 2**61


@compiled
def chain_closes(low, high, joined, at_lower, at_upper):
    """Say whether multipliers mu[i] = mu[i - 1] - g[i] >= 0 close the chain for some g[i] in [low[i], high[i]].

    mu[i] = 0 unless joined[i], the first one starts from 0 unless `at_lower`, the last one is 0 unless `at_upper`.
    [least, most] are the values that mu[i] can take.
    """
    n = len(low)
    least = np.int64(0)
    most = np.int64(UNLIMITED) if at_lower else np.int64(0)
    for i in range(n):
        # mu[i - 1] - g[i] for all mu[i - 1] and g[i] that are possible, as far as it is not negative.
        least = max(np.int64(0), least - high[i])
        most = min(np.int64(UNLIMITED), most - low[i])
        if most < least:
            return False
        # Between cells that differ, complementary slackness asks for mu[i] = 0.
        if not (joined[i] if i < n - 1 else at_upper):
            if least > 0:
                return False
            most = np.int64(0)
    return True


@compiled
def chain_multipliers(slopes, apart, start):
    """Compute mu[r, i] = max(0, mu[r, i - 1] - slopes[r, i]) from mu[r, -1] = start[r], and 0 wherever apart[r, i]."""
    multipliers = np.empty(slopes.shape)
    for r in range(len(slopes)):
        before = start[r]
        for i in range(slopes.shape[1]):
            before = 0.0 if apart[r, i] else max(0.0, before - slopes[r, i])
            multipliers[r, i] = before
    return multipliers
