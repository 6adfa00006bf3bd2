"""Docstrings as the site reads them: what they mean is told to the readers of docstrings and of Markdown."""

import re
from typing import Any

from griffe import Extension, Object

LINE = re.compile(r"^(?! {4}).*\]\(.*$", re.MULTILINE)


def no_links(docstring: str) -> str:
    """Keep formulas such as tau[r, s](v) in running text from being read as links."""
    return LINE.sub(lambda line: line[0].replace("](", r"]\("), docstring)


class Examples(Extension):
    """Lets a docstring say `Example:`, where only the heading `Examples:` is known."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = re.sub(r"^Example:$", "Examples:", no_links(obj.docstring.value), flags=re.MULTILINE)
