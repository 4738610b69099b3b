"""Fourier transforms as cuFFT launches them: one kernel per dimension that fits on chip.

The rules were observed for 390 transforms on an H200 (cuFFT of CUDA 13.0), whose kernel names
contain the lengths. A length of small primes is one kernel if it fits in the shared memory of an
SM; a longer length has one kernel per prime power, or two kernels for a large prime power. A length
with a prime over 127 is a convolution (Bluestein, "A linear filtering approach to the computation
of discrete Fourier transform", 1970) of at least twice its length.
"""

from __future__ import annotations

from math import isqrt, prod
from typing import Any

from msgspec.structs import replace

from simulator.costs import Work
from simulator.hardware.gpu import GPU
from simulator.lowering.registry import lowering
from simulator.records import Signature

_ON_CHIP = 140_000
"""Bytes of the longest sequence of one kernel: 17,496 complex numbers of 8 bytes."""
_REAL_AT_ONCE = {True: 32768, False: 1024}
"""Longest real sequence that needs no second kernel to separate its halves, by whether the length
is a power of 2."""
_SMALL_PRIME, _LARGEST_PRIME = 31, 127
"""Primes up to the first number are computed by butterflies in registers, primes up to the second
one by direct sums (`prime_fft`)."""
_LARGEST_FACTOR = {True: 4096, False: 1024}
"""Largest factor of a length that is split over kernels: a power of 2, or of another prime."""
_BLUESTEIN_AT_ONCE = 8192


@lowering("fft")
def transform(op: Signature, work: Work, gpu: GPU) -> tuple[Work, ...]:
    """The kernels of one call. The last length is the real one: it is transformed first if the call
    goes from real to complex numbers, and last if it goes from complex to real numbers."""
    d = work.dims
    kind, lengths = d["kind"], [int(n) for n in d["lengths"]]
    last, others = lengths[-1], lengths[:-1]
    each = last if kind == "c2c" else last // 2 + 1
    rows = d["batch"] * prod(others)
    columns = [
        one
        for n in reversed(others)
        for one in _complex(work, n, d["batch"] * prod(others) * each // n, True)
    ]
    if kind == "c2c":
        return (*columns, *_complex(work, last, rows, d["apart"]))
    kernels = _real(work, last, rows, d["apart"])
    return (*kernels, *columns) if kind == "r2c" else (*columns, *kernels)


def _real(work: Work, length: int, rows: Any, strided: bool) -> list[Work]:
    """One kernel; or a complex transform of half the length (the full length if odd) and a pass
    that separates the halves."""
    item_bytes = work.dims["item_bytes"]
    half = rows * (length // 2 + 1) * item_bytes
    whole = rows * length * item_bytes // 2
    power = length & (length - 1) == 0
    primes = _primes(length)
    is_direct = max(primes) <= (_LARGEST_PRIME if len(primes) == 1 else _SMALL_PRIME)
    if is_direct and length <= _REAL_AT_ONCE[power]:
        return [_kernel(work, length, rows, strided, (whole, half), primes, "real")]
    odd = length % 2
    packed = rows * length * item_bytes if odd else whole
    passes = [_separation(work, whole, packed)] if odd or strided else []
    factors = [*_complex(work, length if odd else length // 2, rows, False)]
    halves = _separation(work, packed, half)
    return (
        [*passes, *factors, halves] if work.dims["kind"] == "r2c" else [halves, *factors, *passes]
    )


def _complex(work: Work, length: int, rows: Any, strided: bool) -> list[Work]:
    """Kernels of `rows` complex sequences."""
    item_bytes = work.dims["item_bytes"]
    size = rows * length * item_bytes
    primes = _primes(length)
    if length <= 1:
        return []
    if max(primes) > _LARGEST_PRIME:
        least = 2 * length - 1
        if least <= _BLUESTEIN_AT_ONCE:
            padded_length = 1 << (least - 1).bit_length()
            return [
                _kernel(work, padded_length, rows, strided, (size, size), [2] * 20, "bluestein")
            ]
        padded_length = _next_smooth(least)
        traffic = rows * padded_length * item_bytes
        steps = 2 * _factors(padded_length)
        return [
            _kernel(
                work, n, rows * (padded_length // n), True, (traffic, traffic), _primes(n), "factor"
            )
            for n in steps
        ]
    if length * item_bytes <= _ON_CHIP:
        return [_kernel(work, length, rows, strided, (size, size), primes, "complex")]
    return [
        _kernel(work, n, rows * (length // n), True, (size, size), _primes(n), "factor")
        for n in _factors(length)
    ]


def _kernel(
    work: Work,
    length: int,
    rows: Any,
    strided: bool,
    traffic: tuple[Any, Any],
    primes: list[int],
    variant: str,
) -> Work:
    """One kernel over `rows` sequences, one block each, with a butterfly per prime of the length.
    A complex-to-real kernel swaps the `traffic` read and written.
    """
    read, write = traffic if work.dims["kind"] != "c2r" else traffic[::-1]
    halves = 2 if variant == "real" else 1
    slots = rows * length * sum(primes) // halves
    if max(primes) > _SMALL_PRIME:
        variant = "prime"
    elif variant == "complex" and strided:
        variant = "column"
    dims = {
        "variant": variant,
        "length": length,
        "rows": rows,
        "largest": max(primes),
        "apart": strided,
        "item_bytes": work.dims["item_bytes"],
    }
    return replace(
        work, flops=2 * slots, read_bytes=read, write_bytes=write, instructions=slots, dims=dims
    )


def _separation(work: Work, one: Any, other: Any) -> Work:
    """A pass between real numbers and their transform."""
    read, write = (one, other) if work.dims["kind"] == "r2c" else (other, one)
    elements = write // work.dims["item_bytes"]
    return Work(
        "fft",
        0,
        read,
        write,
        dtype=work.dtype,
        instructions=10 * elements,
        dims={"variant": "turn", "elements": elements},
    )


def _primes(length: int) -> list[int]:
    """Prime factors with multiplicity, smallest first; [1] for 1."""
    factors: list[int] = []
    prime = 2
    while prime <= isqrt(length):
        if length % prime:
            prime += 1
        else:
            factors.append(prime)
            length //= prime
    return [*factors, length] if length > 1 or not factors else factors


def _factors(length: int) -> list[int]:
    """Factors of `length`, one for each prime: the prime's power, split into equal parts if it is
    large."""
    primes = _primes(length)
    factors: list[int] = []
    for prime in sorted(set(primes)):
        times = primes.count(prime)
        parts = 1
        while prime ** -(-times // parts) > _LARGEST_FACTOR[prime == 2]:
            parts += 1
        factors += [prime ** (times // parts + (part < times % parts)) for part in range(parts)]
    return sorted(factors)


def _next_smooth(least: int) -> int:
    """The smallest product of powers of 2, 3 and 5 that is at least `least`."""
    best = 1 << (least - 1).bit_length()
    five = 1
    while five < best:
        three = five
        while three < best:
            twos = three << max(0, (-(-least // three) - 1).bit_length())
            best = min(best, twos)
            three *= 3
        five *= 5
    return best
