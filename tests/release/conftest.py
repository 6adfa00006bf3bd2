"""What many tests of releases begin with."""

from pathlib import Path

import pytest
from made_tables import write_tables


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with small confidential tables."""
    write_tables(tmp_path)
    return tmp_path
