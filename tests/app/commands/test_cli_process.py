"""The command in a separate process: its imports and its exit."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


def shell(code: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=60,
        env={**os.environ, "COLUMNS": "80"},
    )


HELP = """
import sys
from app.cli import main
try:
    main()
finally:
    heavy = [name for name in ("torch", "numpy", "scipy", "transformers",
             "PySide6", "msgspec", "simulator.whatif") if name in sys.modules]
    print("HEAVY", heavy)
"""


COMMANDS = ("predict", "trace", "whatif", "whatifs", "sweep", "map", "advise", "seek", "compare")
HELP_OF_EACH = """
import sys
from app.cli import app
for name in sys.argv[1:]:
    app([*name.split(), "--help"], standalone_mode=False)
    print("HEAVY", name, [heavy for heavy in ("torch", "numpy", "scipy", "transformers",
                          "PySide6", "msgspec", "simulator.whatif") if heavy in sys.modules])
"""


def test_help_imports_nothing_heavy() -> None:
    done = shell(HELP_OF_EACH, "", *COMMANDS)
    lines = done.stdout.splitlines()
    assert done.returncode == 0, done.stderr
    assert [line for line in lines if line.startswith("HEAVY")] == [
        f"HEAVY {name} []" for name in ("", *COMMANDS)
    ]
    assert sum("Usage" in line for line in lines) == 1 + len(COMMANDS)


EXPLORE = """
import sys
import app.explorer.window.start
from app.cli import main
app.explorer.window.start.run = lambda *asked: 0
try:
    main()
finally:
    heavy = [name for name in ("torch", "scipy", "transformers", "rich", "asyncio",
             "app.views.lessons.view", "app.explorer.gpu_editor.form") if name in sys.modules]
    print("HEAVY", heavy)
"""


def test_the_explorer_starts_without_modules_that_are_shown_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("QT_QPA_PLATFORM", "offscreen")
    done = shell(EXPLORE, "explore", "bert-base")
    assert (done.returncode, done.stdout) == (0, "HEAVY []\n"), done.stderr


def test_lists_and_saved_traces_need_no_torch(saved: Path) -> None:
    for arguments in (["networks"], ["predict", saved, "--gpu", "l4"]):
        done = shell(HELP, *arguments)
        assert done.returncode == 0, done.stderr
        assert "torch" not in done.stdout.splitlines()[-1]


def test_an_error_in_a_separate_process() -> None:
    done = shell("from app.cli import main; main()", "predict", "nope-1")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "error: unknown network 'nope-1'; `ridgepoint networks` lists all\n"
