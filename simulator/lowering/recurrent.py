"""Recurrent layers as cuDNN launches them: one kernel for all steps, or two or three for each.

Read off an H200 (cuDNN 9.19): nn.RNN, GRU and LSTM of 1 to 3 layers, 128 to 1024 wide, over 1 to
200 steps, in float32 and float16, one way and both ways.
"""

from __future__ import annotations

from math import ceil

from msgspec.structs import replace

from simulator.costs import Work
from simulator.hardware import GPU
from simulator.lowering.layouts import fill
from simulator.lowering.registry import lowering
from simulator.records import Signature

_UNITS_SEEN = 132
_REGISTERS = 256 * 1024
"""Bytes of a streaming multiprocessor's register file, on every GPU since Kepler."""


@lowering("rnn")
def recurrence(op: Signature, work: Work, gpu: GPU) -> tuple[Work, ...]:
    """The recurrence of one layer and direction.

    A W_hh that fits the registers of one unit stays there for all steps. A larger one was seen to
    stay, spread over the units, for a single float16 LSTM layer in training. Else every step
    launches its product and its cell.
    """
    d = work.dims
    itemsize = op["input"].itemsize
    forward = d["direction"] == "fwd"
    gates = d["b"] * d["gates"] * d["hidden"]
    if _weight_bytes(work, itemsize) <= _REGISTERS:
        if not forward:
            return _elementwise(gates, itemsize), work  # the last step's, before the loop
        biased = d["kind"] == "gru"  # its new gate has two biases, one of which is added ahead
        return (_elementwise(gates * d["steps"], itemsize), work) if biased else (work,)
    alone = op.arg("num_layers", 1) == 1 and not op.arg("bidirectional", False)
    lstm = d["kind"] == "lstm" and d["train"]
    if alone and lstm and itemsize == 2 and d["b"] % 8 == 0:
        state = _elementwise(d["b"] * d["hidden"], itemsize)
        flags = fill(4 * (gpu.units or _UNITS_SEEN))  # by which the units wait for each other
        return (flags, work) if forward else (state, flags, state, work, state)
    return tuple(k for step in range(d["steps"]) for k in _step(work, step, itemsize))


@lowering("rnn_input")
def inputs(op: Signature, work: Work, gpu: GPU) -> tuple[Work, ...]:
    """The product of a layer's inputs of all steps, or its gradient; dims as of a "gemm".

    Stacked layers that go one way share the GPU: the next starts once the first has done some
    steps, so the product comes in chunks: of a quarter of the steps, or fewer rows, forward, and
    of 128 rows backward. One layer, both directions, or a W_hh that stays on chip take it whole.
    """
    whole, forward = replace(work, family="gemm"), "backward" not in op.name
    itemsize, hidden = op["input"].itemsize, op.args["hidden_size"]
    gates = work.dims["n" if forward else "k"]
    stays = gates * (op.arg("proj_size", 0) or hidden) * itemsize <= _REGISTERS
    if op.arg("num_layers", 1) == 1 or op.arg("bidirectional", False) or stays:
        return (whole,)
    sizes, x = op.arg("batch_sizes", []), op["input"].shape
    b, steps = (sizes[0], len(sizes)) if sizes else x[:2] if op.arg("batch_first") else x[1::-1]
    together = max(min(steps // 4, 512 // b, 32), 1) if forward else min(max(128 // b, 4), 32)
    count = ceil(steps / together)
    rows = [work.dims["m"] // count] * count
    rows[-1] += work.dims["m"] % count
    itemsize = op["input"].itemsize
    weights = work.dims["n"] * work.dims["k"] * itemsize
    chunks = (
        replace(
            whole,
            flops=work.flops * m // work.dims["m"],
            read_bytes=weights + (work.read_bytes - weights) * m // work.dims["m"],
            write_bytes=work.write_bytes * m // work.dims["m"],
            dims=work.dims | {"m": m},
        )
        for m in rows
    )
    return tuple(k for chunk in chunks for k in _split(chunk, itemsize, forward))


def _step(work: Work, step: int, itemsize: int) -> tuple[Work, ...]:
    """One step's product with W_hh and its cell; backward the cell comes first.

    Over the steps the FLOPs, instructions and writes of what the work holds add up to it, and so
    do the reads, with W_hh counted once. But each step reads W_hh again, and its product's result
    goes through memory on its way between the two kernels.
    """
    d = work.dims
    forward = d["direction"] == "fwd"
    weights = _weight_bytes(work, itemsize)
    state, gates = d["b"] * d["projection"], d["b"] * d["gates"] * d["hidden"]
    columns, depth = (d["gates"] * d["hidden"], d["projection"])[:: 1 if forward else -1]
    result = (gates if forward else state) * itemsize

    def part(total: int) -> int:
        return total * (step + 1) // d["steps"] - total * step // d["steps"]

    product = Work(
        "gemm", part(work.flops), weights + (state if forward else gates) * itemsize, result,
        work.engine, work.dtype,
        dims={"b": 1, "m": d["b"], "n": columns, "k": depth, "transa": False, "transb": forward,
              "epilogue": None},
    )  # fmt: skip
    cell = Work(
        "pointwise", 0, part(work.read_bytes - weights) + result, part(work.write_bytes),
        instructions=part(work.instructions),
        dims={"elements": d["b"] * d["hidden"], "inputs": d["gates"] + 1, "contiguous": True},
    )  # fmt: skip
    products = _split(product, itemsize, forward)
    return (*products, cell) if forward else (cell, *products)


def _split(product: Work, itemsize: int, forward: bool) -> tuple[Work, ...]:
    """A step has few rows, and so few tiles: a deep product is shared out along its depth.

    float16 adds the parts up in a further kernel; backward in float32 they are added onto zeros.
    A batch of fewer than 8 is a matrix times a vector, which needs neither.
    """
    d = product.dims
    total = Work(
        "reduction", 0, 2 * 4 * d["m"] * d["n"], product.write_bytes,
        instructions=2 * d["m"] * d["n"],
        dims={"rows": d["m"] * d["n"], "cols": 2, "inner": d["m"] * d["n"]},
    )  # fmt: skip
    if itemsize == 2:
        return (product,) if forward or d["k"] < 3072 else (product, total)
    if d["m"] < 8:
        return (product,)
    if forward:
        return (product, total) if d["k"] >= 32 * ceil(d["n"] / 64) else (product,)
    return (fill(product.write_bytes), product) if d["k"] >= 1024 else (product,)


def _weight_bytes(work: Work, itemsize: int) -> int:
    """W_hh [gates·hidden, out], and the projection hidden -> out where there is one."""
    d = work.dims
    projection = d["hidden"] * d["projection"] if d["projection"] != d["hidden"] else 0
    return (d["gates"] * d["hidden"] * d["projection"] + projection) * itemsize


def _elementwise(elements: int, itemsize: int) -> Work:
    """A pass over elements, each read and written once."""
    size = elements * itemsize
    dims = {"elements": elements, "inputs": 1, "contiguous": True}
    return Work("pointwise", 0, size, size, instructions=2 * elements, dims=dims)
