"""A closed console or a full disk does not end a release."""

import errno
import subprocess
import sys

import pytest

from pgsr.release.publishing.console import unfailing


@pytest.mark.parametrize("error", [BrokenPipeError(), OSError(errno.ENOSPC, "No space left on device")])
def test_words_that_nobody_hears_end_nothing(error):
    heard = []

    def say(line: str) -> None:
        heard.append(line)
        raise error

    tell = unfailing(say)
    tell("charging the ledger")
    tell("drawing noise")
    assert heard == ["charging the ledger", "drawing noise"]


@pytest.mark.slow
def test_a_console_on_a_closed_pipe_ends_nothing():
    """The console turns the closed pipe into the end of the process: tried with a real one, in a process of its own."""
    code = """
import os, sys
from rich.console import Console
from pgsr.release.publishing.console import unfailing
def closed():
    read, write = os.pipe()
    os.close(read)
    return Console(file=os.fdopen(write, "w")).print
unfailing(closed())("charging the ledger")
sys.stderr.write("goes on")
closed()("charging the ledger")
sys.stderr.write("after it")
"""
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert done.returncode == 1
    assert "goes on" in done.stderr
    assert "after it" not in done.stderr


@pytest.mark.parametrize("error", [ValueError("no line"), KeyboardInterrupt(), SystemExit(3)])
def test_whatever_else_a_listener_raises_is_raised(error):
    def say(_line: str) -> None:
        raise error

    with pytest.raises(type(error)):
        unfailing(say)("charging the ledger")
