"""The settings with which torch repeats its results: one device, one thread, deterministic kernels."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import Any

from pgsr.synthesis.data.checks import SynthesisError, torch


class Device(StrEnum):
    """The device that computes; AUTO takes a GPU if there is one. Results repeat exactly on one device only."""

    AUTO = "auto"
    CPU = "cpu"
    CUDA = "cuda"


def chosen_device(device: Device) -> str:
    """Find the name by which torch knows the device.

    Raises:
        MissingPackageError: without torch.
        SynthesisError: CUDA is asked for, and torch finds none.
    """
    found = torch().cuda.is_available()
    if device is Device.CUDA and not found:
        raise SynthesisError("device is cuda, and torch finds no GPU; use Device.CPU or Device.AUTO")
    if device is Device.CPU or not found:
        return "cpu"
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # cuBLAS asks for it to be deterministic
    return "cuda"


@contextmanager
def quiet_torch(device: str) -> Iterator[Any]:
    """Run torch with one thread and, on a GPU, deterministic kernels; then restore the settings.

    Tables are small, and more threads than one often cost time.

    On a CPU its kernels are deterministic, and to ask for them would import the compiler of torch, which takes seconds.
    """
    module = torch()
    threads_before = module.get_num_threads()
    strict_before = module.are_deterministic_algorithms_enabled()
    warn_before = module.is_deterministic_algorithms_warn_only_enabled()
    on_gpu = device != "cpu"
    module.set_num_threads(1)
    if on_gpu:
        module.use_deterministic_algorithms(True)
    try:
        yield module
    finally:
        module.set_num_threads(threads_before)
        if on_gpu:
            module.use_deterministic_algorithms(strict_before, warn_only=warn_before)
