"""The methods HPD-Fixed and HPD-Gen: hierarchical product distributions fitted by gradient descent, with torch.

Their parameters are free logits, or a network that makes these. Whoever has fitted one keeps a `Mixture`, which needs
no torch.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import inf, prod
from typing import Any, Protocol

import numpy as np

from pgsr.checks import member_of
from pgsr.synthesis.data.domain import Domain, SynthesisError, require_whole, torch
from pgsr.synthesis.queries.batch_answers import Batch, answers_of, batches
from pgsr.synthesis.queries.mixture import Mixture, all_answers
from pgsr.synthesis.queries.tables import ComponentTables
from pgsr.synthesis.queries.torch_runs import Adam, Device, chosen_device, quiet_torch
from pgsr.synthesis.queries.transcript import MeasuredQuery
from pgsr.synthesis.queries.workload import Workload

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


@dataclass(frozen=True, kw_only=True)
class Descent:
    """The settings of the descent by which a round fits the measurements.

    Each step takes the measurements whose error is at least gamma, at most `batch` of them, the worst; Adam lowers
    their mean absolute error; a round ends when there are none, or after `steps`. With e_t the largest error at the
    start of round t, gamma = threshold m_t with m_t = (m_{t-1} + e_t) / 2 and m_1 = e_1.

    Args:
        components: K.
        learning_rate: of Adam, whose moments last for the whole fit.
        steps: most steps per round.
        batch: B.
        threshold: in [0, 1); the paper's is 1/2. Smaller ones fit measurements more closely and take more steps.
        device: where to compute; AUTO takes a GPU where there is one.

    Source: Liu & Wu 2022, algorithm 6; thresholds and defaults after GEM and RAP-softmax (Liu et al. 2021).
    """

    components: int = 1000
    learning_rate: float = 0.1
    steps: int = 100
    batch: int = 100
    threshold: float = 0.5
    device: Device = Device.AUTO

    def __post_init__(self) -> None:
        object.__setattr__(self, "device", member_of(Device, self.device, "device", SynthesisError))
        require_whole(components=self.components, steps=self.steps, batch=self.batch)
        for name in ("learning_rate", "threshold"):
            if not isinstance(getattr(self, name), int | float):
                raise SynthesisError(f"{name} is {getattr(self, name)!r}; give a number")
        if not 0 < self.learning_rate < inf:
            raise SynthesisError(f"learning_rate is {self.learning_rate}; give a number above 0")
        if not 0 <= self.threshold < 1:
            raise SynthesisError(f"threshold is {self.threshold}; give a number in [0, 1)")


@dataclass(frozen=True, kw_only=True)
class HPDFixed(Descent):
    """A method whose parameters are the logits of all tables themselves, drawn from N(0, 1) at first.

    There are K (sum |G_i| + M sum |I_j| + M) of them.

    Args: see `Descent`.

    Raises:
        SynthesisError: a setting is out of range.
        MissingPackageError: on `start`, without torch.

    Cost: a step takes O(K M) per measurement and O(parameters); `answers` see `mixture.all_answers`.

    Source: Liu & Wu 2022, HPD-Fixed and algorithm 6.
    """

    def start(self, workload: Workload, n_groups: int, n_persons: int, seed: int) -> "HPDEstimator":
        """Make the random mixture before any measurement. Answers are shares, so public totals are not used."""
        del n_groups, n_persons
        device = chosen_device(self.device)
        model = FixedLogits(workload.domain, self.components, seed, device)
        return HPDEstimator(self, workload, model, device)


@dataclass(frozen=True, kw_only=True)
class HPDGen(Descent):
    """A method whose parameters are the weights of a network that makes the logits.

    The logits of component k are made from noise z_k ~ N(0, I).

    Args:
        embedding: length of z_k.
        hidden: units per residual block; see `LogitNetwork`.
        learning_rate: smaller than for free logits.

    The rest: see `Descent`. Raises and cost as `HPDFixed`, and a pass of K rows through the network per step.

    Source: Liu & Wu 2022, HPD-Gen and algorithm 6; body after GEM (Liu et al. 2021).
    """

    learning_rate: float = 1e-4
    embedding: int = 64
    hidden: tuple[int, ...] = (256, 256)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.hidden, Iterable):
            raise SynthesisError(f"hidden is {self.hidden!r}; give the units of every block, (256, 256)")
        object.__setattr__(self, "hidden", tuple(self.hidden))
        require_whole(embedding=self.embedding, **{f"hidden[{i}]": units for i, units in enumerate(self.hidden)})

    def start(self, workload: Workload, n_groups: int, n_persons: int, seed: int) -> "HPDEstimator":
        """Make the mixture of an untrained network."""
        del n_groups, n_persons
        device = chosen_device(self.device)
        model = LogitNetwork(workload.domain, self.components, self.embedding, self.hidden, seed, device)
        return HPDEstimator(self, workload, model, device)


class HPDEstimator:
    """The state of one fit: the parameters, the moments of Adam, and the running threshold."""

    def __init__(self, settings: Descent, workload: Workload, model: Model, device: str) -> None:
        self._settings, self._workload, self._model = settings, workload, model
        self._device = device
        self._adam = Adam(model.parameters, settings.learning_rate)
        self._error_scale: float | None = None

    def answers(self) -> np.ndarray:
        """Compute the shares of all queries under the current parameters, shape (queries,)."""
        with quiet_torch(self._device) as torch, torch.no_grad():
            return all_answers(self._model.tables(self._model.parameters), self._workload)

    def update(self, measured: Sequence[MeasuredQuery]) -> None:
        """Do one round of descent with all measurements so far."""
        if not measured:
            return
        settings, threshold = self._settings, None
        with quiet_torch(self._device) as torch:
            listed = batches(self._workload, [m.query for m in measured], self._on_device)
            values = np.array([m.value for m in measured])
            for _ in range(settings.steps):
                tables = self._model.tables(self._model.parameters)
                with torch.no_grad():
                    found = np.empty(len(values))
                    for batch in listed:
                        found[batch.place] = answers_of(tables, batch).double().cpu().numpy()
                errors = np.abs(found - values)
                if threshold is None:
                    threshold = self._threshold(errors)
                active = _active(errors, threshold, settings.batch)
                if not active.any():
                    break
                self._adam.clear()
                self._loss(tables, listed, values, active).backward()
                self._adam.step()

    def distribution(self) -> Mixture:
        """Make the mixture of the current parameters."""
        with quiet_torch(self._device) as torch, torch.no_grad():
            return Mixture.of(self._model.tables(self._model.parameters))

    def _threshold(self, errors: np.ndarray) -> float:
        """Compute gamma, the smallest error with which a measurement takes part in this round."""
        largest = float(errors.max())
        before = largest if self._error_scale is None else self._error_scale
        self._error_scale = (before + largest) / 2
        return self._settings.threshold * self._error_scale

    def _loss(self, tables: Any, listed: list[Batch], values: np.ndarray, active: np.ndarray) -> Any:
        total = 0
        for batch in listed:
            part = batch.take(active)
            if part is not None:
                found = answers_of(tables, part)
                total = total + (found - self._on_device(values[part.place]).to(found.dtype)).abs().sum()
        return total / int(active.sum())

    def _on_device(self, values: np.ndarray) -> Any:
        import torch

        return torch.as_tensor(values, device=self._device)


def _active(errors: np.ndarray, threshold: float, most: int) -> np.ndarray:
    """Find the measurements that take part: error at least `threshold` and above rounding, among the `most` largest."""
    active = (errors >= threshold) & (errors > ROUNDING)
    worst = np.argsort(-errors, kind="stable")[:most]
    among = np.zeros(len(errors), bool)
    among[worst] = True
    return active & among


ROUNDING = 1e-8
"""The error below which a measurement is not fitted, because 32-bit numbers are no more exact."""
