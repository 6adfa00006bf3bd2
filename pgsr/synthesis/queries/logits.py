"""The parameters of a hierarchical product distribution for torch: free logits, or a network that makes them.

A model holds its parameters in `parameters` and makes tables of probabilities from any list like it.
"""

from math import prod
from typing import Any, Protocol

from pgsr.synthesis.data.domain import Domain, torch
from pgsr.synthesis.queries.tables import ComponentTables

Tensor = Any


class Model(Protocol):
    """A family of mixtures whose parameters gradient descent can change."""

    parameters: list[Tensor]

    def tables(self, parameters: list[Tensor]) -> ComponentTables:
        """Compute the mixture that the present parameters stand for."""
        ...


class FixedLogits:
    """A model whose parameters are the logits themselves, drawn from N(0, 1) at first."""

    def __init__(self, domain: Domain, n_components: int, seed: int, device: str) -> None:
        normal = _generator(seed)
        self._domain = domain
        self.parameters = [
            torch().randn(shape, generator=normal).to(device).requires_grad_()
            for shape in _shapes(domain, n_components)
        ]

    def tables(self, parameters: list[Tensor]) -> ComponentTables:
        group, slots, *sizes = parameters
        return _softmaxed(self._domain, group, slots, sizes)


class LogitNetwork:
    """A network that makes the logits of component k from noise z_k ~ N(0, I).

    It has residual blocks, then a linear head per table.

    A block is Linear, BatchNorm over the K rows, ReLU, and its output is concatenated with its input. All heads read
    the same vector, so their weights are stored as one matrix.
    """

    def __init__(
        self, domain: Domain, n_components: int, embedding: int, hidden: tuple[int, ...], seed: int, device: str
    ) -> None:
        self._domain, self._normal = domain, _generator(seed)
        self._shapes = _shapes(domain, n_components)
        self._z = torch().randn((n_components, embedding), generator=self._normal).to(device)
        self.parameters = []
        width = embedding
        for units in hidden:
            self.parameters += [*self._linear(width, units), torch().ones(units), torch().zeros(units)]
            width += units
        self.parameters += self._linear(width, sum(prod(shape[:-1]) for shape in self._shapes))
        self.parameters = [x.to(device).requires_grad_() for x in self.parameters]

    def tables(self, parameters: list[Tensor]) -> ComponentTables:
        *body, weight, bias = parameters
        x = self._z
        for w, b, gain, shift in zip(*(body[i::4] for i in range(4)), strict=True):
            y = x @ w.T + b
            y = (y - y.mean(0)) * (y.var(0, correction=0) + 1e-5).rsqrt() * gain + shift
            x = torch().cat([y.relu(), x], dim=1)
        logits = (weight @ x.T + bias[:, None]).split([prod(shape[:-1]) for shape in self._shapes])
        group, slots, *sizes = (part.reshape(shape) for part, shape in zip(logits, self._shapes, strict=True))
        return _softmaxed(self._domain, group, slots, sizes)

    def _linear(self, inputs: int, outputs: int) -> list[Tensor]:
        """Draw weights and biases of a layer uniformly within 1 / sqrt(inputs) of zero."""
        bound = inputs**-0.5
        return [
            (2 * torch().rand(shape, generator=self._normal) - 1) * bound for shape in ((outputs, inputs), (outputs,))
        ]


def _generator(seed: int) -> Any:
    return torch().Generator().manual_seed(seed)


def _shapes(domain: Domain, n_components: int) -> list[tuple[int, ...]]:
    """List the shapes of the logits: group attributes, members, and sizes per role."""
    n_group = sum(len(attribute) for attribute in domain.group)
    n_individual = sum(len(attribute) for attribute in domain.individual)
    sizes = [(role.most - role.least + 1, n_components) for role in domain.roles]
    return [(n_group, n_components), (n_individual, domain.max_size, n_components), *sizes]


def _softmaxed(domain: Domain, group: Tensor, slots: Tensor, sizes: list[Tensor]) -> ComponentTables:
    return ComponentTables(
        domain,
        _blocks(group, [len(attribute) for attribute in domain.group]),
        _blocks(slots, [len(attribute) for attribute in domain.individual]),
        tuple(
            torch().cat([mass.new_zeros(role.least, mass.shape[1]), mass.softmax(0)])
            for role, mass in zip(domain.roles, sizes, strict=True)
        ),
    )


def _blocks(logits: Tensor, lengths: list[int]) -> Tensor:
    """Apply the softmax attribute by attribute, and append a row of ones."""
    blocks = [block.softmax(0) for block in logits.split(lengths)] if lengths else []
    return torch().cat([*blocks, logits.new_ones(1, *logits.shape[1:])])
