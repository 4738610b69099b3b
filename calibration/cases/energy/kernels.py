"""The kernels of the energy measurement. Each function prepares random operands and returns the
call of one iteration, or returns a function `make(device, shrink)` that does so, as `cases.energy`
expects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

Call = Callable[[], object]
Make = Callable[[str, int], Call]
MIB = 2**20

_DTYPES = {
    "bf16": torch.bfloat16,
    "fp16": torch.float16,
    "fp32": torch.float32,
    "tf32": torch.float32,
    "fp64": torch.float64,
}


def product(dtype: str, m: int, n: int, k: int, data: str = "normal", shrink: int = 1) -> Call:
    """[m, k] @ [k, n] with new operands on the default device."""
    m, n, k = m // shrink or 1, n // shrink or 1, k // shrink or 1
    if dtype == "fp8":
        return _scaled_product(m, n, k)
    a, b = (torch.randn(*shape).to(_DTYPES[dtype]) for shape in ((m, k), (k, n)))
    if data == "zeros":
        a, b = torch.zeros_like(a), torch.zeros_like(b)
    if data == "relu":
        a = a.relu()
    out = torch.empty(m, n, dtype=a.dtype)

    def run() -> None:
        torch.backends.cuda.matmul.allow_tf32 = dtype == "tf32"
        torch.mm(a, b, out=out)

    return run


def _scaled_product(m: int, n: int, k: int) -> Call:
    a, b = (torch.randn(rows, k).to(torch.float8_e4m3fn) for rows in (m, n))
    one = torch.ones(())
    scaled: Any = torch._scaled_mm  # pyright: ignore[reportPrivateImportUsage, reportPrivateUsage]
    return lambda: scaled(a, b.t(), one, one, out_dtype=torch.bfloat16)


def copy(mib: int, shrink: int = 1) -> Call:
    """A copy of this many MiB of float32 on the default device."""
    source = torch.randn(mib * MIB // 4 // shrink)
    target = torch.empty_like(source)
    return lambda: target.copy_(source)


def pointwise(function: Callable[[Tensor], object], mib: int, dtype: torch.dtype, rows: int = 1024):
    """The `make` of a case: `function` applied to a matrix of this many MiB."""

    def make(_: str, shrink: int) -> Call:
        count = mib * MIB // dtype.itemsize // shrink**2
        x = torch.randn(count // rows or 1, rows).to(dtype)
        return lambda: function(x)

    return make


def cosines_of(x: Tensor, count: int) -> Tensor:
    """The cosine function, applied `count` times to `x`."""
    for _ in range(count):
        x = x.cos()
    return x


def cosines(count: int) -> Make:
    """The `make` of a case: `count` cosines of 64 Mi numbers in one generated kernel."""

    def make(device: str, shrink: int) -> Call:
        x = torch.randn(2**26 // shrink**2)
        fused = torch.compile(cosines_of) if device == "cuda" else cosines_of
        return lambda: fused(x, count)

    return make


def decode(_: str, shrink: int) -> Call:
    """An attention call with one query for each of 64 sequences of 1,024 tokens, and with 8 key
    heads for 32 query heads."""
    q, k, v = (
        torch.randn(64 // shrink or 1, heads, tokens, 128, dtype=torch.bfloat16)
        for heads, tokens in ((32, 1), (8, 1024), (8, 1024))
    )
    return lambda: F.scaled_dot_product_attention(q, k, v, enable_gqa=True)


_CHAIN = """
template <typename T> T NAME(T x) {
  T a = x, b = x + 1, c = x + 2, d = x + 3;
  for (int i = 0; i < 256; i++) { BODY }
  return a + b + c + d;
}"""
_BODIES = {
    "multiply_adds": "a = a * T(0.999) + x; b = b * T(0.999) + x;"
    " c = c * T(0.999) + x; d = d * T(0.999) + x;",
    "exponentials": "a = __expf(-a); b = __expf(-b); c = __expf(-c); d = __expf(-d);",
}
CHAIN_ELEMENTS = 2**22


def chain(body: str) -> Make:
    """The `make` of a case: 1024 instructions on each of 4 Mi numbers, in registers."""

    def make(device: str, shrink: int) -> Call:
        code = _CHAIN.replace("NAME", body).replace("BODY", _BODIES[body])
        function = torch.cuda.jiterator._create_jit_fn(code)  # pyright: ignore[reportPrivateUsage]
        x = torch.randn(CHAIN_ELEMENTS // shrink).abs_()
        return lambda: function(x)

    return make


def pause(cycles: int, device: str) -> Call:
    """One thread that waits for `cycles` cycles; the rest of the GPU is idle at the same clock."""
    return (lambda: torch.cuda._sleep(cycles)) if device == "cuda" else int  # pyright: ignore[reportPrivateUsage]


def interleaved(product_n: int, copies_mib: int = 0, cycles: int = 0, dtype: str = "bf16"):
    """The `make` of a case: a product, then copies of 1 GiB or a pause."""

    def make(device: str, shrink: int) -> Call:
        first = product(dtype, product_n, product_n, product_n, shrink=shrink)
        rest = [copy(1024, shrink)] * (copies_mib // 1024)
        rest += [pause(cycles, device)] if cycles else []

        def run() -> None:
            first()
            for each in rest:
                each()

        return run

    return make


def by_turns(device: str, shrink: int) -> Call:
    """A call that runs 0.13 s of products, then 0.13 s of copies, to see whether the clock follows
    the load."""
    first = product("bf16", 8192, 8192, 8192, shrink=shrink)
    second = copy(1024, shrink)

    def run() -> None:
        for _ in range(80):
            first()
        for _ in range(240):
            second()

    return run


def attention(device: str, shrink: int) -> Call:
    q, k, v = (torch.randn(8, 32, 4096 // shrink, 128).bfloat16() for _ in range(3))
    return lambda: F.scaled_dot_product_attention(q, k, v)


def convolution(device: str, shrink: int) -> Call:
    x = torch.randn(64, 256, 56 // shrink or 3, 56 // shrink or 3).half()
    weight = torch.randn(256, 256, 3, 3).half()
    x, weight = (t.to(memory_format=torch.channels_last) for t in (x, weight))
    return lambda: F.conv2d(x, weight, padding=1)
