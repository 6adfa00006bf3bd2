"""The check of a synthesis from its folder alone, without the data."""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow.parquet as pq

from pgsr.errors import MissingPackageError
from pgsr.privacy.accounting.zcdp import Conversion
from pgsr.privacy.neighbours import Unit
from pgsr.release.publishing.check_base import FolderCheck, SkippedError
from pgsr.release.publishing.findings import Report
from pgsr.release.publishing.parquet_pages import require_plain
from pgsr.release.publishing.strict_fields import require_versions
from pgsr.synthesis.data import archive
from pgsr.synthesis.data.domain import COUNT, Neighbours, SynthesisError
from pgsr.synthesis.data.linked_tables import read_population, to_tables
from pgsr.synthesis.marginals import whole_marginals
from pgsr.synthesis.marginals.filled_households import FilledHouseholds
from pgsr.synthesis.publish import folder as files
from pgsr.synthesis.publish.given_sizes import require_source
from pgsr.synthesis.publish.sampling import load_model
from pgsr.synthesis.queries.transcript import AdaptiveBudget

TOLERANCE = 1e-9
"""How far probabilities may be off when a model is fitted again: sums of floats differ from machine to machine."""


def check_synthesis(
    folder: str | Path,
    digest: str | None = None,
    key: str | Path | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Report:
    """Verify everything about a synthesis that can be verified without the data.

    Files and digests; the transcript's fields; the budget's arithmetic, what was charged, relation, sensitivity and
    number of rounds; the answers' form; that both tables are of the domain and fit together; the model; the fit, done
    again from the noisy answers; and the sample, drawn again from the model.

    What it cannot find: whether noise was secure (or a rehearsal was given other labels), whether answers are those of
    the data and queries were chosen as they should be, and whether a ledger was charged; whether sizes are those of the
    release that the transcript names, which is not in the folder, so that a sample with given sizes is not drawn again;
    whether the numbers of report.html are right, which is not written again; and, unless its `digest` was announced
    elsewhere, a folder made up as a whole, or another name of the data set, version or public number on which nothing
    else in the folder depends. Fitting a mixture again needs torch, and may give other numbers on other hardware.

    Args:
        folder: of a synthesis.
        digest: what `pgsr synthesize` told the publisher, in hexadecimal; None if it is not known.
        key: file of the publisher's public key; None if it is not known. A synthesis that is not signed fails then.
        progress: is told how many of how many checks are done.

    Complexity: that of the fit and the sample.

    Shown by `tests/test_synthesis_check.py`.
    """
    return _SynthesisCheck(Path(folder), digest, key).report(progress)


class _SynthesisCheck(FolderCheck):
    """The check of a synthesis; each step adds to what is known of the folder, or raises what is wrong."""

    kind: ClassVar[str] = "synthesis"

    def names(self) -> tuple[str, ...]:
        return files.FILES

    def steps(self) -> list[tuple[str, Callable[[], str]]]:
        return [
            ("files", self.files),
            ("digests", self.digests),
            ("signature", self.signature),
            ("transcript", self.transcript),
            ("budget", self.budget),
            ("answers", self.answers),
            ("privacy claim", self.privacy_claim),
            ("tables", self.tables),
            ("model", self.model),
            ("replay", self.replay),
            ("sample", self.sample),
        ]

    def transcript(self) -> str:
        fields = files.read((self.path / files.TRANSCRIPT).read_bytes().decode())
        method = files.method_of(fields["settings"])
        _require(fields, {"method": files.METHOD, "settings": files.settings_of(method)})
        for name in ("seed", "sampled", "households"):
            if type(fields[name]) is not int or fields[name] < (name != "seed"):
                raise SynthesisError(f"{name} of the transcript is {fields[name]!r}, no whole number from 1 up")
        if not isinstance(fields["data_set"], str):
            raise SynthesisError(f"data_set of the transcript is {fields['data_set']!r}, no text")
        if fields["sizes_from"] is not None:
            require_source(fields["sizes_from"])
        require_versions(fields["versions"], files.PACKAGES, files.TRANSCRIPT, SynthesisError)
        domain = archive.domain_of(fields["domain"])
        self.known |= {"fields": fields, "method": method, "domain": domain}
        return f"exactly the fields that may be published; {files.METHOD} of {len(fields['rounds']) - 1} rounds"

    def budget(self) -> str:
        """Check that all that was measured is told as it must be, and that its cost is rho exactly."""
        fields, method = self.need("fields"), self.need("method")
        budget = AdaptiveBudget(fields["epsilon"], fields["delta"], 1, conversion=Conversion(fields["conversion"]))
        neighbours = Neighbours(fields["relation"])
        model = load_model(self.path / files.MODEL)
        if model.domain != self.need("domain"):
            raise SynthesisError(f"{files.MODEL} is of another domain than the transcript")
        if model.households.with_sizes != (neighbours is Neighbours.REPLACE):
            raise SynthesisError(f"{files.MODEL} holds other public facts than the relation {neighbours} leaves")
        secure = fields["charged"] is not None
        transcript = files.read_back(fields, model.households, method, budget, secure)
        _require(fields, files.derived_fields(transcript, neighbours, Unit.parse(fields["unit"])))
        self.known["transcript"] = transcript
        paid = "all of it was charged, it says" if secure else "nothing was charged"
        return (
            f"epsilon {fields['epsilon']} and delta {fields['delta']} are rho {float(budget.rho):.6g}, which "
            f"{len(transcript.measured)} marginals and their selections spend exactly; {paid}"
        )

    def answers(self) -> str:
        """Say how much was measured; reading it back has refused counts that are no whole numbers."""
        measured = self.need("transcript").measured
        cells = sum(len(m.noisy) for m in measured)
        return f"{len(measured)} marginals of {cells:,} cells, each with whole noisy counts"

    def privacy_claim(self) -> str:
        privacy = self.need("transcript").privacy
        if not privacy.secure:
            return "none, as it says itself: THIS IS A REHEARSAL AND NOT PRIVATE, keep it as secret as the data"
        return f"{privacy.claim}; nobody can tell without the data whether the noise was secure"

    def tables(self) -> str:
        import pandas as pd

        fields, domain = self.need("fields"), self.need("domain")
        columns = pq.read_schema(self.path / files.HOUSEHOLDS).names
        levels = [] if fields["sizes_from"] is None else _levels(columns)
        for name, schema in zip((files.HOUSEHOLDS, files.PERSONS), files.schemas(domain, len(levels)), strict=True):
            files.require_schema(self.path / name, schema)
            require_plain(self.path / name)
        homes, people = (pd.read_parquet(self.path / name) for name in (files.HOUSEHOLDS, files.PERSONS))
        if len(homes) != fields["sampled"] or homes["household"].tolist() != list(range(len(homes))):
            raise SynthesisError(f"{files.HOUSEHOLDS} does not hold the households 0 to {fields['sampled'] - 1:,}")
        empty = homes[COUNT].to_numpy() == 0
        without, inhabited = homes.take(np.flatnonzero(empty)), homes.take(np.flatnonzero(~empty))
        if len(without) and (not levels or without[[a.name for a in domain.group]].notna().to_numpy().any()):
            raise SynthesisError("households without members are those of given sizes, and have no attributes")
        if homes[levels].isna().to_numpy().any():
            raise SynthesisError("a household has no region")
        read_population(inhabited, people, domain)
        household, person = people["household"].to_numpy(), people["person"].to_numpy()
        first = np.flatnonzero(np.diff(household, prepend=-1))
        number = 1 + np.arange(len(people)) - np.repeat(first, np.diff(first, append=len(people)))
        if (np.diff(household) < 0).any() or (person != number).any():
            raise SynthesisError("persons are not numbered from 1 in every household, in the order of households")
        if not set(people["role"]) <= {role.name for role in domain.roles}:
            raise SynthesisError("a person has a role that the domain does not have")
        if (self.path / files.DICTIONARY).read_bytes() != files.dictionary(domain, len(levels)).encode():
            raise SynthesisError(f"{files.DICTIONARY} does not describe the tables as a synthesis does")
        return f"{len(homes):,} households and {len(people):,} persons, all values, sizes and keys of the domain"

    def model(self) -> str:
        fields, domain = self.need("fields"), self.need("domain")
        found = load_model(self.path / files.MODEL)
        if found.domain != domain:
            raise SynthesisError(f"{files.MODEL} is of another domain than the transcript")
        if found.impossible != self.need("method").impossible:
            raise SynthesisError(f"{files.MODEL} has other impossible combinations than the settings")
        if found.n_components != fields["settings"]["components"]:
            raise SynthesisError(f"{files.MODEL} has {found.n_components} components, not those of the settings")
        with tempfile.TemporaryDirectory() as place:
            again = Path(place) / files.MODEL
            found.save(again)
            archive.require_nothing_more(self.path / files.MODEL, again)
        self.known["model"] = found
        return f"{found!r}, of the domain of the transcript"

    def replay(self) -> str:
        fields, method, model = self.need("fields"), self.need("method"), self.need("model")
        transcript = self.need("transcript")
        try:
            again = whole_marginals.replay(transcript, method, fields["seed"])
        except MissingPackageError as error:
            raise SkippedError(f"not fitted again: {error}") from None
        ours, theirs = _probabilities(again), _probabilities(model)
        off = max(float(np.abs(a - b).max()) for a, b in zip(ours, theirs, strict=True))
        if not off <= TOLERANCE:
            hint = self._other_versions()
            raise SynthesisError(f"{fields['method']} gives another model from the answers, off by {off:.3g}{hint}")
        return f"{fields['method']} gives the same model from the noisy answers"

    def sample(self) -> str:
        fields, model = self.need("fields"), self.need("model")
        if fields["sizes_from"] is not None:
            return "not drawn again, for the release of its sizes is not in this folder"
        drawn = to_tables(model.sample(fields["sampled"], fields["seed"]))
        names, schemas = (files.HOUSEHOLDS, files.PERSONS), files.schemas(model.domain)
        for frame, name, schema in zip(drawn, names, schemas, strict=True):
            if not pq.read_table(self.path / name).equals(files.table_of(frame, schema)):
                raise SynthesisError(f"the model gives another {name}{self._other_versions()}")
        return "the model gives the same households and persons, every one"

    def _other_versions(self) -> str:
        differ = self.other_versions(files.PACKAGES)
        return f"; here other versions run, {differ}" if differ else "; mixtures may differ on other hardware"


def _probabilities(model: FilledHouseholds) -> list[np.ndarray]:
    return [model.components, *model.slot_tables, model.way_table]


def _levels(columns: list[str]) -> list[str]:
    """Name the columns level_0, level_1, ... that a table has."""
    names = [f"level_{level}" for level in range(len(columns))]
    found = [name for name in names if name in columns]
    if not found or found != names[: len(found)]:
        raise SynthesisError(f"{files.HOUSEHOLDS} has no columns level_0, level_1, ... of the regions")
    return found


def _require(fields: dict[str, Any], expected: dict[str, Any]) -> None:
    """Raise a `SynthesisError` that names the first field whose value is not the expected one."""
    for name, want in expected.items():
        have = fields[name]
        if type(have) is not type(want) or have != want:
            raise SynthesisError(
                f"{name} of the transcript is {_short(have)}; from its other fields it is {_short(want)}"
            )


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:200]}..."
