"""Fourier transforms through cuFFT: real and complex, of one and two dimensions, batched."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from random import Random
from typing import Any

import torch
from torch import Tensor

from calibration.sweeps.operands import random
from calibration.sweeps.registry import Call, Params, operation
from calibration.sweeps.shapes import pick, sweep, whole

LARGEST_ELEMENTS = 2**26
_PRIMES = (7, 13, 31, 61, 127, 251, 509, 1021, 2039, 4093, 8191, 16381, 65537, 131071, 524287)
_TRANSFORMS: dict[str, Callable[..., Any]] = {
    "r2c": torch.fft.rfftn,
    "c2c": torch.fft.fftn,
    "inverse": torch.fft.ifftn,
    "c2r": torch.fft.irfftn,
}


def _smooth(rng: Random, low: int, high: int) -> int:
    """The smallest product of powers of 2, 3, 5 and 7 above a log-uniform number."""
    size = whole(rng, low, high)
    while True:
        rest = size
        for prime in (2, 3, 5, 7):
            while rest % prime == 0:
                rest //= prime
        if rest == 1:
            return size
        size += 1


def _length(rng: Random, kind: str, low: int, high: int) -> int:
    if kind == "power":
        return 1 << rng.randint(low.bit_length(), high.bit_length() - 1)
    if kind == "smooth":
        return _smooth(rng, low, high)
    if kind == "prime":
        return rng.choice([p for p in _PRIMES if low <= p <= high])
    return whole(rng, low, high)


def _signal(rng: Random) -> Params | None:
    dims = int(pick(rng, {"1": 6.0, "2": 4.0}))
    kind = pick(rng, {"power": 4.0, "smooth": 3.0, "prime": 1.5, "any": 1.5})
    dtype = pick(rng, {"fp32": 5.0, "fp16": 1.0}) if kind == "power" else "fp32"
    high = 2**22 if dims == 1 else 2**12
    lengths = [_length(rng, kind, 8, high)]
    if dims == 2:
        lengths.append(lengths[0] if rng.random() < 0.6 else _length(rng, kind, 8, high))
    batch = 1 if rng.random() < 0.15 else whole(rng, 1, 65536)
    if not 1000 <= batch * prod(lengths) <= LARGEST_ELEMENTS:
        return None
    name = pick(rng, {"r2c": 3.0, "c2r": 3.0, "c2c": 2.0, "inverse": 1.0})
    return {
        "name": name,
        "dtype": dtype,
        "batch": batch,
        "lengths": lengths,
        "first": dims == 1 and batch > 1 and rng.random() < 0.12,
    }


@operation(sweep("fourier", 360, _signal))
def fourier(name: str, dtype: str, batch: int, lengths: list[int], first: bool) -> Call:
    """Transform `batch` signals or images along their last dimensions; with `first`, signals along
    the first dimension, so that their elements are `batch` apart."""
    half = [*lengths[:-1], lengths[-1] // 2 + 1]
    shape = half if name == "c2r" else lengths
    order = (*shape, batch) if first else (batch, *shape)
    x = random(*order, dtype=dtype) if name == "r2c" else _complex(*order, dtype=dtype)
    dims = [0] if first else list(range(1, len(order)))
    run = _TRANSFORMS[name]
    if name == "c2r":
        return lambda: run(x, s=lengths, dim=dims)
    return lambda: run(x, dim=dims)


def _complex(*shape: int, dtype: str) -> Tensor:
    return torch.view_as_complex(random(*shape, 2, dtype=dtype))


def _convolved(rng: Random) -> Params | None:
    batch, channels, length = whole(rng, 1, 64), whole(rng, 16, 1024), 1 << rng.randint(8, 15)
    if batch * channels * length > LARGEST_ELEMENTS // 4:
        return None
    return {"batch": batch, "channels": channels, "length": length}


@operation(sweep("long_convolution", 24, _convolved))
def long_convolution(batch: int, channels: int, length: int) -> Call:
    """Convolve [batch, channels, length] with a filter of the same length in the frequency domain,
    as in Hyena."""
    x = random(batch, channels, length, dtype="fp32")
    taps = random(channels, length, dtype="fp32")

    def run() -> Tensor:
        spectrum = torch.fft.rfft(x, n=2 * length) * torch.fft.rfft(taps, n=2 * length)
        return torch.fft.irfft(spectrum, n=2 * length)[..., :length]

    return run


def _windows(rng: Random) -> Params:
    return {
        "batch": whole(rng, 1, 64),
        "samples": whole(rng, 16000, 480000),
        "window": rng.choice([256, 400, 512, 1024, 2048]),
    }


@operation(sweep("spectrogram", 24, _windows))
def spectrogram(batch: int, samples: int, window: int) -> Call:
    """Short-time transforms of sound [batch, samples], with hops of a quarter of a window."""
    x, shape = random(batch, samples, dtype="fp32"), torch.rand(window) + 0.1
    return lambda: torch.stft(x, window, window // 4, window=shape, return_complex=True)
