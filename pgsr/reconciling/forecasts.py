"""A reconciler for Nixtla's hierarchicalforecast: forecasts that add up, whole and not negative, the nearest ones."""

from typing import Any, ClassVar

import numpy as np
import scipy  # which imports its submodules when they are used

from pgsr.checks import as_array
from pgsr.errors import ArgumentError, TableError
from pgsr.reconciling.adjustment import reconcile
from pgsr.reconciling.result import Reconciled


class Nearest:
    """The reconciler of forecasts that finds the nearest ones that add up, in place of `MinTrace(nonnegative=True)`.

        minimise    sum over series i, times t of  w[i] (x[i, t] - forecast[i, t])^2
        subject to  x[i, t] = sum over the bottom series b below i of x[b, t],   x >= 0 (integer).

    It goes where hierarchicalforecast takes reconcilers, and needs nothing of that package: it has what
    `HierarchicalReconciliation` asks for. All times are solved at once and proved, `result` has the certificate.
    `MinTrace(nonnegative=True)` puts 0 for negative forecasts before it looks for the nearest; this does not.
    Series form a tree; grouped structures, in which series overlap and none contains the other, are refused.

    Args:
        method: "ols" for equal weights, "wls_struct" for w = 1 / (number of bottom series below), as in `MinTrace`.
        nonnegative, integer: whether forecasts are from 0 on, and whole; whole ones are from 0 on.

    Raises:
        ArgumentError: `method` is another, or whole forecasts of any sign are asked for.

    Complexity: that of `pgsr.reconcile`; the structure is read in O(bottom series x levels).

    Example:
        >>> sums = np.array([[1, 1], [1, 0], [0, 1]])
        >>> Nearest("ols").fit_predict(sums, np.array([[9.0], [7.0], [-1.0]]))["mean"].ravel().tolist()
        [8.0, 8.0, 0.0]

    Source: the problem is that of Wickramasuriya et al. 2020, with integers besides.
    """

    is_sparse_method: ClassVar[bool] = True
    insample: ClassVar[bool] = False
    is_strictly_hierarchical: ClassVar[bool] = False
    sampler: ClassVar[None] = None

    def __init__(self, method: str = "wls_struct", nonnegative: bool = True, integer: bool = True) -> None:
        if method not in ("ols", "wls_struct"):
            raise ArgumentError(f"method={method!r}; give 'ols' or 'wls_struct'")
        if integer and not nonnegative:
            raise ArgumentError(
                "whole forecasts of any sign are found by no method of our own; give integer=False, or nonnegative=True"
            )
        self.method, self.nonnegative, self.integer = method, nonnegative, integer
        self._init_params = {"method": method, "nonnegative": nonnegative, "integer": integer}  # names its column
        self.fitted = False
        self.reconciled: Reconciled | None = None

    def fit(self, S: Any, y_hat: np.ndarray) -> "Nearest":
        """Reconcile forecasts, y_hat of shape (series, times), where S adds bottom series up to all series.

        Raises:
            TableError: series are no tree, or a forecast is infinite.
        """
        sums, forecasts = scipy.sparse.csr_array(S), as_array(y_hat)
        if forecasts.ndim != 2 or len(forecasts) != sums.shape[0]:
            raise TableError(f"forecasts have shape {forecasts.shape}; give a row for each of {sums.shape[0]} series")
        n_times = forecasts.shape[1]
        parents = _parents(sums)
        weights = np.ones(len(parents)) if self.method == "ols" else 1.0 / np.diff(sums.indptr)
        table = {
            "series": np.repeat(np.arange(len(parents)), n_times),
            "parent": np.repeat(np.where(parents < 0, None, parents), n_times),  # pyright: ignore
            "time": np.tile(np.arange(n_times), len(parents)),
            "forecast": forecasts.ravel(),
        }
        self.reconciled = reconcile(
            table,
            {"series": "parent"},
            "forecast",
            by="time",
            weights=np.repeat(weights, n_times),
            integer=self.integer,
            nonnegative=self.nonnegative,
        )
        self._mean = self.reconciled.table["reconciled"].reshape(forecasts.shape).astype(float)
        self.fitted = True
        return self

    def predict(self, S: Any, y_hat: np.ndarray, level: list[int] | None = None) -> dict[str, np.ndarray]:
        """Give the forecasts that `fit` reconciled, under the key "mean"; there are no intervals."""
        del S, y_hat
        if level is not None:
            raise ArgumentError("Nearest() gives no intervals; leave level= out")
        if not self.fitted:
            raise ArgumentError("nothing was reconciled yet; call fit first")
        return {"mean": self._mean}

    def fit_predict(self, S: Any, y_hat: np.ndarray, level: list[int] | None = None) -> dict[str, np.ndarray]:
        """Reconcile forecasts and give them; arguments and errors are those of `fit` and `predict`."""
        return self.fit(S, y_hat).predict(S, y_hat, level)

    __call__ = fit_predict


def _parents(sums: Any) -> np.ndarray:
    """Find the smallest series around every one, -1 for those with none; of equal ones the earlier contains the later.

    Raises:
        TableError: two overlap and none contains the other, or coefficients are not 1.
    """
    sums.sum_duplicates()
    sums.eliminate_zeros()
    if not (sums.data == 1).all():
        raise TableError("the summing matrix has coefficients other than 0 and 1; give one that adds series up")
    sizes, n = np.diff(sums.indptr), sums.shape[0]
    parents, outermost = np.full(n, -1), np.full(sums.shape[1], -1)
    for series in np.lexsort((-np.arange(n), sizes)).tolist():
        bottom = sums.indices[sums.indptr[series] : sums.indptr[series + 1]]
        inside, counts = np.unique(outermost[bottom], return_counts=True)
        held = inside >= 0
        if (counts[held] != sizes[inside[held]]).any():
            other = int(inside[held][np.argmax(counts[held] != sizes[inside[held]])])
            raise TableError(
                f"series {series} and {other} overlap and none contains the other, so they are no tree; reconcile one "
                "hierarchy"
            )
        parents[inside[held]] = series
        outermost[bottom] = series
    return parents
