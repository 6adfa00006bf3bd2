"""The synthesis of households with their members: HPD-Fixed, HPD-Gen and MWEM (Liu & Wu 2022).

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

HPDFixed() and HPDGen() serve domains too large for MWEM() to list; they need torch. `fitted.transcript` is all that
left the data, with the privacy paid in `.privacy.claim`; `replay` makes the distribution of it again.
"""

from pgsr.machine.extras import extra

with extra("release"):
    from pgsr.synthesis.data.domain import Attribute, Domain, Population
    from pgsr.synthesis.data.linked_tables import read_population, to_tables
    from pgsr.synthesis.queries.adaptive import errors, fit
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
    "HPDFixed",
    "HPDGen",
    "IndependentMarginals",
    "Level",
    "Marginal",
    "Population",
    "Workload",
    "errors",
    "fit",
    "read_population",
    "to_tables",
]
