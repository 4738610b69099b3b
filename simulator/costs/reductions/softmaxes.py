"""Softmax and its logarithm, forward and backward, with the kernel that PyTorch chooses.

Short rows take one warp each. Longer rows take one block each, which holds the row in registers or
shared memory if it fits. Another kernel computes rows whose elements are not adjacent
(ATen/native/cuda/SoftMax.cu, `host_softmax` and `host_softmax_backward`; PersistentSoftmax.cuh).
`dims` are those of a reduction. `steps` counts the serial loads of a thread or, for a row in a
warp, the serial slots of a lane; `runs` counts the blocks.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from simulator.costs.compiled_traits import Traits
from simulator.costs.curves import curve_rule
from simulator.costs.kernels.elementwise import Steps, elementwise
from simulator.costs.kernels.iterator import lane_dtype
from simulator.costs.movement.copies import move
from simulator.costs.reductions.dimensions import loads, reduced_dims, shape_of
from simulator.costs.registry import Work, cost
from simulator.records import Signature, Tensor, row_major

_THREADS = 1024
_SHARED_BYTES = 48 * 1024
_FRAME = 16
"""Approximate instructions with which a thread locates its rows and exits."""
_KEPT, _WRITTEN, _DIVIDED = 22, 9, 21
"""Slots of a warp for each element of the padded row (load, maximum, exponential, sum), and for
each element that is written: a difference, or a division. On an H200 full rows of 256 take 54 slots
per element in softmax and 39 in log-softmax, rows of 192 take 63 and 48 slots. In rows of more than
1,024 elements a write takes 1.5 times as long (78 slots for 1,902 elements), because their lanes
hold so many registers that few other warps can run."""
_WAITS = 66
"""Issue slots between two divisions of a lane, which run one after the other because each checks
its operands. A row of 1,211 takes 5.5 µs in softmax and 3.0 µs in log-softmax."""
_ZERO = 30
"""Additional instructions of a warp if it divides 0, as under a mask: such a division takes the
path of denormal numbers. On an H200 128 × 512 rows of 512 take 73 µs with one half masked and 52 µs
without a mask; 32 × 1,024 rows of 1,024 in fp16 take 77 and 49 µs. The softmax of T5's decoder
takes 16 µs, that of its encoder 12 µs."""
_ZERO_WAITS = 200
"""Additional slots of a lane before its next division if it divides only zeros: 12 × 64 rows of 64
take 1.9 µs instead of 1.4."""
_MASKED = 27
"""Additional instructions for each element of a row with a mask, which a warp reads and tests in
each of its loops: 32 × 8 × 256 rows of 256 in fp16 take 46 µs on an H200."""
_PAIRED = 128
"""Largest number of elements per row with which a warp takes two rows (`WARP_BATCH` of
PersistentSoftmax.cuh)."""
_REGISTERS = 9
"""Maximum number of elements of a row that a thread holds in registers."""


def _power(value: int) -> int:
    """The smallest power of 2 that is at least `value`."""
    return 1 << max(value - 1, 0).bit_length()


def _across_dims(dims: dict[str, int], backward: bool) -> dict[str, Any]:
    """One thread per row, or several if few rows are adjacent. Each thread visits its elements
    three times, and counts as two threads because of its registers
    (`SpatialSoftMax_getBlockSize`)."""
    cols, inner = dims["cols"], dims["inner"]
    wide, high = min(inner, _THREADS), 1
    if wide <= 64 <= cols:
        while wide * high <= _THREADS and high <= cols:
            high *= 2
        high //= 2
    return {
        "variant": "across_backward" if backward else "across",
        "blocks": dims["rows"] // inner * -(-inner // wide),
        "threads": 2 * wide * high,
        "steps": 3 * -(-cols // high),
    }


def _outputs_named(dims: dict[str, int], across: bool) -> dict[str, int]:
    """Rename "rows" to "outputs" if rows lie across memory, where a block computes several rows."""
    return {"outputs" if across and name == "rows" else name: n for name, n in dims.items()}


def _along_dims(op: Signature, cols: int, rows: int, backward: bool) -> dict[str, Any]:
    """The kernel that computes packed rows, and its coordinates."""
    item, result = op.inputs[0].itemsize, op.out.itemsize
    most = 1024 if backward else 2048
    way = "backward" if backward else "forward"
    if cols <= most and cols * item <= 4 * most:
        padded = _power(cols)
        steps = -(-padded // 32)
        if not backward:
            own = _WRITTEN if "log" in op.name else _WAITS
            steps = (_KEPT * steps + own * -(-cols // 32)) * (2 if padded <= _PAIRED else 1)
        return {"variant": f"warp_{way}", "padded": padded, "steps": steps}
    wide = 16 // item
    row = {"runs": rows, "itemsize": item}
    if not backward and item == result and cols <= _REGISTERS * _THREADS:
        return {**row, "variant": "registers", "steps": -(-cols // _THREADS)}
    itemsize = result if backward else item
    threads = min(_power(cols // wide + 1) // 2, _THREADS) if backward else _THREADS
    shared = cols % wide == 0 and cols * itemsize < _SHARED_BYTES - 4 * threads // 32
    return {
        **row,
        "variant": f"block_{way}",
        "shared": shared,
        "steps": -(-cols // (threads * wide)),
    }


def _slots_of_warp(padded: int, elements: int, reductions: int) -> int:
    """Instructions of a row's lanes: `elements` for its elements, a shuffle and an operation for
    each halving of the lanes, and `_FRAME`."""
    lanes = min(padded, 32)
    halvings = lanes.bit_length() - 1
    return elements + lanes * (2 * reductions * halvings + _FRAME)


def _forward_slots(padded: int, cols: int, log: bool) -> int:
    """Instructions of a row's elements: all lanes run while any lane has an element to write."""
    lanes = min(padded, 32)
    written = -(-cols // lanes) * lanes
    each = (_WRITTEN if log else _DIVIDED) * (1.5 if padded > 1024 else 1)
    return _KEPT * padded + round(each * written)


def softmax_like(
    op: Signature, per_element: Steps, per_row: Steps, backward: bool = False
) -> tuple[Work, ...]:
    """One softmax kernel over dimension `dim` of the first input, after a copy of each input that
    is not contiguous."""
    if not op.inputs[0].numel:
        return ()
    packed = [replace(t, stride=row_major(t.shape)) for t in op.inputs]
    pairs = [(t, p) for t, p in zip(op.inputs, packed, strict=True) if not t.contiguous]
    if pairs:
        copies = tuple(work for t, p in pairs for work in move(t, p))
        inner = replace(op, inputs=tuple(packed))
        return *copies, *softmax_like(inner, per_element, per_row, backward)
    source = op.inputs[0]
    dims = shape_of(source, reduced_dims(op, source))
    elements = source.numel
    rows, cols = dims["rows"], dims["cols"]
    across = dims["inner"] > 1
    kernel_dims = _across_dims(dims, backward) if across else _along_dims(op, cols, rows, backward)
    slots = per_element[1] * rows * cols
    if "padded" in kernel_dims:
        padded = kernel_dims["padded"]
        row = per_element[1] * padded
        if not backward:
            row = _forward_slots(padded, cols, "log" in op.name)
            row += _MASKED * padded if "mask" in op.names else 0
        slots = rows * _slots_of_warp(padded, row, 1 if backward else 2)
    work = Work(
        "softmax",
        flops=per_element[0] * elements + per_row[0] * rows,
        read_bytes=op.read_bytes,
        write_bytes=op.write_bytes,
        dtype=lane_dtype([*op.inputs, *op.outputs]),
        instructions=slots + per_row[1] * rows,
        dims={**_outputs_named(dims, across), **kernel_dims, "log": "log" in op.name},
    )
    return (work,)


def with_zero_exponentials(work: Work, zeros: int) -> Work:
    """A forward softmax in which `zeros` elements have an exponential of 0. Kernels with one block
    per row hide the extra time behind the wait for their sums."""
    if work.dims.get("variant") != "warp_forward":
        return work
    share = zeros / (work.dims["rows"] * work.dims["cols"])
    more = _ZERO_WAITS * share * -(-work.dims["cols"] // 32)
    dims = work.dims | {"steps": work.dims["steps"] + round(more)}
    return replace(work, instructions=work.instructions + _ZERO * zeros, dims=dims)


@cost("aten._softmax.default", traits=Traits(row_slots=(20, 50)))
@cost("aten._masked_softmax.default")
def softmax(op: Signature) -> tuple[Work, ...]:
    """max, subtract, exp, add, divide: 5 FLOPs per element."""
    return softmax_like(op, (5, 22), (0, 0))


@cost("aten._log_softmax.default", traits=Traits(row_slots=(14, 50)))
def log_softmax(op: Signature) -> tuple[Work, ...]:
    """max, subtract, exp, add, subtract the log: 5 FLOPs per element and one log per row."""
    return softmax_like(op, (5, 15), (1, 10))


@cost("aten._softmax_backward_data.default", traits=Traits(row_slots=(4, 6)))
@cost("aten._masked_softmax_backward.default")
def softmax_backward(op: Signature) -> tuple[Work, ...]:
    """g·y first, in a separate kernel (ATen/native/cuda/SoftMax.cu, `softmax_backward_cuda_out`),
    then y·(g - sum(g·y)): add, subtract, multiply."""
    product = replace(op, names=("self", "other"), inputs=op.inputs[:2], aliases=())
    return *elementwise(product, (1, 1)), *softmax_like(op, (3, 5), (0, 0), True)


@cost("aten._log_softmax_backward_data.default", traits=Traits(row_slots=(12, 14)))
def log_softmax_backward(op: Signature) -> tuple[Work, ...]:
    """g - exp(y)·sum(g): add, exp, multiply, subtract."""
    return softmax_like(op, (4, 13), (0, 0), True)


@cost("aten._safe_softmax.default")
def safe_softmax(op: Signature) -> tuple[Work, ...]:
    """Softmax whose rows of -inf become 0 (`_safe_softmax` of ATen/native/transformers/
    attention.cpp): softmax, isneginf, all, a scalar, where."""
    source, out = op["self"], op.out
    if not source.numel:
        return ()
    (*copies, main) = softmax_like(op, (5, 22), (0, 0))
    rows = out.numel // main.dims["cols"]
    mask = Tensor(source.shape, "bool", source.stride)
    scalar = Work("fill", write_bytes=out.itemsize, instructions=2, dims={"elements": 1})
    equal = replace(op, inputs=(source,), outputs=(mask,), names=("self",), aliases=())
    over = reduced_dims(op, source)
    dims = {**shape_of(mask, over), **loads(mask, over), "kind": "truth", "again": True}
    every = Work("reduction", mask.numel, mask.numel, rows, instructions=3 * mask.numel, dims=dims)
    sizes = tuple(1 if dim in over else size for dim, size in enumerate(source.shape))
    row_mask = Tensor(sizes, "bool", row_major(sizes))
    choose = replace(
        op, inputs=(row_mask, out), outputs=(out,), names=("condition", "other"), aliases=()
    )
    return (*copies, main, *elementwise(equal, (1, 1)), every, scalar, *elementwise(choose, (0, 1)))


@curve_rule("softmax")
def softmax_curve(work: Work) -> str:
    """Name of the curve: the warp kernel computes rows of up to 1,024 elements."""
    return "softmax_warp" if work.dims.get("cols", 0) <= 1024 else "softmax"
