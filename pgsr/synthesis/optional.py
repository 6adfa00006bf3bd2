"""The optional import of torch: it happens when HPD runs, and a missing torch is an error that says what to install."""

from importlib import import_module
from typing import Any

from pgsr.errors import PgsrError


class TorchMissingError(PgsrError, ImportError):
    """An error of using a method that needs torch without it."""


def torch() -> Any:
    """Import and return the module torch.

    Raises:
        TorchMissingError: it is not installed.
    """
    try:
        return import_module("torch")
    except ImportError:
        raise TorchMissingError("HPD is fitted with torch, which is missing; pip install torch") from None
