"""The steps of Adam are those of its formulas, and no fit imports the compiler of torch."""

import sys
from typing import Any

import numpy as np
import pytest
from instances import rng_of
from synthesis_fits import WORKLOAD, population

from pgsr.privacy import Seeded
from pgsr.synthesis import AdaptiveBudget, HPDFixed, fit
from pgsr.synthesis.queries.torch_runs import Adam, Device


@pytest.fixture
def torch() -> Any:
    """Imported for these tests alone: it takes two seconds."""
    return pytest.importorskip("torch", reason="Adam is a function of torch")


def test_steps_are_those_of_the_formulas(torch: Any) -> None:
    """Moments are divided by one minus the power of their weight; a tensor without gradient stays."""
    rng = rng_of(3)
    start, target = rng.normal(size=(2, 4, 3))
    moved, still = torch.tensor(start).requires_grad_(), torch.ones(2).requires_grad_()
    adam = Adam([moved, still], 0.1)
    at, first, second = start, 0.0, 0.0
    for t in range(1, 20):
        adam.clear()
        ((moved - torch.tensor(target)) ** 4).sum().backward()
        adam.step()
        slope = 4 * (at - target) ** 3
        first, second = 0.9 * first + 0.1 * slope, 0.999 * second + 0.001 * slope**2
        at = at - 0.1 * first / (1 - 0.9**t) / (np.sqrt(second / (1 - 0.999**t)) + 1e-8)
        np.testing.assert_allclose(moved.detach().numpy(), at, rtol=1e-9)
    assert still.tolist() == [1, 1]
    assert np.abs(at - start).max() > 0.1


def test_no_fit_imports_the_compiler_of_torch(torch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes some seconds in every process."""
    monkeypatch.setitem(sys.modules, "torch._dynamo", None)  # an import of it raises
    budget = AdaptiveBudget(1, "1e-6", rounds=1)
    fit(population(), WORKLOAD, HPDFixed(components=2, steps=2, device=Device.CPU), budget, source=Seeded("hpd"))
    with pytest.raises(ImportError, match="_dynamo"):
        torch.optim.Adam([torch.ones(2).requires_grad_()])
