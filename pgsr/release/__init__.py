"""Make a release: from confidential tables to a published folder that everybody can check.

`THREATS.md` says what that protects, and what not. Where to find what:

| room or file                                     | what it holds                                                  |
|--------------------------------------------------|----------------------------------------------------------------|
| `configuration`                                  | what a user writes: the TOML file, its keys and its errors     |
| `folder`                                         | what is published: every file, written and read back           |
| `preflight`, `private_log`                       | what a run needs of the machine, and keeps for its operator    |
| `stated_terms`, `terms`, with `kinds`, `levels`, | the public terms, checked; the mechanism and noise that follow |
| `thresholds`, `terms_facts`                      |                                                                |
| `publication`                                    | the publisher's words, and the form of the tables              |
| `making`                                         | `publish` and `finish`: read, charge, measure, write, check    |
| `count_intervals`                                | the columns `lower` and `upper` of the released counts         |
| `checking`, with `judging`,                      | `check`, for which nobody needs the data                       |
| `rehearsals`, `near_replay`, `noise_law`,        |                                                                |
| `noise_residuals`, `split_residuals`,            |                                                                |
| `residuals`                                      |                                                                |
| `reading`, with `own_intervals`,                 | `read_release`, a published folder as values; its intervals    |
| `cell_intervals`                                 |                                                                |
| `outline`, `forecast`, `epsilon_for`,            | what would be released, its errors, the epsilon for given ones |
| `stand_ins`, `planning`, `share_search`          | stand-ins, errors of any mechanism on one, shares of epsilon   |
| `least_error`                                    | below which error no release of an epsilon is, in a sentence   |
| `selftest`                                       | whether the sampler is right                                   |

The first two know nothing of each other. What releases and populations have in common, a folder that is published and
checked, is in `pgsr.publishing`. The layers in `pyproject.toml` say which file may import which.

All of it at once, from three data frames to a folder that anybody can check; in a terminal, the same are
`pgsr validate`, `pgsr plan`, `pgsr release` and `pgsr check`:

    >>> import tempfile
    >>> from pathlib import Path
    >>> import pandas as pd
    >>> from pgsr.privacy.accounting import PureEpsilon
    >>> from pgsr.ledger import LedgerFile
    >>> from pgsr.release import ReleaseConfig, Terms, check, forecast, outline, publish
    >>> from pgsr.tables import Entities, Groups, Parents

Two public tables, the regions and the households with their region, and the private one, a row per person:

    >>> areas = pd.DataFrame({"region": ["US", "GA", "MI"], "parent": [None, "US", "US"]})
    >>> homes = pd.DataFrame({"group": range(40), "region": ["GA", "MI"] * 20})
    >>> people = pd.DataFrame({"entity": range(60), "group": [*range(40), *range(20)]})

What is released, and where to. The ledger, made once per data set, keeps what may be spent and what was:

    >>> place = tempfile.TemporaryDirectory()
    >>> ledger = LedgerFile.create(Path(place.name) / "ledger.jsonl", "households 2026", PureEpsilon(2))
    >>> config = ReleaseConfig(
    ...     terms=Terms("households 2026", max_size=5, epsilon="1", kind="kuo", level_names=("nation", "state")),
    ...     entities=Entities(people),
    ...     groups=Groups(homes),
    ...     regions=Parents(areas),
    ...     output=Path(place.name) / "release",
    ...     ledger=ledger.path,
    ... )

What that would be, and what errors to expect of every mechanism. Neither opens the private table or charges anything:

    >>> dict(outline(config).facts)["state"]
    '2 regions, epsilon 1/2, sensitivity 1, noise of scale 2 (standard deviation 2.8)'
    >>> found = forecast(config, mean_size=1.5, replicates=2, mechanisms=["posterior"], progress=False)
    >>> found.labels[:2], found.mean.shape
    (('kuo; 1/2, 1/2 (configured)', 'posterior; 1/3, 2/3'), (6, 2))

The release, and what its readers do with the folder. `publish`, `outline` and `forecast` also take the name of a TOML
file (`EXAMPLE` is one) in place of the configuration:

    >>> made = publish(config)
    >>> report = check(made.folder, made.digest)
    >>> report.passed
    True
    >>> sorted(path.name for path in made.folder.iterdir())[:3]
    ['README.txt', 'SHA256SUMS', 'counts.csv']
    >>> place.cleanup()
"""

from pgsr.machine.extras import extra

with extra("release"):
    from pgsr.ledger import LedgerError, LedgerFile
    from pgsr.publishing.digests import digest_of
    from pgsr.publishing.errors import ConfigError, ManifestError, ReleaseError, SignatureError
    from pgsr.publishing.findings import Finding, Outcome, Report
    from pgsr.publishing.signature import fingerprint, new_key
    from pgsr.release.checking import check
    from pgsr.release.configuration.example import EXAMPLE
    from pgsr.release.configuration.release_config import ReleaseConfig
    from pgsr.release.epsilon_for import EpsilonFound, epsilon_for
    from pgsr.release.forecast import Forecast, forecast
    from pgsr.release.kinds import Kind, Measured
    from pgsr.release.making import Release, finish, publish
    from pgsr.release.outline import Outline, outline
    from pgsr.release.publication import Publication
    from pgsr.release.reading import Published, read_release
    from pgsr.release.selftest import selftest
    from pgsr.release.share_search import ChosenShares, choose_shares
    from pgsr.release.terms import Terms

__all__ = [
    "EXAMPLE",
    "ChosenShares",
    "ConfigError",
    "EpsilonFound",
    "Finding",
    "Forecast",
    "Kind",
    "LedgerError",
    "LedgerFile",
    "ManifestError",
    "Measured",
    "Outcome",
    "Outline",
    "Publication",
    "Published",
    "Release",
    "ReleaseConfig",
    "ReleaseError",
    "Report",
    "SignatureError",
    "Terms",
    "check",
    "choose_shares",
    "digest_of",
    "epsilon_for",
    "fingerprint",
    "finish",
    "forecast",
    "new_key",
    "outline",
    "publish",
    "read_release",
    "selftest",
]
