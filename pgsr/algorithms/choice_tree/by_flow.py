"""Nodes of the tree as flows: problems whose cells, totals and rows are the arcs of a network, proved in integers."""

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
from scipy import sparse

from pgsr.algorithms.choice_tree.search import UNDECIDED, Decided, Found
from pgsr.algorithms.choice_tree.sums import SumRows, parts_of
from pgsr.data.views import View
from pgsr.engines.convex_flow.network import FREE, ConvexNetwork, Cut, FarFlow
from pgsr.engines.convex_flow.sets import SetArcs, two_families
from pgsr.errors import TooLargeError
from pgsr.methods.gate import Deadline, Stopped
from pgsr.methods.method import Status
from pgsr.problems.conditions.choices import Choices
from pgsr.problems.conditions.matrices import UNBOUNDED
from pgsr.problems.problem import Problem

MOST_CELLS = 6_000
"""Most cells of problems that are looked at as a flow; the root of the tree then takes some tenths of a second."""

_MOST_ORDERED = 5_000_000
"""Most cells times sizes where cells are ordered, so that each is the sum of all parts before."""

_MOST_LEFT_OUT = 64
"""Most rows that are left out one after another to find a network."""

_KNOWN: "WeakKeyDictionary[Problem, dict[bool, FlowNodes | str]]" = WeakKeyDictionary()
"""What was found of problems, since a method is asked several times before it solves one."""


@dataclass(frozen=True, eq=False)
class FlowNodes:
    """Solves nodes by cheapest flows; see `pgsr.algorithms.choice_tree.search.Nodes`.

    Attributes:
        choices: of the problem.
        network: an arc per part and per sum that costs something or has bounds somewhere in the tree.
        lower, upper: what is stated besides the choices; shape (arcs,).
        alternatives: per choice and alternative the arcs and their bounds (arc, lower, upper), or None where it holds
            of no point.
        parts: adds flows of the first arcs up to cells.
        shape: that of the cells.
        exact: whether all rows are known; else some were left out, and points may break them.
        possible: whether the rows in which nothing is left hold.
    """

    choices: Choices
    network: ConvexNetwork
    lower: np.ndarray
    upper: np.ndarray
    alternatives: tuple[tuple[tuple[np.ndarray, np.ndarray, np.ndarray] | None, ...], ...]
    parts: sparse.csr_array
    shape: tuple[int, int]
    exact: bool
    possible: bool

    @property
    def whole(self) -> bool:
        return True  # with magnitudes some optimum in reals is one in integers

    @property
    def start_bytes(self) -> int:
        return 8 * (len(self.lower) + self.network.n_vertices)

    @classmethod
    def of(cls, problem: Problem, leaving_out: bool = False) -> "FlowNodes | str":
        """Make the network of a problem with choices; or say why it is none.

        Args:
            leaving_out: whether rows that fit into no network are left out. Then bounds hold, and points may be none.
        """
        reason = _refused(problem)
        if reason is not None:
            return reason
        known = _KNOWN.setdefault(problem, {})
        if leaving_out not in known:
            known[leaving_out] = _Asked.of(problem).nodes(leaving_out)
        return known[leaving_out]

    def solved(self, decided: Decided, above: Found | None, deadline: Deadline) -> Found | None:
        del deadline  # a node is soon done
        lower, upper = self.lower.copy(), self.upper.copy()
        if not self.possible:
            return None
        for choice, number in enumerate(decided):
            if number != UNDECIDED:
                rows = self.alternatives[choice][number]
                if rows is None:
                    return None
                arc, least, most = rows
                np.maximum.at(lower, arc, least)
                np.minimum.at(upper, arc, most)
        flow = self.network.cheapest(lower, upper, None if above is None else above.start)
        if isinstance(flow, FarFlow):
            raise TooLargeError("counts times weights times cells exceed 2^58; scale the weights down")
        if not self.network.is_proved(lower, upper, flow):
            raise Stopped(Status.FAILED, "a flow is not proved by its own prices; please report this problem")
        if isinstance(flow, Cut):
            return None
        value = self.network.cost(flow.x)
        cells = (self.parts @ flow.x[: self.parts.shape[1]]).reshape(self.shape)  # pyright: ignore
        return Found(value, cells, value if self.exact else None, flow)


def _refused(problem: Problem) -> str | None:
    """Say why a problem has no flow, as far as no sums are looked at, or None."""
    if problem.n_unknowns > MOST_CELLS or (problem.monotone and problem.n_unknowns * problem.max_size > _MOST_ORDERED):
        return f"{problem.label} has {problem.n_unknowns:,} unknowns, and flows are searched up to {MOST_CELLS:,}"
    if not problem.integer and problem.norm != 1:
        return f"{problem.label} minimises squares in real numbers, and flows are in integers"
    return None


@dataclass(frozen=True, eq=False)
class _Asked:
    """The sums of a problem, in the order cells, totals, stated rows, rows of alternatives.

    Attributes:
        rows: all of them; `n_fixed` of them are no rows, and cannot be left out.
        w, y: what they cost.
        names: of the rows, for sentences.
    """

    problem: Problem
    choices: Choices
    parts: sparse.csr_array
    rows: SumRows
    n_fixed: int
    w: np.ndarray
    y: np.ndarray
    names: tuple[str, ...]

    @classmethod
    def of(cls, problem: Problem) -> "_Asked":
        conditions = problem.conditions
        assert conditions is not None, "there are choices"
        assert conditions.choices is not None, "there are choices"
        choices, parts, n = conditions.choices, parts_of(problem), problem.n_unknowns
        w, y = problem.cell_weights, problem.target.ravel()
        lower, upper = conditions.lower.copy(), conditions.upper.copy()
        totals, blocks, sides = problem.stated_totals, [], []
        if totals is not None and problem.view is View.CUMULATIVE:
            last = problem.max_size + (problem.max_size + 1) * np.arange(len(totals))
            lower[last], upper[last] = np.maximum(lower[last], totals), np.minimum(upper[last], totals)
        used = (w > 0) | (lower > -UNBOUNDED) | (upper < UNBOUNDED)
        cells = sparse.csr_array(sparse.eye_array(n).astype(np.int64))
        blocks.append(cells[used])
        sides.append((lower[used], upper[used]))
        costs = [(w[used], y[used])]
        if totals is not None and problem.view is View.COUNTS:
            k = problem.max_size + 1
            each = sparse.kron(sparse.eye_array(len(totals), problem.hierarchy.n_regions), np.ones(k))
            blocks.append(sparse.csr_array(each.astype(np.int64)))
            sides.append((totals, totals))
        n_fixed = sum(block.shape[0] for block in blocks)
        blocks += [conditions.rows, choices.rows]
        sides += [(conditions.row_lower, conditions.row_upper), (choices.lower, choices.upper)]
        m = sum(block.shape[0] for block in blocks)
        weight, noisy = np.zeros(m, np.int64), np.zeros(m, np.int64)
        weight[: used.sum()], noisy[: used.sum()] = costs[0]
        matrix = sparse.csr_array(sparse.vstack(blocks))
        low, high = (np.concatenate(side) for side in zip(*sides, strict=True))
        of_choices = tuple(choices.names[k] for k in choices.choice[choices.alternative].tolist())
        rows = SumRows.of(matrix, low, high, parts, problem.integer)
        return cls(problem, choices, parts, rows, n_fixed, weight, noisy, conditions.names + of_choices)

    def nodes(self, leaving_out: bool) -> FlowNodes | str:
        families, kept, reason = self.families(leaving_out)
        if families is None:
            return reason
        rows, n_parts = self.rows, self.parts.shape[1]  # pyright: ignore
        arc = np.full(len(rows.lower), -1)
        arc[kept] = families.arc
        n_arcs = len(families.start)
        w, y = np.zeros(n_arcs, np.int64), np.zeros(n_arcs, np.int64)
        w[families.arc], y[families.arc] = self.w[kept], self.y[kept]
        lower, upper = np.full(n_arcs, -FREE), np.full(n_arcs, FREE)
        lower[:n_parts] = self.least_of_parts
        first = len(rows.lower) - len(self.choices.lower)
        here = kept[kept < first]
        np.maximum.at(lower, arc[here], np.maximum(rows.lower[here], -FREE))
        np.minimum.at(upper, arc[here], np.minimum(rows.upper[here], FREE))
        network = ConvexNetwork(families.start, families.end, y, w, self.problem.norm, families.n_vertices)
        known = (arc >= 0) | ((np.diff(rows.sets.indptr) == 0) & rows.holds)
        return FlowNodes(
            self.choices,
            network,
            lower,
            upper,
            self.alternatives(first, arc),
            self.parts,
            self.problem.target.shape,
            bool((known | ~rows.holds).all()),
            bool(rows.holds[:first].all()),
        )

    def families(self, leaving_out: bool) -> tuple[SetArcs | None, np.ndarray, str]:
        """Find the network of all sums, or of those that one has; the numbers of the latter, and what is in the way."""
        rows, fixed = self.rows, np.arange(len(self.rows.lower)) < self.n_fixed
        empty = np.diff(rows.sets.indptr) == 0
        sets, lost = rows.is_set, ~rows.is_set & ~empty
        if not (rows.is_set & rows.once)[fixed].all():
            return None, fixed, f"cells and totals of {self.problem.label} are no sums of its parts, each once"
        if lost.any() and not leaving_out:
            return None, fixed, f"{self.name_of(int(np.argmax(lost)))} is no sum of cells, each once"
        kept = np.flatnonzero(sets)
        pair = two_families(sparse.csr_array(rows.sets[kept]))
        if isinstance(pair, SetArcs):
            return pair, kept, ""
        many = f"{self.problem.label} has sums with too many cells in common to be looked at as a flow"
        if pair is None:
            return None, kept, many
        kept = np.flatnonzero(sets & fixed)
        base = two_families(sparse.csr_array(rows.sets[kept]))
        if not isinstance(base, SetArcs):
            return None, kept, f"{self.problem.label} is no flow through a network"
        for row in np.flatnonzero(sets & ~fixed)[: _MOST_LEFT_OUT if leaving_out else None].tolist():
            more = np.append(kept, row)
            pair = two_families(sparse.csr_array(rows.sets[more]))
            if isinstance(pair, SetArcs):
                kept, base = more, pair
            elif not leaving_out:
                return None, kept, f"{self.name_of(row)} fits into no network beside the other sums of the problem"
        return base, kept, ""

    def name_of(self, row: int) -> str:
        return self.names[row - self.n_fixed]

    def alternatives(self, first: int, arc: np.ndarray) -> tuple:
        """Collect the arcs and bounds of every alternative's rows."""
        choices, rows, made = self.choices, self.rows, []
        order = np.argsort(choices.alternative, kind="stable")
        begins = np.searchsorted(choices.alternative[order], np.arange(len(choices.choice) + 1))
        for k in range(len(choices.choice)):
            mine = first + order[begins[k] : begins[k + 1]]
            known = mine[arc[mine] >= 0]
            low, high = np.maximum(rows.lower[known], -FREE), np.minimum(rows.upper[known], FREE)
            made.append((arc[known], low, high) if rows.holds[mine].all() else None)
        starts = np.searchsorted(choices.choice, np.arange(len(choices) + 1))
        return tuple(tuple(made[a:b]) for a, b in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True))

    @property
    def least_of_parts(self) -> np.ndarray:
        """The least value of every part."""
        problem, n_parts = self.problem, self.parts.shape[1]  # pyright: ignore
        least = np.full(n_parts, 0 if problem.nonnegative else -FREE)
        if problem.monotone:
            least.reshape(-1, problem.max_size + 1)[:, 1:] = 0
        return least
