"""The import of optional solver packages, made when one is used; a missing package is a result that says so."""

from importlib import import_module
from typing import Any

from pgsr.methods.method import Result, Status


def load(module: str) -> Any:
    """Import a module; return None if it is not installed."""
    try:
        return import_module(module)
    except ImportError:
        return None


def not_installed(package: str, what: str = "") -> Result:
    """Make the result of a method whose package is missing."""
    return Result(Status.NOT_INSTALLED, f"{what or package} is missing; pip install {package}")
