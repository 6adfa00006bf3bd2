"""The modules by their old names: each is the new module, with a sentence that says so."""

import importlib
import sys

import pytest

import pgsr
from pgsr.moved import GONE, INSTEAD, MOVED, MOVED_NAMES, RENAMED, REPLACED


@pytest.mark.parametrize("old", sorted(MOVED))
def test_an_old_name_is_the_new_module_and_says_so(old: str, monkeypatch: pytest.MonkeyPatch) -> None:
    new = importlib.import_module(f"pgsr.{MOVED[old]}")
    if old == MOVED[old].partition(".")[0]:  # the name of a room now, which has what the module had
        assert importlib.import_module(f"pgsr.{old}").compare is new.compare
        return
    monkeypatch.delitem(sys.modules, f"pgsr.{old}", raising=False)
    with pytest.warns(DeprecationWarning, match=f"pgsr.{old} is called pgsr.{MOVED[old]} now"):
        assert importlib.import_module(f"pgsr.{old}") is new


@pytest.mark.parametrize("old", sorted(GONE))
def test_a_name_without_a_successor_says_what_to_do_instead(old: str) -> None:
    told = r"where\(entities\(level=1\) == numbers\)|take pgsr\.algorithms\.Posterior"
    with pytest.raises(ModuleNotFoundError, match=told):
        importlib.import_module(f"pgsr.{old}")


@pytest.mark.parametrize(("module", "name"), [(module, name) for module in MOVED_NAMES for name in MOVED_NAMES[module]])
def test_an_old_place_of_a_name_still_has_it_and_says_so(module: str, name: str) -> None:
    new = importlib.import_module(f"pgsr.{MOVED_NAMES[module][name]}")
    with pytest.warns(DeprecationWarning, match=f"pgsr.{module}.{name} is pgsr.{MOVED_NAMES[module][name]}.{name} now"):
        assert getattr(importlib.import_module(f"pgsr.{module}"), name) is getattr(new, name)


@pytest.mark.parametrize("name", sorted(INSTEAD))
def test_a_class_for_sizes_per_level_names_the_general_one(name: str) -> None:
    with pytest.raises(ImportError, match=rf"{name} is gone; .*take {INSTEAD[name]}"):
        getattr(importlib.import_module("pgsr.nation"), name)
    assert hasattr(pgsr, INSTEAD[name]) or hasattr(importlib.import_module("pgsr.algorithms"), INSTEAD[name])


@pytest.mark.parametrize(("module", "old"), [(module, old) for module in RENAMED for old in RENAMED[module]])
def test_a_renamed_name_is_the_new_one_and_says_so(module: str, old: str) -> None:
    found = importlib.import_module(f"pgsr.{module}")
    with pytest.warns(DeprecationWarning, match=f"{old} is called {RENAMED[module][old]} now"):
        assert getattr(found, old) is getattr(found, RENAMED[module][old])


@pytest.mark.parametrize(("module", "old"), [(module, old) for module in REPLACED for old in REPLACED[module]])
def test_a_replaced_name_says_what_to_write(module: str, old: str) -> None:
    found = importlib.import_module(f"pgsr.{module}")
    with pytest.raises(ImportError, match=f"{old} is gone; write "):
        getattr(found, old)
    assert not hasattr(found, "never_there")


def test_a_method_without_a_successor_says_what_to_do_instead() -> None:
    with pytest.raises(ImportError, match=r"pgsr\.models\.Cvxpy"):
        from pgsr.algorithms import EntityTotalsProjection  # noqa: F401  # pyright: ignore
    assert not hasattr(importlib.import_module("pgsr.algorithms"), "NeverThere")


def test_what_lay_in_a_package_moved_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "pgsr.laws.double_geometric", raising=False)
    monkeypatch.delitem(sys.modules, "pgsr.laws", raising=False)
    with pytest.warns(DeprecationWarning, match="pgsr.laws is called pgsr.privacy.laws now"):
        found = importlib.import_module("pgsr.laws.double_geometric")
    assert found is importlib.import_module("pgsr.privacy.laws.double_geometric")


def test_a_name_that_never_was_is_still_none() -> None:
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("pgsr.never")
