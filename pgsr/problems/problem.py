"""The post-processing problems: one fit of one view, and the papers' variants of it."""

from collections.abc import Sequence
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from pgsr.checks import as_array, require_kind
from pgsr.data.hierarchy import Hierarchy
from pgsr.data.views import View
from pgsr.errors import ProblemError
from pgsr.noise.measurement import Measurement, Totals, joined
from pgsr.privacy.laws.per_level import LevelNoise
from pgsr.problems.conditions.choices import Either
from pgsr.problems.conditions.expressions import Condition
from pgsr.problems.conditions.matrices import state
from pgsr.problems.fields import ProblemFields
from pgsr.problems.latex import latex_of
from pgsr.problems.precisions import real_precisions


class Problem(ProblemFields):
    """A problem: minimise the distance to noisy values y over all x that satisfy the stated conditions:

        minimise    sum over regions r, cells i of  w[r] |x[r, i] - y[r, i]|^norm
        subject to  integer:      x[r, i] integer
                    nonnegative:  x[r, i] >= 0
                    monotone:     x[r, i] <= x[r, i + 1]
                    consistent:   x[r, i] = sum over children c of r of x[c, i], sizes folded as `pgsr.data.sizes` says
                    totals:       the (last cumulative, or summed) cell of the root, or of every region, is its total
                    conditions:   bounds of cells and rows over cells, as `where` states them

    Every variant of the papers is one of the constructors below, which take a measurement; `of` takes plain values.
    Objectives include the constant: they are distances.

    Attributes:
        label: the papers' name.
        sizes: the regions, and the sizes 0..K of every level.
        view: what the values are; it is the same at every level.
        cells: the noisy values y of all regions, one region after the other; int64, any sign. `target` is a matrix of
            them, `tables` one table per level, and `rows` one vector per region.
        groups: public numbers of groups, int64 of shape (regions,), or (1,) for the root's; or None if none is public.
        norm: 1 or 2.
        integer, nonnegative, monotone, consistent: which conditions hold.
        totals: whose number in `groups` is a condition, or None.
        weights: w, non-negative integers of shape (regions,), 0 where a region is not measured; or of cells, of shape
            (regions, K + 1). In squares, where `integer` does not hold, they may be real numbers from 1 on.
        noise: of every level, root first; None where y is not about noise, or for a level that was not measured.
        conditions: what a modeller stated besides, see `where`; or None.
    """

    @classmethod
    def of(
        cls,
        values: np.ndarray | Sequence[np.ndarray],
        hierarchy: Hierarchy,
        view: View = View.COUNTS,
        *,
        groups: np.ndarray | int | None = None,
        totals: Totals | str | None = None,
        weights: np.ndarray | None = None,
        label: str = "problem",
        norm: int = 2,
        integer: bool = True,
        consistent: bool = True,
        noise: tuple[LevelNoise | None, ...] | None = None,
    ) -> "Problem":
        """State the problem of plain values, wherever they come from: M_H of counts, M_c of cumulative counts.

        Args:
            values: y, integers of shape (regions, K + 1), in the order of the regions of `hierarchy`; or one such table
                per level, root first, whose largest sizes do not rise from the root down.
            view: `View.COUNTS` or `View.CUMULATIVE`; cumulative counts are to be monotone.
            groups: numbers of groups, shape (regions,), or the root's alone.
            totals: whose of them is a condition; "root" or "regions" as the shape of `groups` says, if None.
            weights: as in `Problem`; 1 if None. Copies of regions on levels above their own have none.
            label, norm, integer, consistent, noise: as in `Problem`.

        Raises:
            ProblemError, CountError: values, groups or weights are of another shape or are no integers.

        Example:
            >>> tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
            >>> problem = Problem.of([[0, 3, 2], [1, 2, -1], [0, 2, 1]], tree, groups=5, label="M_H")
            >>> problem
            Problem(M_H, totals='root', 9 unknowns)
            >>> from pgsr.algorithms import TreeProjection
            >>> TreeProjection().solve(problem).estimate.values[0]
            array([1, 3, 1])

            Largest sizes of 2 in the nation and of 1, which is "1 or more", in the states:

            >>> Problem.of(([[0, 3, 2]], [[1, 1], [0, 3]]), tree, groups=5, label="M_H")
            Problem(M_H, totals='root', 7 unknowns)
        """
        sizes, cells = joined(hierarchy, values)
        cells = cells.copy()  # what somebody does to theirs changes no problem
        known = None if groups is None else np.atleast_1d(as_array(groups))
        if totals is None and known is not None:
            totals = Totals.ROOT if len(known) == 1 else Totals.REGIONS
        if view is View.RANKED:
            raise ProblemError("plain values are a matrix of counts or cumulative counts, no ranks; give such a view")
        return cls(
            label,
            sizes,
            view,
            cells,
            known,
            norm=norm,
            integer=integer,
            monotone=view is View.CUMULATIVE,
            consistent=consistent,
            totals=None if totals is None else Totals.parse(totals),
            weights=weights,
            noise=noise,
        )

    @classmethod
    def about(
        cls, measurement: Measurement, label: str, *, totals: Totals | str | None = Totals.ROOT, **conditions: Any
    ) -> "Problem":
        """State a variant that has no constructor of its own: any conditions on what was measured.

        Args:
            measurement: of one view.
            label: names the variant.
            totals: whose number of groups is a condition, "root" or "regions", or None.
            conditions: norm, integer, nonnegative, monotone, consistent, weights, as in `Problem`.

        Example:
            >>> from pgsr import CountOfCounts
            >>> from pgsr.noise import Geometric
            >>> from pgsr.privacy import Seeded
            >>> truth = CountOfCounts(Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0]), [[0, 2, 1], [0, 1, 1]])
            >>> noisy = Geometric(View.COUNTS, epsilon=1).measure(truth, Seeded("demo"))
            >>> Problem.about(noisy, "M_H of any sign", nonnegative=False, integer=False)
            Problem(M_H of any sign, totals='root', 9 unknowns)
        """
        _require(measurement, label, *View)
        [view] = {view for view in View if view is measurement.view}
        return cls(
            label,
            measurement.sizes,
            view,
            measurement.cells,
            measurement.totals[:1] if measurement.public is Totals.ROOT else measurement.totals,
            totals=None if totals is None else Totals.parse(totals),
            noise=measurement.noise,
            **conditions,
        )

    @classmethod
    def naive(cls, measurement: Measurement) -> "Problem":
        """State the naive problem: counts of every region alone, x >= 0 integer with sum x = G.

        Source: Kuo et al. 2018, section 4.1.
        """
        _require(measurement, "naive", View.COUNTS)
        return cls.about(measurement, "naive", totals=Totals.REGIONS, consistent=False)

    @classmethod
    def isotonic(cls, measurement: Measurement, *, norm: int = 2) -> "Problem":
        """State the nearest non-decreasing vector of every region alone (H_c, H_g).

        Source: Kuo et al. 2018, sections 4.2 and 4.3.
        """
        _require(measurement, "isotonic", View.CUMULATIVE, View.RANKED)
        label = ("H_c" if measurement.view is View.CUMULATIVE else "H_g") + f" L{norm}"
        totals = None if measurement.public is Totals.ROOT else Totals.REGIONS
        return cls.about(measurement, label, totals=totals, norm=norm, monotone=True, consistent=False)

    @classmethod
    def mean_consistency(cls, measurement: Measurement) -> "Problem":
        """State least squares under consistency alone, weights 1 / variance, any signs and fractions.

        Source: Hay et al. 2010.
        """
        _require(measurement, "mean consistency", View.COUNTS, View.CUMULATIVE)
        return cls.about(
            measurement,
            "mean consistency",
            totals=None,
            integer=False,
            nonnegative=False,
            weights=real_precisions(measurement),
        )

    @classmethod
    def m_h(cls, measurement: Measurement, *, totals: Totals | str = Totals.ROOT, norm: int = 2) -> "Problem":
        """State M_H: the nearest consistent non-negative integer counts.

        Source: Fioretto and Van Hentenryck 2019, section 5.

        Args:
            measurement: of counts.
            totals: whose number of groups holds, "root" or "regions".
            norm: 1 or 2.
        """
        _require(measurement, "M_H", View.COUNTS)
        return cls.about(measurement, _labelled("M_H", norm), totals=totals, norm=norm)

    @classmethod
    def m_c(cls, measurement: Measurement, *, totals: Totals | str = Totals.ROOT, norm: int = 2) -> "Problem":
        """State M_c: the nearest consistent monotone cumulative counts.

        Source: Fioretto and Van Hentenryck 2019, section 8.

        Args:
            measurement: of cumulative counts.
            totals, norm: as of `m_h`.
        """
        _require(measurement, "M_c", View.CUMULATIVE)
        return cls.about(measurement, _labelled("M_c", norm), totals=totals, norm=norm, monotone=True)

    def relaxed(self) -> "Problem":
        """Make the same problem without integrality (the papers' M^r before its rounding)."""
        return self if not self.integer else replace(self, label=f"{self.label}^r", integer=False)

    def write(self, path: str | Path, names: str = "auto", shifted: bool = False) -> None:
        """Write the problem as a program that solvers read, or as arrays, by the file's ending.

        Args:
            path: ends in .mps, .qps, .lp (programs with names) or .npz (the problem itself, which `read`
                reads, and the arrays of its program).
            names: "full" names are x[US/GA,3], "short" ones x[1,3] with indices of regions; "auto" is short from
                200,000 unknowns on. `pgsr.problems.programs.names` says how files spell them.
            shifted: whether the program is in deviations z = x - y from the noisy values, with an objective without
                constant: for solvers in floating point, which lose all digits of a distance beside counts of 10^8.

        The unknowns are the problem's own x, in order, and the objective has its constant, so an optimum of the file
        is the problem's; `pgsr.problems.programs.named` says what the program is.

        Raises:
            ArgumentError: another ending.
            TooLargeError: the numbers are too large for exact arithmetic.
            ProblemError: there is no such folder, or the file cannot be written.

        Example:
            >>> from tempfile import TemporaryDirectory
            >>> problem = Problem.of([[0, 3], [1, 2]], Hierarchy.from_parents(["US", "GA"], [-1, 0]), groups=5)
            >>> with TemporaryDirectory() as folder:
            ...     problem.write(f"{folder}/small.lp")
            ...     print(*Path(f"{folder}/small.lp").read_text().splitlines()[3:8], sep="\\n")
            Minimize
             distance:
             + 0 x(US,0)
             - 6 x(US,1)
             - 2 x(US~GA,0)
        """
        from pgsr.problems.files import write_problem

        if self.weights is not None and self.weights.dtype.kind == "f":
            raise ProblemError(f"{self.label} has weights that are real numbers, and files take whole ones; scale them")
        write_problem(self, path, names, shifted)

    @classmethod
    def read(cls, path: str | Path) -> "Problem":
        """Read the problem that `write` wrote into an .npz file, with all its fields.

        Raises:
            ArgumentError: another ending; solvers read the programs of other files.
            ProblemError: there is no such file, or it is damaged, or holds no problem.

        Example:
            >>> from tempfile import TemporaryDirectory
            >>> problem = Problem.of([[0, 3], [1, 2]], Hierarchy.from_parents(["US", "GA"], [-1, 0]), groups=5)
            >>> with TemporaryDirectory() as folder:
            ...     problem.write(f"{folder}/small.npz")
            ...     Problem.read(f"{folder}/small.npz")
            Problem(problem, totals='root', 4 unknowns)
        """
        from pgsr.problems.files import read_fields

        return cls(**read_fields(path))

    def where(self, *conditions: Condition | Either) -> "Problem":
        """Make the same problem with conditions besides: linear equations and inequalities over its cells.

        Further calls add to them, and `relaxed` keeps them. A single cell gets bounds, everything else becomes a row.
        Solver models take all conditions; `supports` of other methods says which they take. Choices between conditions,
        `either(a, b)` and `zero_or_at_least(cells(level=1), 5)`, are for solvers of integers. Where levels have sizes
        of their own, each region has cells of its own sizes, whose last one stands for all larger ones.

        Args:
            conditions: comparisons of `pgsr.problems.conditions.cells`, `groups`, `total` and `entities` by `==`, `<=`
                or `>=`, and `either` of them.

        Raises:
            ProblemError: a region, a level, or a size of a region is not there, a minimum of non-negative numbers is
                negative, sizes are ranked, or cells of a choice have no least or no largest value.
            ArgumentError: something is no condition.

        Example:
            >>> from pgsr.problems.conditions import cells, total
            >>> tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
            >>> problem = Problem.of([[0, 3, 2], [1, 2, -1], [0, 2, 1]], tree, groups=5, label="M_H")
            >>> problem.where(cells(size=0) == 0, total(region=("US", "MI")) >= 2)
            Problem(M_H with 2 conditions, totals='root', 9 unknowns)
        """
        place = self._cells()
        for condition in conditions:
            remedy = "write comparisons such as cells(size=0) == 0, from pgsr.problems.conditions"
            require_kind(condition, (Condition, Either), "a condition", remedy)
        if not conditions:
            return self
        stated = state(conditions, place)
        if self.nonnegative and (not self.monotone or self.view is View.CUMULATIVE):
            stated.require_minima_from_0()
        before = self.conditions
        joined = stated if before is None else before.and_also(stated)
        words = f" with {joined.n_stated:,} condition{'s' if joined.n_stated > 1 else ''}"
        old = "" if before is None else f" with {before.n_stated:,} condition{'s' if before.n_stated > 1 else ''}"
        label = self.label.replace(old, words) if old and old in self.label else self.label + words
        made = replace(self, label=label, conditions=joined)
        made.require_bounded_choices()
        return made

    @property
    def latex(self) -> str:
        """The mathematics of the problem, as LaTeX to be set as a display; `pgsr.problems.latex` shows one."""
        return latex_of(self)

    def _repr_latex_(self) -> str:
        return f"$${self.latex}$$"

    def _repr_html_(self) -> str:
        # Notebooks set formulas within HTML, and show HTML before LaTeX.
        return f"{super()._repr_html_()}<div>{escape(self._repr_latex_(), quote=False)}</div>"


def _labelled(label: str, norm: object) -> str:
    return f"{label} L1" if isinstance(norm, int) and norm == 1 else label


def _require(measurement: Measurement, problem: str, *views: View) -> None:
    require_kind(measurement, Measurement, f"the measurement of {problem}", "give what pgsr.measure returns")
    if measurement.view not in views:
        wanted = " or ".join(map(repr, views))
        have = f"several views ({measurement.label})" if measurement.view is None else repr(measurement.view)
        raise ProblemError(f"{problem} needs {wanted}, this measurement is of {have}; measure that view")
