"""The benchmark of formulations: every form gets the same problem, and its record is the table of a page."""

from pgsr import Hierarchy, Problem
from pgsr.experiments.benchmarks import formulations
from pgsr.models import Flow, Scipy


def test_the_record_of_a_small_problem_is_a_table(tmp_path, monkeypatch):
    tree = Hierarchy.from_paths([("US", "GA"), ("US", "MI")])
    problem = Problem.of([[1, 9, 4], [0, 5, 3], [-1, 4, 1]], tree, groups=13, label="M_H")
    monkeypatch.setattr(formulations, "stated", lambda: problem)
    asked = ((formulations.WINDOW, Scipy()), (formulations.NETWORK, Flow()))
    monkeypatch.setattr(formulations, "ASKED", asked)
    said = []
    formulations.main(tmp_path, said.append)
    rows = formulations.read(tmp_path)
    assert [(row["form"], row["method"], row["status"]) for row in rows] == [
        ("all unit steps", "", ""),
        ("window of steps", "Scipy()", "OPTIMAL"),
        ("network", "Flow()", "OPTIMAL"),
    ]
    assert len(said) == 2
    lines = formulations.quoted(rows)["formulations"].splitlines()
    assert lines[2].startswith("| all unit steps |")
    assert lines[2].endswith("| not built |")
    assert lines[-1].startswith("| network | `Flow()` |")
