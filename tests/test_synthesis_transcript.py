"""The record of a fit: transcripts as files, and damaged files of every kind."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from instances import scale
from test_synthesis_mixture import HOUSEHOLD, PLAIN, full_workload, random_mixture, random_population

from pgsr import Seeded
from pgsr.synthesis import (
    MWEM,
    AdaptiveBudget,
    Attribute,
    Domain,
    Measured,
    Mixture,
    Neighbours,
    RandomHouseholds,
    SynthesisError,
    Transcript,
    TypeDistribution,
    Universe,
    Workload,
    fit,
    replay,
)

BUDGET = AdaptiveBudget("1/3", "1e-7", rounds=7, alpha="2/3", conversion="tight")  # pyright: ignore[reportArgumentType]


def transcript(domain: Domain, neighbours: Neighbours = Neighbours.REPLACE) -> Transcript:
    population = random_population(domain, 200, seed=3)
    workload = full_workload(domain, 2)
    given: dict[str, Any] = {"source": Seeded("kept"), "neighbours": neighbours, "n_persons": 400}
    return fit(population, workload, MWEM(iterations=5), BUDGET, **given).transcript


@pytest.mark.parametrize("domain", [PLAIN, Domain.household([], [Attribute("sex", ("f", "m"))], max_children=2)])
@pytest.mark.parametrize("neighbours", list(Neighbours))
def test_a_transcript_comes_back_exactly(domain: Domain, neighbours: Neighbours, tmp_path: Path) -> None:
    kept = transcript(domain, neighbours)
    kept.save(tmp_path / "fit.json")
    again = Transcript.load(tmp_path / "fit.json")
    assert (again.domain, again.workload.marginals) == (kept.domain, kept.workload.marginals)
    assert (again.n_groups, again.n_persons) == (kept.n_groups, kept.n_persons)
    assert (again.measured, again.privacy) == (kept.measured, kept.privacy)
    assert again.privacy.rho == BUDGET.rho
    assert isinstance(again.privacy.rho, Fraction)
    again.save(tmp_path / "twice.json")
    assert (tmp_path / "fit.json").read_bytes() == (tmp_path / "twice.json").read_bytes()


def test_a_distribution_is_made_again_from_the_file(tmp_path: Path) -> None:
    population, workload = random_population(PLAIN, 200, seed=3), full_workload(PLAIN, 2)
    fitted = fit(population, workload, MWEM(iterations=5), BUDGET, source=Seeded("kept"))
    fitted.transcript.save(tmp_path / "fit.json")
    again = replay(Transcript.load(tmp_path / "fit.json"), MWEM(iterations=5))
    np.testing.assert_array_equal(again.answers(workload), fitted.distribution.answers(workload))


def test_a_wrong_transcript_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "fit.json"
    transcript(PLAIN).save(path)
    described = json.loads(path.read_text())
    for wrong in (
        {"format": "pgsr transcript 0"},
        {"n_groups": 0},
        {"n_persons": 1.5},
        {"measured": [[10**6, 0.5]]},
        {"measured": [[-1, 0.5]]},
        {"measured": [[0, 1.5]]},
        {"measured": [[0, "NaN"]]},
        {"measured": 3},
        {"marginals": []},
        {"domain": {}},
        {"privacy": {**described["privacy"], "rho": "1/0"}},
        {"privacy": {**described["privacy"], "secure": "no"}},
        {"privacy": {**described["privacy"], "conversion": "loose"}},
        {"privacy": {"epsilon": "1"}},
    ):
        path.write_text(json.dumps({**described, **wrong}))
        with pytest.raises(SynthesisError, match="is no 'pgsr transcript 1'"):
            Transcript.load(path)
    for text in ("", "[]", "null", json.dumps(described)[:-2]):
        path.write_text(text)
        with pytest.raises(SynthesisError, match="is no 'pgsr transcript 1'"):
            Transcript.load(path)
    with pytest.raises(FileNotFoundError):
        Transcript.load(tmp_path / "absent")


def test_a_measurement_belongs_to_the_workload() -> None:
    good = transcript(PLAIN)
    for query, value in ((good.workload.n_queries, 0.5), (0, float("nan")), (0, -0.1)):
        with pytest.raises(SynthesisError, match="no share of a query"):
            Transcript(good.workload, 3, 4, (Measured(query, value),), good.privacy)


def test_damaged_archives_are_refused_or_read_the_same(tmp_path: Path) -> None:
    small, path = Domain.plain([], [Attribute("sex", ("f", "m"))], max_size=2), tmp_path / "fit"
    universe, workload = Universe.of(small), Workload.k_way(small, 1)
    sizes = (np.array([0, 0.25, 0.75]),)
    models = (
        random_mixture(small, 2, 0),
        TypeDistribution(universe.types, universe.prior),
        RandomHouseholds(small, np.array([[0.5, 0.5]]), sizes),
    )
    refused = 0
    for model in models:
        model.save(path)
        whole, kind = path.read_bytes(), type(model)
        for at in range(0, len(whole), scale(5, 1)):
            for damaged in (whole[:at], whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :]):
                path.write_bytes(damaged)
                try:
                    again = kind.load(path)
                except SynthesisError:
                    refused += 1
                else:  # an unused field of the container
                    np.testing.assert_array_equal(again.answers(workload), model.answers(workload))
    assert refused > 100


def test_an_archive_of_another_class_is_refused(tmp_path: Path) -> None:
    random_mixture(HOUSEHOLD, 2, 0).save(tmp_path / "mixture")
    for kind in (TypeDistribution, RandomHouseholds):
        with pytest.raises(SynthesisError, match="is no"):
            kind.load(tmp_path / "mixture")
    assert Mixture.load(tmp_path / "mixture").n_components == 2
