"""Arrays that take memory only where they are written."""

import numpy as np
import psutil
import pytest

from pgsr.errors import MemoryNeededError
from pgsr.machine.memory import unwritten


def test_memory_is_taken_where_something_is_written() -> None:
    process = psutil.Process()
    before = process.memory_info().rss
    room = unwritten((64, 1_000_000), np.float64)
    room[:, 7] = 1.0
    taken = process.memory_info().rss - before
    assert taken < 16 * 2**20, f"{taken:,} bytes of {room.nbytes:,} for one number a row"
    assert (room[:, 5:9].sum(axis=0) == [0, 0, 64, 0]).all()


@pytest.mark.parametrize(("shape", "dtype"), [((3, 0), np.int32), ((2, 3, 4), np.float64)])
def test_it_is_an_array_like_others(shape: tuple[int, ...], dtype: type[np.number]) -> None:
    room, like = unwritten(shape, dtype), np.zeros(shape, dtype)
    np.testing.assert_array_equal(room, like, strict=True)
    assert room.flags.carray, "what compiled loops want: contiguous, aligned, writeable"
    room += 1
    assert room.sum() == like.size


@pytest.mark.parametrize("rows", [2**30, 2**45])
def test_more_than_there_are_addresses(rows: int) -> None:
    with pytest.raises(MemoryNeededError, match="no addresses left; lower the largest size K"):
        unwritten((rows, 2**20), np.float64)
