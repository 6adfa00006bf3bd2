"""Solver packages are optional: import one when it is used, and say what to install where it is missing."""

from importlib import import_module
from typing import Any

from pgsr.method import Result, Status


def load(module: str) -> Any:
    """The module, or None if it is not installed."""
    try:
        return import_module(module)
    except ImportError:
        return None


def not_installed(package: str, what: str = "") -> Result:
    """The row of a method whose package is missing."""
    return Result(Status.NOT_INSTALLED, f"{what or package} is missing; pip install {package}")
