"""The version of pgsr, which is written in pyproject.toml and nowhere else."""

from importlib.metadata import PackageNotFoundError, version


def installed_version() -> str:
    """Look up the version that is installed, or say that none is.

    >>> import pgsr
    >>> installed_version() == pgsr.__version__
    True
    """
    try:
        return version("pgsr")
    except PackageNotFoundError:
        return NOT_INSTALLED


NOT_INSTALLED = "unknown: pgsr runs from a folder and is not installed"
