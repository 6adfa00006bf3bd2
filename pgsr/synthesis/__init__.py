"""The synthesis of households with their members: whole marginals, and HPD-Fixed, HPD-Gen and MWEM (Liu & Wu 2022).

From two linked tables to two synthetic ones:

    >>> import pandas as pd
    >>> from pgsr.privacy import Seeded  # for research; Secure() for publishing
    >>> homes = pd.DataFrame({"household": range(300), "area": ["urban", "rural", "urban"] * 100})
    >>> people = pd.DataFrame({"household": [*range(300), *range(0, 300, 2)], "sex": ["f", "m"] * 225})
    >>> area, sex = Attribute("area", ("urban", "rural")), Attribute("sex", ("f", "m"))
    >>> domain = Domain.plain([area], [sex], max_size=3)  # public: never read off the data
    >>> population = read_population(homes, people, domain)
    >>> budget = AdaptiveBudget(epsilon=1, delta="1e-6", rounds=8)
    >>> fitted = fit(population, Workload.k_way(domain, k=2), MWEM(), budget, source=Seeded("demo"))
    >>> new_homes, new_people = to_tables(fitted.distribution.sample(300, seed=1))
    >>> list(new_homes), list(new_people)
    (['household', 'area', 'COUNT'], ['household', 'person', 'role', 'sex'])

`WholeMarginals().fit(population, budget, source=...)` is the method to publish with: more accurate, with public facts
kept exactly. It needs torch, as do HPDFixed() and HPDGen(), which serve domains too large for MWEM() to list.
`fitted.transcript` is all that left the data, with the privacy paid in `.privacy.claim`; `replay` makes the
distribution of it again. `sample_to_sizes` draws to the sizes of a release of
`pgsr.release`.
"""

from pgsr.machine.extras import extra

with extra("release"):
    from pgsr.synthesis.data.domain import Attribute, Domain, Population
    from pgsr.synthesis.data.impossible import Impossible
    from pgsr.synthesis.data.linked_tables import read_population, to_tables
    from pgsr.synthesis.marginals.filled_households import FilledHouseholds
    from pgsr.synthesis.marginals.sizes import sample_to_sizes
    from pgsr.synthesis.marginals.whole_marginals import WholeMarginals
    from pgsr.synthesis.queries.adaptive import fit
    from pgsr.synthesis.queries.evaluation import errors
    from pgsr.synthesis.queries.hpd import HPDFixed, HPDGen
    from pgsr.synthesis.queries.independent_marginals import IndependentMarginals
    from pgsr.synthesis.queries.mwem import MWEM
    from pgsr.synthesis.queries.transcript import AdaptiveBudget
    from pgsr.synthesis.queries.workload import Level, Marginal, Workload

__all__ = [
    "MWEM",
    "AdaptiveBudget",
    "Attribute",
    "Domain",
    "FilledHouseholds",
    "HPDFixed",
    "HPDGen",
    "Impossible",
    "IndependentMarginals",
    "Level",
    "Marginal",
    "Population",
    "WholeMarginals",
    "Workload",
    "errors",
    "fit",
    "read_population",
    "sample_to_sizes",
    "to_tables",
]
