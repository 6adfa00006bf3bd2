"""Resolve the locks of all stages anew: `make lock`. What they are for: install.py.

All extras are resolved at once, so that all stages have the same version of a package; then each stage gets the
packages that the stages before it lack. uv has a lock of its own, torch has none. Commercial solvers and other
benchmarks are in no stage: who wants them installs their extras.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from install import PROJECT, STAGES, indexes_of_pip, lock, uv, with_earlier

LEFT_OUT = re.compile(r"torch|triton|cuda-.*|nvidia-.*|uv")


def main() -> None:
    with uv() as program, tempfile.TemporaryDirectory() as folder:
        if program is None:
            sys.exit("uv cannot be installed here, and only uv resolves the locks")
        everything = Path(folder) / "everything.txt"
        resolved = resolve(program, ["installer", *extras_of(list(STAGES))])
        everything.write_text(resolved)
        lock("installer").write_text(entries(resolved)["uv"])
        for stage in STAGES:
            whole = entries(resolve(program, extras_of(with_earlier(stage)), "--constraint", str(everything)))
            # By text: what an earlier stage wants on one system only, a later one may want on all.
            before = [entries(lock(name).read_text()) for name in with_earlier(stage)[:-1]]
            earlier = {text for held in before for text in held.values()}
            new = [text for name, text in whole.items() if text not in earlier and not LEFT_OUT.fullmatch(name)]
            lock(stage).write_text("".join(new))
            print(f"{stage}: {len(new)} packages")


def extras_of(stages: list[str]) -> list[str]:
    return [extra for stage in stages for extra in STAGES[stage]["extras"]]


def resolve(program: Path, extras: list[str], *options: str) -> str:
    """List the packages that pgsr needs with these extras, as the text of a lock."""
    chosen = [part for extra in extras for part in ("--extra", extra)]
    universal = ["--universal", "--python-version", "3.11", "--generate-hashes"]
    bare = ["--no-emit-index-url", "--no-emit-find-links", "--no-header", "--no-annotate", "--quiet"]
    command = [program, "pip", "compile", PROJECT, *chosen, *universal, *bare, *options]
    done = subprocess.run(command, env=os.environ | indexes_of_pip(), stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.exit(done.returncode)
    return done.stdout


def entries(text: str) -> dict[str, str]:
    """Split a lock into one text per package: its versions, and the lines of their hashes."""
    found: dict[str, str] = {}
    name = ""
    for line in text.splitlines(keepends=True):
        if line[0].isalnum():
            name = re.match(r"[a-z0-9-]+", line)[0]
        found[name] = found.get(name, "") + line
    return found


if __name__ == "__main__":
    main()
