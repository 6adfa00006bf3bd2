"""Run all tests at full counts, a folder at a time: `make test-all`, which takes hours.

A folder that has passed at this state of the code with this seed is not run again, so the same command goes on after a
stop. PGSR_SEED gives the seed of random instances; it is printed, with the folders that failed.
"""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

from instances import SEED

ROOT = Path(__file__).parents[2]
RECORD = ROOT / "results" / "tests-passed.txt"
"""A line for every folder that has passed: the state of the code, the seed, the folder."""

NOTHING_COLLECTED = 5
"""What pytest returns where a folder has no test."""


def main() -> int:
    parts = [*sorted(path.name for path in (ROOT / "tests").iterdir() if any(path.glob("test_*.py")))]
    failed = [part for part in [*(f"tests/{name}" for name in parts), "pgsr", "notebooks"] if not _passes(part)]
    print(f"seed {SEED}: " + (f"failed in {', '.join(failed)}" if failed else "all tests have passed"))
    return int(bool(failed))


def _passes(part: str) -> bool:
    line = f"{_state()} {SEED} {part}"
    if RECORD.exists() and line in RECORD.read_text(encoding="utf-8").splitlines():
        print(f"{part}: has passed before")
        return True
    print(f"{part}: seed {SEED}", flush=True)
    options = ["-n", "auto", "--dist", "loadfile", "--timeout", "7200"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, part], cwd=ROOT, env=os.environ | {"PGSR_FULL": "1"}, check=False
    )
    passed = done.returncode in (0, NOTHING_COLLECTED)
    if passed:
        RECORD.parent.mkdir(exist_ok=True)
        with RECORD.open("a", encoding="utf-8") as record:
            record.write(f"{line}\n")
    return passed


def _state() -> str:
    """Name the state of the code: the commit, and a digest of what is not committed."""
    commit, changes = _git("rev-parse", "--short=12", "HEAD").strip(), _git("diff", "HEAD")
    return commit + (f"-{hashlib.sha256(changes.encode()).hexdigest()[:12]}" if changes else "")


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    sys.exit(main())
