"""The optional imports of torch and mbi, when a method needs them; a missing one is an error with a remedy."""

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
        raise TorchMissingError(
            "whole-marginals, hpd-fixed and hpd-gen are fitted with torch, which is missing; pip install "
            '"pgsr[synthesis]"'
        ) from None


class MbiMissingError(PgsrError, ImportError):
    """An error of using a baseline that needs mbi without it."""


def mbi() -> Any:
    """Import and return the module mbi, with the 64-bit numbers of jax, without which its estimates of many rows stall.

    Compiling a model takes longer than running it, so it is compiled without optimisation.

    Raises:
        MbiMissingError: it is not installed.
    """
    try:
        jax = import_module("jax")
        jax.config.update("jax_enable_x64", True)
        jax.config.update("jax_enable_compilation_cache", False)  # as mbi advises
        jax.config.update("jax_disable_most_optimizations", True)
        return import_module("mbi")
    except ImportError:
        raise MbiMissingError(
            'MarkovTree and AIM are fitted with mbi, which is missing; pip install "mbi>=2"'
        ) from None
