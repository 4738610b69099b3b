"""The long runs: in order, without repeating successful ones, and their summary page."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.reliability import all as every
from tests.reliability import promises
from tests.reliability.all import Run


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("<!-- promises -->\n<!-- /promises -->\n", "utf-8")
    count = "import os, pathlib; p = pathlib.Path(os.environ['COUNT']); p.write_text(p.read_text() "
    commands = {
        "good": Run(
            ("-c", f"{count}+ 'g'); print('3 passed <in> 1 s')"),
            "it holds",
            {"COUNT": str(tmp_path / "count")},
        ),
        "bad": Run(
            ("-c", f"{count}+ 'b'); raise SystemExit(3)"), "", {"COUNT": str(tmp_path / "count")}
        ),
    }
    (tmp_path / "count").write_text("", "utf-8")
    monkeypatch.setattr(every, "runs", lambda folder: commands)
    monkeypatch.setattr(every, "FOLDER", tmp_path)
    monkeypatch.setattr(promises.write, "__defaults__", (tmp_path / "README.md",))


def exit_status(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["all", *arguments])
    return every.main()


def test_passed_runs_are_not_repeated(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert exit_status(monkeypatch, "--only", "good") == 0
    assert exit_status(monkeypatch) == 1  # the other fails
    assert exit_status(monkeypatch) == 1
    assert (tmp_path / "count").read_text() == "gbb"
    assert exit_status(monkeypatch, "--only", "good", "--again") == 0
    assert (tmp_path / "count").read_text() == "gbbg"


def test_the_page_and_the_row_of_a_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    exit_status(monkeypatch)
    page = (tmp_path / "summary.html").read_text("utf-8")
    assert "<td>good<td>passed<td>0 s<td>" in page and "<td>bad<td>failed" in page
    assert "<pre>3 passed &lt;in&gt; 1 s</pre>" in page
    row = (tmp_path / "README.md").read_text("utf-8").splitlines()[3]
    assert row.startswith("| it holds | `COUNT=") and "| 3 passed <in> 1 s |" in row


def test_every_run_is_a_module_or_a_test(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.undo()
    for run in every.runs(tmp_path).values():
        name = run.command[1]
        assert name == "pytest" or (every.ROOT / f"{name.replace('.', '/')}.py").is_file()
