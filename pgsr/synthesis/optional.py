"""The imports of torch and mbi, made when a method needs them; a missing one is an error that names its extra."""

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


def mbi() -> Any:
    """Import and return the module mbi, with the 64-bit numbers of jax, without which its estimates of many rows stall.

    MarkovTree and AIM are fitted with it. Compiling a model takes longer than running it, so it is compiled without
    optimisation.

    Raises:
        MissingPackageError: it is not installed.
    """
    with extra("markov-trees"):
        jax = import_module("jax")
        jax.config.update("jax_enable_x64", True)
        jax.config.update("jax_enable_compilation_cache", False)  # as mbi advises
        jax.config.update("jax_disable_most_optimizations", True)
        return import_module("mbi")
