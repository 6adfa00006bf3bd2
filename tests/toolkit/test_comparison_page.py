"""The page and the figure of a comparison: they say what the rows say, and nothing lies on anything in a browser."""

import html
import json
import re
import shutil
import subprocess
from math import nan

import numpy as np
import pandas as pd
import pytest

from pgsr.comparison.figure import figure
from pgsr.comparison.page import fragment, page
from pgsr.comparison.profile import profiles
from pgsr.comparison.runs import read
from pgsr.comparison.solvers import FAMILIES, solver_of

SMALL, LARGE = "584 households in 13 regions, sizes 0 to 10", "30,000 households in 61 regions, sizes 0 to 20"
METHODS = ("TreeProjection()", "Gurobi()", "Direct('HIGHS')", "Scipy()", "MathOpt('GSCIP')", "Cvxpy('SCIP')", "CpSat()",
           "MathOpt('GLOP')", "MathOpt('PDLP')", "Flow()", "Cvxpy('CLARABEL')", "Cvxpy('OSQP')")  # fmt: skip
NAMES = ("naive", "M_H", "M_H^r", "M_c", "M_c^r", "H_c L2", "mean consistency", "M_c L1")


def row(method="Gurobi()", status="OPTIMAL", seconds=0.01, problem="M_H", part=SMALL, objective=7866, emd=(), **others):
    answered = status in ("OPTIMAL", "FEASIBLE", "RELAXED")
    errors = {f"{kind}_level{k}": v for k, v in enumerate(emd) for kind in ("emd", "cumulative_l1")}
    return {
        "part": part, "key": "", "variant": f"{problem}: counts that add up", "method": method, "problem": problem,
        "status": status, "objective": objective if answered else nan, "objective_exact": str(objective), "gap": 0.0,
        "formulate_s": 0.0, "solve_s": seconds, "round_s": 0.0, "reason": "" if answered else "too late; wait",
        "bound_by": "exchange test", "memory_mb": 1.0, "version": "", "time_limit_s": 2.0,
    } | errors | others  # fmt: skip


def many(seed):
    """Rows as of a large comparison, with times at random, near each other and far apart."""
    rng, rows = np.random.default_rng(seed), []
    for part in (SMALL, LARGE):
        for problem in NAMES:
            for method in METHODS:
                status = rng.choice(["OPTIMAL", "FEASIBLE", "RELAXED", "TIMED_OUT"], p=[0.7, 0.1, 0.1, 0.1])
                seconds = 10 ** rng.uniform(-3, -0.5 if part is SMALL else 1.5)
                rows.append(row(method, status, seconds, problem, part, key=problem))
        for name in ("Posterior()  1/3 each", "Matching(TransportLp())  [H_c]  1/3 each", "BottomUp()  [H_g]  0, 0, 1"):
            rows.append(
                row(name, "FEASIBLE", problem="release", part=part, key="releases", emd=rng.integers(1, 9_000, 3))
            )
    return rows


OURS = row("TreeProjection()", seconds=0.002, levels="nation / county", emd=(3.0, 4.5))
CASES = {
    "one problem": ([OURS, row(emd=(2.0, 5.0))], "M_H is proved and all proofs agree; pgsr is 5.0 times faster"),
    "no truth, one method": ([row("TreeProjection()")], "M_H is proved."),
    "nothing answers": ([row(status="TOO_LARGE")], "M_H is not proved."),
    "no seconds": ([row(seconds=0.0), row("CpSat()", seconds=0.0)], "M_H is proved and all proofs agree."),
    "none of ours": ([row(), row("Scipy()"), row(problem="M_c")], "All 2 problems are proved and all proofs agree."),
    "whole numbers disagree": ([OURS, row(objective=7867), row(problem="M_c")],
                               "Proved optima DISAGREE on 1 problem: M_H, 13 regions; pgsr is 5.0 times faster"),
    "real numbers disagree": ([row(problem="M_c^r"), row("CpSat()", problem="M_c^r", objective=7867, part=LARGE),
                               row("Scipy()", problem="M_c^r", objective=7900, part=LARGE)],
                              "Proved optima DISAGREE on 1 problem: M_c^r, 61 regions."),
    "releases alone": ([row("Matching()  [split]  1/3 each", "FEASIBLE", problem="release", objective=nan, emd=(3, 9)),
                        row("Posterior()  1/3 each", "FAILED", problem="cumulative view")], "2 releases side by side."),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_what_came_out_is_said_of_any_rows(case):
    rows, said = CASES[case]
    table = pd.DataFrame(rows)
    shown = html.unescape(page(table))
    heading = re.sub("<[^>]*>", "", shown.partition("<h1>")[2].partition("</h1>")[0])
    assert re.sub(r"(?<=[MHL])_|\^", "", said) in heading
    assert "nan" not in shown.lower().replace("nance", "")
    assert all(each["reason"] in shown for each in rows if each["problem"] != "cumulative view")
    assert "http" not in shown.replace("http://www.w3.org", ""), "no connection"
    assert heading in re.sub("<[^>]*>", "", fragment(table))
    assert len(figure(table).texts) > 0


def test_marks_names_and_levels_are_those_of_the_rows():
    rows = [OURS, row("MathOpt('HIGHS')", emd=(2.0, 5.0)), row("Scipy()", "RELAXED", emd=(2.5, 6.0))]
    shown = page(pd.DataFrame(rows))
    found = [shown.count(f'class="mark highs {fill}"') for fill in ("full", "open")]
    assert found == [2, 1], "one of them is the legend's"
    assert all(
        words in shown for words in (">HiGHS (OR-tools)</text>", ">5.0\u00d7 faster</text>", "nation", "At most 2 s")
    )
    assert {solver_of(method, "M_H").family for method in METHODS} == {*FAMILIES}
    assert solver_of("m_h", "M_H").family == solver_of("posterior", "release").family == "pgsr"


def test_a_profile_counts_what_was_not_tried_as_not_proved():
    rows = [row("TreeProjection()", seconds=0.01), row(seconds=0.04), row("Scipy()", seconds=0.03)]
    rows += [row("Direct('HIGHS')", seconds=0.02), row(problem="M_c"), row("Flow()", "FEASIBLE", problem="M_c")]
    found = {solver: ratios for (solver, _), ratios in profiles(read(pd.DataFrame(rows))[0])[1].items()}
    assert found == {"Gurobi": [1.0, 4.0], "pgsr": [1.0], "HiGHS": [2.0]}


WIDTHS = (1400, 1100, 400, 350)
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
COUNTING = """
function faults(doc) {
  const wide = doc.documentElement.clientWidth, texts = [], found = [];
  for (const each of doc.querySelectorAll("details")) each.open = true;
  const walker = doc.createTreeWalker(doc.body, 4), range = doc.createRange();
  while (walker.nextNode()) {
    const node = walker.currentNode, parent = node.parentElement, inside = parent.closest(".scroll");
    if (!node.data.trim() || parent.closest("title,style,script,#tip")) continue;
    range.selectNodeContents(node);
    for (const r of range.getClientRects()) if (r.width > 1) {
      if (!inside && (r.right > wide + 1 || r.left < -1)) found.push("wider: " + node.data);
      texts.push({ r, node, inside, svg: parent.closest("svg") });
    }
  }
  const hit = (a, b, m) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > m
    && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > m;
  texts.forEach((a, i) => texts.slice(0, i).forEach((b) => {
    if (a.node !== b.node && a.inside === b.inside && hit(a.r, b.r, 3)) found.push(a.node.data + " on " + b.node.data);
  }));
  for (const mark of doc.querySelectorAll(".strip .mark")) for (const text of texts)
    if (text.svg && hit(mark.getBoundingClientRect(), text.r, 2)) found.push("mark under " + text.node.data);
  if (doc.documentElement.scrollWidth > wide) found.push("the page is wider");
  return [wide, texts.length, found];
}
addEventListener("load", () => document.querySelector("pre").textContent =
  JSON.stringify([...document.querySelectorAll("iframe")].map((each) => faults(each.contentDocument))));
"""


def looked_at(pages, folder):
    """What a browser sees at every width: the width, the number of texts, and the faults."""
    frames = "".join(f'<iframe width="{w}" height="900" srcdoc="{html.escape(each)}" style="border:0"></iframe>'
                     for each in pages for w in WIDTHS)  # fmt: skip
    (folder / "all.html").write_text(f'<meta charset="utf-8">{frames}<pre></pre><script>{COUNTING}</script>')
    asked = [str(BROWSER), "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--dump-dom",
             "--virtual-time-budget=20000", f"--user-data-dir={folder}", (folder / "all.html").as_uri()]  # fmt: skip
    seen = subprocess.run(asked, capture_output=True, text=True, timeout=300, check=True).stdout
    return json.loads(html.unescape(seen.rpartition("<pre>")[2].partition("</pre>")[0]))


@pytest.mark.slow
@pytest.mark.skipif(BROWSER is None, reason="no browser: install chromium, then the pages are looked at in it")
def test_nothing_lies_on_anything_at_any_width(tmp_path):
    pages = [page(pd.DataFrame(rows)) for rows in (*map(many, range(3)), *(rows for rows, _ in CASES.values()))]
    wrong = page(pd.DataFrame([OURS])).replace("</h1>", '</h1><p style="margin:-2em 0">over</p>')
    seen = looked_at([*pages, wrong], tmp_path)
    assert [width for width, *_ in seen] == [*WIDTHS] * (len(pages) + 1)
    assert all(texts > 10 for _, texts, _ in seen)
    assert [faults for *_, faults in seen[: -len(WIDTHS)]] == [[]] * len(pages) * len(WIDTHS)
    assert all(faults for *_, faults in seen[-len(WIDTHS) :]), "a text that lies on another is found"
