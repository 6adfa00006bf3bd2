"""Set up .venv for one stage of work: `python requirements/install.py compare`.

The table `tool.pgsr.stages` of pyproject.toml has the stages: which extras of pgsr each one needs, and which stages
come first. The packages of a stage beyond those of the stages before it are in requirements/STAGE.lock, with versions
and hashes; requirements/lock.py writes these files. A stage that is set up leaves the file .venv/STAGE.ready, and is
set up anew when its lock or pyproject.toml is newer than that. `make` calls this script, so no target installs what it
does not use, and nothing is installed twice.

uv installs the packages, several times as fast as pip, from the indexes that pip is configured for. Where there is no
uv, or where uv fails, pip installs them.
"""

import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

if sys.version_info < (3, 11):  # noqa: UP036  (said before anything newer is imported)
    sys.exit(f"pgsr needs Python 3.11 or newer, this is {sys.version.split()[0]}; call make PYTHON=python3.12, say")

import tomllib

ROOT = Path(__file__).parent.parent
VENV = ROOT / ".venv"
BIN = VENV / ("Scripts" if os.name == "nt" else "bin")
PIP = [BIN / "python", "-m", "pip"]
PROJECT = ROOT / "pyproject.toml"
STAGES = tomllib.loads(PROJECT.read_text())["tool"]["pgsr"]["stages"]

TORCH = os.environ.get("TORCH") or "torch==2.13.0+cpu"
"""The build without CUDA, which no lock has; its local version keeps pip from taking the other one."""


def main(stage: str) -> None:
    """Set up a stage and those before it, and say what was installed and how long that took."""
    if stage not in STAGES:
        sys.exit(f"there is no stage {stage!r}; pyproject.toml has {', '.join(STAGES)}")
    missing = [name for name in with_earlier(stage) if not is_ready(name)]
    if not missing:
        return
    started = time.monotonic()
    if not (BIN / "python").exists() and not (BIN / "python.exe").exists():
        print("setting up .venv ...", flush=True)
        run([sys.executable, "-m", "venv", VENV])
    with uv() as program:
        for name in missing:
            install(name, program)
            stamp(name).touch()
    n_packages, megabytes = contents()
    print(
        f".venv is ready after {time.monotonic() - started:.0f} s: {n_packages} packages, {megabytes:,} MB", flush=True
    )


def with_earlier(stage: str) -> list[str]:
    """List a stage after all those that come first, each once."""
    order: list[str] = []
    for earlier in STAGES[stage].get("after", []):
        order += [name for name in with_earlier(earlier) if name not in order]
    return [*order, stage]


def stamp(stage: str) -> Path:
    return VENV / f"{stage}.ready"


def lock(stage: str) -> Path:
    return ROOT / "requirements" / f"{stage}.lock"


def is_ready(stage: str) -> bool:
    done = stamp(stage)
    return done.exists() and done.stat().st_mtime > max(path.stat().st_mtime for path in (lock(stage), PROJECT))


def install(stage: str, program: Path | None) -> None:
    packages = re.findall(r"^([a-z0-9-]+)==", lock(stage).read_text(), re.MULTILINE)
    largest = " with " + ", ".join(STAGES[stage]["such_as"]) if "such_as" in STAGES[stage] else ""
    print(f"  {stage}: {len(packages)} packages{largest} ...", flush=True)
    locked = ["--no-deps", "--require-hashes", "-r", lock(stage)]
    if not installed_by(program, locked):
        print("  uv did not install them, so pip does, which takes a minute longer", flush=True)
        run([*PIP, "install", "-qq", "--no-compile", *locked])
    if not STAGES[stage].get("after"):
        if any(VENV.glob("[Ll]ib/**/site-packages/pgsr-*.dist-info")):  # the project that has this name on PyPI
            run([*PIP, "uninstall", "-qq", "--yes", "pgsr"])
        run([*PIP, "install", "-qq", "--no-deps", "--no-build-isolation", "--editable", ROOT])
    if STAGES[stage].get("torch"):
        install_torch()


@contextmanager
def uv() -> Iterator[Path | None]:
    """Let pip install uv outside .venv, which has no use for it later; None if there is none for this machine."""
    with tempfile.TemporaryDirectory() as folder:
        options = ["--target", folder, "--only-binary", ":all:", "--require-hashes", "-r", lock("installer")]
        subprocess.run([*PIP, "install", "-qqq", "--no-compile", *options], check=False)
        yield next((path for path in Path(folder, "bin").glob("uv*") if path.stem == "uv"), None)


def installed_by(program: Path | None, options: list) -> bool:
    """Let uv install packages; its bars show on a terminal, and its errors always."""
    if program is None:
        return False
    quiet = [] if sys.stderr.isatty() else ["--quiet"]
    command = [program, "pip", "install", "--python", BIN / "python", *quiet, *options]
    return subprocess.run(command, env=os.environ | indexes_of_pip(), check=False).returncode == 0


def indexes_of_pip() -> dict[str, str]:
    """Translate where pip looks for packages, by its files and variables, into the variables of uv.

    All indexes of pip are equal, so uv may not stop at the first one that knows a name.
    """
    listed = subprocess.run([*PIP, "config", "list"], capture_output=True, text=True, check=True).stdout
    settings: dict[str, str] = {}
    for line in listed.splitlines():  # global.find-links='/wheels', :env:.cert='...'; those of the environment win
        name, _, value = line.partition("=")
        key = name.rpartition(".")[2]
        if key not in settings or name.startswith(":env:"):
            settings[key] = " ".join(shlex.split(value)[0].split())
    uv = {
        "index-url": "UV_DEFAULT_INDEX",
        "extra-index-url": "UV_INDEX",
        "find-links": "UV_FIND_LINKS",
        "no-index": "UV_NO_INDEX",
        "trusted-host": "UV_INSECURE_HOST",
        "cert": "SSL_CERT_FILE",
        "proxy": "ALL_PROXY",
        "default-timeout": "UV_HTTP_TIMEOUT",
        "timeout": "UV_HTTP_TIMEOUT",
    }
    translated = {uv[key]: value for key, value in settings.items() if key in uv}
    if "UV_FIND_LINKS" in translated:
        translated["UV_FIND_LINKS"] = translated["UV_FIND_LINKS"].replace(" ", ",")
    return {"UV_INDEX_STRATEGY": "unsafe-best-match"} | translated


def install_torch() -> None:
    print(f"  {TORCH} ...", flush=True)
    tried = subprocess.run([*PIP, "install", "-qq", "--no-compile", TORCH], capture_output=True, text=True, check=False)
    if tried.returncode:
        print(
            f"no {TORCH} is on offer here, so pgsr.synthesis runs without HPD; "
            "pip install torch brings another build (on Linux with CUDA: gigabytes)"
        )


def run(command: list) -> None:
    done = subprocess.run(command, check=False)
    if done.returncode:
        sys.exit(f"this command failed, with the message above: {shlex.join(map(str, command))}")


def contents() -> tuple[int, int]:
    """Count the packages of .venv and its megabytes."""
    n_packages = sum(1 for _ in VENV.glob("[Ll]ib/**/site-packages/*.dist-info"))
    size = sum(path.lstat().st_blocks * 512 if os.name != "nt" else path.lstat().st_size for path in VENV.rglob("*"))
    return n_packages, round(size / 1e6)


if __name__ == "__main__":
    main(*sys.argv[1:2] or sys.exit(__doc__))
