"""The publisher's signature of a release: whose it is, which no digest inside the folder can tell.

A key pair is made once. The private key signs SHA256SUMS, and so every file of a release; the public key is announced
where readers trust it. Signatures are Ed25519 (RFC 8032), by the library `cryptography`.
"""

import base64
import binascii
import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from pgsr.machine.extras import extra
from pgsr.release.publishing.digests import SIGNATURE, SUMS
from pgsr.release.publishing.errors import SignatureError

with extra("release"):
    from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

Key = TypeVar("Key")

_PURPOSE = b"pgsr release signature 1\n"
"""The text that is signed along with the file, so that a signature made for something else is none of a release."""


def new_key(path: str | Path) -> tuple[Path, Path]:
    """Make a key pair, and return the paths of its two files.

    The private key goes to PATH.key, readable by its owner alone and not encrypted: keep it as a password is kept. The
    public key goes to PATH.pub, for everybody. Both are PEM files.

    Raises:
        SignatureError: one of the files is there already, or cannot be written.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     private, public = new_key(Path(folder) / "publisher")
        ...     fingerprint(load_public(public)) == fingerprint(load_private(private).public_key())
        True
    """
    path = Path(path)
    private, public = path.with_name(path.name + ".key"), path.with_name(path.name + ".pub")
    key = Ed25519PrivateKey.generate()
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    shown = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    if public.exists():
        raise SignatureError(f"the file {str(public)!r} is there already; give the key another name")
    for file, data, mode in ((private, secret, 0o600), (public, shown, 0o644)):
        try:
            descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        except FileExistsError:
            raise SignatureError(f"the file {str(file)!r} is there already; give the key another name") from None
        except OSError as error:
            raise SignatureError(
                f"the key {str(file)!r} cannot be written ({error.strerror}); name another folder"
            ) from None
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
    return private, public


def load_private(path: str | Path) -> Ed25519PrivateKey:
    """Read the private key in a PEM file; `SignatureError` if the file is absent or holds none of Ed25519."""
    return _loaded(path, lambda data: serialization.load_pem_private_key(data, None), Ed25519PrivateKey)


def load_public(path: str | Path) -> Ed25519PublicKey:
    """Read the public key in a PEM file; `SignatureError` if the file is absent or holds none of Ed25519."""
    return _loaded(path, serialization.load_pem_public_key, Ed25519PublicKey)


def _loaded(path: str | Path, load: Callable[[bytes], object], kind: type[Key]) -> Key:
    try:
        key = load(Path(path).read_bytes())
    except OSError as error:
        raise SignatureError(
            f"the key {str(path)!r} cannot be read ({error.strerror}); name a file that you may read"
        ) from None
    except (ValueError, TypeError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, kind):
        what, end = ("private", "key") if kind is Ed25519PrivateKey else ("public", "pub")
        raise SignatureError(f"{str(path)!r} holds no {what} key of this kind; `pgsr key new NAME` makes NAME.{end}")
    return key


def fingerprint(key: Ed25519PublicKey) -> str:
    """Compute the SHA-256 of a public key, in hexadecimal: short enough to be read aloud."""
    raw = key.public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
    return hashlib.sha256(raw).hexdigest()


def sign(folder: Path, key: Ed25519PrivateKey) -> None:
    """Write the signature of a folder's SHA256SUMS beside it."""
    text = _text(key.public_key(), key.sign(_signed(folder)))
    (folder / SIGNATURE).write_text(text, encoding="utf-8", newline="")


def verify(folder: Path, key: Ed25519PublicKey | None) -> str:
    """Verify the signature of a folder, and say in a sentence what it shows.

    Args:
        folder: that is signed.
        key: of the publisher, from elsewhere; None if it is not known. Then only that the signature fits the key that
            it names itself can be said, and anybody can make such a pair.

    Raises:
        SignatureError: it is missing though a key is given, malformed, wrong, or made with another key.
    """
    path = folder / SIGNATURE
    if not path.exists():
        if key is not None:
            raise SignatureError(
                f"the release is not signed: there is no file {SIGNATURE}; ask the publisher for a signed copy, or "
                "check without --key"
            )
        return "the release is not signed; whether it is the publisher's cannot be told"
    named, signature = _parsed(path)
    if key is not None and fingerprint(named) != fingerprint(key):
        raise SignatureError(
            f"the release was signed with another key, {fingerprint(named)}, not with {fingerprint(key)}; "
            "ask the publisher which key is theirs"
        )
    try:
        named.verify(signature, _signed(folder))
    except InvalidSignature:
        raise SignatureError(
            f"the signature is wrong: {SUMS} is not what was signed; fetch the release again"
        ) from None
    if key is None:
        return f"signed with the key {fingerprint(named)}; give the publisher's key with --key to know whose it is"
    return f"signed with the key that was given, {fingerprint(named)}"


def _parsed(path: Path) -> tuple[Ed25519PublicKey, bytes]:
    try:
        text = path.read_bytes().decode()
        fields = json.loads(text)
        known = {"format": "pgsr signature 1", "signs": SUMS, "algorithm": "Ed25519"}
        if set(fields) != {*known, "public_key", "signature"} or any(fields[name] != known[name] for name in known):
            raise ValueError
        raw, signature = (base64.b64decode(fields[name], validate=True) for name in ("public_key", "signature"))
        key = Ed25519PublicKey.from_public_bytes(raw)
        if _text(key, signature) != text:
            raise ValueError
        return key, signature
    except (ValueError, TypeError, KeyError, binascii.Error):
        raise SignatureError(f"{path.name} is no signature of a release; fetch the release again") from None


def _text(key: Ed25519PublicKey, signature: bytes) -> str:
    raw = key.public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
    fields = {
        "format": "pgsr signature 1",
        "signs": SUMS,
        "algorithm": "Ed25519",
        "public_key": base64.b64encode(raw).decode(),
        "signature": base64.b64encode(signature).decode(),
    }
    return json.dumps(fields, indent=1) + "\n"


def _signed(folder: Path) -> bytes:
    return _PURPOSE + (folder / SUMS).read_bytes()
