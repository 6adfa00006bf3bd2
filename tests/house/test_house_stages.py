"""The stages in which .venv is set up: what their locks hold, and where uv looks for packages."""

import importlib.util
import re
import subprocess
import sys
import tomllib

import pytest
from parsed import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def module(name: str):
    sys.path.insert(0, str(ROOT / "requirements"))
    try:
        spec = importlib.util.spec_from_file_location(name, ROOT / "requirements" / f"{name}.py")
        loaded = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(loaded)
        return loaded
    finally:
        sys.path.remove(str(ROOT / "requirements"))


install = module("install")
lock = module("lock")


def locked(stage: str) -> dict[str, str]:
    return lock.entries(install.lock(stage).read_text())


@pytest.mark.parametrize("stage", [*install.STAGES, "installer"])
def test_every_package_has_a_version_and_a_hash(stage):
    assert locked(stage)
    for name, text in locked(stage).items():
        assert re.match(rf"{re.escape(name)}==\d", text)
        assert "--hash=sha256:" in text


@pytest.mark.parametrize("stage", install.STAGES)
def test_a_stage_adds_what_no_earlier_one_has(stage):
    """By name, version and system: what an earlier stage wants on Windows alone, a later one may want everywhere."""
    *earlier, last = map(locked, install.with_earlier(stage))
    held = {name: text for before in earlier for name, text in before.items()}
    assert not [name for name, text in last.items() if held.get(name) == text]
    assert {name for name in last if name in held} <= {"colorama"}


@pytest.mark.parametrize("stage", install.STAGES)
def test_a_stage_has_the_packages_of_its_extras(stage):
    names = {name for extra in install.STAGES[stage]["extras"] for name in brought_by(extra)}
    names |= set(map(package, PROJECT["dependencies"]))
    held = {name for each in install.with_earlier(stage) for name in locked(each)}
    assert names - held <= ({"torch"} if install.STAGES[stage].get("torch") else set())


def brought_by(extra: str) -> set[str]:
    """The packages of an extra, and those of the extras of pgsr that it names."""
    found = set()
    for requirement in PROJECT["optional-dependencies"][extra]:
        if own := re.fullmatch(rf"{PROJECT['name']}\[(.+)\]", requirement):
            found |= {name for other in own[1].split(",") for name in brought_by(other)}
        else:
            found.add(package(requirement))
    return found


def package(requirement: str) -> str:
    return re.match(r"[A-Za-z0-9_-]+", requirement)[0].lower().replace("_", "-")


def test_compare_needs_few_packages():
    assert len(locked("compare")) <= 70  # a stranger's first command; some are for other systems


def test_stages_that_come_first_come_once_and_first():
    for stage in install.STAGES:
        order = install.with_earlier(stage)
        assert order[-1] == stage
        assert len(order) == len(set(order))
        assert all(order.index(before) < order.index(each) for each in order for before in after(each))


def after(stage: str) -> list[str]:
    return install.STAGES[stage].get("after", [])


def test_uv_looks_where_pip_looks(monkeypatch):
    said = (
        ":env:.find-links='/wheels /more'\n:env:.cert='/ca.crt'\nglobal.find-links='/elsewhere'\n"
        "global.index-url='mirror:/simple'\nglobal.extra-index-url='\\none:/\\ntwo:/'\nuser.proxy='proxy:80'\n"
    ).replace("\\n", " ")
    done = subprocess.CompletedProcess([], 0, stdout=said)
    monkeypatch.setattr(install.subprocess, "run", lambda *_, **__: done)
    assert install.indexes_of_pip() == {
        "UV_INDEX_STRATEGY": "unsafe-best-match",
        "UV_FIND_LINKS": "/wheels,/more",
        "SSL_CERT_FILE": "/ca.crt",
        "UV_DEFAULT_INDEX": "mirror:/simple",
        "UV_INDEX": "one:/ two:/",
        "ALL_PROXY": "proxy:80",
    }


def test_an_unknown_stage_is_named_with_the_known_ones():
    with pytest.raises(SystemExit, match=r"'everything'.*compare, experiments"):
        install.main("everything")


def test_a_stage_is_ready_until_its_lock_changes(tmp_path, monkeypatch):
    monkeypatch.setattr(install, "VENV", tmp_path)
    monkeypatch.setattr(install, "PROJECT", tmp_path / "pyproject.toml")
    monkeypatch.setattr(install, "lock", lambda stage: tmp_path / f"{stage}.lock")
    for name, when in ("pyproject.toml", 100), ("compare.lock", 100), ("compare.ready", 200):
        (tmp_path / name).touch()
        install.os.utime(tmp_path / name, (when, when))
    assert install.is_ready("compare")
    install.os.utime(tmp_path / "compare.lock", (300, 300))
    assert not install.is_ready("compare")
