"""Figures: an arm has one colour everywhere, axes have several labels, and what did not run has no place in them."""

import re
from collections import Counter
from io import StringIO
from xml.etree import ElementTree

import matplotlib as mpl
import numpy as np
import pytest
from smoke_cells import one_quick, smoke_cells, stored

from pgsr import Result, Status
from pgsr.comparison import Comparison
from pgsr.comparison.comparing import Row
from pgsr.experiments.engine.experiment import Profile
from pgsr.experiments.engine.looks import ARM_LOOKS, CONDITIONS, arm_looks
from pgsr.experiments.engine.store import to_frame
from pgsr.experiments.fioretto2019 import runtime_by_size
from pgsr.experiments.registry import EXPERIMENTS, find
from pgsr.experiments.report.svg import smaller
from pgsr.figures.drawing import LEVELS, log_places, new_figure
from pgsr.methods.method import Seconds

DRAWN = ("K2", "K3", "K5", "K6", "K8", "K8b", "K9", "PG3", "PG4")


@pytest.mark.parametrize("name", one_quick(DRAWN, "K9"))
def test_every_logarithmic_axis_has_several_labels(name):
    """Two at least between its ends; the axis of epsilons has one for every epsilon that ran."""
    experiment = find(name)
    figure = experiment.plot(to_frame([stored(task, record) for task, record in smoke_cells(experiment)]))
    figure.draw_without_rendering()
    checked = 0
    for axes in figure.axes:
        for axis, limits in ((axes.xaxis, axes.get_xlim()), (axes.yaxis, axes.get_ylim())):
            of_epsilon = axis is axes.xaxis and name in ("K5", "K6", "PG3")
            if axis.get_scale() == "log" and not of_epsilon:
                low, high = min(limits), max(limits)
                inside = [place for place in axis.get_majorticklocs() if 0.999 * low <= place <= 1.001 * high]
                assert len(inside) >= 2, (name, axes.get_title(), inside)
                checked += 1
        if axes.get_xlabel() and axes.get_ylabel():
            assert re.search(r"\(|part of", axes.get_ylabel()), "a unit"
    assert checked


@pytest.mark.parametrize(("low", "high"), [(1, 1), (0.9, 1.1), (7, 90), (1e-5, 1e9)])
def test_three_to_seven_labels_on_any_range(low, high):
    places = log_places(low, high, 7)
    assert 3 <= len(places) <= 7
    assert places == sorted(places)
    digits = {f"{place:e}"[0] for place in places}
    assert digits <= set("1235")


def test_arms_of_an_experiment_look_different_and_the_same_in_every_figure():
    without = ("B1", "K1", "K10", "K8b", "X1", "X2", "X3", "X6", "HP0")
    drawn_by_arm = [each for each in EXPERIMENTS if each.id not in without]
    for experiment in drawn_by_arm:
        labels = [arm.label for arm in experiment.arms]
        assert set(labels) <= set(ARM_LOOKS), experiment.id
        looks = arm_looks(labels)
        assert len(set(looks.values())) == len(labels), experiment.id
        assert looks == {label: ARM_LOOKS[label] for label in labels}
    others = {look.colour for look in (*LEVELS, *CONDITIONS)}
    assert not others & {look.colour for look in ARM_LOOKS.values()}
    assert len(set(arm_looks(["a", "b", "Hc"]).values())) == 3


def test_mechanisms_keep_their_colour_between_experiments():
    """M_H^dp by tables, by ours, with seconds or with errors: one colour; open: the paper's way, or half the noise."""
    for mechanism in ("M_H^r", "M_H^dp", "M_c^r", "M_c^dp"):
        looks = {label: look for label, look in ARM_LOOKS.items() if label.split(",")[0].split(" (")[0] == mechanism}
        assert len(looks) >= 3
        assert len({look.colour for look in looks.values()}) == 1
        for label, look in looks.items():
            assert look.open == any(word in label for word in ("Clarabel", "Gurobi", "tables", "half the noise")), label


def test_an_arm_without_an_answer_is_words_and_no_mark():
    rows = [
        Row(name, "M_H", Result(status, "why", seconds=Seconds(0.0, seconds, 0.0)), 1, {})
        for name, status, seconds in (
            ("fast", Status.OPTIMAL, 0.5), ("refused", Status.UNLICENSED, 0.0), ("late", Status.TIMED_OUT, 0.1),
        )
    ]  # fmt: skip
    axes = Comparison(rows, "three arms").plot().axes[0]
    marks = np.concatenate([np.asarray(line.get_ydata()) for line in axes.get_lines()])
    assert marks.tolist() == [0]
    words = {text.get_position()[1]: text for text in axes.texts}
    assert words[1].get_text() == "no answer: unlicensed"
    assert words[1].get_position()[0] > 0.9, "at the slow end"
    assert words[2].get_text() == "no answer: timed out"


def test_a_refused_solver_is_named_and_not_drawn():
    record = {"status": "MEASURED", "sizes": [5, 10], "limit": 6}
    answered = {"outcomes": ["answered"] * 2, "reasons": [""] * 2, "step_seconds": [0.1, 0.2]}
    refused = {"outcomes": ["refused"] * 2, "reasons": ["no licence"] * 2, "step_seconds": [None] * 2}
    entries = [
        stored(task, record | (refused if "Gurobi" in task.arm.label else answered))
        for task in runtime_by_size.EXPERIMENT.tasks(Profile.SMOKE)
    ]
    figure = runtime_by_size.plot(to_frame(entries))
    assert "no answer at the smallest N, so not drawn: M_H, Gurobi" in figure.get_suptitle().replace("\n", " ")
    shown = [text.get_text() for text in figure.legends[0].get_texts()]
    assert "M_H, HiGHS" in shown
    assert not [label for label in shown if "Gurobi" in label]


def test_a_small_svg_keeps_every_line_mark_and_word():
    figure = new_figure(4, 3)
    axes = figure.subplots()
    axes.errorbar([1, 2, 3], [5, 6, 7], [1, 1, 9], fmt="o", capsize=2, label="<some & more>")
    axes.set_yscale("log")  # the last bar ends below 0, outside the panel
    axes.plot([1, 3], [2, 2])
    axes.legend()
    before = StringIO()
    with mpl.rc_context({"svg.fonttype": "none"}):
        figure.savefig(before, format="svg")
    after = smaller(before.getvalue())
    assert len(after) < 0.6 * len(before.getvalue())
    trees = [ElementTree.fromstring(text) for text in (before.getvalue(), after)]
    drawn = [Counter(re.findall("[MLCQz]", " ".join(node.get("d", "") for node in tree.iter()))) for tree in trees]
    assert drawn[0] == drawn[1]
    for kind in ("use", "text"):
        found = [[node.text for node in tree.iter(f"{{http://www.w3.org/2000/svg}}{kind}")] for tree in trees]
        assert found[0] == found[1] != []
    ids = re.findall(r'\bid="(\w+)"', after)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r"#(\w+)[\")]", after)) == set(ids)
