"""The division of a fused kernel, handwritten in Triton, into programs.

A program takes 1024 independent elements, or whole rows, each padded to a power of two, up to 2048
elements. A row that exceeds its registers is processed in parts (`calibration.fused.tile`, and
Triton's tutorials).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from simulator.fusion.kinds import kind
from simulator.records import Signature

_IN_REGISTERS = 16384  # maximum elements of a row in registers, with its padding
_PART = 4096  # elements of a part of a longer row
_ALONE, _ROWS = 1024, 2048  # elements of a program
_WARP = 512  # elements of a row that one warp sums
_VECTOR = 16
_ONE_BY_ONE = 4
IN_L1 = 64 * 1024
"""Bytes of an operand that L1 keeps from one program to the next: a bias, a norm's weight."""


def programs(elements: int, rows: int, cols: int) -> tuple[int, int]:
    """The number of programs, and of their lanes (more than `elements` if rows are padded)."""
    if not rows:
        count = -(-elements // _ALONE)
        return count, count * _ALONE
    width = 1 << max(cols - 1, 0).bit_length()
    if width > _IN_REGISTERS:
        return rows, rows * -(-cols // _PART) * _PART
    high = max(1, _ROWS // width)
    count = -(-rows // high)
    return count, count * high * width


def slots(arithmetic: int, operands: int, elements: int, rows: int, cols: int) -> int:
    """Issue slots: the arithmetic and, per element, a load or store of each of `operands`.

    Triton treats rows as aligned if 16 divides their length. Otherwise each element has a separate
    load, with an address and a bound. That takes 3.5 to 4.7 more slots, according to the machine
    code and to the times of rows of 50,257 and of 32,000 elements."""
    loads = operands + (_ONE_BY_ONE if rows and cols % _VECTOR else 0)
    return -(-(arithmetic + loads * elements) * programs(elements, rows, cols)[1] // elements)


_SUMS = {"_softmax": 2, "_log_softmax": 2, "logsumexp": 2, "native_layer_norm": 2, "var": 2}
_SHUFFLE, _EXCHANGE, _FETCH = 5, 60, 110
"""Waits in slots of 5 clocks, about the time of an instruction that depends on the previous one. In
this order, they are the waits for a halving of a warp's lanes; for a barrier, with the exchange
between warps through shared memory; and for a load from L2. A softmax of 32 rows takes 0.35 µs
longer if several warps share a row."""


def sums(ops: Iterable[Signature]) -> int:
    """The number of serial sums and maxima over rows."""
    named = [op.name.split(".")[1] for op in ops if kind(op) == "reduction"]
    return sum(_SUMS.get(name, 1) for name in named if not name.startswith("nll_loss"))


def waiting(cols: int, sums: int) -> int:
    """Slots for which a program waits while it sums a row `sums` times, and before it starts the
    next part of the row."""
    part = cols if cols <= _IN_REGISTERS else _PART
    halvings = min(5, max(part // (_WARP // 32), 1).bit_length() - 1)
    each = _SHUFFLE * halvings + (_EXCHANGE if part > _WARP else 0)
    return sums * each + (_FETCH if cols > _IN_REGISTERS else 0)


def cut(slots: int, elements: int, rows: int, cols: int, sums: int) -> dict[str, Any]:
    """The dimensions of a handwritten kernel: `steps` counts the instructions of an element and the
    waits while rows are summed; `trips` counts the serial parts of a row."""
    looped = bool(rows) and cols > _IN_REGISTERS
    count, lanes = programs(elements, rows, cols)
    steps = -(-slots // lanes) + (waiting(cols, sums) if rows else 0)
    trips = -(-cols // _PART) if looped else 1
    return {"programs": count, "looped": looped, "trips": trips, "steps": steps}
