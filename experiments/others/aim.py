"""A baseline for tables without households: AIM, which measures marginals one by one where its model is worst."""

from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import pi, prod, sqrt

import numpy as np

from pgsr.errors import BudgetError
from pgsr.experiments.others.graphical_model import Columns, GraphicalModel
from pgsr.experiments.others.single_table import TableMechanism
from pgsr.privacy.budget import Number, exact
from pgsr.synthesis.data.domain import SynthesisError, require_whole
from pgsr.synthesis.marginals.marginal_curator import MarginalCurator, MeasuredMarginal, variance_of

ROUNDS_PER_COLUMN = 16
"""How many rounds the rho is for per column of the table, if none spends more than the first."""

GROWTH = 4
"""How many times as much a round spends after one that changed less than its noise: half the noise, twice epsilon."""

TOLERANCE = 1e-3
"""The share of the loss by which two blocks of 50 steps must lower it, or a round's fit ends."""


@dataclass(frozen=True, kw_only=True)
class AIM(TableMechanism):
    """An adaptive and iterative mechanism (AIM): every round selects a marginal, measures it, and fits the model.

    All marginals of one column are measured first. A round selects one of the marginals of at most k columns by the
    exponential mechanism with the score w (|true - expected counts|_1 - sqrt(2 / pi) sigma n), where n is the number
    of cells and sigma the noise they would have. The weight w of the workload of all marginals of k columns is
    proportional to the number of columns. Rounds start with rho / (16 columns); when one changed the counts that it
    measured by less than the expected noise, the next ones spend four times as much. The last round spends what is
    left, so rho is spent exactly.

    The tables of a model that answers all marginals would not fit into memory. So a marginal may be selected only
    where the junction tree with it is no larger than `max_size` times the share of rho that is spent after the round.

    Args:
        rows: what a row of the table is.
        iterations: of mirror descent in the last fit, and at most in that of a round.
        k: most columns of a marginal.
        max_size: of the model's tables at the end, in MB of 2^20 bytes; 80 is the paper's.
        selection: share of a round's rho that selects.

    Raises:
        SynthesisError, BudgetError: a setting is out of range.

    Cost: every round that selects a new marginal compiles another model, seconds of processor time.

    Source: McKenna, Mullins, Sheldon and Miklau 2022; the two tables are ours.
    """

    k: int = 3
    max_size: Number = 80
    selection: Number = "1/10"

    def __post_init__(self) -> None:
        super().__post_init__()
        require_whole(k=self.k)
        exact(self.max_size, "max_size")
        if exact(self.selection, "selection") >= 1:
            raise BudgetError(f"selection={self.selection} leaves nothing to measure with; keep it below 1")

    def candidates(self, model: GraphicalModel) -> list[Columns]:
        columns, largest = range(len(model.lengths)), exact(self.max_size)
        single = [(column,) for column in columns]
        spent = (len(single) * (1 - exact(self.selection)) + 1) / (ROUNDS_PER_COLUMN * len(single))
        needed = model.megabytes(single) / spent
        if needed > largest:
            enough = f"{1.05 * needed:.2g}"  # two digits round by less than 5 %
            raise SynthesisError(
                f"max_size is {float(largest):g} MB, too small for a model of single columns; give at least {enough}"
            )
        more = (c for k in range(2, self.k + 1) for c in combinations(columns, k))
        return single + [c for c in more if 8 * prod(model.lengths[column] for column in c) <= largest * 2**20]

    def measure(self, curator: MarginalCurator, model: GraphicalModel, rho: Fraction) -> list[MeasuredMarginal]:
        n_columns, share = len(model.lengths), exact(self.selection)
        asked = [m.individual for m in curator.candidates]
        each = rho / (ROUNDS_PER_COLUMN * n_columns)
        measured = curator.measure_all(range(n_columns), n_columns * (1 - share) * each)
        left = rho - n_columns * (1 - share) * each
        model.fit(measured, self.iterations, TOLERANCE)
        while left:
            if left <= 2 * each:
                each = left
            left -= each
            variance = variance_of(curator.sensitivities[0].squared, (1 - share) * each)
            closed = _too_large(model, asked, measured, float(exact(self.max_size) * (1 - left / rho)))
            estimates = [np.zeros(1) if number in closed else model.expected(c) for number, c in enumerate(asked)]
            number = curator.select(estimates, np.full(len(asked), sqrt(variance)), share * each, closed)
            measured.append(curator.measure(number, (1 - share) * each))
            model.fit(measured, self.iterations, TOLERANCE if left else None)
            changed = np.abs(model.expected(asked[number]) - estimates[number]).sum()
            if changed <= sqrt(2 * variance / pi) * len(estimates[number]):
                each *= GROWTH
        return measured


def _too_large(
    model: GraphicalModel, asked: list[Columns], measured: list[MeasuredMarginal], largest: float
) -> frozenset[int]:
    """Find the candidates with which the model would have more than `largest` MB."""
    there = [m.marginal.individual for m in measured]
    return frozenset(
        number for number, c in enumerate(asked) if not model.holds(c) and model.megabytes([*there, c]) > largest
    )
