"""Groups that run concurrently or as one kernel, as measured on an H100 and an H200."""

from __future__ import annotations

from collections import Counter

import pytest
import torch

from simulator import predict_trace
from simulator.tracing import trace_call
from tests.simulator.lowering.convolution.convolution_calls import conv, kernels


def kinds(shape: tuple[int, ...], weight: tuple[int, ...], groups: int, dtype: str) -> list[str]:
    """The variants of the convolution's kernels."""
    op = conv(dtype, shape, weight, shape[-1], groups=groups, last=False)
    return [k.dims.get("variant", "") for k in kernels(op) if k.family == "conv"]


def test_thin_square_groups_run_as_one_kernel() -> None:
    assert kinds((2, 512, 32, 32), (512, 2, 3, 3), 256, "float16") == ["depthwise_grouped_fwd"]
    assert len(kinds((128, 64, 16, 16), (64, 2, 1, 1), 32, "float16")) == 32


def position_embedding(taps: int, dtype: torch.dtype, batch: int = 2, positions: int = 99) -> float:
    """Predicted seconds of a convolution of 768 channels in 16 groups."""
    with torch.device("meta"):
        x = torch.empty(batch, 768, positions, dtype=dtype)
        w = torch.empty(768, 48, taps, dtype=dtype)
    trace = trace_call(
        lambda: lambda: torch.nn.functional.conv1d(x, w, padding=taps // 2, groups=16)
    )
    return predict_trace(trace, gpu="h200").gpu_busy_s


def kinds_of_taps(batch: int, positions: int, groups: int = 16) -> Counter[str]:
    """The families of the kernels of groups of 48 channels and 128 taps in half precision."""
    with torch.device("meta"):
        x = torch.empty(batch, 48 * groups, positions, dtype=torch.float16)
        w = torch.empty(48 * groups, 48, 128, dtype=torch.float16)
    trace = trace_call(lambda: lambda: torch.nn.functional.conv1d(x, w, padding=64, groups=groups))
    return Counter(kernel.family for kernel in predict_trace(trace, gpu="h200").kernels)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_groups_of_19_taps_run_together(dtype: torch.dtype) -> None:
    """data2vec's position embedding takes 37 µs (H200) and 41 µs (H100)."""
    assert 25e-6 < position_embedding(19, dtype) < 60e-6


def test_groups_of_128_taps_overlap() -> None:
    """In SEW these kernels take 3.03 ms one after the other, and 0.84 ms concurrently."""
    assert 0.7e-3 < position_embedding(128, torch.float32) < 1.1e-3


@pytest.mark.parametrize(("batch", "positions", "kernels"), [(8, 24, 1), (4, 62, 1), (2, 149, 3)])
def test_long_groups_over_many_rows_run_as_three_kernels(
    batch: int, positions: int, kernels: int
) -> None:
    """As recorded: 16 kernels up to 4 · 63 rows, and from 2 · 150 rows on 48 kernels, with 16
    tables of offsets."""
    for groups in (16, 2):
        own = kinds_of_taps(batch, positions, groups)
        assert own == {"conv": groups * kernels} | ({"fill": groups} if kernels > 1 else {})
    assert kinds_of_taps(batch, positions, 1) == {"conv": 1}


def test_the_offsets_of_a_long_group_take_4_bytes_for_each_element_of_a_patch() -> None:
    op = conv("float16", (2, 768, 149), (768, 48, 128), 149, groups=16, last=False)
    fills = [kernel.write_bytes for kernel in kernels(op) if kernel.family == "fill"]
    assert fills == [24_576] * 16  # 4 · 48 · 128


def test_long_groups_take_the_time_of_their_kernels() -> None:
    """Those of wav2vec 2.0 and WavLM take about 12 ms of a step at 4 · 250 and 4 · 150 rows."""
    few = position_embedding(128, torch.float16, 4, 62)
    for positions in (149, 249):
        several = position_embedding(128, torch.bfloat16, 4, positions)
        assert several == pytest.approx(3 * few, rel=0.02)
        assert 10e-3 < several < 13e-3
