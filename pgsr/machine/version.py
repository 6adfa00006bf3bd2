"""The version of pgsr, which is written in pyproject.toml and nowhere else."""

from functools import cache
from importlib.metadata import PackageNotFoundError, version

DISTRIBUTION = "group-size-release"
"""What pip calls pgsr; on PyPI the name pgsr is another project's."""


def installed_version() -> str:
    """Look up the version that is installed, or say that none is.

    >>> import pgsr
    >>> installed_version() == pgsr.__version__
    True
    """
    try:
        return version_of("pgsr")
    except PackageNotFoundError:
        return NOT_INSTALLED


@cache
def version_of(package: str) -> str:
    """Look up which version of a package is installed: of pgsr, or of what pip calls so.

    Raises:
        PackageNotFoundError: it is not installed.

    >>> version_of("pgsr") == version_of("group-size-release")
    True
    """
    return version(DISTRIBUTION if package == "pgsr" else package)


NOT_INSTALLED = "unknown: pgsr runs from a folder and is not installed"
