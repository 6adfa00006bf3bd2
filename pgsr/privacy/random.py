"""The two sources of random bytes, which are two types: one for publishing, one for research.

Both drive the same sampler. `Secure` has no seed, and a release may claim privacy; `Seeded` repeats exactly, and its
release must not. A stream belongs to one region of one measurement, so no two regions, levels or replicates share
noise, while all methods and all epsilons see the same stream.
"""

import hashlib
import os
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from pgsr.checks import plain
from pgsr.errors import NoiseError
from pgsr.machine.extras import extra


@dataclass(frozen=True)
class StreamId:
    """The identity of a stream of noise: its data set, view, level and region."""

    data_set: str
    view: str
    level: int
    path: tuple[str, ...]


class ByteStream:
    """A stream of pseudo-random bytes from one 256-bit key: AES-256 in counter mode, by the package cryptography.

    Raises:
        MissingPackageError: cryptography is not installed.

    Example:
        >>> ByteStream(bytes(32)).words(2)
        array([2025887196, 2307473570], dtype=uint32)
    """

    def __init__(self, key: bytes) -> None:
        with extra("release"):
            from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
        self._encryptor = Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor()

    def words(self, n: int) -> np.ndarray:
        """Draw the next n uniform 32-bit words."""
        return np.frombuffer(self._encryptor.update(bytes(4 * n)), "<u4")

    def bits(self, n_bytes: int) -> int:
        """Draw the next 8 n_bytes bits as one integer."""
        return int.from_bytes(self._encryptor.update(bytes(n_bytes)), "big")


class Source(Protocol):
    """A source of noise. `secure` says whether a release may claim privacy."""

    @property
    def secure(self) -> bool: ...

    def stream(self, identity: StreamId) -> ByteStream: ...


@dataclass(frozen=True)
class Secure:
    """A source for publishing: every stream has a fresh key from the operating system. No seed exists.

    Example:
        >>> Secure().stream(StreamId("taxi", "counts", 0, ("Manhattan",))).words(2).shape
        (2,)
    """

    @property
    def secure(self) -> bool:
        """True: noise from this source may claim privacy."""
        return True

    def stream(self, identity: StreamId) -> ByteStream:
        """Make a stream with a fresh key, whatever its identity."""
        del identity
        return ByteStream(os.urandom(32))


@dataclass(frozen=True)
class Seeded:
    """A source for research: the same key, replicate and region always give the same noise.

    Example:
        >>> identity = StreamId("taxi", "counts", 0, ("Manhattan",))
        >>> Seeded("demo").stream(identity).words(1) == Seeded("demo").stream(identity).words(1)
        array([ True])
    """

    key: str | int
    replicate: int = 0

    def __post_init__(self) -> None:
        for name, kinds in (("key", (str, int)), ("replicate", (int,))):
            value = plain(getattr(self, name))
            object.__setattr__(self, name, value)
            if isinstance(value, bool) or not isinstance(value, kinds):
                raise NoiseError(f"Seeded(key, replicate) takes a text or int key and an int replicate, not {value!r}")

    @property
    def secure(self) -> bool:
        """False: anybody who knows the key can draw the noise again and take it off."""
        return False

    def stream(self, identity: StreamId) -> ByteStream:
        fields = [
            "pgsr noise, version 1",
            type(self.key).__name__,
            str(self.key),
            str(self.replicate),
            identity.data_set,
            identity.view,
            str(identity.level),
            *identity.path,
        ]
        parts = [text.encode() for text in fields]  # each with its length, so that no two lists of fields read alike
        return ByteStream(hashlib.sha256(b"".join(len(part).to_bytes(8, "big") + part for part in parts)).digest())
