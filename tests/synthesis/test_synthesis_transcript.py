"""The record of a fit: what is in it, and the distribution that is made of it again."""

from typing import Any

import numpy as np
import pytest
from test_synthesis_mixture import PLAIN, full_workload, random_population

from pgsr.privacy import Seeded
from pgsr.synthesis import MWEM, AdaptiveBudget, Domain, fit
from pgsr.synthesis.data.domain import Neighbours, SynthesisError
from pgsr.synthesis.queries.adaptive import replay
from pgsr.synthesis.queries.transcript import MeasuredQuery, Transcript

BUDGET = AdaptiveBudget("1/3", "1e-7", rounds=7, alpha="2/3", conversion="tight")  # pyright: ignore[reportArgumentType]


def transcript(domain: Domain, neighbours: Neighbours = Neighbours.REPLACE) -> Transcript:
    population = random_population(domain, 200, seed=3)
    workload = full_workload(domain, 2)
    given: dict[str, Any] = {"source": Seeded("kept"), "neighbours": neighbours, "n_persons": 400}
    return fit(population, workload, MWEM(iterations=5), BUDGET, **given).transcript


def test_a_distribution_is_made_again_of_its_transcript() -> None:
    population, workload = random_population(PLAIN, 200, seed=3), full_workload(PLAIN, 2)
    fitted = fit(population, workload, MWEM(iterations=5), BUDGET, source=Seeded("kept"))
    again = replay(fitted.transcript, MWEM(iterations=5))
    np.testing.assert_array_equal(again.answers(workload), fitted.distribution.answers(workload))


def test_a_measurement_belongs_to_the_workload() -> None:
    good = transcript(PLAIN)
    for query, value in ((good.workload.n_queries, 0.5), (0, float("nan")), (0, -0.1)):
        with pytest.raises(SynthesisError, match="no share of a query"):
            Transcript(good.workload, 3, 4, (MeasuredQuery(query, value),), good.privacy)
