"""The frame of a check: steps that find something each, and those about files, digests and signature."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pgsr.errors import PgsrError
from pgsr.help import shown
from pgsr.release.folder.artefact import FILES, LARGEST
from pgsr.release.publishing import digests, signature
from pgsr.release.publishing.errors import ReleaseError
from pgsr.release.publishing.findings import Finding, Outcome


class SkippedError(Exception):
    """The error of a step to which an earlier one left nothing to look at."""


class OpenError(Exception):
    """The error of a step that the folder does not suffice to decide."""


@dataclass
class FolderCheck:
    """The check of a folder: each step adds to what is known of it, or raises what is wrong.

    Attributes:
        path: of the folder.
        digest: that the publisher announced; None if it is not known.
        key: file of the publisher's public key; None if it is not known.
        ignore: names of files that do not count, for a folder that is still being made.
        known: what earlier steps found, by name.
        odd: names in the folder that nothing may open: too large, or no plain files: a pipe never ends.
    """

    path: Path
    digest: str | None
    key: str | Path | None
    ignore: tuple[str, ...] = ()
    known: dict[str, Any] = field(default_factory=dict)
    odd: tuple[str, ...] = field(default=(), init=False)

    def find(self, name: str, step: Callable[[], str]) -> Finding:
        """Take one step, whatever is wrong; none but the first where something is no plain file."""
        if self.odd:
            return Finding(name, Outcome.SKIPPED, "not looked at, because of what is wrong with the files above")
        try:
            return Finding(name, Outcome.PASSED, step())
        except SkippedError as skipped:
            return Finding(name, Outcome.SKIPPED, str(skipped))
        except OpenError as undecided:
            return Finding(name, Outcome.OPEN, str(undecided))
        except (PgsrError, OSError) as error:
            return Finding(name, Outcome.FAILED, shown(" ".join(str(error).split())))
        except UnicodeDecodeError:
            return Finding(name, Outcome.FAILED, "a file of this step is no text in UTF-8; get the folder anew")
        except Exception as error:  # a folder may come from anywhere, and a fault in it must not look like one of ours
            return Finding(name, Outcome.FAILED, f"cannot be read as a part of a release ({type(error).__name__})")

    def files(self) -> str:
        """Find the files that belong to the folder, and no others."""
        if not self.path.is_dir():
            raise ReleaseError(f"{str(self.path)!r} is no folder; name the folder of a release")
        inside = sorted(self.path.iterdir())
        self.odd = tuple(path.name for path in inside if path.is_symlink() or not path.is_file())
        if self.odd:
            raise ReleaseError(f"not plain files: {_named(self.odd)}; nothing else was looked at")
        found = {path.name for path in inside} - {digests.SIGNATURE, *self.ignore}
        missing, more = sorted(set(FILES) - found), sorted(found - set(FILES))
        if missing or more:
            parts = [f"missing: {_named(missing)}"] * bool(missing) + [f"not of a release: {_named(more)}"] * bool(more)
            raise ReleaseError("; ".join(parts))
        for path in inside:
            most = LARGEST.get(path.name, _LARGEST)
            if path.name not in self.ignore and path.stat().st_size > most:
                self.odd = (path.name,)
                raise ReleaseError(
                    f"{path.name} has {path.stat().st_size:,} bytes, more than the {most:,} of any release; nothing "
                    "else was looked at"
                )
        return f"the {len(found)} files of a release and no others"

    def digests(self) -> str:
        """Compare the files with SHA256SUMS, and this with the announced digest."""
        if (self.path / digests.SUMS).read_bytes().decode() != digests.sums_text(self.path, FILES):
            raise ReleaseError(f"{digests.SUMS} does not hold the digests of these files")
        found = digests.digest_of(self.path)
        if self.digest is None:
            return f"files match {digests.SUMS}; compare this digest with the announced one: {found}"
        if self.digest.strip().lower() != found:
            raise ReleaseError(f"the release has the digest {found}, not the announced one: it is another release")
        return "the digest is the announced one"

    def signature(self) -> str:
        """Verify the signature by the publisher's key; without one it cannot be decided."""
        if not (self.path / digests.SUMS).is_file():
            raise SkippedError(f"not looked at, because there is no {digests.SUMS}")
        key = None if self.key is None else signature.load_public(self.key)
        said = signature.verify(self.path, key)
        if key is None:
            raise OpenError(said)
        return said

    def need(self, name: str) -> Any:
        """Give what an earlier step found.

        Raises:
            SkippedError: that step failed.
        """
        if name not in self.known:
            raise SkippedError(f"not looked at, because of what is wrong above ({name} unknown)")
        return self.known[name]


_LARGEST = 2**22
"""The most bytes of a file that no table and no list is in."""


def _named(names: Iterable[str]) -> str:
    """List names as texts of Python, since those of a foreign folder may hold what a terminal obeys."""
    return ", ".join(map(repr, names))
