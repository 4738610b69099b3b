"""The report of `ridgepoint predict`, its options and the files that it writes."""

import json
from pathlib import Path

import pytest

from simulator.formats.trace_file import load
from tests.app.conftest import Run, stdout


def test_the_report(run: Run) -> None:
    text = stdout(run("predict", "mlp-tiny"))
    assert "mlp-tiny, batch 32, fp32, inference on NVIDIA H200 SXM 141GB: " in text
    for part in (
        "overhead-bound",
        "█ compute",
        "▓ memory",
        "░ overhead",
        "step, back to back",
        "step, alone",
        "throughput",
        "samples/s",
        "GPU busy",
        "host work",
        "kernels",
        "FLOP utilisation",
        "GPU idle",
        "waiting for the host",
        "memory at peak",
        "fits: ",
        "Heaviest kernels",
        "addmm",
        "32×128×128",
        "Heaviest modules",
        "head",
        "kernel times",
        "profile h200",
        "no source for",
    ):
        assert part in text, part
    assert "e-0" not in text
    assert max(map(len, text.splitlines())) <= 80
    assert "…" not in text


def test_a_wide_terminal_shows_more(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    text = stdout(run("predict", "mlp-tiny"))
    assert "family" in text and "gemm" in text


def test_options_reach_the_prediction(run: Run, tmp_path: Path) -> None:
    target = tmp_path / "p.json"
    stdout(
        run(
            "predict",
            "gpt2",
            "--batch",
            2,
            "--seq",
            64,
            "--dtype",
            "autocast",
            "--train",
            "--optimizer",
            "sgd",
            "--gpu",
            "a100",
            "--size",
            "layers=1",
            "--size",
            "width=64",
            "--size",
            "heads=2",
            "--json",
            target,
        )
    )
    scenario = json.loads(target.read_text("utf-8"))["scenario"]
    assert scenario == {
        "network": "gpt2",
        "batch": 2,
        "seq": 64,
        "dtype": "autocast",
        "phase": "training",
        "optimizer": "sgd",
        "mode": "eager",
        "gpu": "a100_sxm_80",
        "gpu_name": "A100 SXM4 80GB",
        "host": scenario["host"],
        "whatifs": [],
    }


def test_a_step_that_does_not_fit_is_reported_first(run: Run) -> None:
    text = stdout(run("predict", "mlp-wide", "--gpu", "t4", "--size", "depth=64"))
    assert "It does not fit: " in " ".join(text.split())[:400] and "of 16.0 GiB" in text


def test_assumptions_are_listed_once(run: Run) -> None:
    text = stdout(
        run("predict", "mixtral-small", "--size", "layers=1", "--data-size", "nonzero=64")
    )
    assert "Assumed, because it depends on data" in text
    assert "aten.nonzero.default: 64 rows, as given" in text
    assert text.count("aten.nonzero.default") == 1


def test_rows_are_limited(run: Run, saved: Path) -> None:
    text = stdout(run("predict", saved, "--top", 1))
    assert "addmm" in text and "relu" not in text and " more " in text


def test_exports_and_a_saved_trace(run: Run, tmp_path: Path) -> None:
    stdout(
        run(
            "predict",
            "mlp-tiny",
            "--csv",
            tmp_path / "k.csv",
            "--chrome-trace",
            tmp_path / "t.json",
            "--save-trace",
            tmp_path / "m.rpt",
        )
    )
    assert sorted(f.name for f in tmp_path.iterdir()) == ["k.csv", "m.rpt", "t.json"]
    assert "traceEvents" in json.loads((tmp_path / "t.json").read_text("utf-8"))
    assert load(tmp_path / "m.rpt").samples == 32
    assert "m, batch 32, fp32, inference on" in stdout(run("predict", tmp_path / "m.rpt"))


def test_standard_output_carries_one_document(run: Run, saved: Path) -> None:
    assert json.loads(stdout(run("predict", saved, "--json", "-")))["kernel_count"] > 0
    assert stdout(run("predict", saved, "--csv", "-")).startswith("index,op,name,")


def test_a_sequence_that_is_ignored_is_not_shown(run: Run, tmp_path: Path) -> None:
    code = """
import torch
class Made(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.up = torch.nn.Linear(48, 8)
    def forward(self, x):
        return self.up(x)
    def example_inputs(self, batch, seq):
        return (torch.empty({shape}),)
"""
    for name, shape, shown in (
        ("ignores", "batch, 48", "batch 1, fp32"),
        ("uses", "batch, seq, 48", "batch 1 × 128, fp32"),
    ):
        path = tmp_path / f"{name}.py"
        path.write_text(code.format(shape=shape))
        assert shown in stdout(run("predict", f"{path}:Made"))


def test_the_loss_is_stated_in_training(run: Run, tmp_path: Path) -> None:
    assert "the network's own (.loss of its output)" in stdout(
        run("predict", "mlp-tiny", "--train")
    )
    path = tmp_path / "plain.py"
    path.write_text(
        "import torch\ndef make():\n    return torch.nn.Linear(4, 4), (torch.empty(2, 4),)\n"
    )
    text = " ".join(stdout(run("predict", f"{path}:make", "--train")).split())
    assert "the mean square of the first output: the network returns no .loss" in text
    assert "loss" not in stdout(run("predict", f"{path}:make")).replace("(loss", "")


def test_a_share_of_a_roof_names_the_roof(run: Run) -> None:
    text = stdout(run("predict", "mlp-wide", "--dtype", "bf16", "--size", "width=1024"))
    assert any("addmm" in line and line.endswith(" bf16") for line in text.splitlines())
    assert any("relu" in line and line.endswith(" DRAM") for line in text.splitlines())


def test_a_scenario_saves_and_reopens(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    first = stdout(run("predict", "mlp-tiny", "--batch", 8, "+cuda_graph", "--save-scenario", path))
    assert "+cuda_graph" in first and 'name = "cuda_graph"' in path.read_text()
    assert stdout(run("predict", "--scenario", path)) == first
    assert stdout(run("predict", "mlp-tiny", "--save-scenario", "-")).startswith(
        'format = "ridgepoint-scenario"'
    )
    changed = stdout(run("predict", "--scenario", path, "--batch", 4, "--gpu", "a100"))
    assert "batch 4" in changed and "A100" in changed
    both = run("predict", "mlp-tiny", "--scenario", path)
    assert both.exit_code == 2 and both.stderr == (
        f"error: 'mlp-tiny' and --scenario {path} are both given: expected one; remove the other\n"
    )
