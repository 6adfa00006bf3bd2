"""The figures of the pages: `python docs/tools/figures.py` draws them anew in docs/figures.

They show public generators with seeded noise. Those of published results, in docs/figures/results, are drawn by
`python -m pgsr.experiments publish`. In all of them orange is noisy values, and black the truth.
"""

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator

from pgsr import CountOfCounts, Hierarchy, Problem, View, estimate
from pgsr.algorithms import CumulativeIntegers, CumulativeProjection, TreeProjection
from pgsr.bounds import lower_bound
from pgsr.comparison.figure import draw as draw_items
from pgsr.comparison.figure import figure as comparison_figure
from pgsr.comparison.profile import TALL, profile
from pgsr.data.views import cumulative, ranked
from pgsr.datasets import census_like
from pgsr.estimators import BottomUp, IsotonicTreeProjection, Matching, Posterior
from pgsr.estimators.posterior.prior_fit import learn
from pgsr.experiments.benchmarks import peers
from pgsr.experiments.report.svg import write_svg
from pgsr.figures.drawing import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PINK,
    VERMILION,
    finish,
    head,
    legend_below,
    log_labels,
    new_figure,
)
from pgsr.intervals import band
from pgsr.methods import PostProcess, metrics
from pgsr.methods.gate import NO_LIMIT
from pgsr.noise import Geometric, Measurement
from pgsr.privacy import Seeded

RESULTS = Path(__file__).parents[1] / "results"
WIDTH = 8.6
EPSILON = "1"
REGION = ("United States", "Vermont")


@cache
def nation() -> CountOfCounts:
    """30,000 households of 1 to 15 people in 51 states."""
    return census_like("states", max_size=15, groups=30_000)


@cache
def noisy(view: View, seed: str = "figures") -> Measurement:
    return Geometric(view, EPSILON).measure(nation(), Seeded(seed))


def hierarchy() -> Figure:
    """A nation, two of its states and two counties of each, with their numbers of households."""
    tree = census_like("counties", max_size=15, groups=30_000).hierarchy
    totals = census_like("counties", max_size=15, groups=30_000).totals
    figure = new_figure(WIDTH, 2.9)
    axes = figure.subplots()
    axes.set_axis_off()
    axes.set(xlim=(-1.2, 12.4), ylim=(-0.4, 2.4))
    states = [tree.index(("United States", name)) for name in ("Georgia", "Michigan")]
    places = {0: (4.5, 2.0)}
    for number, state in enumerate(states):
        places[state] = (1.5 + 6 * number, 1.0)
        for county in (0, 1):
            places[tree.children(state)[county]] = (3.0 * county + 6 * number, 0.0)
    for region, (x, y) in places.items():
        for child in tree.children(region):
            if child in places:
                axes.plot([x, places[child][0]], [y - 0.2, places[child][1] + 0.2], color=GREY, lw=1)
        words = f"{tree.paths[region][-1]}\n{totals[region]:,} households"
        axes.text(x, y, words, ha="center", va="center", bbox={"boxstyle": "round,pad=0.45", "fc": "white", "ec": BLUE})
    axes.text(11.6, 1.0, "and 49\nmore states", ha="center", va="center", color="#555555")
    axes.text(11.6, 0.0, "and all\nother counties", ha="center", va="center", color="#555555")
    return figure


def views() -> Figure:
    """One region in the three views."""
    counts = np.array([0, 4, 6, 3, 2, 1, 0, 1])
    figure = new_figure(WIDTH, 2.9)
    left, middle, right = figure.subplots(1, 3)
    sizes = np.arange(len(counts))
    left.bar(sizes, counts, color=BLUE)
    finish(left, "size (members)", "groups of this size", "counts")
    middle.step(sizes, cumulative(counts), where="post", color=BLUE, marker="o", markersize=4)
    middle.set_ylim(0)
    finish(middle, "size (members)", "groups of at most this size", "cumulative counts")
    right.plot(np.arange(1, counts.sum() + 1), ranked(counts), "o", color=BLUE, markersize=4)
    right.set_ylim(0)
    finish(right, "rank of the group, smallest first", "size (members)", "ranked sizes")
    for axes in (left, middle, right):
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    head(figure, "17 groups in one region, told in three ways")
    return figure


def split_view() -> Figure:
    """The Young diagram of nine groups, divided into columns and rows, and a box that one more member adds."""
    sizes, threshold, grown = (9, 6, 5, 4, 3, 3, 2, 1, 1), 3, 4
    figure = new_figure(WIDTH, 4.0)
    axes = figure.subplots()
    for rank, size in enumerate(sizes, 1):
        for s in range(size):
            colour = BLUE if s < threshold else ORANGE
            axes.add_patch(Rectangle((s - 0.46, rank - 0.46), 0.92, 0.92, fc=colour, ec="white", alpha=0.75))
    axes.add_patch(Rectangle((threshold - 0.46, grown + 0.54), 0.92, 0.92, fc="white", ec=VERMILION, hatch="////"))
    for s in range(threshold):
        n = sum(size > s for size in sizes)
        axes.add_patch(Rectangle((s - 0.5, 0.5), 1, n, fc="none", ec=BLACK, lw=1.4))
        axes.text(s, n + 1, f"{n}", ha="center", va="center", color=BLUE)
    for rank, size in enumerate(sizes[:grown], 1):
        axes.add_patch(Rectangle((threshold - 0.5, rank - 0.5), size - threshold, 1, fc="none", ec=BLACK, lw=1.4))
        axes.text(size, rank, f"{size - threshold}", ha="center", va="center", color=VERMILION)
    axes.annotate(
        "a group of 3 gets a member:\none box more, in one set",
        (threshold + 0.5, grown + 1),
        (threshold + 2.2, grown + 2),
        va="center",
        arrowprops={"arrowstyle": "-", "color": GREY},
    )
    axes.set(xlim=(-0.7, 9.7), ylim=(10.9, 0.2), aspect="equal", xticks=range(10), yticks=range(1, 10))
    finish(axes, "size s: the group has more than s members", "rank i of the group, largest first", "")
    axes.grid(visible=False)
    head(figure, "Columns below the threshold 3 count groups, rows from it on count what the largest have beyond it")
    return figure


def noise() -> Figure:
    """The law of the noise, and what it does to the counts of one region."""
    figure = new_figure(WIDTH, 3.3)
    left, right = figure.subplots(1, 2)
    k = np.arange(-12, 13)
    for scale, colour, marker in ((1, GREEN, "o"), (2, PINK, "s"), (6, GREY, "^")):
        a = np.exp(-1 / scale)
        left.plot(k, (1 - a) / (1 + a) * a ** abs(k), color=colour, marker=marker, markersize=3, label=f"scale {scale}")
    finish(left, "noise k (groups)", "probability", "P(k) proportional to exp(-|k| / scale)")
    left.set_ylim(0)
    left.legend(frameon=False, fontsize="small")
    _sizes(right, (("truth", nation().counts, BLACK, "v"), ("with noise", noisy(View.COUNTS).matrix, ORANGE, "x")))
    finish(right, "size (members)", "households", "Vermont, counts, scale 4 (epsilon 1, two levels)")
    right.legend(frameon=False, fontsize="small")
    return figure


def _sizes(axes: Axes, curves: tuple[tuple[str, np.ndarray, str, str], ...]) -> None:
    row = nation().hierarchy.index(REGION)
    for label, values, colour, marker in curves:
        axes.plot(np.arange(values.shape[1]), values[row], color=colour, marker=marker, markersize=4, lw=1, label=label)
    axes.axhline(0, color=GREY, lw=0.8)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))


def repair() -> Figure:
    """What noise breaks, and M_H mends."""
    measured = noisy(View.COUNTS)
    answer = TreeProjection().solve(Problem.m_h(measured)).estimate.counts().counts
    figure = new_figure(WIDTH, 3.3)
    left, right = figure.subplots(1, 2)
    sizes = np.arange(nation().max_size + 1)
    for values, label, colour, marker in ((measured.matrix, "noisy", ORANGE, "x"), (answer, "M_H", BLUE, "o")):
        off = values[0] - values[nation().hierarchy.level(1)].sum(axis=0)
        left.plot(sizes, off, color=colour, marker=marker, markersize=4, lw=1, label=label)
    left.axhline(0, color=GREY, lw=0.8)
    left.xaxis.set_major_locator(MaxNLocator(integer=True))
    finish(left, "size (members)", "households", "nation minus the sum of its states")
    _sizes(right, (("noisy", measured.matrix, ORANGE, "x"), ("M_H", answer, BLUE, "o")))
    finish(right, "size (members)", "households", "Vermont: no negative counts are left")
    legend_below(figure, (left,))
    return figure


def judged() -> Figure:
    """Objectives of three answers to M_c, and the bound."""
    measured = noisy(View.CUMULATIVE)
    problem = Problem.m_c(measured)
    dp = IsotonicTreeProjection().apply(measured).certificate
    integers, rounded = (method.solve(problem).certificate for method in (CumulativeIntegers(), CumulativeProjection()))
    answers = (
        ("M_c^dp: regions alone, then M_H", dp, BLUE, "o"),
        ("M_c in integers (CumulativeIntegers)", integers, BLUE, "o"),
        ("the relaxation rounded, cell by cell", rounded, VERMILION, "X"),
    )
    figure = new_figure(WIDTH, 2.7)
    axes = figure.subplots()
    axes.axvline(integers.bound, color=BLACK, lw=1.2, label="bound: no valid table is to its left")
    for place, (words, certificate, colour, marker) in enumerate(answers):
        off = sum(certificate.violations.values())
        axes.plot(certificate.objective, place, marker, color=colour, markersize=8)
        told = f"{words}, {certificate.objective:,}: " + (f"{off} sums are off" if off else "valid")
        axes.annotate(told, (certificate.objective, place), (10, -3), textcoords="offset points", fontsize="small")
    axes.set(ylim=(-0.8, 2.6), yticks=[], xlim=(0, 1.9 * dp.objective))
    finish(axes, "objective: sum of squared distances to the noisy cumulative counts (groups squared)", "", "")
    axes.grid(visible=False)
    axes.legend(frameon=False, fontsize="small", loc="upper right")
    return figure


RELEASES: tuple[tuple[str, Callable[[], object], str, str], ...] = (
    ("M_c^dp", IsotonicTreeProjection, GREY, "s"),
    ("Kuo: H_c, matching", Matching, GREEN, "^"),
    ("bottom-up", BottomUp, PINK, "D"),
    ("posterior", Posterior, BLUE, "o"),
)
REPLICATES = 10


def errors() -> Figure:
    """Errors of four releases by level."""
    figure = new_figure(WIDTH, 3.3)
    _errors(figure.subplots())
    head(figure, f"Error of four releases, epsilon {EPSILON}, mean and standard error of {REPLICATES} replicates")
    return figure


def _errors(axes: Axes) -> None:
    truth, rows = nation(), {name: [] for name, *_ in RELEASES}
    for replicate in range(REPLICATES):
        measured = Geometric(View.CUMULATIVE, EPSILON).measure(truth, Seeded("errors", replicate))
        alone = Geometric(View.CUMULATIVE, EPSILON, shares=(0, 1)).measure(truth, Seeded("errors", replicate))
        for name, make, *_ in RELEASES:
            estimate = make().apply(alone if name == "bottom-up" else measured).estimate
            rows[name].append(metrics.level_means(truth, metrics.cumulative_l1(truth, estimate)))
    for place, (name, _, colour, marker) in enumerate(RELEASES):
        found = np.array(rows[name])
        where = np.arange(found.shape[1]) + 0.12 * (place - 1.5)
        spread = found.std(axis=0, ddof=1) / REPLICATES**0.5
        axes.errorbar(where, found.mean(axis=0), spread, fmt=marker, color=colour, label=name, capsize=3)
    axes.set_yscale("log")
    axes.set_xticks([0, 1], ["nation", "states (mean)"])
    axes.set_xlim(-0.5, 1.5)
    finish(axes, "level", "people to move per region\n(log scale)", "")
    log_labels(axes.yaxis)
    legend_below(axes.figure, (axes,))


PRIVATE, PUBLIC, TOLD = "#fbe3d6", "white", "#e8f1f8"
"""Fills of the boxes of `release`: for the office alone, known beforehand, and published."""

STEPS = (
    ("entities", "entities\n(a row per person)", (0.9, 2.4), PRIVATE),
    ("groups", "groups and regions", (0.9, 1.35), PUBLIC),
    ("terms", "release.toml: K,\nepsilon, mechanism", (0.9, 0.3), PUBLIC),
    ("count", "read and\ncount", (3.2, 2.4), PRIVATE),
    ("charge", "charge the\nledger", (4.9, 2.4), PRIVATE),
    ("noise", "draw secure\nnoise", (6.6, 2.4), PRIVATE),
    ("repair", "post-process\nand certify", (6.6, 0.825), TOLD),
    ("folder", "checked folder,\nsigned", (8.6, 0.825), TOLD),
    ("reader", "a reader:\npgsr check", (10.6, 0.825), TOLD),
)
"""The steps of a release: the name, the words, the place and the fill."""

FLOWS = (("entities", "count"), ("groups", "count"), ("count", "charge"), ("charge", "noise"), ("noise", "repair"),
         ("groups", "repair"), ("terms", "repair"), ("repair", "folder"), ("folder", "reader"))  # fmt: skip


def release() -> Figure:
    """The steps from the tables to a folder that a reader checks, and who sees what."""
    figure = new_figure(WIDTH, 3.2)
    axes = figure.subplots()
    axes.set_axis_off()
    axes.set(xlim=(-0.2, 11.6), ylim=(-0.2, 2.95))
    boxes = {}
    for name, words, (x, y), fill in STEPS:
        edge = VERMILION if fill == PRIVATE else BLUE if fill == TOLD else GREY
        shape = {"boxstyle": "round,pad=0.45", "fc": fill, "ec": edge, "ls": "--" if fill == PRIVATE else "-"}
        boxes[name] = axes.text(x, y, words, ha="center", va="center", fontsize="small", bbox=shape)
    figure.canvas.draw()
    for start, end in FLOWS:
        ends = {"patchA": boxes[start].get_bbox_patch(), "patchB": boxes[end].get_bbox_patch()}
        arrow = {"arrowstyle": "-|>", "color": "#555555", "lw": 1, **ends}
        axes.annotate("", boxes[end].get_position(), boxes[start].get_position(), arrowprops=arrow)
    for words, colour, style in (
        ("for the office alone", VERMILION, "--"),
        ("public beforehand", GREY, "-"),
        ("published", BLUE, "-"),
    ):
        axes.plot([-9], [-9], color=colour, ls=style, label=words)  # for the legend, outside the picture
    legend_below(figure, [axes])
    head(figure, "A release: of the private table only noisy values go on")
    return figure


@cache
def town() -> CountOfCounts:
    """1,200 households of 0 to 12 persons in two districts of a made town."""
    generator = np.random.default_rng(2026)
    shares = np.array([0.03, 0.3, 0.33, 0.14, 0.1, 0.05, 0.02, 0.01, 0.006, 0.005, 0.004, 0.003, 0.002])
    tree = Hierarchy.from_paths([("Town", "North"), ("Town", "South")])
    return CountOfCounts(tree, [generator.multinomial(600, shares) for _ in range(2)])


def intervals() -> Figure:
    """Released counts of a district with their intervals and the truth, and how wide two kinds of intervals are."""
    truth = town()
    measured = Geometric(View.CUMULATIVE, EPSILON).measure(truth, Seeded("intervals"))
    result = estimate(measured)
    district = truth.hierarchy.index(("Town", "North"))
    alone = result.intervals("count")
    at_once = band(measured, "0.9").intervals("count", result.estimate.counts())
    counts, sizes = truth.row(district), np.arange(truth.max_size + 1)
    figure = new_figure(WIDTH, 3.6)
    left, right = figure.subplots(1, 2)
    for shift, kind, colour, marker, words in (
        (-0.15, alone, BLUE, "o", "posterior, each by itself"),
        (0.15, at_once, VERMILION, "s", "band, all at once"),
    ):
        low, middle, high = (np.asarray(part[district]) for part in (kind.lower, kind.estimate, kind.upper))
        held = int(((low <= counts) & (counts <= high)).sum())
        told = f"{words}: {held} of {len(sizes)} hold"
        style = {"fmt": marker, "color": colour, "markersize": 4, "capsize": 2, "label": told}
        ends = [middle - low, high - middle]
        if kind is alone:
            left.errorbar(sizes, middle, ends, **style)
        right.errorbar(sizes + shift, middle - counts, ends, **style)
    left.plot(sizes, counts, "_", color=BLACK, markersize=13, label="truth")
    right.axhline(0, color=BLACK, lw=1)
    finish(left, "size (members)", "households", "released counts and the truth")
    finish(right, "size (members)", "households more than\nin truth", "the same, the truth at 0")
    for axes in (left, right):
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    legend_below(figure, (left, right), columns=3)
    head(figure, f"A made town, epsilon {EPSILON}: 90 % intervals around the counts of one district")
    return figure


def posterior() -> Figure:
    """What is expected of sixteen regions at the start of the search and in the end, for three shapes."""
    figure = new_figure(WIDTH, 3.8)
    panels = zip(figure.subplots(1, 3), SHAPES.items(), strict=True)
    for axes, (name, shares) in panels:
        generator = np.random.default_rng(2026)
        means = 20_000 * np.exp(generator.normal(0, 0.7, (16, 1))) * shares / shares.sum()
        tree = Hierarchy.from_parents(["Land", *(f"R{i}" for i in range(16))], [-1] + [0] * 16)
        truth = CountOfCounts(tree, generator.poisson(means))
        noise = Geometric(View.CUMULATIVE, "1/10", shares=(0, 1), totals="regions")
        measured, sizes = noise.measure(truth, Seeded("learned")), np.arange(8, truth.max_size)
        learned = learn(measured, NO_LIMIT)
        for at, colour, words in ((learned.start, ORANGE, "the start"), (learned.point, BLUE, "the learned prior")):
            values = learned.model.beginnings(at)
            expected = np.sum([learned.model.means(region, at, values) for region in range(1, 17)], axis=0)
            axes.plot(sizes, expected[sizes], color=colour, label=words)
        axes.plot(sizes, means.sum(axis=0)[sizes], "--", color=BLACK, label="truth, of which groups were drawn")
        axes.set_yscale("log")
        axes.set_ylim(0.3)
        finish(axes, "size (members)", "groups, all regions, log" if name == "a tail" else "", name)
    legend_below(figure, figure.axes, columns=3)
    head(figure, "What is expected of sixteen made regions, epsilon 1/10 at the leaves")
    return figure


_TAIL = np.append([0, 0.26, 0.33, 0.16, 0.14, 0.06, 0.025, 0.012], 0.012 * 0.8 ** np.arange(1, 54))
SHAPES = {
    "a tail": _TAIL,
    "spikes": _TAIL + 0.02 * np.isin(np.arange(61), (20, 40)),
    "an abrupt end": np.where(np.arange(61) < 35, 0.03, 1e-7) * np.append(0, np.ones(60)),
}
"""Shares of sizes 0 to 60."""


@cache
def firms() -> CountOfCounts:
    """3,000 made firms of 1 to 1,000 people: many small ones, and a long tail."""
    sizes = np.minimum(1 + (2 * np.random.default_rng(2026).pareto(1.2, 3_000)).astype(int), 1_000)
    return CountOfCounts(Hierarchy.from_parents(["Town"], [-1]), [np.bincount(sizes, minlength=1_001)])


def bounds() -> Figure:
    """The lower bound of one region over epsilon, and the errors of three releases."""
    truth, epsilons = firms(), ("1/100", "1/50", "1/20", "1/10", "1/5", "1/2", "1", "2")
    shown = [float(Fraction(epsilon)) for epsilon in epsilons]
    figure = new_figure(WIDTH, 3.6)
    axes = figure.subplots()
    for view, post, words, colour, marker in (
        (View.RANKED, BottomUp(), "H_g: ranked sizes, isotonic regression", GREEN, "^"),
        (View.CUMULATIVE, BottomUp(), "H_c: cumulative counts, isotonic regression", BLUE, "o"),
        (View.CUMULATIVE, Posterior(), "posterior of cumulative counts", PINK, "s"),
    ):
        errors = [[_error_alone(truth, view, post, epsilon, i) for i in range(REPLICATES)] for epsilon in epsilons]
        spread = np.std(errors, axis=1, ddof=1) / REPLICATES**0.5
        axes.errorbar(shown, np.mean(errors, axis=1), spread, color=colour, marker=marker, capsize=3, label=words)
    bound = [lower_bound(truth, epsilon).emd[0] for epsilon in epsilons]
    axes.plot(shown, bound, color=BLACK, lw=1.5, label="lower bound for any release, near this truth")
    axes.set_xscale("log")
    axes.set_yscale("log")
    finish(axes, "epsilon (log scale)", "mean EMD: people to add or remove\n(log scale)", "")
    log_labels(axes.yaxis)
    legend_below(figure, (axes,))
    head(figure, f"3,000 made firms in one region, mean and standard error of {REPLICATES} replicates")
    return figure


def _error_alone(truth: CountOfCounts, view: View, post: PostProcess, epsilon: str, replicate: int) -> float:
    measured = Geometric(view, epsilon).measure(truth, Seeded("bounds", replicate))
    return float(metrics.emd(truth, post.apply(measured).estimate)[0])


def overview() -> Figure:
    """One region before and after, and the errors of four releases."""
    measured = noisy(View.CUMULATIVE)
    release = Posterior().apply(measured).estimate.counts().counts
    differences = np.diff(measured.matrix, axis=1, prepend=0)
    figure = new_figure(WIDTH, 3.4)
    left, right = figure.subplots(1, 2)
    _sizes(left, (("truth", nation().counts, BLACK, "v"), ("with noise", differences, ORANGE, "x"),
                  ("released (posterior)", release, BLUE, "o")))  # fmt: skip
    finish(left, "size (members)", "households", "Vermont: households by size")
    left.legend(frameon=False, fontsize="small")
    _errors(right)
    title = f"error of four releases, all 52 regions\nmean and standard error of {REPLICATES} replicates"
    right.set_title(title, fontsize="medium")
    return figure


def picture() -> Figure:
    """One region's counts with noise and as the exact answer has them, and seconds of the same problem by solver."""
    figure = new_figure(10.6, 3.9)
    left, right = figure.subplots(1, 2)
    _exact_answer(left)
    _seconds_of_solvers(right)
    for axes in (left, right):
        axes.spines[["top", "right", "left", "bottom"]].set_visible(False)
        axes.tick_params(length=0)
        axes.grid(axis="y", color="#E4E6E8")
        axes.set_axisbelow(True)
    return figure


def _exact_answer(axes: Axes) -> None:
    truth = census_like("states", max_size=12, groups=40_000)
    noise = Geometric(View.COUNTS, EPSILON).measure(truth, Seeded("readme"))
    exact = TreeProjection().solve(Problem.m_h(noise)).estimate.counts().row(truth.hierarchy.index(REGION))
    counts, region = truth.row(truth.hierarchy.index(REGION)), noise.matrix[truth.hierarchy.index(REGION)]
    sizes = np.arange(truth.max_size + 1)
    true = axes.bar(sizes, counts, 0.72, color="#D3D7DA", label="true households of Vermont (generated)")
    axes.vlines(sizes, region, exact, color=VERMILION, linewidth=1)
    (measured,) = axes.plot(sizes, region, "o", markersize=7, markerfacecolor="white", markeredgecolor=VERMILION,
                            markeredgewidth=1.6, label=f"counts with noise, ε = {EPSILON}")  # fmt: skip
    (answer,) = axes.plot(sizes, exact, "o", color=BLACK, markersize=6, markeredgecolor="white", markeredgewidth=0.7,
                          label="exact answer: whole, not negative,\nadds up over 51 states")  # fmt: skip
    for size in sizes[region < 0]:
        axes.annotate(f"\N{MINUS SIGN}{-region[size]:g}", (size, region[size]), (0, -6), textcoords="offset points",
                      ha="center", va="top", color=VERMILION, fontsize="small")  # fmt: skip
    axes.axhline(0, color=BLACK, linewidth=0.8)
    axes.set_ylim(region.min() - 5, None)
    axes.set_xticks(sizes)
    finish(axes, "members of a household", "households", "")
    axes.set_title("Noise makes counts negative; the exact answer\nis the nearest table that can be true",
                   loc="left", fontsize="large", fontweight="bold")  # fmt: skip
    axes.legend(handles=[true, measured, answer], loc="upper right", edgecolor="none", framealpha=1, fontsize="small")


_SOLVERS = {
    "TreeProjection()": ("pgsr", BLACK, "o", (9, 0)),
    "Scipy()": ("HiGHS", BLUE, "s", (12, -7)),
    "MathOpt('GLOP')": ("GLOP", "#946200", "v", (10, 2)),
    "MathOpt('GSCIP')": ("SCIP", GREEN, "D", (-30, 12)),
    "Flow()": ("OR-tools flow", "#A8497F", "^", (10, -9)),
    "CpSat()": ("CP-SAT", "#C04A00", "v", (-4, 12)),
}
"""The solvers of README's picture: name, look, and the name's place beside the last proof."""


def _seconds_of_solvers(axes: Axes) -> None:
    rows = [row for row in peers.read(RESULTS) if row["problem"] == "M_H, integers"]
    for method, (name, colour, marker, beside) in _SOLVERS.items():
        points = [(row["unknowns"], row["seconds"], row["text"]) for row in rows if row["method"] == method]
        proved = [point[:2] for point in points if point[2].startswith("OPTIMAL")]
        last = next((point for point in points if point[2].startswith("TIMED_OUT")), proved[-1])
        style = {"color": colour, "linewidth": 2.6 if name == "pgsr" else 1.3}
        axes.plot(*zip(*proved, strict=True), marker=marker, **style)
        if last is not proved[-1]:
            axes.plot(*zip(proved[-1], last[:2], strict=True), ":", **style)
            axes.plot(*last[:2], "x", color=colour, markersize=7, markeredgewidth=1.8)
        told = f"> {10 * (last[1] // 10):.0f} s" if last is not proved[-1] else f"{_rounded(last[1])} s"
        axes.annotate(f"{name} {told}", proved[-1], beside, textcoords="offset points", va="center", color=colour,
                      fontweight="bold" if name == "pgsr" else "normal", annotation_clip=False,
                      bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "pad": 0.6})  # fmt: skip
    sizes = sorted({row["unknowns"] for row in rows})
    axes.set(xscale="log", yscale="log", xlim=(sizes[0] / 1.4, sizes[-1] * 6), ylim=(None, 400))
    axes.set_xticks(sizes, [f"{size / 1e6:.2g} M" if size > 500_000 else f"{size:,}" for size in sizes])
    axes.minorticks_off()
    log_labels(axes.yaxis)
    finish(axes, "unknowns (regions x sizes), log", "seconds, log", "")
    axes.set_title("The same problem, solved to a proof:\nseconds by solver (x: no answer)", loc="left",
                   fontsize="large", fontweight="bold")  # fmt: skip


def _rounded(seconds: float) -> str:
    return f"{seconds:.2g}" if seconds < 10 else f"{seconds:.0f}"


def benchmarks() -> Figure:
    """The performance profiles of the record of general solvers beside pgsr."""
    asked = peers.problems(peers.read(RESULTS))
    duels = [problem.duel for problem in asked if problem.duel]
    figure = new_figure(WIDTH, 4.1)
    figure.set_layout_engine("none")
    won = sum(ratio >= 1 for ratio in duels)
    said = f"pgsr is first on {won} of the {len(duels)} problems that it and a solver prove"
    figure.text(0.012, 0.93, said, fontsize="large", fontweight="bold")
    for k, (real, words) in enumerate(((False, "Exact problems"), (True, "Relaxations"))):
        items = profile([problem for problem in asked if problem.real is real])
        draw_items(figure.add_axes((0.065 + 0.5 * k, 0.17, 0.31, 0.63)), items, TALL)
        figure.text(0.012 + 0.5 * k, 0.855, f"{words}: share proved", fontsize="medium")
    figure.text(0.012, 0.03, "across: within how many times the time of the fastest proof, log", fontsize="small")
    return figure


def comparison() -> Figure:
    """The larger hierarchy of a run of `python -m pgsr.experiments compare` that docs/results keeps."""
    rows = pd.read_parquet(RESULTS / "compare.parquet")
    return comparison_figure(rows.loc[rows["part"] == rows["part"].iloc[-1]])


FIGURES: dict[str, Callable[[], Figure]] = {
    "picture.svg": picture,
    "overview.svg": overview,
    "hierarchy.svg": hierarchy,
    "views.svg": views,
    "noise.svg": noise,
    "repair.svg": repair,
    "judged.svg": judged,
    "errors.svg": errors,
    "release.svg": release,
    "split_view.svg": split_view,
    "intervals.svg": intervals,
    "posterior.svg": posterior,
    "bounds.svg": bounds,
    "compare.svg": comparison,
    "benchmarks.svg": benchmarks,
}
"""The figures by their files' names."""


if __name__ == "__main__":
    for name, draw in FIGURES.items():
        write_svg(draw(), Path(__file__).parents[1] / "figures" / name)
