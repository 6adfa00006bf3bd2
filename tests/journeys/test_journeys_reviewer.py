"""The reviewer with ten minutes: README from top to bottom, from the wheel, in an environment of its own."""

import re
import subprocess

import pytest
from parsed import ROOT
from test_house_docs import CODE, FENCE, blocks
from test_house_wheel import PROJECT, checked, python, wheel
from waiting import step

README = (ROOT / "README.md").read_text("utf-8")

__all__ = ["python", "wheel"]

pytestmark = pytest.mark.slow


def test_every_block_of_readme_runs_from_the_wheel_and_prints_what_is_shown(python, tmp_path):
    """One script with all blocks, in their order, as who copies them all has it."""
    found = [block for block in blocks(README) if block.language == "python"]
    assert len(found) == README.count("```python") >= 1
    assert all(block.shown for block in found)
    script = "\nprint('NEXT')\n".join(block.source for block in found)
    places = "\nimport sys\nprint('NEXT', *{m.__file__ for n, m in sys.modules.items() if n.split('.')[0] == 'pgsr'})"
    (tmp_path / "readme.py").write_text(script + places)
    with step("runs all blocks of README"):
        *printed, modules = checked([str(python), "readme.py"], cwd=tmp_path).split("NEXT")
    for block, said in zip(found, printed, strict=True):
        assert said.split() == block.shown.split(), f"line {block.line} prints\n{said}"
    assert len(modules.split()) > 50
    assert all(file.startswith(str(python.parents[1])) for file in modules.split()), modules


def test_every_command_of_readme_is_there(python):
    text = FENCE.sub(lambda fence: "" if fence[1] else " ".join(f"`{line}`" for line in fence[3].splitlines()), README)
    commands = {code.partition("#")[0].strip() for code in CODE.findall(text)}
    made = {command for command in commands if command.startswith("make ")}
    assert {"make compare", "make test", "make help", "make docs"} <= made
    for command in sorted(made):
        with step(command):
            subprocess.run([*command.split(), "--dry-run"], cwd=ROOT, check=True, capture_output=True)
    for command in sorted(command for command in commands if re.match(r"(pgsr|python -m pgsr\S*)( |$)", command)):
        program, *rest = command.split()
        start = [str(python.with_name("pgsr"))] if program == "pgsr" else [str(python)]
        with step(command):
            assert "--help" in checked([*start, *rest, "--help"]), command
    extras = re.search(r'pip install "\.\[([\w,]+)\]"', README)
    assert extras
    assert set(extras[1].split(",")) <= PROJECT["optional-dependencies"].keys()
