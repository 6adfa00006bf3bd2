"""Graphical models of the rows of a table, fitted to noisy marginals by the package mbi."""

from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from pgsr.experiments.others.bayesian_network import BayesianNetwork
from pgsr.machine.extras import extra
from pgsr.synthesis.marginals.marginal_curator import MeasuredMarginal

Columns = tuple[int, ...]


class GraphicalModel:
    """The distribution of rows that is nearest to noisy marginals, and has the largest entropy among those.

    Args:
        lengths: the number of values of every column.
        n_rows: public.

    Raises:
        MissingPackageError: without mbi.

    Source: McKenna, Sheldon and Miklau 2019, whose mirror descent mbi runs.
    """

    def __init__(self, lengths: Sequence[int], n_rows: int) -> None:
        self._package = _mbi()
        self._domain = self._package.Domain(list(range(len(lengths))), list(lengths))
        self.lengths, self.n_rows = tuple(lengths), n_rows
        self._found: Any = None
        self.network = BayesianNetwork(())

    def megabytes(self, measured: Iterable[Columns]) -> float:
        """Compute the size of a model of these marginals: the tables of its junction tree, 8 bytes a cell, in 2^20."""
        return self._package.junction_tree.hypothetical_model_size(self._domain, list(measured))

    def fit(self, measured: Sequence[MeasuredMarginal], iterations: int, tolerance: float | None = None) -> None:
        """Minimise the squared errors in units of the noise, from the last fit on, by mirror descent.

        Args:
            iterations: at most, in blocks of 50.
            tolerance: ends the descent after two blocks that lower the loss by less than this share; None for all
                iterations.
        """
        told = [
            self._package.LinearMeasurement(noisy, columns, deviation)
            for columns, (noisy, deviation) in _combined(measured).items()
        ]
        self._found = self._package.estimation.MirrorDescent().estimate(
            self._domain,
            told,
            known_total=float(self.n_rows),
            iters=iterations,
            tol=tolerance,
            warm_start=self._found,
        )
        potentials = self._found.potentials
        order = self._package.junction_tree.make_junction_tree(self._domain, potentials.cliques)[1]
        tables = potentials.tables.items()
        factors = [(c, np.asarray(table.datavector(flatten=False), np.float64)) for c, table in tables]
        self.network = BayesianNetwork.of_factors(factors, order)

    def holds(self, columns: Columns) -> bool:
        """Tell whether the model has a table with these columns, so that a measurement of them makes it no larger."""
        return any({*columns} <= {one.column, *one.given} for one in self.network.conditionals)

    def expected(self, columns: Columns) -> np.ndarray:
        """Compute the expected counts of a marginal, cell by cell in C order."""
        return self.n_rows * self.network.marginal(columns).ravel()


def _combined(measured: Sequence[MeasuredMarginal]) -> dict[Columns, tuple[np.ndarray, float]]:
    """Merge measurements of the same marginal, weighted by precision, to noisy counts and their deviation."""
    sums: dict[Columns, tuple[np.ndarray, float]] = {}
    for m in measured:
        counts, precision = sums.get(m.marginal.individual, (np.zeros(len(m.noisy)), 0.0))
        new = 1 / float(m.variance)
        sums[m.marginal.individual] = counts + new * m.noisy, precision + new
    return {columns: (counts / precision, precision**-0.5) for columns, (counts, precision) in sums.items()}


def _mbi() -> Any:
    """Import and return the module mbi, with the 64-bit numbers of jax, without which its estimates of many rows stall.

    Compiling a model takes longer than running it, so it is compiled without
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
