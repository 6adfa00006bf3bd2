"""Tables, pictures, short descriptions and sliders of what users hold in their hands."""

import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex

from pgsr import CountOfCounts, Hierarchy, PgsrError, Problem, Result, Status, View
from pgsr.algorithms import TreeProjection
from pgsr.comparison import overlay
from pgsr.comparison.explore import EPSILONS, Explored, explore, explored
from pgsr.data import Estimate
from pgsr.errors import ArgumentError, BudgetError, MissingPackageError
from pgsr.estimators import Posterior
from pgsr.figures.region_figure import BARS, COUNTED, ESTIMATED, NOISY
from pgsr.methods import metrics
from pgsr.noise import Geometric, Totals
from pgsr.privacy import Seeded
from pgsr.tables.long import to_long

TREE = Hierarchy.from_paths([("US", "GA", "Fulton"), ("US", "GA", "Cobb"), ("US", "DC")], pad_ragged=True)
TRUTH = CountOfCounts(TREE, [[0, 9, 4, 0, 1], [3, 0, 0, 0, 2], [0, 7, 0, 0, 0]], name="<made & up>")
NOISY_COUNTS, NOISY_SUMS, NOISY_RANKS = (Geometric(view, "1").measure(TRUTH, Seeded("looking")) for view in View)
PROBLEM = Problem.m_h(NOISY_COUNTS)
RESULT = TreeProjection().solve(PROBLEM)
GA = ("US", "GA")
WIDE = CountOfCounts(
    Hierarchy.from_paths([("US", "GA", "a"), ("US", "GA", "b"), ("US", "MI", "c")]),
    [[0, 40, 12, 3], [1, 60, 18, 0], [0, 9, 9, 1]],
)


def drawn(figure):
    """The marks and bars by the colour of what they show, panel by panel."""
    figure.draw_without_rendering()
    of_bars = {colour: look.colour for look, colour in BARS.items()}
    return [
        {line.get_color(): np.asarray(line.get_ydata()) for line in axes.get_lines() if line.get_label()[0] != "_"}
        | {of_bars[to_hex(bars[0].get_facecolor()).upper()]: np.array([bar.get_height() for bar in bars])
           for bars in axes.containers}
        for axes in figure.axes
    ]  # fmt: skip


def test_frames_are_the_long_tables():
    names = ("nation", "state", "county")
    cumulative = Estimate(TREE, View.CUMULATIVE, np.cumsum(RESULT.estimate.values, axis=1))
    for table in (TRUTH, RESULT.estimate, cumulative):
        slow = to_long(table, level_names=names).to_pandas()
        pd.testing.assert_frame_equal(table.to_frame(level_names=names), slow, check_dtype=False)


def test_a_frame_of_regions():
    frame = TREE.to_frame(level_names=("nation", "state", "county"))
    assert frame["region_id"].tolist() == ["US", "US/GA", "US/GA/Fulton", "US/GA/Cobb", "US/DC"]
    assert frame["parent_id"].tolist()[1:] == ["US", "US/GA", "US/GA", "US"]
    assert pd.isna(frame["parent_id"][0])
    assert frame["is_leaf"].tolist() == [False, False, True, True, True]
    assert frame["state"].tolist()[1:] == ["GA", "GA", "GA", "DC"]
    with pytest.raises(PgsrError, match="give one each"):
        TREE.to_frame(level_names=("nation",))


def test_a_frame_of_noisy_values():
    for noisy, cell, value in (
        (NOISY_COUNTS, "group_size", "noisy_count"),
        (NOISY_SUMS, "group_size", "noisy_cumulative_count"),
        (NOISY_RANKS, "rank", "noisy_group_size"),
    ):
        frame = noisy.to_frame()
        assert list(frame)[-2:] == [cell, value]
        for region in np.flatnonzero(noisy.measured):
            rows = frame[frame["region_id"] == "/".join(TREE.real_paths[region])]
            assert rows[cell].tolist() == list(range(len(noisy.row(region))))
            assert rows[value].tolist() == noisy.row(region).tolist()
        assert len(frame) == sum(len(noisy.row(region)) for region in np.flatnonzero(noisy.measured))


def test_a_frame_where_levels_differ_in_view():
    views = (View.CUMULATIVE, View.CUMULATIVE, View.RANKED)
    noisy = Geometric(views, "1").measure(TRUTH, Seeded("looking"))
    frame = noisy.to_frame()
    assert frame[frame["level"] == 0]["noisy_cumulative_count"].tolist() == noisy.row(0).tolist()
    cobb = frame[frame["region_id"] == "US/GA/Cobb"]["noisy_group_size"].tolist()
    assert cobb == noisy.row(TREE.index(("US", "GA", "Cobb"))).tolist()
    assert (frame["rank"].isna() == frame["group_size"].notna()).all()


def test_a_frame_of_results_is_one_row_of_facts():
    frame = RESULT.to_frame()
    assert frame.loc[0, "status"] == "OPTIMAL"
    assert frame.loc[0, "objective"] == RESULT.certificate.objective == frame.loc[0, "bound"]
    assert frame.loc[0, "violations_consistency"] == 0
    nothing = Result(Status.TIMED_OUT, "late").to_frame()
    assert list(nothing) == list(frame)
    assert nothing.loc[0, "reason"] == "late"


def test_what_a_notebook_shows_escapes_names_and_says_nothing_of_what_is_not_there():
    for thing, words in (
        (TREE, "padded"),
        (TRUTH, "&lt;made &amp; up&gt;"),
        (NOISY_COUNTS, "no privacy claim"),
        (Result(Status.FAILED, "no <luck>"), "no &lt;luck&gt;"),
    ):
        assert words in thing._repr_html_()
        assert "None" not in thing._repr_html_()


def test_a_region_is_found_by_path_and_by_index():
    assert TREE.find(None) == 0
    assert TREE.find(GA) == TREE.find(np.int64(1)) == 1
    for wrong in (("US", "MI"), "GA", 99, -1, 1.5, True):
        with pytest.raises(PgsrError, match=r"no region|does not exist"):
            TREE.find(wrong)


def test_plots_of_one_region():
    [panel] = drawn(TRUTH.plot())
    assert panel[COUNTED.colour].tolist() == TRUTH.counts[0].tolist()
    [panel] = drawn(RESULT.estimate.plot(GA))
    assert panel[ESTIMATED.colour].tolist() == RESULT.estimate.values[1].tolist()
    for noisy in (NOISY_COUNTS, NOISY_SUMS, NOISY_RANKS):
        [panel] = drawn(noisy.plot(GA))
        assert panel[NOISY.colour].tolist() == noisy.row(1).tolist()
    padded = int(np.flatnonzero(TREE.padded)[0])
    with pytest.raises(PgsrError, match="US / DC was not measured"):
        NOISY_COUNTS.plot(padded)


def test_an_overlay_draws_the_same_view_of_all():
    above, below = drawn(overlay(truth=TRUTH, noisy=NOISY_COUNTS, released=RESULT, region=GA))
    truth, released = TRUTH.counts[1], RESULT.estimate.values[1]
    assert above[COUNTED.colour].tolist() == truth.tolist()
    assert above[NOISY.colour].tolist() == NOISY_COUNTS.matrix[1].tolist()
    assert above[ESTIMATED.colour].tolist() == released.tolist()
    assert below[NOISY.colour].tolist() == (NOISY_COUNTS.matrix[1] - truth).tolist()
    assert below[ESTIMATED.colour].tolist() == (released - truth).tolist()
    [sums] = drawn(overlay(noisy=NOISY_COUNTS, released=RESULT.estimate, view=View.CUMULATIVE))
    assert sums[NOISY.colour].tolist() == NOISY_COUNTS.matrix[0].cumsum().tolist()
    [steps] = drawn(overlay(noisy=NOISY_SUMS, released=RESULT.estimate.counts(), view=View.COUNTS))
    assert steps[NOISY.colour].tolist() == np.diff(NOISY_SUMS.matrix[0], prepend=0).tolist()
    [own] = drawn(overlay(noisy=NOISY_SUMS))
    assert own[NOISY.colour].tolist() == NOISY_SUMS.matrix[0].tolist()


def test_only_what_is_said_to_be_the_truth_is_called_so():
    """Counts of a release are counts like true ones; nothing but the reader can tell them apart."""
    released = RESULT.estimate.counts()
    for figure, labels in (
        (overlay(noisy=NOISY_COUNTS, released=released), ["noisy", "released"]),
        (overlay(noisy=NOISY_COUNTS, released=RESULT), ["noisy", "released"]),
        (overlay(noisy=NOISY_COUNTS, truth=TRUTH, released=released), ["noisy", "truth", "released"]),
    ):
        assert sorted(figure.axes[0].get_legend_handles_labels()[1]) == sorted(labels)
        below = [axes.get_ylabel() for axes in figure.axes[1:]]
        assert below == ["difference from truth\n(groups)"] * ("truth" in labels)


def test_wrong_overlays_are_sentences():
    other = CountOfCounts(Hierarchy.from_parents(["all"], [-1]), [[0, 1]])
    for options, word in (
        ({}, "nothing to draw"),
        ({"truth": TRUTH.counts}, "truth is of type ndarray; give truth=counts"),
        ({"truth": TRUTH, "noisy": NOISY_RANKS}, "ranked sizes do not lie over counts"),
        ({"released": Result(Status.FAILED, "why")}, "no estimate"),
        ({"truth": TRUTH, "released": other}, "different regions or sizes"),
        ({"truth": RESULT}, "truth"),
        ({"truth": TRUTH, "view": View.RANKED}, r"View\.RANKED"),
    ):
        with pytest.raises(PgsrError, match=word):
            overlay(**options)


@pytest.mark.parametrize("counts", [[0, 1], [10**7, 0, 3] * 10], ids=len)
def test_axes_have_units_and_several_labels(counts):
    truth = CountOfCounts(Hierarchy.from_parents(["all"], [-1]), [counts])
    noisy = Geometric(View.COUNTS, "1").measure(truth, Seeded("axes"))
    for figure in (overlay(truth=truth, noisy=noisy), NOISY_RANKS.plot()):
        figure.draw_without_rendering()
        for axes in figure.axes:
            for axis, limits in ((axes.xaxis, axes.get_xlim()), (axes.yaxis, axes.get_ylim())):
                inside = [place for place in axis.get_majorticklocs() if limits[0] <= place <= limits[1]]
                assert len(inside) >= 3
                assert all(place == int(place) for place in inside)
            assert re.search(r"\((number|groups|entities)\)", axes.get_ylabel())
        assert re.search(r"\((number|entities)\)", figure.axes[-1].get_xlabel())
        assert figure._repr_png_().startswith(b"\x89PNG")


@pytest.mark.slow
def test_nothing_heavy_is_imported_until_something_is_drawn():
    code = """
import sys
from pgsr import CountOfCounts, Hierarchy
truth = CountOfCounts(Hierarchy.from_parents(["all"], [-1]), [[0, 1]])
truth._repr_html_()
print("matplotlib" in sys.modules, "pandas" in sys.modules)
truth.plot()
print("matplotlib.pyplot" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["False", "False", "False"], done.stderr


@pytest.mark.parametrize(("view", "leaves"), [(View.COUNTS, None), (View.CUMULATIVE, 1), (View.RANKED, "1/2")])
def test_shows_what_the_mechanism_releases(view, leaves):
    shown = explored(WIDE, epsilon="1/2", leaves=leaves, view=view, region=("US", "GA"))
    assert shown.result.estimate.counts().totals.tolist() == WIDE.totals.tolist()
    table, distances = shown.errors(), metrics.emd(WIDE, shown.result.estimate)
    assert table["mean distance (entities)"].tolist() == [distances[0], distances[1:3].mean(), distances[3:].mean()]
    assert (table["noise"] == "not measured").tolist() == ([True, True, False] if leaves == 1 else [False] * 3)
    assert shown.figure().get_suptitle() == "US / GA"
    assert "data:image/png;base64," in shown._repr_html_()


def test_equals_the_steps_by_hand():
    noise = Geometric(View.CUMULATIVE, "1/3", totals=Totals.REGIONS)
    byhand = Posterior().apply(noise.measure(WIDE, Seeded("explore"))).estimate
    assert np.array_equal(explored(WIDE, epsilon="1/3").result.estimate.values, byhand.values)


def test_moving_a_slider_shows_the_setting():
    widget = explore(WIDE)
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
        explore(WIDE)


@pytest.mark.parametrize("leaves", [-1, 2, "1/0"])
def test_refuses_shares_that_are_none(leaves):
    with pytest.raises((ArgumentError, BudgetError)):
        explored(WIDE, leaves=leaves)
