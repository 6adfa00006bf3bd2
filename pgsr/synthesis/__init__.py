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
    from pgsr.privacy.accounting.zcdp import Conversion, epsilon_of, rho_of
    from pgsr.synthesis.data.binning import Binning
    from pgsr.synthesis.data.domain import COUNT, Attribute, Domain, Role, SynthesisError
    from pgsr.synthesis.data.impossible import Impossible, implied
    from pgsr.synthesis.data.ipums import Extract, Misfit, read_ipums
    from pgsr.synthesis.data.linked_tables import LinkedTableError, read_population, to_tables, write_population
    from pgsr.synthesis.data.population import Population
    from pgsr.synthesis.marginals.filled_households import FilledHouseholds
    from pgsr.synthesis.marginals.marginal_curator import MeasuredMarginal
    from pgsr.synthesis.marginals.marginal_sensitivity import MarginalSensitivity, marginal_sensitivity
    from pgsr.synthesis.marginals.marginal_transcript import MarginalTranscript
    from pgsr.synthesis.marginals.public_households import PublicHouseholds
    from pgsr.synthesis.marginals.sizes import RegionalPopulation, sample_to_sizes
    from pgsr.synthesis.marginals.whole_marginals import FittedMarginals, MarginalRound, WholeMarginals
    from pgsr.synthesis.queries.adaptive import Distribution, Estimator, Family, Fitted, Round, fit, replay
    from pgsr.synthesis.queries.answers import answers, counts
    from pgsr.synthesis.queries.curator import Curator
    from pgsr.synthesis.queries.evaluation import Errors, errors
    from pgsr.synthesis.queries.hpd import HPDFixed, HPDGen
    from pgsr.synthesis.queries.independent_marginals import IndependentMarginals
    from pgsr.synthesis.queries.mixture import Mixture
    from pgsr.synthesis.queries.mwem import MWEM, Output, Update
    from pgsr.synthesis.queries.rho_budget import AdaptiveBudget, RhoLedger
    from pgsr.synthesis.queries.sensitivity import Neighbours, NoiseScale, sensitivities, sensitivity
    from pgsr.synthesis.queries.torch_runs import Device
    from pgsr.synthesis.queries.transcript import MeasuredQuery, Privacy, Transcript
    from pgsr.synthesis.queries.type_distribution import TypeDistribution
    from pgsr.synthesis.queries.universe import Universe
    from pgsr.synthesis.queries.workload import Level, Marginal, Relative, Workload

__all__ = [
    "COUNT",
    "MWEM",
    "AdaptiveBudget",
    "Attribute",
    "Binning",
    "Conversion",
    "Curator",
    "Device",
    "Distribution",
    "Domain",
    "Errors",
    "Estimator",
    "Extract",
    "Family",
    "FilledHouseholds",
    "Fitted",
    "FittedMarginals",
    "HPDFixed",
    "HPDGen",
    "Impossible",
    "IndependentMarginals",
    "Level",
    "LinkedTableError",
    "Marginal",
    "MarginalRound",
    "MarginalSensitivity",
    "MarginalTranscript",
    "MeasuredMarginal",
    "MeasuredQuery",
    "Misfit",
    "Mixture",
    "Neighbours",
    "NoiseScale",
    "Output",
    "Population",
    "Privacy",
    "PublicHouseholds",
    "RegionalPopulation",
    "Relative",
    "RhoLedger",
    "Role",
    "Round",
    "SynthesisError",
    "Transcript",
    "TypeDistribution",
    "Universe",
    "Update",
    "WholeMarginals",
    "Workload",
    "answers",
    "counts",
    "epsilon_of",
    "errors",
    "fit",
    "implied",
    "marginal_sensitivity",
    "read_ipums",
    "read_population",
    "replay",
    "rho_of",
    "sample_to_sizes",
    "sensitivities",
    "sensitivity",
    "to_tables",
    "write_population",
]
