"""No name from a file can control the terminal that shows it."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from rich.table import Table
from rich.text import Text

from app.printable import printable
from app.terminal import Terminal
from simulator.formats.trace_file import load, save
from tests.app.conftest import Run

TITLE = "\x1b]0;owned\x07"


def test_control_characters_are_written_out() -> None:
    assert printable(f"a{TITLE}b\n\tµ\x9b31m\x7f") == "a\\x1b]0;owned\\x07b\n\tµ\\x9b31m\\x7f"


def test_a_console_writes_no_escapes_but_its_own() -> None:
    out = StringIO()
    table = Table("name")
    table.add_row(Text(f"one{TITLE}", "red"))
    table.add_row("two\x1b[2J")
    Terminal(file=out, force_terminal=True, color_system="standard").print(table)
    assert "\x1b]" not in out.getvalue() and "\x1b[2J" not in out.getvalue()
    assert "one\\x1b]" in out.getvalue() and "\x1b[31m" in out.getvalue()


def test_a_module_of_a_saved_trace_cannot_set_the_title(
    run: Run, saved: Path, tmp_path: Path
) -> None:
    text = saved.read_text("utf-8").replace('"modules":["', '"modules":["\\u001b]0;owned\\u0007')
    evil = tmp_path / "evil.rpt.json"
    evil.write_text(text, "utf-8")
    save(load(evil), evil)
    result = run("predict", evil)
    assert result.exit_code == 0 and "\x1b]" not in result.output


def test_an_error_cannot_control_the_terminal(run: Run) -> None:
    result = run("predict", f"no{TITLE}")
    assert result.exit_code == 2 and "\x1b" not in result.stderr


@pytest.mark.parametrize("name", ["x.foo", "x"])
def test_a_saved_trace_has_a_name_by_which_it_is_known(run: Run, tmp_path: Path, name: str) -> None:
    for command, option in (("predict", "--save-trace"), ("trace", "--output")):
        result = run(command, "mlp-tiny", option, tmp_path / name)
        assert (result.exit_code, result.stderr) == (
            2,
            f"error: {option} {tmp_path / name}: unknown suffix {Path(name).suffix!r}: expected "
            ".rpt.json (text) or .rpt (msgpack); rename it\n",
        )
    assert not list(tmp_path.iterdir())
