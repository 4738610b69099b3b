"""Values are converted, and errors reported, as by typer alone."""

import subprocess
import sys

import typer
from typer.main import get_command

from app import cli
from app.conversion import Command

VALUES = {
    "<class 'str'>": ("a", "", "12", "é"),
    "<class 'int'>": ("0", "1", "12", "007", "-1", "1.5", "x", "9" * 30, " 2"),
    "<class 'float'>": ("0", "1.5", "1e3", "-1", "x", "inf", ".5"),
    "list[str]": (("a", "b"), (), ("1",)),
}


def outcome(parameter, value):
    """The converted value with its type, or the error's text."""
    try:
        converted = parameter.process_value(None, value)
    except typer.BadParameter as error:
        return str(error)
    return type(converted), converted


def pairs():
    """Each command's parameters, converted here and by typer alone."""
    for name in cli.SUMMARIES:
        apps = [typer.Typer(add_completion=False), typer.Typer(add_completion=False)]
        for app, cls in zip(apps, (Command, None), strict=True):
            app.command(name, cls=cls)(cli.function(name))
        converted_here, by_typer = (get_command(app) for app in apps)
        context = typer.Context(converted_here)
        for one, other in zip(
            converted_here.get_params(context), by_typer.get_params(context), strict=True
        ):
            yield f"{name} {one.name}", one, other


def values_of(parameter):
    kind = parameter.type_descriptor.annotation
    choices = [member.value for member in getattr(kind, "__members__", {}).values()]
    return (None, *choices, "no such choice", *VALUES.get(str(kind), ()))


def test_values_are_those_of_typer():
    compared = 0
    for name, converted_here, by_typer in pairs():
        if converted_here.type_descriptor.annotation is bool:
            continue
        several = converted_here.multiple or converted_here.nargs == -1
        for value in values_of(converted_here):
            if several and isinstance(value, str):
                continue
            assert outcome(converted_here, value) == outcome(by_typer, value), (name, value)
            compared += 1
    assert compared > 500


def test_well_formed_values_need_no_pydantic():
    commands = (
        "gpus h200",
        "predict bert-base --batch 4 --seq 64 --dtype bf16 --mode cuda_graph --no-train --top 3",
        "whatif bert-base +cuda_graph --time-limit 5",
    )
    program = (
        "import sys\nfrom app.cli import app\n"
        "for command in sys.argv[1:]:\n"
        "    app(command.split(), standalone_mode=False)\n"
        "    if 'pydantic' in sys.modules:\n"
        "        sys.exit('pydantic was imported by ' + command)\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program, *commands], capture_output=True, text=True, timeout=300
    )
    assert (ran.returncode, ran.stderr) == (0, "")
