"""Dropout, then a residual add: x·keep / (1 − p) + residual.

The kernel draws from Philox 4×32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3",
2011), four numbers per counter. The reference implements Philox itself, so that the mask is checked
bit by bit; eager dropout draws other numbers, so that it is timed but not compared.
"""

# pyright: reportMissingParameterType=false
from __future__ import annotations

import torch
import triton
import triton.language as tl

from calibration.fused.variant import DTYPES, Traffic, jit, variant

QUARTER = 256
"""Counters of one program, which processes four times as many elements."""
SEED = 0x5DEECE66D
_WORD = 0xFFFFFFFF


@jit
def _kernel(x, residual, out, size, p, seed, QUARTER: tl.constexpr):
    counter = tl.program_id(0) * QUARTER + tl.arange(0, QUARTER)
    first = tl.program_id(0) * (4 * QUARTER) + tl.arange(0, QUARTER)
    u0, u1, u2, u3 = tl.rand4x(seed, counter)
    _drop(x, residual, out, first, size, p, u0)
    _drop(x, residual, out, first + QUARTER, size, p, u1)
    _drop(x, residual, out, first + 2 * QUARTER, size, p, u2)
    _drop(x, residual, out, first + 3 * QUARTER, size, p, u3)


@jit
def _drop(x, residual, out, at, size, p, uniform):
    inside = at < size
    y = tl.load(x + at, mask=inside).to(tl.float32)
    y = tl.where(uniform > p, y / (1.0 - p), 0.0)
    y += tl.load(residual + at, mask=inside).to(tl.float32)
    tl.store(out + at, y, mask=inside)


def unfused(x: torch.Tensor, residual: torch.Tensor, p: float) -> torch.Tensor:
    """The ops that `F.dropout(x, p) + residual` calls on a GPU."""
    return torch.native_dropout(x, p, True)[0] + residual


def reference(x: torch.Tensor, residual: torch.Tensor, p: float) -> torch.Tensor:
    """The result with the same mask as the kernel's, drawn a second time."""
    mask = uniform(x.numel(), x.device).reshape(x.shape) > torch.tensor(p, dtype=torch.float32)
    return torch.where(mask, x / (1 - p), 0) + residual


def uniform(size: int, device: torch.device) -> torch.Tensor:
    """The fp32 numbers in [0, 1) that the kernel compares with p, element by element."""
    at = torch.arange(size, device=device)
    block, within = at // (4 * QUARTER), at % (4 * QUARTER)
    words = torch.stack(_philox(block * QUARTER + within % QUARTER))
    word = words.gather(0, (within // QUARTER)[None])[0]
    signed = torch.where(word < 2**31, word, _WORD - word)  # for negative w, −w − 1
    return signed.to(torch.float32) * 4.6566127342e-10  # the largest float under 2⁻³¹


def _philox(counter: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Ten rounds on (counter, 0, 0, 0), 32-bit words held in int64."""
    c0, c1, c2, c3 = counter & _WORD, counter * 0, counter * 0, counter * 0
    k0, k1 = SEED & _WORD, SEED >> 32
    for _ in range(10):
        high0, low0 = _product(c0, 0xD2511F53)
        high1, low1 = _product(c2, 0xCD9E8D57)
        c0, c1, c2, c3 = high1 ^ c1 ^ k0, low1, high0 ^ c3 ^ k1, low0
        k0, k1 = (k0 + 0x9E3779B9) & _WORD, (k1 + 0xBB67AE85) & _WORD
    return c0, c1, c2, c3


def _product(word: torch.Tensor, factor: int) -> tuple[torch.Tensor, torch.Tensor]:
    """High and low 32 bits of a 64-bit product, computed by halves, since int64 is signed."""
    low, high = word * (factor & 0xFFFF), word * (factor >> 16)  # each under 2⁴⁸
    return ((low >> 16) + high) >> 16, (low + ((high & 0xFFFF) << 16)) & _WORD


def operands(size: int, p: float, dtype: str) -> tuple[torch.Tensor, torch.Tensor, float]:
    """x and residual of `size` elements, and the share that is dropped."""
    x = torch.randn(size, dtype=DTYPES[dtype])
    return x, torch.randn(size, dtype=DTYPES[dtype]), p


def traffic(size: int, p: float, dtype: str) -> Traffic:
    """Reads x and residual, writes the sum; no mask is stored."""
    # multiply by the mask and by 1 / (1 − p), add; random numbers do not count
    return Traffic(3 * size * DTYPES[dtype].itemsize, size * (2 + 1))


@variant(
    unfused=unfused,
    reference=reference,
    operands=operands,
    traffic=traffic,
    points=[
        {"size": 2**log2, "p": p, "dtype": dtype}
        for log2, p in (
            (12, 0.1),
            (16, 0.1),
            (18, 0.5),
            (20, 0.1),
            (22, 0.1),
            (24, 0.5),
            (27, 0.1),
            (14, 0.1),
            (19, 0.1),
            (21, 0.5),
            (23, 0.1),
            (25, 0.1),
        )
        for dtype in ("bf16", "fp32")
    ],
    irregular=[{"size": 1, "p": 0.5}, {"size": 1500, "p": 0.1}, {"size": 2049, "p": 0.9}],
)
def fused(x: torch.Tensor, residual: torch.Tensor, p: float) -> torch.Tensor:
    """Random numbers, mask, scale and add in one kernel."""
    out = torch.empty_like(x)
    grid = (triton.cdiv(x.numel(), 4 * QUARTER),)
    _kernel[grid](x, residual, out, x.numel(), p, SEED, QUARTER=QUARTER)
    return out
