"""The packages that extras of pgsr bring, imported where they are used, and the versions that are installed.

The package alone brings NumPy, SciPy, Numba and Narwhals, with which `import pgsr`, all problems and algorithms, and
`pgsr.reconcile` work. Whatever else is imported is imported inside `with extra(...)`: an absent package is an error
that names its extra.
"""

import sys
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from types import TracebackType

from pgsr.errors import MissingPackageError

DISTRIBUTION = "group-size-release"
"""What pip calls pgsr; on PyPI the name pgsr is another project's."""

NOT_INSTALLED = "unknown: pgsr runs from a folder and is not installed"


class extra:
    """A block of imports of packages that an extra of pgsr brings.

    It takes a microsecond, and the names that it imports keep their types.

    Raises:
        MissingPackageError: a package that the block imports is not installed.

    Example:
        >>> with extra("plots"):
        ...     import a_package_of_nobody
        Traceback (most recent call last):
        pgsr.errors.MissingPackageError: a_package_of_nobody is missing; pip install ".[plots]" in the folder of pgsr
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        del kind, trace
        if isinstance(error, ModuleNotFoundError) and error.name is not None:
            package = error.name.partition(".")[0]
            if package != "pgsr":
                remedy = f'pip install ".[{self.name}]" in the folder of pgsr'  # on PyPI the name is another project's
                raise MissingPackageError(f"{package} is missing; {remedy}") from None


class extra_of_command(extra):
    """Import what a command line needs; where a package is absent, print which extra brings it and exit with code 2."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            super().__exit__(kind, error, trace)
        except MissingPackageError as missing:
            error = missing
        if isinstance(error, MissingPackageError):
            print(f"error: {error}", file=sys.stderr)
            raise SystemExit(2) from None


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
