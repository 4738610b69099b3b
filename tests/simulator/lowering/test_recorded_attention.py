"""Tiles of fused attention, against the names of the kernels that ran on an H200."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from simulator.costs import Work
from simulator.hardware.gpu import gpu
from simulator.lowering import launches
from tests.simulator.costs.conftest import sig
from tests.simulator.lowering.recorded_calls import DTYPES, Recorded, recorded

H200 = gpu("h200")
FLASH = re.compile(r"flash_\w+_kernel<Flash_(?:fwd|bwd)_kernel_traits<(\d+), (\d+), (\d+),")
"""The width of the heads, and the queries and keys of a tile."""
CUTLASS = re.compile(r"fmha_cutlass[FB]_\w+?_aligned_(\d+)x(\d+)_")
CUDNN_FOR_ONE = re.compile(r"sm80_flash_fprop_wmma_f16_knob_\d+_(\d+)x(\d+)x(\d+)_")


def lowered(call: Recorded, backward: bool = False) -> tuple[Work, Sequence[Work]]:
    """The attention kernel of a recorded call, and all its kernels."""
    p = call.params
    dtype, args = DTYPES[p["dtype"]], {"is_causal": p["causal"]}
    q = (p["batch"], p["heads"], p["queries"], p["width"]), dtype
    k = (p["batch"], p["kv_heads"], p["keys"], p["width"]), dtype
    operands: dict[str, Any] = {"query": q, "key": k, "value": k}
    outs, name = [q], f"aten._scaled_dot_product_{p['backend']}_attention"
    if backward:
        grad = "grad_out_" if p["backend"] == "efficient" else "grad_out"
        lse = q[0][:3], "float32"
        operands = {grad: q, **operands, "out": q, "logsumexp": lse}
        outs, name = [q, k, k], f"{name}_backward"
    works = launches(sig(f"{name}.default", outs, None, args, **operands), H200) or ()
    (main,) = (work for work in works if work.family == "attention")
    return main, works


def named(pattern: re.Pattern[str], call: Recorded) -> tuple[int, ...] | None:
    """The sizes in the name of the first kernel of a call that matches this pattern."""
    matches = (pattern.search(name) for name in call.kernels)
    match = next((each for each in matches if each), None)
    return match and tuple(map(int, match.groups()))


def calls(operation: str, backend: str) -> list[Recorded]:
    return [call for call in recorded(operation) if call.params["backend"] == backend]


def test_flash_tiles_are_those_of_its_templates() -> None:
    forward, backward = calls("attention", "flash"), calls("attention_backward", "flash")
    assert (len(forward), len(backward)) == (132, 101)
    for call in forward:
        main, works = lowered(call)
        assert (main.dims["width"], *main.dims["tile"]) == named(FLASH, call)
        # a second kernel combines the parts of split keys
        assert len(works) == len(call.kernels)
        assert ("splits" in main.dims) == any("splitkv" in name for name in call.kernels)
    for call in backward:
        main, _ = lowered(call, backward=True)
        keys, queries = main.dims["tile"]  # a block goes from keys to queries
        assert (main.dims["width"], queries, keys) == named(FLASH, call)


def test_efficient_tiles_are_those_of_its_templates() -> None:
    forward, backward = calls("attention", "efficient"), calls("attention_backward", "efficient")
    assert (len(forward), len(backward)) == (71, 54)
    for call in forward:
        main, works = lowered(call)
        assert main.dims["tile"] == named(CUTLASS, call)
        assert ("_single" in main.dims["variant"]) == (call.params["dtype"] == "fp32")
        assert len(works) == len(call.kernels)
    for call in backward:
        main, _ = lowered(call, backward=True)
        assert main.dims["tile"][::-1] == named(CUTLASS, call)
        # heads wider than 64 are computed as 128 by kernels of their own
        wide = any("_k128_" in name for name in call.kernels)
        assert main.dims["variant"].endswith("_wide") == wide
        assert max(call.params["width"], 33) <= main.dims["width"] + 1 <= 129


def test_cudnn_tiles_of_one_query_are_those_of_its_names() -> None:
    one = [call for call in calls("attention", "cudnn") if call.params["queries"] == 1]
    assert len(one) == 25
    tiles = kernels = 0
    for call in one:
        main, works = lowered(call)
        tiles += (*main.dims["tile"], main.dims["width"]) == named(CUDNN_FOR_ONE, call)
        kernels += len(works) == len(call.kernels)
    assert tiles >= 24  # 64 × 64 is lowered once where 16 × 128 ran
    assert kernels >= 23


def test_gradients_are_as_many_kernels_as_ran() -> None:
    for backend in ("efficient", "cudnn"):
        for call in calls("attention_backward", backend):
            assert len(lowered(call, backward=True)[1]) == len(call.kernels)
