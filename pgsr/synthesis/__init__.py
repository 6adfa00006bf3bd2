"""The synthesis of households with their members: whole marginals, and HPD-Fixed, HPD-Gen and MWEM (Liu & Wu 2022).

From two linked tables to two synthetic ones:

    >>> import pandas as pd
    >>> from pgsr import Seeded  # for research; Secure() for publishing
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
    from pgsr.synthesis.adaptive import Distribution, Estimator, Family, Fitted, Round, fit, replay
    from pgsr.synthesis.answers import answers, counts
    from pgsr.synthesis.binning import Binning
    from pgsr.synthesis.curator import Curator
    from pgsr.synthesis.domain import COUNT, Attribute, Domain, Role, SynthesisError
    from pgsr.synthesis.evaluation import Errors, errors
    from pgsr.synthesis.filled_households import FilledHouseholds
    from pgsr.synthesis.hpd import HPDFixed, HPDGen
    from pgsr.synthesis.impossible import Impossible, implied
    from pgsr.synthesis.independent_marginals import IndependentMarginals
    from pgsr.synthesis.ipums import Extract, Misfit, read_ipums
    from pgsr.synthesis.linked_tables import TableError, read_population, to_tables, write_population
    from pgsr.synthesis.marginal_curator import MeasuredMarginal
    from pgsr.synthesis.marginal_sensitivity import MarginalSensitivity, marginal_sensitivity
    from pgsr.synthesis.marginal_transcript import MarginalTranscript
    from pgsr.synthesis.mixture import Mixture
    from pgsr.synthesis.mwem import MWEM, Output, Update
    from pgsr.synthesis.population import Population
    from pgsr.synthesis.public_households import PublicHouseholds
    from pgsr.synthesis.queries import Level, Marginal, Relation, Workload
    from pgsr.synthesis.rho_budget import AdaptiveBudget, RhoLedger
    from pgsr.synthesis.sensitivity import Neighbours, NoiseScale, sensitivities, sensitivity
    from pgsr.synthesis.sizes import RegionalPopulation, sample_to_sizes
    from pgsr.synthesis.torch_runs import Device
    from pgsr.synthesis.transcript import Measured, Privacy, Transcript
    from pgsr.synthesis.type_distribution import TypeDistribution
    from pgsr.synthesis.universe import Universe
    from pgsr.synthesis.whole_marginals import FittedMarginals, MarginalRound, WholeMarginals

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
    "Marginal",
    "MarginalRound",
    "MarginalSensitivity",
    "MarginalTranscript",
    "Measured",
    "MeasuredMarginal",
    "Misfit",
    "Mixture",
    "Neighbours",
    "NoiseScale",
    "Output",
    "Population",
    "Privacy",
    "PublicHouseholds",
    "RegionalPopulation",
    "Relation",
    "RhoLedger",
    "Role",
    "Round",
    "SynthesisError",
    "TableError",
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
