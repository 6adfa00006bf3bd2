"""HPD-Fixed and HPD-Gen: gradients, descent on exact measurements, determinism; and what works without torch."""

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import synthesis_fits as fits
from instances import rng_of
from test_synthesis_mixture import full_workload, random_mixture

from pgsr.errors import MissingPackageError
from pgsr.privacy import Seeded
from pgsr.synthesis import AdaptiveBudget, Attribute, Domain, HPDFixed, HPDGen, fit
from pgsr.synthesis.data.domain import SynthesisError
from pgsr.synthesis.queries.answers import answers
from pgsr.synthesis.queries.batch_answers import answers_of, batches
from pgsr.synthesis.queries.hpd import FixedLogits, LogitNetwork, _active
from pgsr.synthesis.queries.mixture import Mixture, all_answers
from pgsr.synthesis.queries.torch_runs import Adam, Device
from pgsr.synthesis.queries.transcript import MeasuredQuery


@pytest.fixture(scope="module")
def torch() -> Any:
    """Imported for the tests that need it alone: it takes seconds."""
    return pytest.importorskip("torch", reason="HPD is fitted with torch")


PLAIN = Domain.plain([Attribute("area", range(2)), Attribute("g", range(3))], [Attribute("sex", range(2))], max_size=4)
HOUSEHOLD = Domain.household([Attribute("area", range(2))], [Attribute("sex", range(2)), Attribute("age", range(3))], 2)
SMALL = HPDFixed(components=40, steps=60, device=Device.CPU)
SMALL_GEN = HPDGen(components=40, embedding=8, hidden=(16, 16), steps=60, learning_rate=1e-2, device=Device.CPU)


def exact(truth: np.ndarray, queries: list[int]) -> list[MeasuredQuery]:
    return [MeasuredQuery(q, float(truth[q])) for q in queries]


def worst_first(family: Any, domain: Domain, rounds: int, seed: int = 0) -> tuple[list[float], Any]:
    """Mean errors over the workload, round by round, when the worst query is measured exactly."""
    workload = full_workload(domain, 2)
    truth = answers(random_mixture(domain, 2, 0).sample(500, 0), workload)
    estimator = family.start(workload, 500, 1_000, seed)
    queries: list[int] = []
    means = [float(np.abs(estimator.answers() - truth).mean())]
    for _ in range(rounds):
        errors = np.abs(estimator.answers() - truth)
        errors[queries] = -1
        queries.append(int(errors.argmax()))
        estimator.update(exact(truth, queries))
        means.append(float(np.abs(estimator.answers() - truth).mean()))
    return means, estimator


@pytest.mark.slow
@pytest.mark.usefixtures("torch")
@pytest.mark.parametrize(("family", "domain"), [(SMALL, PLAIN), (SMALL_GEN, HOUSEHOLD)], ids=["fixed", "gen"])
def test_errors_fall_with_exact_measurements(family: Any, domain: Domain) -> None:
    means, estimator = worst_first(family, domain, 25)
    assert means[-1] < means[0] / 3
    found = estimator.distribution().answers(full_workload(domain, 2))
    np.testing.assert_allclose(found, estimator.answers(), rtol=0, atol=2e-6)
    sample = estimator.distribution().sample(2_000, 0)  # Population checks the roles
    assert sample.n_groups == 2_000


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "domain"), [("fixed", HOUSEHOLD), ("gen", PLAIN)], ids=["fixed", "gen"])
def test_gradients_match_finite_differences(torch: Any, domain: Domain, kind: str) -> None:
    """The derivatives are of 64 bits, along random directions, for every query of a kind at once and one by one."""
    model: Any = FixedLogits(domain, 6, 1, "cpu") if kind == "fixed" else LogitNetwork(domain, 6, 3, (5, 4), 1, "cpu")
    if kind == "gen":
        model._z = model._z.double()
    parameters = [p.detach().double().requires_grad_() for p in model.parameters]
    workload = full_workload(domain, 3)
    rng = rng_of(2)
    queries = rng.choice(workload.n_queries, 60, replace=False).tolist()
    weights = torch.as_tensor(rng.normal(size=60))
    listed = batches(workload, queries, torch.as_tensor)

    def value(shifted: list[Any]) -> Any:
        tables = model.tables(shifted)
        return sum((answers_of(tables, b) * weights[b.place]).sum() for b in listed)

    value(parameters).backward()
    step = 1e-6
    for _ in range(10):
        direction = [torch.as_tensor(rng.normal(size=tuple(p.shape))) for p in parameters]
        slope = sum((p.grad * d).sum() for p, d in zip(parameters, direction, strict=True))
        with torch.no_grad():
            up = value([p + step * d for p, d in zip(parameters, direction, strict=True)])
            down = value([p - step * d for p, d in zip(parameters, direction, strict=True)])
        assert float(slope) == pytest.approx(float((up - down) / (2 * step)), rel=1e-5, abs=1e-9)
        assert abs(float(slope)) > 1e-8


@pytest.mark.slow
@pytest.mark.usefixtures("torch")
@pytest.mark.parametrize("kind", ["fixed", "gen"])
def test_tables_are_probabilities_and_agree_with_numpy(kind: str) -> None:
    for domain in (PLAIN, HOUSEHOLD):
        model: Any = (
            FixedLogits(domain, 30, 3, "cpu") if kind == "fixed" else LogitNetwork(domain, 30, 4, (8,), 3, "cpu")
        )
        tables = model.tables(model.parameters)
        mixture = Mixture.of(tables)
        for table in (*mixture.group, *mixture.slots, *mixture.sizes):
            np.testing.assert_allclose(table.sum(-1), 1, rtol=0, atol=1e-12)
            assert (table >= 0).all()
        for k in (1, 2, 3):
            workload = full_workload(domain, k)
            found = all_answers(tables, workload)
            np.testing.assert_allclose(found, mixture.answers(workload), rtol=0, atol=2e-6)


@pytest.mark.slow
@pytest.mark.parametrize("family", [SMALL, SMALL_GEN], ids=["fixed", "gen"])
def test_the_same_seed_gives_the_same_bits(torch: Any, family: Any) -> None:
    """Whatever the caller's generator and threads are, and whether or not answers are asked for in between."""
    workload = full_workload(PLAIN, 2)
    truth = answers(random_mixture(PLAIN, 2, 0).sample(500, 0), workload)

    def run(seed: int, ask: bool) -> np.ndarray:
        estimator = family.start(workload, 500, 1_000, seed)
        for n in range(1, 6):
            estimator.update(exact(truth, list(range(0, 7 * n, 7))))
            if ask:
                estimator.answers()
        return estimator.answers()

    state, threads = torch.get_rng_state(), torch.get_num_threads()
    first = run(4, ask=True)
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.get_num_threads() == threads
    torch.manual_seed(99)
    np.testing.assert_array_equal(run(4, ask=False), first)
    torch.set_rng_state(state)
    assert (run(5, ask=False) != first).any()


@pytest.mark.slow
@pytest.mark.usefixtures("torch")
def test_a_round_ends_when_no_error_reaches_the_threshold() -> None:
    """The threshold gamma_1 is half the largest error; gamma_2, half the mean of both rounds', is above all errors."""
    workload = full_workload(PLAIN, 2)
    estimator = SMALL.start(workload, 500, 1_000, 0)
    before = estimator.answers()
    measured = [MeasuredQuery(3, float(before[3]) + 0.3), MeasuredQuery(20, float(before[20]) + 0.1)]

    def errors(found: np.ndarray) -> list[float]:
        return [abs(float(found[m.query]) - m.value) for m in measured]

    estimator.update(measured)
    after = estimator.answers()
    assert max(errors(after)) < 0.15 + 1e-6
    estimator.update([])
    close = [MeasuredQuery(m.query, float(after[m.query]) + 0.09) for m in measured]
    estimator.update(close)  # gamma = (0.3 + 0.09) / 4
    np.testing.assert_array_equal(estimator.answers(), after)
    estimator.update(close)  # gamma = ((0.3 + 0.09) / 2 + 0.09) / 4, below 0.09
    assert (estimator.answers() != after).any()


def test_active_measurements_are_the_worst_above_the_threshold() -> None:
    errors = np.array([0.1, 0.5, 0.2, 0.5, 0.05])
    assert _active(errors, 0.2, 10).tolist() == [False, True, True, True, False]
    assert _active(errors, 0.2, 2).tolist() == [False, True, False, True, False]
    assert _active(errors, 0.2, 1).tolist() == [False, True, False, False, False]
    assert not _active(errors * 0, 0.0, 3).any()


@pytest.mark.slow
def test_a_missing_gpu_is_a_sentence(torch: Any) -> None:
    if torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    with pytest.raises(SynthesisError, match="finds no GPU"):
        HPDFixed(device=Device.CUDA).start(full_workload(PLAIN, 1), 10, 20, 0)


@pytest.mark.slow
def test_the_package_does_not_import_torch() -> None:
    code = "import sys, pgsr.synthesis as s; s.HPDFixed(), s.HPDGen(); sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_without_torch_a_sentence_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    for family in (SMALL, SMALL_GEN):
        with pytest.raises(MissingPackageError, match=r'pip install "\.\[synthesis\]"'):
            family.start(full_workload(PLAIN, 1), 10, 20, 0)


@pytest.mark.slow
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


@pytest.mark.slow
def test_no_fit_imports_the_compiler_of_torch(torch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes some seconds in every process."""
    monkeypatch.setitem(sys.modules, "torch._dynamo", None)  # an import of it raises
    budget = AdaptiveBudget(1, "1e-6", rounds=1)
    fit(
        fits.population(),
        fits.WORKLOAD,
        HPDFixed(components=2, steps=2, device=Device.CPU),
        budget,
        source=Seeded("hpd"),
    )
    with pytest.raises(ImportError, match="_dynamo"):
        torch.optim.Adam([torch.ones(2).requires_grad_()])
