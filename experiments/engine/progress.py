"""The progress of a sweep or a comparison: a bar on a terminal, and lines elsewhere."""

import sys
import time
from collections.abc import Callable

from tqdm import tqdm

SECONDS_BETWEEN_LINES = 30.0


class Progress:
    """A counter of finished cells that estimates the time left from the pace so far.

    Args:
        title: of the sweep.
        total: number of its cells.
        say: is told a line now and then where there is no terminal to show a bar on.
        unit: what a cell is called.
    """

    def __init__(self, title: str, total: int, say: Callable[[str], None], unit: str = "cell") -> None:
        self._title, self._total, self._say, self._unit = title, total, say, unit
        self._done = self._failed = 0
        self._start = self._told = time.monotonic()
        self._bar = tqdm(total=total, desc=title, unit=unit, smoothing=0.05) if sys.stderr.isatty() else None

    def begin(self, name: str) -> None:
        """Name what runs now, behind the bar."""
        if self._bar is not None:
            self._bar.set_postfix_str(name)

    def tell(self, line: str) -> None:
        """Say a line of its own, where there is no bar."""
        if self._bar is None:
            self._told = time.monotonic()
            self._say(line)

    def show(self, text: str) -> None:
        """Say text that stays, above a bar."""
        if self._bar is not None:
            self._bar.clear()
        self._say(text)

    def advance(self, failed: bool = False) -> None:
        self._done += 1
        self._failed += failed
        if self._bar is not None:
            self._bar.update()
            if self._failed:
                self._bar.set_postfix_str(f"{self._failed} failed")
            return
        now = time.monotonic()
        if now - self._told >= SECONDS_BETWEEN_LINES and self._done < self._total:
            left = (now - self._start) / self._done * (self._total - self._done)
            failures = f", {self._failed} failed" if self._failed else ""
            done = f"{self._done:,} of {self._total:,} {self._unit}s{failures}"
            self.tell(f"{self._title}: {done}, about {_duration(left)} left")

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 90 else f"{minutes / 60:.1f} h"
