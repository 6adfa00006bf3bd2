"""torch is optional: it is imported when HPD runs, and a sentence says what to install where it is missing."""

from importlib import import_module
from typing import Any

from pgsr.errors import PgsrError


class TorchMissingError(PgsrError, ImportError):
    """A method that needs torch was used without it."""


def torch() -> Any:
    """The module.

    Raises:
        TorchMissingError: it is not installed.
    """
    try:
        return import_module("torch")
    except ImportError:
        raise TorchMissingError("HPD is fitted with torch, which is missing; pip install torch") from None
