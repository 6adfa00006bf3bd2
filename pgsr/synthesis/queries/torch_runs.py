"""The settings with which torch repeats its results, a device, a thread, deterministic kernels; and Adam's steps."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from typing import Any

from pgsr.synthesis.data.domain import SynthesisError, torch


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


class Adam:
    """The moments of Adam for a list of parameters; the bits of every step are those of `torch.optim.Adam`.

    Args:
        parameters: tensors with `requires_grad`.
        rate: the learning rate.

    Raises:
        MissingPackageError: without torch.
    """

    def __init__(self, parameters: Sequence[Any], rate: float) -> None:
        self._parameters, self._rate = list(parameters), rate
        self._first, self._second = ([torch().zeros_like(p) for p in self._parameters] for _ in range(2))
        self._steps = [torch().zeros((), device=p.device) for p in self._parameters]

    def clear(self) -> None:
        """Forget the gradients."""
        for parameter in self._parameters:
            parameter.grad = None

    def step(self) -> None:
        """Take a step along the gradients; parameters without one stay."""
        from torch.optim.adam import adam

        moved = [i for i, parameter in enumerate(self._parameters) if parameter.grad is not None]
        parameters, first, second, steps = (
            [values[i] for i in moved] for values in (self._parameters, self._first, self._second, self._steps)
        )
        with torch().no_grad():
            adam(
                parameters,
                [parameter.grad for parameter in parameters],
                first,
                second,
                [],
                steps,
                foreach=False,
                fused=True,
                amsgrad=False,
                beta1=0.9,
                beta2=0.999,
                lr=self._rate,
                weight_decay=0,
                eps=1e-8,
                maximize=False,
            )
