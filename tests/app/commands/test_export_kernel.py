"""`ridgepoint export-kernel`."""

from __future__ import annotations

from pathlib import Path

from tests.app.conftest import Run

ASKED = ("export-kernel", "gpt2", "--dtype", "bf16", "--batch", 2, "--seq", 32)


def test_the_groups_are_listed(run: Run) -> None:
    shown = run(*ASKED)
    assert shown.exit_code == 0
    assert "exportable groups" in shown.output
    assert "gelu" in shown.output and "add+native_layer_norm" in shown.output
    assert "not exported" in shown.output and "cuBLAS runs matrix products" in shown.output


def test_a_group_becomes_a_file(run: Run, tmp_path: Path) -> None:
    target = tmp_path / "gelu.py"
    exported = run(*ASKED, "--group", "gelu", "-o", target)
    assert exported.exit_code == 0, exported.output
    text = target.read_text()
    compile(text, "gelu.py", "exec")
    assert text.startswith('"""gelu in one kernel: gpt2, batch 2, seq 32, bf16, inference on H200')
    # rows of 3072: 2·32 in the step, 3·13 and 2·37 in the irregular cases
    assert '"as exported": {"n0": 64, ' in text
    assert '"batch 3, seq 13": {"n0": 39, ' in text and '"batch 2, seq 37": {"n0": 74, ' in text
    assert "gelu = aten.gelu.default(self=x, approximate='tanh')" in text
    assert "MOVED_BYTES = 786432 " in text  # 2·32·3072 numbers of 2 bytes, read and written


def test_a_file_is_written_over_only_by_force(run: Run, tmp_path: Path) -> None:
    target = tmp_path / "gelu.py"
    target.write_text("my own")
    command = (*ASKED, "--group", "gelu", "-o", target)
    refused = run(*command)
    assert refused.exit_code == 2 and target.read_text() == "my own"
    assert "the file exists and may hold your changes: expected a new" in refused.output
    assert "--force to overwrite it" in refused.output
    assert run(*command, "--force").exit_code == 0 and "gelu in one kernel" in target.read_text()


def test_bad_requests(run: Run) -> None:
    unknown = run(*ASKED, "--group", "gelo")
    assert unknown.exit_code == 2 and "no group 'gelo': choose " in unknown.output
    library = run(*ASKED, "--group", "addmm")
    assert (
        library.exit_code == 2
        and "cannot be exported: cuBLAS runs matrix products" in library.output
    )
    aimless = run(*ASKED, "-o", "x.py")
    assert aimless.exit_code == 2 and "--output x.py without --group" in aimless.output
