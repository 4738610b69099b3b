"""Fourier transforms as cuFFT launches them: one kernel a dimension where it fits on chip.

Read off 390 transforms on an H200 (cuFFT of CUDA 13.0), whose kernels' names say their lengths. A
length of small primes is one kernel up to what a streaming multiprocessor's shared memory holds;
a longer one has a kernel for each power of a prime, or two where that is large. A length with a
prime over 127 is a convolution (Bluestein, "A linear filtering approach to the computation of
discrete Fourier transform", 1970) of at least twice its length.
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
"""Bytes of the longest sequence that one kernel holds: 17,496 complex numbers of 8 bytes."""
_REAL_AT_ONCE = {True: 32768, False: 1024}
"""The longest real sequence, a power of 2 or not, whose two halves one kernel also separates."""
_SMALL_PRIME, _LARGEST_PRIME = 31, 127
"""Butterflies of a prime up to the first are held in registers; those up to the second are sums by
the definition (`prime_fft`)."""
_LARGEST_FACTOR = {True: 4096, False: 1024}
"""Of a kernel's length where several share one: a power of 2, or of another prime."""
_BLUESTEIN_AT_ONCE = 8192


@lowering("fft")
def transform(op: Signature, work: Work, gpu: GPU) -> tuple[Work, ...]:
    """The kernels of one call. Its last length is that of what is real, which comes first on the
    way to complex numbers and last on the way back."""
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


def _real(work: Work, length: int, rows: Any, apart: bool) -> list[Work]:
    """One kernel; else half as many complex numbers, or as many where the length is odd, and a
    pass that separates the halves."""
    item_bytes = work.dims["item_bytes"]
    half = rows * (length // 2 + 1) * item_bytes
    whole = rows * length * item_bytes // 2
    power = length & (length - 1) == 0
    primes = _primes(length)
    held = max(primes) <= (_LARGEST_PRIME if len(primes) == 1 else _SMALL_PRIME)
    if held and length <= _REAL_AT_ONCE[power]:
        return [_kernel(work, length, rows, apart, (whole, half), primes, "real")]
    odd = length % 2
    packed = rows * length * item_bytes if odd else whole
    turns = [_turn(work, whole, packed)] if odd or apart else []
    found = [*_complex(work, length if odd else length // 2, rows, False)]
    halves = _turn(work, packed, half)
    return [*turns, *found, halves] if work.dims["kind"] == "r2c" else [halves, *found, *turns]


def _complex(work: Work, length: int, rows: Any, apart: bool) -> list[Work]:
    """`rows` sequences of complex numbers."""
    item_bytes = work.dims["item_bytes"]
    size = rows * length * item_bytes
    primes = _primes(length)
    if length <= 1:
        return []
    if max(primes) > _LARGEST_PRIME:
        least = 2 * length - 1
        if least <= _BLUESTEIN_AT_ONCE:
            longer = 1 << (least - 1).bit_length()
            return [_kernel(work, longer, rows, apart, (size, size), [2] * 20, "bluestein")]
        longer = _smooth(least)
        moved = rows * longer * item_bytes
        steps = 2 * _factors(longer)
        return [
            _kernel(work, n, rows * (longer // n), True, (moved, moved), _primes(n), "factor")
            for n in steps
        ]
    if length * item_bytes <= _ON_CHIP:
        return [_kernel(work, length, rows, apart, (size, size), primes, "complex")]
    return [
        _kernel(work, n, rows * (length // n), True, (size, size), _primes(n), "factor")
        for n in _factors(length)
    ]


def _kernel(
    work: Work,
    length: int,
    rows: Any,
    apart: bool,
    moved: tuple[Any, Any],
    primes: list[int],
    variant: str,
) -> Work:
    """One kernel over `rows` sequences, a block's each: every number meets the others of its
    butterfly, one for each prime of the length. Towards real numbers it reads what it else writes.
    """
    read, write = moved if work.dims["kind"] != "c2r" else moved[::-1]
    halves = 2 if variant == "real" else 1
    slots = rows * length * sum(primes) // halves
    if max(primes) > _SMALL_PRIME:
        variant = "prime"
    elif variant == "complex" and apart:
        variant = "column"
    dims = {
        "variant": variant,
        "length": length,
        "rows": rows,
        "largest": max(primes),
        "apart": apart,
        "item_bytes": work.dims["item_bytes"],
    }
    return replace(
        work, flops=2 * slots, read_bytes=read, write_bytes=write, instructions=slots, dims=dims
    )


def _turn(work: Work, one: Any, other: Any) -> Work:
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
    """Prime factors, the smallest first, each as often as it divides; 1 has itself."""
    found: list[int] = []
    prime = 2
    while prime <= isqrt(length):
        if length % prime:
            prime += 1
        else:
            found.append(prime)
            length //= prime
    return [*found, length] if length > 1 or not found else found


def _factors(length: int) -> list[int]:
    """Lengths whose product it is: a power of each prime, in equal parts where it is large."""
    primes = _primes(length)
    found: list[int] = []
    for prime in sorted(set(primes)):
        times = primes.count(prime)
        parts = 1
        while prime ** -(-times // parts) > _LARGEST_FACTOR[prime == 2]:
            parts += 1
        found += [prime ** (times // parts + (part < times % parts)) for part in range(parts)]
    return sorted(found)


def _smooth(least: int) -> int:
    """The next product of powers of 2, 3 and 5."""
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
