"""The steps of a user's journey, each printed with its seconds: `pytest -s tests/journeys` shows them."""

import time
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def step(what: str) -> Iterator[None]:
    """Print how long a step takes; a step that fails prints nothing, its test does."""
    start = time.perf_counter()
    yield
    print(f"{time.perf_counter() - start:7.2f} s  {what}")
