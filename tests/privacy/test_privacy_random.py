"""Streams of random bytes: repeatable where seeded, never shared, never seeded where a release is published."""

import inspect
import itertools
from hashlib import sha256

import numpy as np
import pytest
from instances import scale

from pgsr.privacy import Secure, Seeded
from pgsr.privacy.random import ByteStream, StreamId

# SHA-256 of the first 4,096 bytes. A change here changes every published experiment: raise the version in the key then.
GOLDEN = {
    "be36ef1403b5c21e1bc23b835ad1da62aae99d474b859798dac01288c312f8e0": ("demo", 0, "", "counts", 0, "US"),
    "4411843d9994afc8bcfa85f82b22f24e37a2391870e1818bc1abdc1c0aa463a9": ("demo", 0, "taxi", "counts", 0, "Manhattan"),
    "39c8f481ddb70004423a6fb9fd1c703a247313838f68c6e812564c2c8c50ceb7": (
        "demo",
        0,
        "taxi",
        "cumulative",
        0,
        "Manhattan",
    ),
    "db6f6f2a8066f62eedb03df37be4cf224b85d51b9458c96226a139c35100ce75": ("demo", 0, "taxi", "ranked", 0, "Manhattan"),
    "24ddcf1b9965cb094987866fbab2f6bfd01d775406bc98027f2b61ed01bf3e00": ("demo", 1, "taxi", "counts", 0, "Manhattan"),
    "7a29a0727371e1b644b12c875d6b6927d5da4d2d2e59d5a80f1da86689c516a0": (
        "demo",
        29,
        "taxi",
        "counts",
        2,
        "Manhattan/Harlem/41",
    ),
    "0266a89b555d1da84c86c477c67b6d0576f2d3e22559565a2dfeb5d8ee6256c2": (0, 0, "taxi", "counts", 0, "Manhattan"),
    "28426c190f0d7fec6ce56de2b8c49180216b0a98eaa47ea9b90eb9faac2d252d": ("0", 0, "taxi", "counts", 0, "Manhattan"),
    "5e34ec9f8e12c6bd00a1b1b54d8a8c5e8149247f99ffb74b62028c45e7a787fd": (2**100, 7, "census", "cumulative", 1, "US/GA"),
    "c8b4cf85b1ce8db7d1667919ada864e2bef22baaf0aa9c2b17346969965612db": (
        "Schlüssel",
        0,
        "",
        "counts",
        1,
        "Österreich/Wien",
    ),
}
"""Key, replicate, data set, view, level and path."""


@pytest.mark.parametrize("digest", GOLDEN)
def test_golden_digests(digest: str) -> None:
    *source, data_set, view, level, path = GOLDEN[digest]
    stream = Seeded(*source).stream(StreamId(data_set, view, level, tuple(path.split("/"))))
    assert sha256(stream.words(1024).astype("<u4").tobytes()).hexdigest() == digest


def test_bytes_are_aes_256_in_counter_mode() -> None:
    """The published answer of AES-256 to key 0 and block 0."""
    assert ByteStream(bytes(32)).words(4).tobytes().hex() == "dc95c078a2408989ad48a21492842087"
    assert ByteStream(bytes(32)).bits(16) == 0xDC95C078A2408989AD48A21492842087


def test_words_and_bits_use_every_byte_once() -> None:
    whole, parts = ByteStream(bytes(32)), ByteStream(bytes(32))
    expected = whole.words(1000).tobytes()
    got = parts.words(3).tobytes() + parts.bits(8).to_bytes(8, "big") + parts.words(995).tobytes()
    assert got == expected


def identities() -> itertools.product:
    """Stream ids made of names that are easily confused: joined, cut, empty, and numbers as text."""
    names = ["", "a", "b", "ab", "1", "11", "a b", "a,b", "a/b", "a\0b", "A", "ä", "01", "counts"]
    paths = [path for n in (1, 2, 3) for path in itertools.product([name for name in names if name], repeat=n)]
    return itertools.product(names[:6], ["counts", "cumulative", "ranked"], [0, 1, 11], paths)


def test_keys_do_not_collide(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every measurement, replicate and seed gives another key; counted over keys, not over a few of their bytes."""
    monkeypatch.setattr("pgsr.privacy.random.ByteStream", lambda key: key)
    sources = [Seeded(key, replicate) for key in ("a", "1", 1, 11, "") for replicate in (0, 1, 11)]
    wanted = scale(50_000, 1_000_000)
    made = itertools.islice(itertools.product(identities(), sources), wanted)
    keys = {source.stream(StreamId(*identity)) for identity, source in made}
    assert len(keys) == wanted
    assert {len(key) for key in itertools.islice(keys, 100)} == {32}


CONFUSABLE = [
    (("key", 0, "", "counts", 0, ("a", "bc")), ("key", 0, "", "counts", 0, ("ab", "c"))),
    (("key", 0, "", "counts", 0, ("a", "b")), ("key", 0, "", "counts", 0, ("ab",))),
    (("key", 0, "", "counts", 0, ("a", "b")), ("key", 0, "", "counts", 0, ("a\0b",))),
    (("key", 0, "", "counts", 0, ("a", "b")), ("key", 0, "", "counts", 0, ("a", "b", ""))),
    (("key", 1, "1", "counts", 0, ("a",)), ("key", 11, "", "counts", 0, ("a",))),
    (("key", 0, "xcounts", "", 0, ("a",)), ("key", 0, "x", "counts", 0, ("a",))),
    (("key", 0, "", "counts", 1, ("1",)), ("key", 0, "", "counts", 11, ("",))),
    ((1, 0, "", "counts", 0, ("a",)), ("1", 0, "", "counts", 0, ("a",))),
    (("1", 11, "", "counts", 0, ("a",)), ("11", 1, "", "counts", 0, ("a",))),
]


@pytest.mark.parametrize(("one", "other"), CONFUSABLE)
def test_key_encoding_is_unambiguous(one: tuple, other: tuple) -> None:
    ours, theirs = (Seeded(*fields[:2]).stream(StreamId(*fields[2:])).words(8) for fields in (one, other))
    assert not np.array_equal(ours, theirs)


def test_secure_has_no_seed() -> None:
    assert list(inspect.signature(Secure).parameters) == []
    assert Secure().secure
    assert not Seeded("key").secure
    with pytest.raises(TypeError):
        Secure("seed")  # type: ignore[call-arg]


def test_secure_never_repeats() -> None:
    identity = StreamId("taxi", "counts", 0, ("root",))
    source = Secure()
    first = {source.stream(identity).words(8).tobytes() for _ in range(1000)}
    assert len(first) == 1000
    assert not np.array_equal(Secure().stream(identity).words(8), Secure().stream(identity).words(8))


def test_secure_asks_the_operating_system(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every stream has a fresh 256-bit key from it, and nothing else enters."""
    asked = []

    def urandom(n: int) -> bytes:
        asked.append(n)
        return bytes(n)

    monkeypatch.setattr("os.urandom", urandom)
    a = Secure().stream(StreamId("x", "counts", 0, ("root",))).words(4)
    b = Secure().stream(StreamId("y", "ranked", 1, ("root", "b"))).words(4)
    assert asked == [32, 32]
    assert a.tobytes().hex() == b.tobytes().hex() == "dc95c078a2408989ad48a21492842087"
