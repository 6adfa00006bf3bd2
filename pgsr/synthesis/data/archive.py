"""The files of results: a domain as JSON, and arrays over it in NumPy's .npz, without pickle."""

import json
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from io import BytesIO
from os import PathLike
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from pgsr.synthesis.data.domain import Attribute, Domain, Role, SynthesisError


def write(
    path: str | PathLike[str],
    form: str,
    domain: Domain,
    arrays: Mapping[str, np.ndarray],
    more: Mapping[str, Any] | None = None,
) -> None:
    """Write one compressed file; `form` says what the arrays are, with a version. `more` is written as JSON."""
    text = json.dumps({"format": form, **asdict(domain), **(more or {})}, default=int)
    with open(path, "wb") as file:
        np.savez_compressed(file, allow_pickle=False, domain=np.frombuffer(text.encode(), np.uint8), **dict(arrays))


def read(path: str | PathLike[str], form: str) -> tuple[Domain, dict[str, np.ndarray], dict[str, Any]]:
    """Read the domain, the arrays and what else `write` wrote as JSON.

    Raises:
        SynthesisError: the file holds something else.
    """
    whole = BytesIO(Path(path).read_bytes())
    with refusing(path, form):
        with np.load(whole, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        described = json.loads(arrays.pop("domain").tobytes())
        require_form(described, form)
        return domain_of(described), arrays, described


def require_nothing_more(path: str | PathLike[str], again: str | PathLike[str]) -> None:
    """Raise `SynthesisError` unless a file holds what another one of the same form does, and nothing besides.

    Entries have the same names and sizes, and the same description of the domain; numbers are not compared.
    """
    name = Path(path).name
    with zipfile.ZipFile(path) as have, zipfile.ZipFile(again) as want:
        if have.namelist() != want.namelist():
            raise SynthesisError(f"{name} holds {have.namelist()}; a synthesis writes {want.namelist()}")
        if have.comment or any(entry.comment or entry.extra for entry in have.infolist()):
            raise SynthesisError(f"{name} has comments, which no synthesis writes")
        sizes = zip(have.infolist(), want.infolist(), strict=True)
        more = [a.filename for a, b in sizes if a.file_size != b.file_size]
        if not more and have.read(_DOMAIN) != want.read(_DOMAIN):
            more = [_DOMAIN]
        if more:
            raise SynthesisError(f"{more[0]} in {name} is not written as a synthesis writes it")


def domain_of(described: Mapping[str, Any]) -> Domain:
    """Build the domain from its `dataclasses.asdict`, as read from JSON."""
    group, individual = (tuple(Attribute(**a) for a in described[part]) for part in ("group", "individual"))
    return Domain(group, individual, tuple(Role(**role) for role in described["roles"]))


def require_form(described: Mapping[str, Any], form: str) -> None:
    """Raise `ValueError` unless the file says that it holds `form`."""
    if described["format"] != form:
        raise ValueError(f"it holds {described['format']!r}")


_DOMAIN = "domain.npy"


@contextmanager
def refusing(path: str | PathLike[str], form: str) -> Iterator[None]:
    """Turn every error in reading the contents of a file into a `SynthesisError` of one sentence."""
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, NotImplementedError, TypeError, ValueError) as error:
        raise _refusal(path, form) from error
    except (BadZipFile, EOFError, zlib.error) as error:
        raise _refusal(path, form) from error


def _refusal(path: str | PathLike[str], form: str) -> SynthesisError:
    return SynthesisError(f"{path} is no {form!r}; give a file that `save` of that class wrote")
