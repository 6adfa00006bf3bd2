"""The wheel, and a new environment outside the repository that has it.

The new environment finds the libraries of this one, which takes a second where installing them takes a minute; but pgsr
is there from the wheel alone, and every test asserts it.
"""

import os
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path

import pytest
from parsed import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

QUICK = {"MPLBACKEND": "agg", "NUMBA_DISABLE_JIT": "1"}
"""No screen, and loops that are interpreted: in a new place they would all be compiled anew."""


@pytest.fixture(scope="session")
def wheel(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    options = ["--no-deps", "--no-build-isolation", "--no-index", "--quiet", "--wheel-dir", str(folder)]
    checked([sys.executable, "-m", "pip", "wheel", str(ROOT), *options])
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="session")
def python(wheel, tmp_path_factory) -> Path:
    """The interpreter of the new environment."""
    folder = tmp_path_factory.mktemp("elsewhere") / "environment"
    checked([sys.executable, "-m", "venv", "--without-pip", str(folder)])
    interpreter = folder / "bin" / "python"
    options = ["--no-deps", "--no-index", "--no-compile", "--quiet"]  # compiled when it is imported
    checked([sys.executable, "-m", "pip", "--python", str(interpreter), "install", *options, str(wheel)])
    own = Path(checked([str(interpreter), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]).strip())
    # A folder named in a .pth file joins the path, but .pth files inside it, as that of an editable pgsr, do not count.
    (own / "libraries.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return interpreter


def checked(command: list[str], **options) -> str:
    outside = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**outside, **QUICK}, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout
