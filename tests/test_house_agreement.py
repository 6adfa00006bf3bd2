"""Every method on every problem it supports: the matrix that `python -m pgsr.experiments agreement` prints in full."""

import pytest
from instances import scale

from pgsr.experiments.benchmarks.agreement import PROBLEMS, agreement, table

pytestmark = pytest.mark.slow

UNSTEADY = ("Cvxpy('HIGHS')", "Cvxpy('OSQP')", "Cvxpy('SCS')", "QpSolvers('cvxopt')", "QpSolvers('proxqp')")


@pytest.mark.drawn(4)
@pytest.mark.parametrize("name", PROBLEMS)
def test_methods_agree(name):
    instances = scale(1, 200)
    pairs = agreement(instances, [name], progress=False, seed=1, time_limit=120)  # a cold machine compiles first
    asked = [pair for pair in pairs.values() if pair.asked == instances]
    assert len(asked) >= 4, "every problem has several methods on every machine"
    for (method, _), pair in pairs.items():
        # Those whose own arithmetic gives up at times may say so; a wrong answer is never allowed.
        needed = pair.solved if method in UNSTEADY else pair.asked
        assert pair.agreed == needed, (method, pair.failures[:3])
    assert table(pairs).shape == (len(pairs), 2)
