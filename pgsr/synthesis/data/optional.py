"""The import of torch, made when a method needs it; where it is missing the error names its extra."""

from importlib import import_module
from typing import Any

from pgsr.machine.extras import extra


def torch() -> Any:
    """Import and return the module torch, with which whole marginals, HPD-Fixed and HPD-Gen are fitted.

    Raises:
        MissingPackageError: it is not installed.
    """
    with extra("synthesis"):
        return import_module("torch")
