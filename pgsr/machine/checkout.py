"""The link between a checkout's folders models/ and experiments/ and the packages pgsr.models and pgsr.experiments.

The two folders stand at the top of the repository, where a reader looks for them, but no package index could take
packages with such names: they would overwrite those of others. So they have one name, below `pgsr`, that works from a
wheel and in a checkout alike. `pgsr/models` and `pgsr/experiments` are symbolic links to the folders: Python, type
checkers, linters and the builder of wheels then see the same tree and need no settings, which an extended `__path__`,
an import hook or names rewritten while building would each ask of all of them.

In a checkout the folders can still be found by their short names, by `python -m experiments`, by pytest where it is
given a file, or by older code. A file that is imported under two names is two modules: its classes are no instances of
each other, and pickles of the one do not fit the other. A folder that is imported by its short name therefore calls
`one_name`, which leads that name, and all names below it, to the modules of the package.
"""

import importlib
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType


def one_name(folder: str) -> None:
    """Make `folder`, and all that is imported below it from now on, a second name of the modules of `pgsr.<folder>`.

    >>> import pgsr.models.adapter
    >>> one_name("models")
    >>> from importlib import import_module
    >>> import_module("models.adapter") is pgsr.models.adapter
    True
    """
    if not any(isinstance(finder, _SameModules) and finder.folder == folder for finder in sys.meta_path):
        sys.meta_path.insert(0, _SameModules(folder))
    sys.modules[folder] = importlib.import_module(f"pgsr.{folder}")


class _SameModules(MetaPathFinder, Loader):
    """A finder that resolves `folder.x` to `pgsr.folder.x`, but leaves `__main__`, which is run, to others."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        del path, target
        ours = fullname.startswith(f"{self.folder}.") and not fullname.endswith(".__main__")
        return ModuleSpec(fullname, self) if ours else None

    def exec_module(self, module: ModuleType) -> None:
        """Put the module of the package into the place of the new one; the import then returns it."""
        name = module.__name__
        del sys.modules[name]  # what pgsr.name imports meanwhile may ask for it, and shall not get an empty one
        sys.modules[name] = importlib.import_module(f"pgsr.{name}")
