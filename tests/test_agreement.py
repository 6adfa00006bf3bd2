"""Every method on every problem it supports: the matrix that `python -m experiments agreement` prints in full."""

import pytest
from instances import scale

from experiments.agreement import PROBLEMS, agreement, table


@pytest.mark.parametrize("name", PROBLEMS)
def test_methods_agree(name):
    instances = scale(3, 200)
    pairs = agreement(instances, [name], progress=False, seed=1)
    assert len(pairs) >= 4, "every problem has several methods"
    for (method, _), pair in pairs.items():
        assert pair.agreed == instances, (method, pair.failures[:3])
    assert table(pairs).shape == (len(pairs), 2)
