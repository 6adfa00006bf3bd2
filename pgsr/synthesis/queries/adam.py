"""The steps of Adam by a function of torch. Its class imports torch's compiler, which takes seconds and is not used."""

from collections.abc import Sequence
from typing import Any

from pgsr.synthesis.data.checks import torch


class Adam:
    """The moments of Adam for a list of parameters; the bits of every step are those of `torch.optim.Adam`.

    Args:
        parameters: tensors with `requires_grad`.
        rate: the learning rate, which may be set anew before every step.
        betas: the weights of the moments before, first and second.
        fused: whether one kernel does all of a step.

    Raises:
        MissingPackageError: without torch.
    """

    def __init__(
        self, parameters: Sequence[Any], rate: float, betas: tuple[float, float] = (0.9, 0.999), fused: bool = False
    ) -> None:
        self.rate = rate
        self._parameters, self._betas, self._fused = list(parameters), betas, fused
        self._first, self._second = ([torch().zeros_like(p) for p in self._parameters] for _ in range(2))
        self._steps = [torch().zeros((), device=p.device if fused else "cpu") for p in self._parameters]

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
                fused=self._fused,
                amsgrad=False,
                beta1=self._betas[0],
                beta2=self._betas[1],
                lr=self.rate,
                weight_decay=0,
                eps=1e-8,
                maximize=False,
            )
