"""The text of an exported file, line by line."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from simulator.kernel_source import KernelInfo, fused_group, kernel, source
from simulator.kernel_source.order import loads_first
from tests.simulator.kernel_source import modules as m

TOLD = KernelInfo("a group", "of a test", "no GPU", 1e-6, 2e-6, 1e-6, 1)


def _tensor(*shape: int, dtype: torch.dtype = torch.float16) -> Tensor:
    return torch.empty(shape, dtype=dtype, device="meta")


def test_no_load_waits_for_a_sum_that_it_does_not_need() -> None:
    lines = [
        "r = 1",
        "a = tl.load(a_ptr + r)",
        "s = tl.sum(a)",
        "tl.store(o_ptr + r, s)",
        "b = tl.load(b_ptr + r)",
        "c = s * b",
        "d = tl.load(d_ptr + c)",
    ]
    assert loads_first(lines) == [
        "r = 1",
        "a = tl.load(a_ptr + r)",
        "b = tl.load(b_ptr + r)",
        "s = tl.sum(a)",
        "tl.store(o_ptr + r, s)",
        "c = s * b",
        "d = tl.load(d_ptr + c)",
    ]


def test_sizes_are_constants_of_the_kernel() -> None:
    first, other = (m.compiled(m.bias_gelu, _tensor(n, 8, 5), _tensor(5)) for n in (4, 3))
    text = source(kernel(fused_group(first, 0, [("other", other)])), TOLD)
    assert "out_ptr, n0: tl.constexpr, BLOCK: tl.constexpr):" in text


def test_the_flush_is_distinguished_from_the_call_by_its_name() -> None:
    text = source(kernel(m.only(m.bias_gelu, _tensor(3, 5), _tensor(5))), TOLD)
    assert "flushing = {name for name, _ in launched(flush.zero_, 1)}" in text
    assert "if name not in flushing) / 5" in text
    assert "dtype=torch.int16" in text  # a dtype that occurs in no group


def test_a_row_with_flags_beside_halves_has_eight_elements_a_thread() -> None:
    def masked(x: Tensor, keep: Tensor) -> Tensor:
        return torch.softmax(torch.where(keep, x, -9.0), -1)

    flags = source(kernel(m.only(masked, _tensor(9, 768), _tensor(9, 768, dtype=torch.bool))), TOLD)
    # 4 warps of 32 threads with 8 elements each: 1024; 8 · 32 elements per warp
    assert "rows = max(1, 1024 // cols)\n    warps = min(16, max(4, rows * cols // 256))" in flags
    halves = source(kernel(m.only(m.masked_softmax, *(_tensor(9, 768),) * 2)), TOLD)
    assert "rows = max(1, 2048 // cols)\n    warps = min(16, max(4, rows * cols // 512))" in halves


def test_the_order_of_the_elements_is_that_of_memory() -> None:
    def turned(x: Tensor) -> Tensor:
        return x.transpose(1, 2) * 2

    exported = kernel(m.only(turned, _tensor(3, 5, 7)))
    assert exported.lines[-1] == "tl.store(out_ptr + i, mul, mask=inside)"
    assert "x = tl.load(x_ptr + i, mask=inside, other=0).to(tl.float32)" in exported.lines


def test_a_long_row_is_read_once_for_the_largest_and_the_sum() -> None:
    exported = kernel(m.only(lambda x: torch.logsumexp(x, -1), _tensor(3, 70)), whole=8)
    assert sum("tl.load(" in line for line in exported.lines) == 1
    both = kernel(m.only(m.log_softmax, _tensor(3, 70)), whole=8)
    assert sum("tl.load(" in line for line in both.lines) == 2  # one load more, for the results


def test_parts_that_a_trace_does_not_distinguish_are_named() -> None:
    rotary = m.compiled(m.rotary, *(_tensor(*shape) for shape in ((2, 5, 3, 14), (5, 14), (5, 14))))
    [number] = m.numbers(rotary)
    group = fused_group(rotary, number)
    assert group.guessed == ("neg", "cat")
    text = source(kernel(group), TOLD)
    assert "GUESSED: neg, cat read parts of a tensor that differ only in their offsets" in text
    plain = source(kernel(m.only(nn.GELU(), _tensor(3, 5))), TOLD)
    assert "GUESSED" not in plain
