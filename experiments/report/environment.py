"""The environment of results: the machine and versions that computed them, and those that wrote the report."""

import os
import subprocess
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from pgsr.experiments.engine.digest import ROOT
from pgsr.experiments.engine.store import StoredCell, host, versions


def environment(entries: Iterable[StoredCell]) -> list[tuple[str, str]]:
    """Describe where results come from, as names and values. Names of machines are left out: reports are published."""
    found = list(entries)
    dates = sorted(_minute(datetime.fromisoformat(entry.finished)) for entry in found)
    machines = {_machine(entry.host) for entry in found} or {_machine(dict(host()))}
    libraries: dict[str, list[str]] = {}
    for each in [entry.versions for entry in found] or [dict(versions())]:
        for name, version in each.items():
            if version not in libraries.setdefault(name, []):
                libraries[name].append(version)
    return [
        ("report written", _minute(datetime.now(UTC))),
        ("sources", commit()),
        ("results computed", f"{dates[0]} to {dates[-1]}" if dates else "none yet"),
        ("machine", "; ".join(sorted(machines))),
        ("versions", ", ".join(f"{name} {' and '.join(all_)}" for name, all_ in libraries.items())),
        ("real data", _data()),
    ]


def commit() -> str:
    """Find the commit that is checked out, and whether sources differ from it."""
    head = _git("rev-parse", "--short=12", "HEAD")
    if head is None:
        return "no git checkout"
    return f"commit {head}, with uncommitted changes" if uncommitted() else f"commit {head}"


def uncommitted() -> list[str]:
    """List the files that differ from the commit that is checked out; pages and published results are no sources."""
    changes = _git("status", "--porcelain", "--no-renames", "--", ".", ":!docs", ":!*.md")
    return [line.split(maxsplit=1)[1] for line in (changes or "").splitlines()]


def _minute(of: datetime) -> str:
    return of.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")


def _git(*arguments: str) -> str | None:
    try:
        done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True, timeout=30)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def _machine(of: dict) -> str:
    memory = f"{of['memory_bytes'] / 2**30:,.0f} GiB" if "memory_bytes" in of else "unknown memory"
    return f"{of.get('processor', 'unknown processor')}, {of.get('cores', '?')} cores, {memory}, {of.get('system', '')}"


def _data() -> str:
    """Tell whether there is a folder of real data, without its name, because reports are published."""
    folder = os.environ.get("PGSR_DATA")
    if not folder:
        return "PGSR_DATA was not set when the report was written"
    return (
        "from the folder that PGSR_DATA names" if Path(folder).is_dir() else "PGSR_DATA names a folder that is absent"
    )
