"""Exported kernels against torch in Triton's interpreter, on shapes that are no multiples of a
block size."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from simulator.errors import InputError
from simulator.fusion import Fused
from simulator.kernel_source import KernelInfo, fused_group, kernel, source
from tests.simulator.kernel_source import modules as m

pytest.importorskip("triton")

HALF, FLOAT = torch.float16, torch.float32
TOLD = KernelInfo("a group", "of a test", "no GPU", 1e-6, 2e-6, 1e-6, 1)
_TILE = "rows, cols, warps = 1, 2048, 16"
_EMPTIED = "made.normal_()", "made.normal_().masked_fill_(made < 0.8, -torch.inf)"
"""A mask of most elements: in some rows all but the first ones, in other rows none."""


def _tensor(*shape: int, dtype: torch.dtype = FLOAT) -> Tensor:
    return torch.empty(shape, dtype=dtype, device="meta")


def _flag(*shape: int) -> Tensor:
    return _tensor(*shape, dtype=torch.bool)


def _many(rows: int, cols: int) -> tuple[Tensor, ...]:
    return _tensor(3, rows, cols, dtype=HALF), _tensor(rows, cols, dtype=HALF)


CASES: dict[str, tuple[Any, ...]] = {
    "bias_gelu": (m.bias_gelu, _tensor(3, 7, 5, dtype=HALF), _tensor(5, dtype=HALF)),
    "tanh_gelu": (m.tanh_gelu, _tensor(3, 7, 5), _tensor(7, 1)),
    "swiglu": (m.swiglu, _tensor(3, 5, 14, dtype=HALF)),
    "add_layer_norm": (m.AddNorm(nn.LayerNorm(13)), _tensor(5, 3, 13), _tensor(3, 13)),
    "add_rms_norm": (m.AddNorm(nn.RMSNorm(77).half()), *(_tensor(9, 77, dtype=HALF),) * 2),
    "masked_softmax": (m.masked_softmax, *_many(13, 17)),
    "rotary": (m.rotary, _tensor(2, 5, 3, 14), _tensor(5, 14), _tensor(5, 14)),
    "embedding": (m.Looked(19), torch.empty(3, 5, dtype=torch.int64, device="meta")),
    "batch_norm": (nn.Sequential(nn.BatchNorm2d(6), nn.ReLU()), _tensor(2, 6, 5, 7)),
    "column_means": (m.column_means, _tensor(3, 5, 11)),
    "centred": (m.centred, _tensor(3, 150, 5)),
    "flags": (m.flags, _tensor(6, 5, 1), _flag(5, 7)),
    "padded": (m.padded, _tensor(5, 9)),
    "joined": (m.joined, _tensor(2, 3, 7), _tensor(2, 5)),
    "triangle": (m.triangle, _tensor(3, 7, 5)),
    "log_softmax": (m.log_softmax, _tensor(3, 9, 21, dtype=HALF)),
}
TRAINED: dict[str, tuple[Any, ...]] = {
    "classified": (m.Classified(), _tensor(9, 5), torch.empty(9, dtype=torch.int64, device="meta")),
    "gelu_trained": (nn.Sequential(nn.Linear(5, 7), nn.GELU(), nn.Linear(7, 3)), _tensor(9, 5)),
    "softmax_trained": (nn.Sequential(nn.Linear(5, 7), nn.Softmax(-1)), _tensor(9, 5)),
    "silu_trained": (nn.Sequential(nn.Linear(5, 7), nn.SiLU(), nn.Linear(7, 3)), _tensor(9, 5)),
    "norm_trained": (
        nn.Sequential(nn.Linear(5, 7), nn.LayerNorm(7), nn.Linear(7, 3)),
        _tensor(9, 5),
    ),
}


def _sources(name: str, step: Fused, others: tuple[tuple[str, Fused], ...] = ()) -> dict[str, str]:
    written: dict[str, str] = {}
    for number in m.numbers(step):
        try:
            exported = kernel(fused_group(step, number, others))
        except InputError:
            continue
        written[f"{name}__{number}"] = source(exported, TOLD)
    return written


def _irregular(module: Any, shapes: list[tuple[Tensor, ...]]) -> tuple[Fused, Any]:
    first, *rest = (m.compiled(module, *inputs) for inputs in shapes)
    return first, tuple((f"shape {at}", each) for at, each in enumerate(rest))


def _random_shapes() -> list[tuple[Tensor, ...]]:
    drawn = random.Random(0)
    return [_many(drawn.randint(2, 40), drawn.randint(2, 300)) for _ in range(6)]


@pytest.fixture(scope="module")
def verdicts(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, str]:
    """The results that one child process reports for the files of all selected cases."""
    folder: Path = tmp_path_factory.mktemp("exported")
    selected = {
        item.callspec.params.get("name")
        for item in request.session.items
        if item.path == request.path and hasattr(item, "callspec")
    }
    files: dict[str, str] = {}
    for name, (module, *inputs) in CASES.items():
        if name in selected:
            files |= _sources(name, m.compiled(module, *inputs))
    for name, (module, *inputs) in TRAINED.items():
        if name in selected:
            files |= _sources(name, m.compiled(module, *inputs, phase="training"))
    for name, function in (("any_softmax", m.masked_softmax), ("any_gelu", m.bias_gelu)):
        if name in selected:
            files |= _sources(name, *_irregular(function, _random_shapes()))
    for name, function in (("softmax", m.masked_softmax), ("sums", m.log_of_sums)):
        walking = source(kernel(m.only(function, *_many(13, 17)), whole=8), TOLD)
        assert _TILE in walking
        files[f"walking__{name}"] = walking.replace(_TILE, "rows, cols, warps = 1, 4, 4")
        files[f"emptied__{name}"] = files[f"walking__{name}"].replace(*_EMPTIED)
    text = source(kernel(m.only(m.bias_gelu, _tensor(3, 5), _tensor(5))), TOLD)
    assert "0.5 * add" in text and "inside = i < 15" in text
    files["wrong"] = text.replace("0.5 * add", "0.4 * add")
    files["unwritten"] = text.replace("inside = i < 15", "inside = i < 14")
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    child = Path(__file__).with_name("child.py")
    run = subprocess.run(
        [sys.executable, str(child), str(folder)],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
        env={**os.environ, "TRITON_INTERPRET": "1"},
    )
    return json.loads(run.stdout)


@pytest.mark.layered(5, daily=["walking", "emptied"])
@pytest.mark.parametrize(
    "name", [*CASES, *TRAINED, "any_softmax", "any_gelu", "walking", "emptied"]
)
def test_a_kernel_agrees_with_its_reference(verdicts: dict[str, str], name: str) -> None:
    mine = {file: said for file, said in verdicts.items() if file.startswith(f"{name}__")}
    assert mine, "no group was exported"
    assert set(mine.values()) == {""}


def test_a_wrong_kernel_is_found(verdicts: dict[str, str]) -> None:
    assert "as exported, result 0" in verdicts["wrong"]


def test_a_result_that_no_program_wrote_is_found(verdicts: dict[str, str]) -> None:
    assert "as exported, result 0" in verdicts["unwritten"]
