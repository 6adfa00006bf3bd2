"""Make a release: from confidential tables to a published folder that everybody can check.

`THREATS.md` says what that protects, and what not. Where to find what:

| room            | what it holds                                                                              |
|-----------------|--------------------------------------------------------------------------------------------|
| `plan`          | `forecast`, `epsilon_for`: errors of the release on a stand-in, and the epsilon for them   |
| `make`          | `publish` and `finish`: read, charge, measure, write, check; `outline`, `selftest`          |
| `checks`        | `check`, for which nobody needs the data: conditions, replay, law of the noise              |
| `read`          | `read_release`, a published folder as values; its intervals                                |
| `configuration` | what a user writes: the TOML file, its keys and its errors                                 |
| `folder`        | what is published: every file, written and read back                                       |
| `stated`        | the public terms, checked, and `Plan`, what they come to on every level: sizes, noise, law |
| `publishing`    | what releases and populations share: places, digests, signature, the frame of a check      |
| `ledger`        | what may be spent on a data set, and every charge                                          |

`configuration` and `folder` know nothing of each other. The layers in `pyproject.toml` say which room may import which.

All of it at once, from three data frames to a folder that anybody can check; in a terminal, the same are
`pgsr validate`, `pgsr plan`, `pgsr release` and `pgsr check`:

    >>> import tempfile
    >>> from pathlib import Path
    >>> import pandas as pd
    >>> from pgsr.privacy.accounting import PureEpsilon
    >>> from pgsr.release.ledger import LedgerFile
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

What that would be, and what errors to expect of it. Neither opens the private table or charges anything:

    >>> dict(outline(config).facts)["state"]
    '2 regions, epsilon 1/2, sensitivity 1, noise of scale 2 (standard deviation 2.8)'
    >>> found = forecast(config, mean_size=1.5)
    >>> found.level_names, found.errors.mean.shape
    (('nation', 'state'), (2,))

The release, and what its readers do with the folder. `publish`, `outline` and `forecast` also take the name of a TOML
file (`pgsr release --example` prints one) in place of the configuration:

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
    from pgsr.release.checks.checking import check
    from pgsr.release.configuration.release_config import ReleaseConfig
    from pgsr.release.make.making import Release, finish, publish
    from pgsr.release.make.outline import outline
    from pgsr.release.plan.epsilon_for import epsilon_for
    from pgsr.release.plan.forecast import forecast
    from pgsr.release.publishing.findings import Report
    from pgsr.release.read.reading import Published, read_release
    from pgsr.release.stated.terms import Terms

__all__ = [
    "Published",
    "Release",
    "ReleaseConfig",
    "Report",
    "Terms",
    "check",
    "epsilon_for",
    "finish",
    "forecast",
    "outline",
    "publish",
    "read_release",
]
