"""Unusual values and combinations of options are answered in full sentences."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from app.cli import app
from tests.app.conftest import Run


def ridgepoint(*words: str) -> str:
    result = CliRunner().invoke(app, words, env={"COLUMNS": "80"}, catch_exceptions=False)
    return result.output


@pytest.mark.parametrize(
    "words",
    [
        ("sweep", "mlp-tiny", "--over", "fusion"),
        ("sweep", "mlp-tiny", "--over", "precision"),
        ("compare", "mlp-tiny", "--with", "+fuse=addmm+relu", "--with", "+fusion=compiled",
         "--with", "+cuda_graph"),
    ],
)  # fmt: skip
def test_no_figure_is_cut(words: tuple[str, ...]) -> None:
    output = ridgepoint(*words)
    assert "…" not in output and "traced one by one" not in output


def test_an_unreachable_goal_states_the_best_value() -> None:
    output = ridgepoint("seek", "mlp-tiny", "--throughput", "1e12")
    assert "no batch reaches the goal, 1e+12 samples/s: batch 1,048,576 has" in output
    output = ridgepoint("seek", "mlp-tiny", "--latency", "1ns")
    assert "a step alone within 1e-09 s: " in output and " µs alone; expected a goal" in output


def test_a_search_as_data_says_where_it_traced() -> None:
    (row,) = json.loads(ridgepoint("seek", "mlp-tiny", "--fits", "--json", "-"))["answers"]
    assert (row["value"], row["beyond"]) == (2**20, None)  # the search ends there
    assert row["retraced"] is None and row["retraced_at"] == []
    document = json.loads(
        ridgepoint("compare", "mlp-tiny", "--with", "+batch=2000", "--json", "-")
    )["scenarios"]
    assert [each["letter"] for each in document] == ["A", "B"] and "retraced" in document[0]


def test_advice_that_costs_time_does_not_say_that_it_gains() -> None:
    text = " ".join(ridgepoint("advise", "mlp-tiny", "--top", "1").split())
    assert "+precision=autocast: −" in text
    assert "% less to do, but the step takes " in text
    assert "+fuse=addmm+relu" in " ".join(ridgepoint("advise", "mlp-tiny", "--top", "20").split())


def test_tf32_as_a_dtype_names_the_what_if() -> None:
    text = " ".join(ridgepoint("predict", "mlp-tiny", "--dtype", "tf32").replace("│", "").split())
    assert "'tf32': expected one of fp32, bf16, fp16, autocast, autocast-fp16; tf32 is a" in text
    assert "what-if on fp32: write +precision=tf32" in text
    assert "tf32 is a" not in ridgepoint("predict", "mlp-tiny", "--dtype", "fp8")


def test_a_network_without_ops_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "nothing.py"
    path.write_text(
        "import torch\n\n\ndef make():\n    return torch.nn.Identity(), torch.ones(4)\n"
    )
    text = " ".join(ridgepoint("predict", f"{path}:make").split())
    assert "; the step calls no ops: the prediction covers host work only" in text


def _command(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "app.cli", *arguments],
        text=True,
        stderr=subprocess.PIPE,
        timeout=120,
        **options,
    )


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="has no /dev/full")
def test_a_full_disk_ends_with_a_message() -> None:
    with Path("/dev/full").open("w") as full:
        result = _command("gpus", stdout=full)
    assert result.returncode == 2
    assert result.stderr == (
        "error: cannot write to standard output: No space left on device; write elsewhere\n"
    )


@pytest.mark.skipif(os.name == "nt", reason="Windows starts programs without a window so")
def test_a_closed_standard_output_ends_with_a_message() -> None:
    result = _command("gpus", preexec_fn=lambda: os.close(1))
    assert result.returncode == 2
    assert result.stderr == (
        "error: standard output is closed: expected a terminal, a file or a pipe; open one\n"
    )


@pytest.mark.skipif(os.name == "nt", reason="Windows starts programs without a window so")
def test_a_closed_standard_error_does_not_matter() -> None:
    result = _command(
        "predict", "mlp-tiny", "--csv", "-", preexec_fn=lambda: os.close(2), stdout=subprocess.PIPE
    )
    assert result.returncode == 0
    assert len(result.stdout.splitlines()) > 20


def test_names_in_a_csv_cannot_control_the_terminal(run: Run, tmp_path: Path) -> None:
    (tmp_path / "nets.py").write_text(
        "import torch\n"
        "class Net(torch.nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.add_module('\\x1b[31mred', torch.nn.Linear(4, 4))\n"
        "    def forward(self, x):\n"
        "        return next(self.children())(x)\n"
        "    def example_inputs(self, batch):\n"
        "        return torch.empty(batch, 4)\n",
        "utf-8",
    )
    result = run("predict", f"{tmp_path / 'nets.py'}:Net", "--csv", "-")
    assert "\\x1b[31mred" in result.stdout and "\x1b" not in result.stdout


def test_a_constructor_runs_once(run: Run, tmp_path: Path) -> None:
    (tmp_path / "nets.py").write_text(
        "import torch\n"
        "class Net(torch.nn.Linear):\n"
        "    def __init__(self):\n"
        "        print('constructed')\n"
        "        super().__init__(4, 4)\n"
        "    def example_inputs(self, batch):\n"
        "        return torch.empty(batch, 4)\n",
        "utf-8",
    )
    result = run("predict", f"{tmp_path / 'nets.py'}:Net")
    assert result.exit_code == 0 and result.stderr.count("constructed") == 1
