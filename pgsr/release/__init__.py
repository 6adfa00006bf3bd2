"""Make a release: from confidential tables to a published folder that everybody can check.

| room            | what it holds; `THREATS.md` says what it protects against, and what not                    |
|-----------------|--------------------------------------------------------------------------------------------|
| `plan`          | `forecast`, `epsilon_for`: errors of the release on a stand-in, and the epsilon for them   |
| `make`          | `publish` and `finish`: read, charge, measure, write, check; `outline`, `selftest`         |
| `checks`        | `check`, for which nobody needs the data; `read_release`, a folder as values               |
| `configuration` | what a user writes: the TOML file, its keys and its errors                                 |
| `folder`        | what is published: every file, written and read back                                       |
| `terms`         | the public terms, checked, and `Plan`, what they come to on every level                    |
| `publishing`    | a folder that is published: places, digests, signature, what is said meanwhile             |
| `ledger`        | what may be spent on a data set, and every charge                                          |

From three data frames to a folder; `publish` also takes the name of a TOML file (`pgsr release --example` prints one):

    >>> import tempfile
    >>> from pathlib import Path
    >>> import pandas as pd
    >>> from pgsr.privacy.accounting import PureEpsilon
    >>> from pgsr.release import ReleaseConfig, Terms, check, publish
    >>> from pgsr.release.ledger import LedgerFile
    >>> from pgsr.tables import Entities, Groups
    >>> homes = pd.DataFrame({"group": range(40), "nation": "US", "state": ["GA", "MI"] * 20})
    >>> people = pd.DataFrame({"entity": range(60), "group": [*range(40), *range(20)]})  # the private table
    >>> place = tempfile.TemporaryDirectory()
    >>> ledger = LedgerFile.create(Path(place.name) / "ledger.jsonl", "households 2026", PureEpsilon(2))
    >>> terms = Terms("households 2026", max_size=5, epsilon="1", kind="kuo")
    >>> tables = {"entities": Entities(people), "groups": Groups(homes, region=("nation", "state"))}
    >>> made = publish(ReleaseConfig(terms=terms, **tables, output=Path(place.name) / "release", ledger=ledger.path))
    >>> check(made.folder, made.digest).passed
    True
    >>> place.cleanup()
"""

from pgsr.machine.extras import extra

with extra("release"):
    from pgsr.release.checks.published import Published, read_release
    from pgsr.release.checks.release_check import check
    from pgsr.release.configuration.release_config import ReleaseConfig
    from pgsr.release.make.forecast import epsilon_for, forecast
    from pgsr.release.make.outline import outline
    from pgsr.release.make.publish import Release, finish, publish
    from pgsr.release.publishing.findings import Report
    from pgsr.release.terms.terms import Terms

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
