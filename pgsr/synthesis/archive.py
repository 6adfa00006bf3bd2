"""Arrays over a domain in one file: NumPy's .npz, with the domain as JSON inside and no pickle."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from os import PathLike
from zipfile import BadZipFile

import numpy as np

from pgsr.synthesis.domain import Attribute, Domain, Role, SynthesisError


def write(path: str | PathLike[str], form: str, domain: Domain, arrays: Mapping[str, np.ndarray]) -> None:
    """Write one compressed file; `form` says what the arrays are, with a version."""
    text = json.dumps({"format": form, **asdict(domain)}, default=int)
    with open(path, "wb") as file:
        np.savez_compressed(file, allow_pickle=False, domain=np.frombuffer(text.encode(), np.uint8), **dict(arrays))


def read(path: str | PathLike[str], form: str) -> tuple[Domain, dict[str, np.ndarray]]:
    """What `write` wrote with this `form`.

    Raises:
        SynthesisError: the file holds something else.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        described = json.loads(arrays.pop("domain").tobytes())
        if described["format"] != form:
            raise ValueError(f"it holds {described['format']!r}")
        group, individual = (tuple(Attribute(**a) for a in described[part]) for part in ("group", "individual"))
        return Domain(group, individual, tuple(Role(**role) for role in described["roles"])), arrays
    except (AttributeError, BadZipFile, EOFError, KeyError, TypeError, ValueError) as error:
        raise SynthesisError(f"{path} is no {form!r}; give a file that `save` of that class wrote") from error
