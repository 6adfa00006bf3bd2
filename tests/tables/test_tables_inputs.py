"""The quantities of tuples: whole numbers up to a bound, and noise that grows with the bound."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from small_tables import counted, frame

from pgsr import View
from pgsr.data.views import cumulative, ranked
from pgsr.errors import ArgumentError, ProblemError, TableError
from pgsr.experiments.kuo2018.choosing import DISTINCT_SIZES
from pgsr.noise import Geometric
from pgsr.privacy import Seeded
from pgsr.privacy.laws import DoubleGeometric
from pgsr.privacy.random import StreamId
from pgsr.tables import Quantities
from pgsr.tables.inputs import PrivateLog

TUPLES = frame(user=["u", "v", "w"], unit=["g1", "g1", "g2"], region=["GA", "GA", "MI"], quantity=[2, 0, 3])


@pytest.mark.parametrize(
    "bad", [[2, 0, -1], [2, 0, 0.5], ["2", "0", "x"], [2, 0, np.nan], ["1", "1", None], [1, 1, np.inf]]
)
def test_quantities_are_whole_numbers_from_0_up(bad: list[Any]) -> None:
    log = PrivateLog()
    with pytest.raises(TableError, match="some quantities are no whole numbers from 0 up;"):
        counted(Quantities(TUPLES.assign(quantity=bad), 3), log=log)
    assert log.faults == ["1 quantities are no whole numbers from 0 up (first in row 3)"]


def test_quantities_above_the_bound() -> None:
    with pytest.raises(TableError, match=r"some quantities exceed max_quantity=2;.*clip=True"):
        counted(Quantities(TUPLES, 2))
    log = PrivateLog()
    truth = counted(Quantities(TUPLES, 2, clip=True), log=log)
    assert truth.counts.tolist() == [[1, 0, 2, 0], [0, 0, 1, 0], [1, 0, 1, 0]]
    assert log.clipped_quantities == 1
    with pytest.raises(TableError, match="is BOOLEAN; quantities are whole numbers"):
        counted(Quantities(TUPLES.assign(quantity=[True, False, True]), 1))
    for bad in (0, True, 1.5, "2"):
        with pytest.raises(ArgumentError, match="max_quantity"):
            Quantities(TUPLES, bad)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("view", View)
def test_noise_grows_with_the_quantity(view: View) -> None:
    truth, seed = counted(Quantities(TUPLES, 3), name="z"), Seeded("z")
    with pytest.raises(ProblemError, match=r"adds up to 3 .* hides 1; give Geometric\(\.\.\., max_quantity=3\)"):
        Geometric(view, 1).measure(truth, seed)
    measured = Geometric(view, 1, max_quantity=3).measure(truth, seed)
    for region, path in enumerate(truth.hierarchy.paths):
        row = {View.COUNTS: np.copy, View.CUMULATIVE: cumulative, View.RANKED: ranked}[view](truth.counts[region])
        law = DoubleGeometric((2 if view is View.COUNTS else 3) / Fraction(1, 2))
        law.add_to(row, seed.stream(StreamId("z", view.value, len(path) - 1, path)))
        assert np.array_equal(measured.row(region), row)


def test_what_is_proved_for_quantity_1_refuses_others() -> None:
    from pgsr.algorithms import TreeProjection
    from pgsr.experiments.kuo2018.choosing import ChosenByScore, ChosenByStatistic
    from pgsr.methods import Mechanism

    truth, seed = counted(Quantities(TUPLES, 3)), Seeded("z")
    noise = Geometric(View.COUNTS, 1, max_quantity=3)
    mechanism = Mechanism(noise, TreeProjection())
    with pytest.raises(ProblemError, match="quantity 1"):
        ChosenByScore([mechanism], 1).release(truth, seed)
    with pytest.raises(ProblemError, match="quantity 1"):
        ChosenByStatistic([mechanism], lambda _: mechanism, 1, DISTINCT_SIZES).release(truth, seed)
