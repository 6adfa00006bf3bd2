"""The shape of the catalogue of methods: a method, and what the lists that are made of the catalogue need to know."""

import inspect
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum, Flag, auto

from pgsr.methods.method import Method, PostProcess
from pgsr.noise.split_by_root import ViewRule


class Use(Flag):
    """The lists that are made of the catalogue, and that a method may be left out of."""

    COMPARE = auto()
    """The default table of `make compare`."""
    PAGE = auto()
    """The tables of docs/model/methods.md."""
    AGREEMENT = auto()
    """The matrix of `make agreement`, of the methods that prove optima."""
    LIBRARY = auto()
    """The runs over PGSR-LIB, of the methods that solve stated problems."""
    WARM_UP = auto()
    """The loops that `pgsr warmup` compiles, of our own methods."""
    EVERYWHERE = COMPARE | PAGE | AGREEMENT | LIBRARY | WARM_UP


class Proof(Enum):
    """The proof that comes with the answer of a method to a stated problem; the value says it in words."""

    OPTIMUM = "proved optimum"
    GAP = "proved gap"
    VALID = "valid, nothing proved"


@dataclass(frozen=True)
class Entry:
    """A method of the catalogue. The method itself says what it does, where it is from and what it supports.

    Attributes:
        method: the value, with its usual options; an entry of its own has the same class with other options.
        answer: what is proved of its answers; of a post-process, which answers no stated problem, nothing.
        uses: the lists that it is in. Leaving one out is a choice, and a comment at the entry says why.
        small: whether it takes seconds on a hundred unknowns. Comparisons then show it in a section of its own, and
            large instances and nations are not tried.
        measured: of a post-process, the label in comparisons by the view that is measured for it; if None, it is shown
            by its own name on the first view that it supports.
        release: the name of this mechanism in the configuration of a release, "" if no release makes its counts so.
        needs: packages that have to be installed besides, of methods that `pgsr.models.availability` does not list.
        page: the page of docs/ that says more.
        name: what `pgsr.solve`, `pgsr.compare` and `pgsr.estimate` call it: the solver's name, or the words of the
            class if "" is given. Of two entries for one solver, the second has a name of its own.

    Example:
        >>> from pgsr.algorithms import MeanConsistency
        >>> entry = Entry(MeanConsistency())
        >>> entry.name
        'mean_consistency'
        >>> entry.source
        'Hay et al. 2010, section 4; as a baseline Kuo et al. 2018, section 5'
    """

    method: Method | PostProcess
    answer: Proof = Proof.OPTIMUM
    uses: Use = Use.EVERYWHERE
    small: bool = field(default=False, kw_only=True)
    measured: Mapping[ViewRule, str] | None = field(default=None, kw_only=True)
    release: str = field(default="", kw_only=True)
    needs: str = field(default="", kw_only=True)
    page: str = field(default="", kw_only=True)
    name: str = field(default="", kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.name or name_of_method(self.method))

    @property
    def words(self) -> str:
        """The first sentence of the method's docstring."""
        return first_sentence(inspect.getdoc(type(self.method)) or "")

    @property
    def source(self) -> str:
        """The paper and section that the docstring names, or what the method extends; "" if it declares neither."""
        for label, said in paragraphs(inspect.getdoc(type(self.method)) or "", "Source|Extends"):
            source = said.partition(" Shown ")[0].removesuffix(".")
            return source if label == "Source" else f"extends {source}"
        return ""


def name_of_method(method: object) -> str:
    """Derive the name by which a method is called: that of its solver, or the words of its class.

    Example:
        >>> from pgsr.estimators import BottomUp
        >>> name_of_method(BottomUp())
        'bottom_up'
    """
    solver = getattr(method, "solver", None)
    return solver.lower() if isinstance(solver, str) else words_of_class(method)


def words_of_class(method: object) -> str:
    """Write the name of a value's class as words: MeanConsistency() is "mean_consistency"."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", type(method).__name__).lower()


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
