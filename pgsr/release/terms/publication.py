"""What a publisher says of a release in words."""

from dataclasses import dataclass
from typing import Any

from pgsr.release.publishing.errors import ConfigError

LONGEST_WORD, LONGEST_TEXT = 60, 300
"""The number of characters of the word for groups or entities, and of the other texts."""


@dataclass(frozen=True)
class Publication:
    """The words of the publisher. All of it is public, and none of it changes a number.

    Attributes:
        group_name: the plural for groups, such as "households".
        entity_name: the plural for the members of groups, such as "persons".
        publisher: who publishes; None if that is not said.
        contact: where questions go, an address or a sentence.
        licence: under which others may use the release, its short name ("CC-BY-4.0"), its address or a sentence.

    Raises:
        ConfigError: a text is empty, too long, or has characters that cannot be printed, such as the end of a line.

    Example:
        >>> Publication(group_name="households", entity_name="persons").fields["group_name"]
        'households'
        >>> Publication(contact="Office, on two\\nlines")
        Traceback (most recent call last):
        pgsr.release.publishing.errors.ConfigError: contact holds a line end or a character that cannot be
            printed; leave it out
    """

    group_name: str = "groups"
    entity_name: str = "members"
    publisher: str | None = None
    contact: str | None = None
    licence: str | None = None

    def __post_init__(self) -> None:
        for name in ("group_name", "entity_name"):
            _require_text(name, getattr(self, name), LONGEST_WORD)
        for name in ("publisher", "contact", "licence"):
            if getattr(self, name) is not None:
                _require_text(name, getattr(self, name), LONGEST_TEXT)

    @property
    def fields(self) -> dict[str, Any]:
        """The fields of a manifest."""
        return dict(vars(self))


def _require_text(name: str, value: object, longest: int) -> None:
    if not isinstance(value, str) or not value.strip():
        raise ConfigError(f"{name} is empty or no text; write a plain public text, or leave the key out")
    if not value.isprintable():
        raise ConfigError(f"{name} holds a line end or a character that cannot be printed; leave it out")
    if len(value) > longest:
        raise ConfigError(f"{name} has {len(value):,} characters; write at most {longest}")


USUAL = Publication()
"""What is published where the publisher says nothing."""
