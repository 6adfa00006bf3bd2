"""How far a long call is, on a line that goes away again: only on a terminal or in a notebook, after two seconds."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Lock
from time import monotonic
from typing import Any

from pgsr.errors import MissingPackageError
from pgsr.machine.extras import extra

WAIT, BETWEEN = 2.0, 0.1
"""The seconds after which a call is long, and those between two looks at it."""

_busy, _tellers = Lock(), list[Callable[[int, int | None], object]]()
"""Held while some call says how far it is, for calls inside of it say nothing; and who is told in place of a screen."""


@contextmanager
def told(tell: Callable[[int, int | None], object]) -> Iterator[None]:
    """Have this told how many of how many steps are done, or of None, in place of a line on the screen."""
    _tellers.append(tell)
    try:
        yield
    finally:
        _tellers.remove(tell)


@contextmanager
def steps(doing: str, total: int | None) -> Iterator[Callable[[], object]]:
    """Give what is called after each of the steps of a call, from any thread."""
    if not _busy.acquire(blocking=False):
        yield int  # which does nothing
        return
    line = _Steps(doing, total)
    try:
        yield line.step
    finally:
        _busy.release()
        if line.bar is not None:
            line.bar.close()


class _Steps:
    """The steps of one call, and the line that shows them once the call is long."""

    def __init__(self, doing: str, total: int | None) -> None:
        self.doing, self.total, self.done, self.one_by_one = doing, total, 0, Lock()
        self.next = monotonic() + WAIT * (not _tellers)
        self.bar: Any = None

    def step(self) -> None:
        with self.one_by_one:
            self.done += 1
            if (self.total is None or not _tellers) and monotonic() < self.next:
                return
            self.next = monotonic() + BETWEEN
            if _tellers:
                _tellers[-1](self.done, self.total)
            elif self.bar is not None:
                self.bar.update(self.done - self.bar.n)
            elif somebody_looks():
                with suppress(MissingPackageError):
                    with extra("release"):
                        from tqdm import tqdm
                    self.bar = tqdm(None, self.doing, self.total, False, initial=self.done, unit=" steps")


def somebody_looks() -> bool:
    """Say whether this runs on a terminal, or in a notebook in which a person could be asked for input."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    kernel = getattr(shell, "kernel", None)
    if kernel is not None:
        return bool(getattr(kernel, "_allow_stdin", False))  # false where a program runs the notebook
    return sys.stderr is not None and sys.stderr.isatty()
