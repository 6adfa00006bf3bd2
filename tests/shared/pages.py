"""The fenced blocks of a page, and what each prints."""

import re
from dataclasses import dataclass
from itertools import zip_longest

FENCE = re.compile(r"^```(\w*)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`([^`\n]+)`")
RUNNABLE = ("python", "sh", "toml")


@dataclass(frozen=True)
class Block:
    """A fenced block that is run, or written to `file` where its first line names one.

    `shown` is the block of text that follows it at once: what it prints.
    """

    language: str
    file: str | None
    source: str
    shown: str | None
    line: int


def blocks(page: str) -> list[Block]:
    """The blocks of Python, shell and configuration of a page, in order."""
    found = list(FENCE.finditer(page))
    out = []
    for fence, after in zip_longest(found, found[1:]):
        language, file, source = fence.groups()
        if language not in RUNNABLE:
            continue
        is_output = after is not None and after[1] == "text" and not page[fence.end() : after.start()].strip()
        line = page.count("\n", 0, fence.start()) + 1
        out.append(Block(language, file, source, after[3] if after is not None and is_output else None, line))
    return out
