"""The data scientist: from a data frame to error bars and a file, in a notebook whose cells show numbers."""

import re

import pytest
from waiting import step

CELLS = {
    "reads": ("""import pandas as pd
import pgsr

sizes = [1] * 900 + [2] * 400 + [3] * 90 + [1] * 800 + [2] * 300 + [3] * 110
frame = pd.DataFrame({"state": ["New York"] * 1390 + ["Rhode Island"] * 1210, "members": sizes})
homes = pgsr.read(frame, ["state"], size="members", max_size=3)
homes""", "900 400 90"),
    "measures": ("noisy = pgsr.measure(homes, 'cumulative', epsilon=1, seed='demo')\nnoisy", "noisy, cumulative"),
    "releases": ("released = pgsr.estimate(noisy)\nreleased", "New York 0"),
    "looks at counts": ("released.counts", "1,702 700 198"),
    "error bars of counts": ("released.intervals()", "["),
    "error bars of a tail": ("released.intervals('tail:2')", "lower estimate upper"),
    "error bars of a mean": ("released.intervals('mean')", "1.4"),
    "states a problem": ("problem = pgsr.Problem.m_c(noisy)\nproblem", "unknowns 12"),
    "solves it": ("result = pgsr.solve(problem)\nresult", "OPTIMAL"),
    "looks at the answer": ("result.estimate", "New York 0"),
    "asks who else would": ("pgsr.solvers(problem)", "highs"),
    "compares": ("pgsr.compare(problem, ['pgsr', 'highs'], truth=homes, progress=False)", "proved optimal"),
    "plans": ("pgsr.plan(homes, 'cumulative', 'posterior', epsilon=1, replicates=2)", "state"),
    "exports": ("""released.intervals().to_frame().to_csv("released.csv", index=False)
pd.read_csv("released.csv").tail(3)""", "estimate"),
}  # fmt: skip
"""What a cell does: its code, and what its output has to show."""


def shown(outputs) -> str:
    """The words of a cell's table, as a browser shows them."""
    pages = [output["data"]["text/html"] for output in outputs if "text/html" in output.get("data", {})]
    return " ".join(re.sub(r"<style.*?</style>|<[^>]+>", " ", " ".join(pages), flags=re.DOTALL).split())


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_every_cell_of_a_notebook_shows_its_numbers(tmp_path):
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code) for code, _ in CELLS.values()])
    client = NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}})
    with client.setup_kernel():
        for place, (does, (_, words)) in enumerate(CELLS.items()):
            with step(does):
                client.execute_cell(notebook.cells[place], place)
            found = shown(notebook.cells[place].outputs)
            assert words in found, (does, found)
            assert re.search(r"\d", found), does
            assert not re.search(r"object at 0x|dtype=|<[a-z]+", found), found


def test_the_same_is_text_in_a_terminal():
    names: dict[str, object] = {}
    for does in ("reads", "measures", "releases", "looks at counts", "error bars of a tail", "states a problem"):
        *lines, last = CELLS[does][0].splitlines()
        with step(does):
            exec("\n".join(lines), names)
            said = str(eval(last, names))
        assert re.search(r"\d", said), does
        assert "object at 0x" not in said, said
        if does == "reads":
            assert re.search(r"^\(all\)/New York +0 +900 +400 +90$", said, re.MULTILINE)
