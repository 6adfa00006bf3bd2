"""Nothing of a release depends on the private rows but through its noisy values, over every form of a release."""

from collections.abc import Callable

import pytest
from interference_checks import FRAMES, frame_does_not_interfere

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", FRAMES)
def test_populations_leave_the_same_behind(name: str, counted: Callable[[int, str], None]) -> None:
    """Folder, console, exit code, ledger, names and the log of files of seven populations and more are the same."""
    counted(frame_does_not_interfere(FRAMES[name]), "populations compared")
