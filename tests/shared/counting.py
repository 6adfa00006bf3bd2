"""A source of noise that counts: which streams were asked for, in order."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from pgsr.privacy import Seeded
from pgsr.privacy.random import ByteStream, Source, StreamId


@dataclass(frozen=True)
class Counting:
    """Hands on to `source`, and notes the identity of every stream.

    Noise for one charge is asked for once per identity. A second request gives a seeded source's noise again, and a
    secure source's noise anew: a further look at the data that nobody paid for.
    """

    source: Source = field(default_factory=lambda: Seeded("counted"))
    asked: list[StreamId] = field(default_factory=list)

    @property
    def secure(self) -> bool:
        return self.source.secure

    def stream(self, identity: StreamId) -> ByteStream:
        self.asked.append(identity)
        return self.source.stream(identity)

    def assert_once(self, expected: Iterable[StreamId]) -> int:
        """Assert that these streams were asked for, each once, and no others; return how many there were."""
        asked, wanted = Counter(self.asked), set(expected)
        assert asked, "no noise was asked for"
        again = {identity: n for identity, n in asked.items() if n > 1}
        assert not again, f"asked for more than once: {again}"
        assert asked.keys() == wanted, f"others than expected: {asked.keys() ^ wanted}"
        return len(wanted)
