"""The import of optional solver packages, made when one is used; a package that cannot be used is a result."""

from importlib import import_module
from typing import Any

from pgsr.methods.method import Result, Status


def load(module: str) -> Any:
    """Import a module; return None if it cannot be used, `missing` says why."""
    found = _imported(module)
    return None if isinstance(found, Exception) else found


def missing(module: str, package: str = "", what: str = "") -> Result | None:
    """Make the result of a method whose package is not there, or is and cannot be imported; None where it can.

    Args:
        module: what is imported.
        package: what to install, where that is not the module's first name.
        what: who needs it, in the sentence.
    """
    found, name = _imported(module), module.partition(".")[0]
    if not isinstance(found, Exception):
        return None
    if isinstance(found, ModuleNotFoundError) and found.name == name:
        return not_installed(package or name, what)
    sentence = " ".join(str(found).split()) or type(found).__name__
    reason = (
        f"{what or name} is there and cannot be imported: {sentence}; install it anew, pip install --force-reinstall"
    )
    return Result(Status.NOT_INSTALLED, f"{reason} {package or name}")


def not_installed(package: str, what: str = "") -> Result:
    """Make the result of a method whose package is missing."""
    return Result(Status.NOT_INSTALLED, f"{what or package} is missing; pip install {package}")


def _imported(module: str) -> Any:
    """Import a module, or return what it raised.

    Raises:
        KeyboardInterrupt: Ctrl-C, also where a package took it for a failure of its own, as OR-tools does.
    """
    try:
        return import_module(module)
    except Exception as error:  # whatever somebody else's package does while it is imported
        cause: BaseException | None = error
        while cause is not None:
            if isinstance(cause, KeyboardInterrupt):
                raise KeyboardInterrupt from error
            cause = cause.__cause__ or cause.__context__
        return error
