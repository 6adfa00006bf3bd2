"""The reader of experiments in files of your own, which no registry knows, and a template to start from."""

import importlib.util
import re
import sys
from dataclasses import replace
from pathlib import Path

import cloudpickle

from pgsr.experiments.engine.experiment import Experiment, ExperimentError


def load(path: Path) -> Experiment:
    """Read the experiment that a Python file defines: its `EXPERIMENT`, or the only `Experiment` among its names.

    The file may import its neighbours. Its functions travel to other processes by value.

    Raises:
        ExperimentError: the file is absent, cannot be run, or defines no experiment, or several.
    """
    given, path = path, path.resolve()
    if not path.is_file():
        raise ExperimentError(
            f"there is no file {path.name} in {path.parent}; python -m pgsr.experiments new writes one"
        )
    name = f"experiment_file_{re.sub(r'[^0-9a-zA-Z]', '_', path.stem)}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None, "the file ends in .py"
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise ExperimentError(f"{path.name} cannot be run: {type(error).__name__}: {error}") from error
    found = {id(value): value for value in vars(module).values() if isinstance(value, Experiment)}
    chosen = getattr(module, "EXPERIMENT", None) or (next(iter(found.values())) if len(found) == 1 else None)
    if not isinstance(chosen, Experiment):
        many = "several experiments" if found else "no experiment"
        raise ExperimentError(f"{path.name} defines {many}; give the one to run the name EXPERIMENT")
    cloudpickle.register_pickle_by_value(module)
    return replace(chosen, file=str(given))


def write_template(name: str, folder: Path) -> Path:
    """Write a commented experiment that runs as it is, to `folder`/<name>.py.

    Raises:
        ExperimentError: the name is no Python name, or the file is there.
    """
    if not re.fullmatch(r"[a-zA-Z]\w*", name):
        raise ExperimentError(f"{name!r} cannot name an experiment; use letters, digits and _, beginning with a letter")
    path = folder / f"{name}.py"
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(TEMPLATE.replace("@NAME@", name))
    except FileExistsError:
        raise ExperimentError(f"{path} is there already; choose another name, or delete the file") from None
    except OSError as error:
        raise ExperimentError(f"cannot write {path}: {error.strerror}; choose another folder with --folder") from None
    return path


TEMPLATE = Path(__file__).with_name("template.txt").read_text(encoding="utf-8")
