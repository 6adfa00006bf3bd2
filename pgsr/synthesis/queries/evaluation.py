"""The errors of a model against the truth. They are not private: use them in experiments, never in a release."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pgsr.synthesis.data.domain import Population
from pgsr.synthesis.queries.answers import answers
from pgsr.synthesis.queries.workload import Level, Workload

if TYPE_CHECKING:
    from pgsr.synthesis.queries.adaptive import Distribution


@dataclass(frozen=True)
class Errors:
    """The absolute errors of some queries. They are not private."""

    largest: float
    mean: float
    n_queries: int


def errors(model: "Distribution | Population", truth: Population, workload: Workload) -> dict[Level, Errors]:
    """Compute the largest and the mean |q(model) - q(truth)| per level of the workload.

    The result is not private, because it is computed from the true population.

    Args:
        model: a fitted distribution, or a population sampled from one.

    Raises:
        SynthesisError: a domain differs, or a population is empty.

    Example:
        >>> from pgsr.synthesis import Attribute, Domain, Marginal
        >>> domain = Domain.plain([], [Attribute("sex", ("f", "m"))], max_size=1)
        >>> of = lambda *codes: Population(
        ...     domain, np.empty((2, 0), int), np.array(codes).reshape(2, 1), np.arange(2), np.zeros(2, int))
        >>> errors(of(0, 0), of(0, 1), Workload(domain, (Marginal(Level.INDIVIDUAL, (), (0,)),)))
        {<Level.INDIVIDUAL: 'individual'>: Errors(largest=0.5, mean=0.5, n_queries=2)}
    """
    found = answers(model, workload) if isinstance(model, Population) else model.answers(workload)
    distances, levels = np.abs(found - answers(truth, workload)), workload.levels()
    parts = {level: distances[levels == level.value] for level in Level}
    return {level: Errors(float(d.max()), float(d.mean()), len(d)) for level, d in parts.items() if len(d)}
