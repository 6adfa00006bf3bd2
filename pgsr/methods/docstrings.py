"""The parts of a docstring that declare something: its first sentence, and paragraphs such as `Source: ...`."""

import re
from collections.abc import Iterator


def sentences(words: str) -> list[str]:
    """Split at full stops, but not after "et al".

    Example:
        >>> sentences("Matching of Kuo et al. 2018. Shown by a test.")
        ['Matching of Kuo et al. 2018', 'Shown by a test']
    """
    return re.split(r"(?<! al)\. ", words.removesuffix("."))


def first_sentence(words: str) -> str:
    """Give the first sentence of a docstring, on one line and without its full stop or colon.

    Example:
        >>> first_sentence("Counts groups, fast:\\n\\n    a formula\\n\\nIt ends.")
        'Counts groups, fast'
    """
    return sentences(" ".join(words.partition("\n\n")[0].split()))[0].rstrip(":")


def paragraphs(words: str, label: str) -> Iterator[tuple[str, str]]:
    """List the paragraphs that begin with a label and a colon, each as (label, text after it).

    Args:
        words: a docstring.
        label: the labels wanted, as a regular expression.

    Example:
        >>> list(paragraphs("Count.\\n\\nSource: Liu and Wu 2022,\\nsection 3.\\n\\nStatus: OPTIMAL.", "Source|Status"))
        [('Source', 'Liu and Wu 2022, section 3.'), ('Status', 'OPTIMAL.')]
    """
    found = re.finditer(rf"^((?:{label})[^:\n]*):(.*?)(?=\n\s*\n|\Z)", words, re.MULTILINE | re.DOTALL)
    for paragraph in found:
        name, said = (" ".join(part.split()) for part in paragraph.groups())
        yield name, said
