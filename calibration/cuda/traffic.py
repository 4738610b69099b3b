"""What one call of a kernel does, counted from its source."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Traffic:
    """Bytes that the kernel's loads and stores name, and the work between them.

    `flops` counts a fused multiply-add as two and an integer one likewise; `functions` counts
    evaluations of a special function, whose FLOPs nobody agrees on. Whether the bytes come from
    DRAM or from L2 is the sweep's business: operands of one call fit in L2 or they do not.
    """

    read_bytes: int
    written_bytes: int
    flops: int = 0
    functions: int = 0

    @property
    def bytes(self) -> int:
        """Both ways together, as a bandwidth is usually quoted."""
        return self.read_bytes + self.written_bytes


def ceil_div(numerator: int, denominator: int) -> int:
    """Blocks of `denominator` that cover `numerator`, the last one perhaps in part."""
    return -(-numerator // denominator)
