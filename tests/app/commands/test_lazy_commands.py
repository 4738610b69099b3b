"""Commands are loaded when they are called, and the help's table agrees with their docstrings."""

import ast
import inspect
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import app.commands
from app.cli import SUMMARIES, function

COMMANDS = Path(app.commands.__file__ or "").parent


@pytest.mark.parametrize("name", SUMMARIES)
def test_the_summary_is_the_first_line_of_the_docstring(name: str) -> None:
    assert SUMMARIES[name] == (inspect.getdoc(function(name)) or "").partition("\n")[0]


def test_help_loads_no_command() -> None:
    code = (
        "import sys\nfrom app.cli import app\n"
        "app(['--help'], standalone_mode=False)\n"
        "names = 'torch numpy scipy rich PySide6 app.commands'.split()\n"
        "print(*(name for name in names if name in sys.modules), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == "\n"


def options_without_names(source: str) -> Iterator[tuple[str, str]]:
    """The parameters of a module's functions whose option states no name, each with its metavar."""
    tree = ast.parse(source)
    shared = {
        target.id: node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for parameter in (node for node in ast.walk(tree) if isinstance(node, ast.arg)):
        annotation = parameter.annotation
        if isinstance(annotation, ast.Name):
            annotation = shared.get(annotation.id)
        for call in ast.walk(annotation) if annotation is not None else ():
            if isinstance(call, ast.Call) and ast.unparse(call.func) == "typer.Option":
                metavar = next((k.value for k in call.keywords if k.arg == "metavar"), None)
                if not call.args and isinstance(metavar, ast.Constant):
                    yield parameter.arg, str(metavar.value)


@pytest.mark.parametrize("path", sorted(COMMANDS.glob("*.py")), ids=lambda path: path.stem)
def test_an_option_whose_metavar_is_its_name_states_that_name(path: Path) -> None:
    """typer 0.27 takes such a metavar as the option's name: --CLUSTER instead of --cluster."""
    pairs = [*options_without_names(path.read_text(encoding="utf-8"))]
    assert [name for name, metavar in pairs if metavar.lower() == name] == []
