"""`ridgepoint predict … --mode compiled --explain-fusion`."""

from __future__ import annotations

from pathlib import Path

from tests.app.conftest import Run


def test_fused_and_unfused_ops_are_listed(run: Run) -> None:
    command = ("predict", "gpt2", "--dtype", "bf16", "--batch", 2, "--seq", 32)
    shown = run(*command, "--mode", "compiled", "--explain-fusion")
    assert shown.exit_code == 0
    assert "Compiled, a step takes" in shown.output and "generated kernels" in shown.output
    assert "pointwise: gelu" in shown.output
    assert "cuBLAS runs" in shown.output


def test_the_code_of_the_modules_is_named(run: Run, tmp_path: Path) -> None:
    lines = (
        "import torch",
        "from torch import nn",
        "",
        "class Twice(nn.Module):",
        "    def forward(self, x):",
        "        return x.cos().cos()",
        "",
        "class Net(nn.Module):",
        "    def __init__(self):",
        "        super().__init__()",
        "        self.twice = nn.Sequential(Twice())",
        "    def forward(self, x):",
        "        return self.twice(x)",
        "    def example_inputs(self, batch, seq):",
        "        return (torch.empty(batch, 1000),)",
    )
    path = tmp_path / "nets.py"
    path.write_text("\n".join(lines) + "\n", "utf-8")
    shown = run("predict", f"{path}:Net", "--mode", "compiled", "--explain-fusion")
    # the kernel begins in Twice, within a Sequential, whose code belongs to torch
    assert "Their code: twice.* at nets.py, line 5." in shown.stdout
    assert "not fused" not in shown.stdout  # no op is left unfused


def test_an_eager_step_is_refused_before_it_is_traced(run: Run) -> None:
    refused = run("predict", "gpt2", "--explain-fusion")
    assert refused.exit_code == 2


def test_recomputation_is_reported_with_its_cost(run: Run) -> None:
    command = ("predict", "llama3-1b", "--size", "layers=2", "--batch", 1, "--seq", 32, "--train")
    shown = run(*command, "--mode", "compiled", "--explain-fusion", "--top", 3)
    assert shown.exit_code == 0
    again = shown.output.partition("Recomputed in the backward pass: ")[2].partition("\n\n")[0]
    assert again.startswith("2 silu, ") and "FLOP). Saved for it" in again
    after = shown.output.partition("generated kernels")[2]
    assert " more  " in after and "−0" not in after
    # all columns fit into a terminal of 80 columns
    assert after.partition("after")[0].count("\n") == 1
