"""The fit of a mixture that fills public groups, by gradient descent on whole marginals, with torch."""

import warnings
from collections.abc import Callable, Sequence
from math import cos, pi
from typing import Any

import numpy as np
from scipy import sparse

from pgsr.synthesis.data.domain import torch
from pgsr.synthesis.data.impossible import Impossible, blocks_of
from pgsr.synthesis.marginals.filled_households import AT_ONCE, FilledHouseholds, logit_shapes
from pgsr.synthesis.marginals.filling import Filling
from pgsr.synthesis.marginals.marginal_curator import MeasuredMarginal
from pgsr.synthesis.marginals.public_households import PublicHouseholds, cells_matrix, values_matrix
from pgsr.synthesis.queries.torch_runs import Adam, quiet_torch
from pgsr.synthesis.queries.workload import Level, Marginal

Tensor = Any

NOISE_ALONE = 0.8
"""The loss at which a fit ends. That of the truth itself is about 1; a fit follows some of the noise."""

SETTLING = 10
"""Which part of the steps a fit takes to end once its loss is that of noise alone."""

FLOOR = 1e-4
"""The smallest share that a logit starts from."""


class FillingFit:
    """The logits of a mixture that fills groups, and the steps that fit them to noisy counts.

    Logits start from N(0, 1). What is minimised is the mean over all cells of (expected - noisy count)^2 / variance, by
    Adam, whose learning rate falls to zero along a cosine within each fit. Where the mean falls below that
    of noise alone, further steps would fit the noise: the rate falls within a tenth of the steps, and the fit ends.

    Args:
        households: public.
        impossible: combinations that no member has.
        components: K.
        seed: of the first logits.

    Raises:
        MissingPackageError: without torch.
    """

    def __init__(
        self,
        households: PublicHouseholds,
        impossible: Sequence[Impossible],
        components: int,
        seed: int,
    ) -> None:
        self._households, self._impossible = households, tuple(impossible)
        domain = households.domain
        self._filling = Filling(domain, blocks_of(domain, self._impossible), households.with_sizes)
        normal = torch().Generator().manual_seed(seed)
        shapes = logit_shapes(self._filling, components)
        self._logits = [torch().randn(shape, generator=normal) for shape in shapes.values()]
        self._share = torch().as_tensor(households.numbers / households.n_groups, dtype=torch().float32)[:, None]
        self._values = _Product(values_matrix(households))

    def start_from(self, measured: Sequence[MeasuredMarginal]) -> None:
        """Add the logarithms of noisy shares of single attributes of members, and of sizes, to the logits."""
        domain = self._households.domain
        _, members, ways = self._logits
        first = np.cumsum([0, *map(len, domain.individual)]).tolist()
        for m in measured:
            marginal = m.marginal
            shares = np.maximum(m.noisy / max(1, m.noisy.sum()), FLOOR)
            if marginal.level is Level.INDIVIDUAL and not marginal.group and len(marginal.individual) == 1:
                [own] = marginal.individual
                members[first[own] : first[own + 1]] += torch().as_tensor(np.log(shares))[:, None, None]
            if marginal.level is Level.GROUP and marginal.group == (domain.count,) and not marginal.individual:
                per_way = shares / np.bincount(self._filling.size_of, minlength=len(shares))
                ways += torch().as_tensor(np.log(per_way)[self._filling.size_of])[:, None]

    def fit(
        self, measured: Sequence[MeasuredMarginal], steps: int, rate: float, told: Callable[[], object] = lambda: None
    ) -> float:
        """Take steps towards all that was measured; return the loss of the last one, about 1 where noise alone is left.

        Args:
            steps: at most.
            rate: the learning rate of the first step.
            told: is called after every step.
        """
        n_groups = self._households.n_groups
        with quiet_torch("cpu") as module:
            answers = self._answers([m.marginal for m in measured])
            values = module.cat([module.as_tensor(m.noisy / n_groups, dtype=module.float32) for m in measured])
            total = len(values)
            weights = module.cat([_constant(len(m.noisy), n_groups**2 / (float(m.variance) * total)) for m in measured])
            for logits in self._logits:
                logits.requires_grad_()
            adam = Adam(self._logits, rate, betas=(0.9, 0.99))
            loss, progress, pace = 0.0, 0.0, 1 / steps
            while progress < 1 - pace / 2:
                adam.rate = rate * (1 + cos(pi * progress)) / 2
                off = module.cat(answers()) - values
                value = (weights * off * off).sum()
                adam.clear()
                value.backward()
                adam.step()
                loss = float(value.detach())
                if loss < NOISE_ALONE and pace == 1 / steps:
                    pace = (1 - progress) / max(1, steps // SETTLING)
                progress += pace
                told()
            for logits in self._logits:
                logits.requires_grad_(False)
        return loss

    def expected(self, marginals: Sequence[Marginal]) -> list[np.ndarray]:
        """Compute the expected counts of whole marginals under the present logits."""
        with quiet_torch("cpu") as module, module.no_grad():
            found = self._answers(marginals)()
            return [x.double().numpy() * self._households.n_groups for x in found]

    def distribution(self) -> FilledHouseholds:
        """Make the distribution of the present logits."""
        tables = (table.double().numpy() for table in self._logits)
        return FilledHouseholds(self._households, self._impossible, *tables)

    def _answers(self, marginals: Sequence[Marginal]) -> Callable[[], list[Tensor]]:
        """Prepare a function that computes expected counts per group of these marginals, with gradients."""
        filling, households = self._filling, self._households
        sets = sorted({tuple(g for g in m.group if g != filling.domain.count) for m in marginals} | {()})
        matrix, starts = cells_matrix(households, sets)
        by_cells = _Product(matrix.T.tocsr())
        sizes = len(filling.domain.sizes) if households.with_sizes else 1

        def compute() -> list[Tensor]:
            of_groups, of_members, of_ways = self._logits
            components = self._values(of_groups).softmax(1) * self._share
            table = by_cells(components)
            weights = {
                given: table[start:stop].reshape(-1, sizes, table.shape[1])
                for given, start, stop in zip(sets, starts, starts[1:], strict=False)
            }
            slots = filling.slot_tables(of_members)
            return filling.answers(marginals, slots, filling.way_table(of_ways), weights, AT_ONCE)

        return compute


class _Product:
    """The product of a constant sparse matrix with a dense one that has gradients."""

    def __init__(self, matrix: sparse.csr_matrix) -> None:
        self._forward, self._backward = _tensor(matrix), _tensor(matrix.T.tocsr())
        outer = self

        class Product(torch().autograd.Function):
            @staticmethod
            def forward(context: Any, x: Tensor) -> Tensor:
                del context
                return torch().sparse.mm(outer._forward, x)

            @staticmethod
            def backward(context: Any, *gradients: Tensor) -> Tensor:
                del context
                return torch().sparse.mm(outer._backward, gradients[0].contiguous())

        self._function = Product

    def __call__(self, x: Tensor) -> Tensor:
        return self._function.apply(x)


def _tensor(matrix: sparse.csr_matrix) -> Tensor:
    indptr, indices = (torch().as_tensor(x.astype(np.int64)) for x in (matrix.indptr, matrix.indices))
    values = torch().as_tensor(matrix.data, dtype=torch().float32)
    with warnings.catch_warnings():  # that sparse tensors are new
        warnings.simplefilter("ignore")
        return torch().sparse_csr_tensor(indptr, indices, values, matrix.shape)


def _constant(n: int, value: float) -> Tensor:
    return torch().full((n,), value, dtype=torch().float32)
