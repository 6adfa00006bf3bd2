"""The region under another noise: the same as the mechanism by hand, and sliders that show it."""

import sys

import numpy as np
import pytest

from pgsr import CountOfCounts, Hierarchy, View
from pgsr.comparison.explore import EPSILONS, Explored, explore, explored
from pgsr.errors import ArgumentError, BudgetError, MissingPackageError
from pgsr.estimators import Posterior
from pgsr.methods import metrics
from pgsr.noise import Geometric, Totals
from pgsr.privacy import Seeded

TREE = Hierarchy.from_paths([("US", "GA", "a"), ("US", "GA", "b"), ("US", "MI", "c")])
TRUTH = CountOfCounts(TREE, np.array([[0, 40, 12, 3], [1, 60, 18, 0], [0, 9, 9, 1]]))


@pytest.mark.parametrize(("view", "leaves"), [(View.COUNTS, None), (View.CUMULATIVE, 1), (View.RANKED, "1/2")])
def test_shows_what_the_mechanism_releases(view, leaves):
    shown = explored(TRUTH, epsilon="1/2", leaves=leaves, view=view, region=("US", "GA"))
    assert shown.result.estimate.counts().totals.tolist() == TRUTH.totals.tolist()
    table, distances = shown.errors(), metrics.emd(TRUTH, shown.result.estimate)
    assert table["mean distance (entities)"].tolist() == [distances[0], distances[1:3].mean(), distances[3:].mean()]
    assert (table["noise"] == "not measured").tolist() == ([True, True, False] if leaves == 1 else [False] * 3)
    assert shown.figure().get_suptitle() == "US / GA"
    assert "data:image/png;base64," in shown._repr_html_()


def test_equals_the_steps_by_hand():
    noise = Geometric(View.CUMULATIVE, "1/3", totals=Totals.REGIONS)
    byhand = Posterior().apply(noise.measure(TRUTH, Seeded("explore"))).estimate
    assert np.array_equal(explored(TRUTH, epsilon="1/3").result.estimate.values, byhand.values)


def test_moving_a_slider_shows_the_setting():
    widget = explore(TRUTH)
    names = [child.description for child in widget.children if hasattr(child, "description")]
    assert names == ["epsilon", "leaves' share (%)", "view", "region"]
    widget.children[0].value = EPSILONS[0]
    widget.update()
    assert isinstance(widget.result, Explored)
    assert "epsilon=1/100" in repr(widget.result)
    widget.children[2].value = View.COUNTS
    assert widget.result.noise.view is View.COUNTS


def test_says_how_to_get_sliders(monkeypatch):
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    with pytest.raises(MissingPackageError, match=r'pip install "\.\[widgets\]"'):
        explore(TRUTH)


@pytest.mark.parametrize("leaves", [-1, 2, "1/0"])
def test_refuses_shares_that_are_none(leaves):
    with pytest.raises((ArgumentError, BudgetError)):
        explored(TRUTH, leaves=leaves)
