"""Examples in docstrings, read as examples: the reader of docstrings knows the heading `Examples:` only."""

import re
from typing import Any

from griffe import Extension, Object


class Examples(Extension):
    """Lets a docstring say `Example:`."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = re.sub(r"^Example:$", "Examples:", obj.docstring.value, flags=re.MULTILINE)
