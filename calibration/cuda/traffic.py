"""The work of one call of a kernel, counted from its source."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Traffic:
    """Bytes of the kernel's loads and stores, and the work between them.

    `flops` counts a multiply-add as two, for floats and integers; `functions` counts evaluations of
    a special function, for which no FLOP count is agreed. The sweep determines whether the bytes
    come from DRAM or from L2, by the size of the operands.
    """

    read_bytes: int
    written_bytes: int
    flops: int = 0
    functions: int = 0

    @property
    def bytes(self) -> int:
        """The sum of both directions, as bandwidths are usually quoted."""
        return self.read_bytes + self.written_bytes


def ceil_div(numerator: int, denominator: int) -> int:
    """The quotient, rounded up: the number of blocks of `denominator` that cover `numerator`."""
    return -(-numerator // denominator)
