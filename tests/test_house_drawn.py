"""Tests that are drawn by lot: how many run, and that another lot draws others."""

import pytest
from drawing_lots import split, summary


class Node:
    def __init__(self, nodeid: str, *marks: tuple[object, pytest.Mark]):
        self.nodeid, self.marks, self.user_properties = nodeid, marks, []
        self.callspec = self

    @property
    def id(self) -> str:
        return self.nodeid.partition("[")[2].rstrip("]")

    def iter_markers_with_node(self, name):
        return iter([(self if node is None else node, mark) for node, mark in self.marks])

    def iter_markers(self, name):
        return iter([mark for _, mark in self.marks])


def drawn(n: int, **options: str) -> pytest.Mark:
    return pytest.mark.drawn(n, **options).mark


def marked_by_test(name: str, number: int, *more: tuple[object, pytest.Mark], **options: str) -> list[Node]:
    return [Node(f"{name}[{k}]", (None, drawn(3, **options)), *more) for k in range(number)]


def names(nodes: list) -> list[str]:
    return [node.nodeid for node in nodes]


def test_of_the_parameters_of_a_test_so_many_run():
    plain = [Node("f.py::plain")]
    runs, left_out = split([*marked_by_test("f.py::a", 10), *plain, *marked_by_test("f.py::b", 2)], "lot")
    assert sum(name.startswith("f.py::a") for name in names(runs)) == 3
    assert names(runs)[3:] == ["f.py::plain", "f.py::b[0]", "f.py::b[1]"]  # few are all of them, and the order stays
    assert len(left_out) == 7


def test_the_mark_of_a_file_counts_all_its_items_but_those_with_their_own():
    file = Node("f.py")
    by_file = [Node(f"f.py::t{k}", (file, drawn(2))) for k in range(8)]
    runs, _ = split([*by_file, *marked_by_test("f.py::a", 5, (file, drawn(2)))], "lot")
    assert len(runs) == 2 + 3


def test_the_mark_of_a_set_of_parameters_goes_before_that_of_the_test():
    long = [Node(f"f.py::a[long {k}]", (None, drawn(3)), (None, drawn(1, pool="long"))) for k in range(5)]
    runs = names(split([*long, *marked_by_test("f.py::a", 5)], "lot")[0])
    assert len(runs) == 4
    assert sum("long" in name for name in runs) == 1


def test_tests_of_one_pool_are_drawn_together():
    tests = [Node(f"f{k}.py::t", (None, drawn(2, pool="p"))) for k in range(6)]
    assert len(split(tests, "lot")[0]) == 2


def test_another_lot_draws_others_and_each_is_drawn_some_day():
    tests = marked_by_test("f.py::a", 10)
    lots = [frozenset(names(split(tests, f"lot {k}")[0])) for k in range(60)]
    assert len(set(lots)) > 30
    assert frozenset.union(*lots) == {*names(tests)}
    assert lots[0] == frozenset(names(split(tests[::-1], "lot 0")[0]))  # whatever their order


def test_all_are_drawn_on_request():
    tests = marked_by_test("f.py::a", 10)
    assert split(tests, "all") == (tests, [])


def test_the_summary_names_what_was_drawn():
    runs, _ = split(marked_by_test("f.py::a", 10, of="planted bugs"), "lot")
    line = summary([entry for node in runs for entry in node.user_properties])
    assert line == [f"3 of 10 planted bugs: {', '.join(sorted(node.id for node in runs))}"]
