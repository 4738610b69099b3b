"""Recurrent layers as cuDNN launches them: one kernel for all steps, or two or three per step.

The rules were observed on an H200 (cuDNN 9.19) with nn.RNN, GRU and LSTM of 1 to 3 layers, 32 to
1024 wide, over 1 to 250 steps, in float32 and float16, uni- and bidirectional. Bidirectional
bfloat16 LSTMs were observed on an H100.
"""

from __future__ import annotations

from math import ceil, gcd
from typing import Any

from msgspec.structs import replace

from simulator.costs import Work
from simulator.hardware.gpu import GPU
from simulator.lowering.layouts import memset
from simulator.lowering.product import product
from simulator.lowering.registry import lowering
from simulator.records import Signature
from simulator.timing.rates import UNITS_SEEN

_WIDEST, _WIDEST_BACK = 192, 128
"""Largest hidden size of a gated recurrence that is one kernel, forward and backward."""
_PARTS = 4
"""Number of chunks of steps, at least, in which stacked layers overlap."""
_COLUMNS = 32
"""Columns of a step's product for each block."""
_REGISTERS = 256 * 1024
"""Bytes of the register file of an SM, on every GPU since Kepler."""
_TILE, _SPREAD = 128, 1024
"""The sizes of a layer that is spread over all multiprocessors are multiples of the one and at most
the other."""


@lowering("rnn")
def recurrence(op: Signature, work: Work, gpu: GPU) -> tuple[Work, ...]:
    """The recurrence of one layer and direction.

    A narrow layer is one kernel, whose blocks share the batch and keep W_hh, or part of it, in
    registers. A single wide LSTM layer in float16 is spread over the SMs if its sizes are multiples
    of a tile and its batch is small (235 of 235 such layers of `recurrent_layers` and
    `recurrent_cells` in calibration/measurements/h200_sxm, and 2 of 315 others). Otherwise, and
    always in bfloat16, every step launches its product and its cell.
    """
    d = work.dims
    itemsize, one_kernel = op["input"].itemsize, op["input"].dtype != "bfloat16"
    forward = d["direction"] == "fwd"
    gates = d["b"] * d["gates"] * d["hidden"]
    if one_kernel and _is_persistent(work, itemsize):
        persistent = replace(work, dims=_persistent_dims(work, itemsize))
        if not forward:
            return _elementwise(gates, itemsize), persistent  # the last step's cell runs first
        biased = d["kind"] == "gru"  # one of the two biases of the new gate is added first
        return (_elementwise(gates * d["steps"], itemsize), persistent) if biased else (persistent,)
    if one_kernel and itemsize == 2 and d["kind"] == "lstm" and _is_spread(op, work):
        variant = {"variant": "spread" if forward else "spread_backward"}
        spread = replace(work, dims=_persistent_dims(work, itemsize) | variant)
        state = _elementwise(d["b"] * d["hidden"], itemsize)
        # flags for the synchronization between the SMs
        flags = memset(4 * (gpu.units or UNITS_SEEN))
        return (flags, spread) if forward else (state, flags, state, spread, state)
    streams = _streams(op, d["gates"] * d["hidden"])
    step, last = (
        tuple(
            replace(kernel, dims=kernel.dims | streams)
            for kernel in _step(work, itemsize, last=end)
        )
        for end in (False, True)
    )
    return step * (d["steps"] - 1) + last


def _streams(op: Signature, width: int) -> dict[str, Any]:
    """How many kernels of a recurrence cuDNN lets run at once, if the host does not hold them up,
    and the multiprocessors that each takes: both directions of a layer, or stacked layers, of which
    the next one begins after a quarter of the steps. The products have `width` columns."""
    layers: int = op.arg("num_layers", 1)
    streams = 2.0 if op.arg("bidirectional", False) else _PARTS * layers / (_PARTS + layers - 1)
    return {"streams": streams, "stream_blocks": width / _COLUMNS} if streams > 1 else {}


def _is_spread(op: Signature, work: Work) -> bool:
    """Whether a wide LSTM layer is a single kernel on all multiprocessors."""
    d = work.dims
    alone = op.arg("num_layers", 1) == 1 and not op.arg("bidirectional", False)
    in_tiles = d["hidden"] % _TILE == 0 and d["input"] % _TILE == 0
    fits = d["hidden"] <= _SPREAD and d["b"] <= (64 if d["hidden"] <= 512 else 128)
    return alone and in_tiles and fits and d["b"] % 8 == 0 and d["projection"] == d["hidden"]


def _is_persistent(work: Work, itemsize: int) -> bool:
    """Whether the recurrence is a single kernel: up to 192 hidden states, or 128 in the backward
    pass; a recurrence without gates if the registers of an SM hold W_hh."""
    d = work.dims
    if d["gates"] == 1 or d["projection"] != d["hidden"]:
        return _weight_bytes(work, itemsize) <= _REGISTERS
    return d["hidden"] <= (_WIDEST if d["direction"] == "fwd" else _WIDEST_BACK)


def _persistent_dims(work: Work, itemsize: int) -> dict[str, Any]:
    """Coordinates of a single-kernel recurrence: its hidden size is a multiple of 32, and it
    reloads at each step the weights that do not fit in registers."""
    d = work.dims
    wide = -(-d["hidden"] // 32) * 32
    spilled = 4 * d["gates"] * wide**2 > _REGISTERS
    variant = "spilled" if spilled else "forward" if d["direction"] == "fwd" else "backward"
    common = {name: d[name] for name in ("kind", "b", "steps", "gates", "train")}
    return common | {"variant": variant, "wide": wide, "item_bytes": itemsize}


@lowering("rnn_input")
def inputs(op: Signature, work: Work, gpu: GPU) -> tuple[Work, ...]:
    """The product of a layer's inputs of all steps, or its gradient, with the dims of a "gemm".

    Stacked unidirectional layers overlap: the next starts after some steps of the previous, so the
    product is split into chunks of steps. It is whole for one layer, for both directions, and for a
    single-kernel recurrence.
    """
    whole, forward = replace(work, family="gemm"), "backward" not in op.name
    itemsize, hidden = op["input"].itemsize, op.args["hidden_size"]
    is_persistent = hidden <= (_WIDEST if forward else _WIDEST_BACK)
    is_persistent &= op["input"].dtype != "bfloat16"
    if op.arg("num_layers", 1) == 1 or op.arg("bidirectional", False) or is_persistent:
        whole = whole if is_persistent else _on_streams(op, whole)
        return product(op, whole, gpu)
    sizes, x = op.arg("batch_sizes", []), op["input"].shape
    b, steps = (sizes[0], len(sizes)) if sizes else x[:2] if op.arg("batch_first") else x[1::-1]
    chunk_steps = _forward_chunk(b, steps) if forward else _backward_chunk(b, steps)
    full, rest = divmod(steps, chunk_steps)
    rows = [work.dims["m"] * chunk_steps // steps] * full + [0] * (rest > 0)
    rows[-1] += work.dims["m"] - sum(rows)
    weights = work.dims["n"] * work.dims["k"] * itemsize
    whole = _on_streams(op, whole)
    chunks = {
        m: replace(
            whole,
            flops=work.flops * m // work.dims["m"],
            read_bytes=weights + (work.read_bytes - weights) * m // work.dims["m"],
            write_bytes=work.write_bytes * m // work.dims["m"],
            dims=whole.dims | {"m": m},
        )
        for m in set(rows)
    }
    return tuple(k for m in rows for k in _split(chunks[m], itemsize, forward))


def _on_streams(op: Signature, work: Work) -> Work:
    return replace(work, dims=work.dims | _streams(op, work.dims["n"]))


def _forward_chunk(b: int, steps: int) -> int:
    """Steps of a chunk: a quarter of the steps, halved until they are at most 24 and have at most
    512 rows."""
    parts = _PARTS
    while steps // parts > 24:
        parts *= 2
    return max(min(steps // parts, 512 // b), 1)


def _backward_chunk(b: int, steps: int) -> int:
    """Steps of a chunk: a power of two, with about 128 rows, in at most 32 chunks."""
    limits = ((1, 32), (8, 16), (16, 8), (63, 4))
    chunk_steps = next((length for most, length in limits if b <= most), 2)
    while steps / chunk_steps > 32:
        chunk_steps *= 2
    return chunk_steps


def _step(work: Work, itemsize: int, *, last: bool) -> tuple[Work, ...]:
    """The product of one step with W_hh, and its cell; in the backward pass the cell comes first.

    Over all steps FLOPs, instructions and writes sum to those of the work, and so do the reads
    with W_hh counted once; the last step has the remainder. In addition each step reads W_hh again,
    and the result of its product passes through memory between the two kernels.
    """
    d = work.dims
    forward = d["direction"] == "fwd"
    weights = _weight_bytes(work, itemsize)
    state, gates = d["b"] * d["projection"], d["b"] * d["gates"] * d["hidden"]
    columns, depth = (d["gates"] * d["hidden"], d["projection"])[:: 1 if forward else -1]
    result = (gates if forward else state) * itemsize

    def part(total: int) -> int:
        each = total // d["steps"]
        return total - each * (d["steps"] - 1) if last else each

    step = {"variant": "tensor_step"} if work.engine == "tensor" else {}
    product = Work(
        "gemm",
        part(work.flops),
        weights + (state if forward else gates) * itemsize,
        result,
        work.engine,
        work.dtype,
        dims={
            "b": 1,
            "m": d["b"],
            "n": columns,
            "k": depth,
            "transa": False,
            "transb": forward,
            "align_bytes": gcd(16, d["hidden"] * itemsize),
            "epilogue": None,
            **step,
        },
    )
    cell = Work(
        "pointwise",
        0,
        part(work.read_bytes - weights) + result,
        part(work.write_bytes),
        instructions=part(work.instructions),
        dims={
            "elements": d["b"] * d["hidden"],
            "gates": d["gates"],
            "back": not forward,
            "train": d["train"],
            "variant": "cell",
        },
    )
    products = _split(product, itemsize, forward)
    return (*products, cell) if forward else (cell, *products)


def _split(product: Work, itemsize: int, forward: bool) -> tuple[Work, ...]:
    """Split a deep product along its depth, since a step has few rows and so few tiles.

    Another kernel sums the parts in float16, or if rows are not aligned; in a float32 backward pass
    they are added to zeros. A batch of one is a matrix-vector product.
    """
    d = product.dims
    total = Work(
        "reduction",
        0,
        2 * 4 * d["m"] * d["n"],
        product.write_bytes,
        instructions=2 * d["m"] * d["n"],
        dims={"variant": "parts", "elements": d["m"] * d["n"], "parts": 2, "item_bytes": itemsize},
    )
    if d["m"] == 1:
        return (product,)
    if itemsize == 2:
        split = not forward and (d["k"] >= 3072 or d.get("align_bytes", 16) < 16)
        return (product, total) if split else (product,)
    if forward:
        deep = 8 <= d["m"] <= 64 and d["k"] >= 32 * ceil(d["n"] / 64)
        return (product, total) if deep else (product,)
    return (memset(product.write_bytes), product) if d["k"] >= 1024 else (product,)


def _weight_bytes(work: Work, itemsize: int) -> int:
    """W_hh [gates·hidden, out], and the projection hidden -> out if any."""
    d = work.dims
    projection = d["hidden"] * d["projection"] if d["projection"] != d["hidden"] else 0
    return (d["gates"] * d["hidden"] * d["projection"] + projection) * itemsize


def _elementwise(elements: int, itemsize: int) -> Work:
    """A pass that reads and writes each element once."""
    size = elements * itemsize
    dims = {"elements": elements, "inputs": 1, "contiguous": True}
    return Work("pointwise", 0, size, size, instructions=2 * elements, dims=dims)
