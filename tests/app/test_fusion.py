"""`ridgepoint predict … --mode compiled --explain-fusion`."""

from __future__ import annotations

from tests.app.conftest import Run


def test_what_fused_and_what_did_not(run: Run) -> None:
    asked = ("predict", "gpt2", "--dtype", "bf16", "--batch", 2, "--seq", 32)
    shown = run(*asked, "--mode", "compiled", "--explain-fusion")
    assert shown.exit_code == 0
    assert "Compiled, a step takes" in shown.output and "generated kernels" in shown.output
    assert "pointwise: gelu" in shown.output
    assert "a matrix product is" in shown.output


def test_an_eager_step_is_refused_before_it_is_traced(run: Run) -> None:
    refused = run("predict", "gpt2", "--explain-fusion")
    assert refused.exit_code == 2
