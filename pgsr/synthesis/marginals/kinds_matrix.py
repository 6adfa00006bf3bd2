"""The sparse matrices between kinds of groups and what is asked of them: values of attributes, cells of marginals."""

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from pgsr.synthesis.marginals.public_households import PublicHouseholds


def values_matrix(households: PublicHouseholds) -> sparse.csr_matrix:
    """Build the matrix of kinds by values of their attributes (and sizes), 1 where the kind has the value."""
    domain = households.domain
    lengths = [*map(len, domain.group), *([len(domain.sizes)] if households.with_sizes else [])]
    first = np.cumsum([0, *lengths])
    return _indicator(households.kinds + first[:-1], int(first[-1]))


def cells_matrix(households: PublicHouseholds, sets: Sequence[tuple[int, ...]]) -> tuple[sparse.csr_matrix, list[int]]:
    """Build the matrix of kinds by cells of several sets of group attributes, and list the columns where sets start."""
    columns, starts = [], [0]
    for attributes in sets:
        cells, n = households.cells(attributes)
        columns.append(cells + starts[-1])
        starts.append(starts[-1] + n)
    return _indicator(np.stack(columns, axis=1), starts[-1]), starts


def _indicator(columns: np.ndarray, width: int) -> sparse.csr_matrix:
    rows, per_row = columns.shape
    ones = np.ones(columns.size, np.float32)
    return sparse.csr_matrix((ones, columns.ravel(), per_row * np.arange(rows + 1)), shape=(rows, width))
