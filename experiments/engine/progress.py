"""The progress of a sweep: a bar on a terminal, and a line now and then elsewhere."""

import sys
import time
from collections.abc import Callable

from tqdm import tqdm

SECONDS_BETWEEN_LINES = 30.0


class Progress:
    """A counter of finished cells that estimates the time left from the pace so far."""

    def __init__(self, title: str, total: int, say: Callable[[str], None]) -> None:
        self._title, self._total, self._say = title, total, say
        self._done = self._failed = 0
        self._start = self._told = time.monotonic()
        self._bar = tqdm(total=total, desc=title, unit="cell", smoothing=0.05) if sys.stderr.isatty() else None

    def advance(self, failed: bool) -> None:
        self._done += 1
        self._failed += failed
        if self._bar is not None:
            self._bar.update()
            if self._failed:
                self._bar.set_postfix_str(f"{self._failed} failed")
            return
        now = time.monotonic()
        if now - self._told >= SECONDS_BETWEEN_LINES and self._done < self._total:
            self._told = now
            left = (now - self._start) / self._done * (self._total - self._done)
            failures = f", {self._failed} failed" if self._failed else ""
            self._say(f"{self._title}: {self._done:,} of {self._total:,} cells{failures}, about {_duration(left)} left")

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 90 else f"{minutes / 60:.1f} h"
