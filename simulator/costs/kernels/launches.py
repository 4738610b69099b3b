"""Small launches from which larger algorithms are built: fills, copies, sums, scans.

Their `dims` have the same keys as those of ops of the same family. Instructions count one slot per
operand and per arithmetic step of a lane.
"""

from __future__ import annotations

from math import prod
from typing import Literal

from msgspec.structs import replace

from simulator.costs.curves import curve_rule
from simulator.costs.kernels.iterator import VECTOR_ELEMENTS, converting_slots, offset_slots, walk
from simulator.costs.registry import Work
from simulator.records import Tensor, row_major

_ONE_TILE = 8192
"""Approximate number of elements up to which CUB reduces in a single block, and so in one
kernel."""
_TILE = 4096
"""Approximate number of elements of a tile in CUB's look-back scans."""
_SHORT_MEMCPY = 2**20
_PAGE = 4096
"""Above 1 MiB a copy within the GPU that is not a whole number of pages takes 1.9 µs longer
(H200, driver 580; the driver's code is not public)."""


def vector_dtype(dtype: str) -> str:
    """Dtype of the vector lanes that compute on `dtype`: float32 for half precisions and
    integers."""
    return "float64" if dtype in ("float64", "complex128") else "float32"


def full_bytes(x: Tensor) -> int:
    """Bytes of all elements, repeated elements included."""
    return x.numel * x.itemsize


def fill(elements: int, itemsize: int) -> Work:
    """Write one value to every element, or run a memset."""
    dims = {"elements": elements}
    return Work("fill", write_bytes=elements * itemsize, instructions=2 * elements, dims=dims)


def fill_like(x: Tensor) -> Work:
    """Fill a whole tensor with zeros."""
    return fill(x.numel, x.itemsize)


def memset(nbytes: int) -> Work:
    """Zeros written by the driver's memset kernel."""
    return Work(
        "fill",
        write_bytes=nbytes,
        instructions=nbytes // 2,
        dims={"elements": nbytes, "variant": "memset"},
    )


def index_range(elements: int, itemsize: int = 8) -> Work:
    """Write 0, 1, 2, …: `elementwise_kernel_with_index` computes each element from its index,
    without vector stores (ATen/native/cuda/RangeFactories.cu)."""
    size = elements * itemsize
    return Work("arange", write_bytes=size, instructions=30 * elements, dims={"elements": elements})


def memcpy(read: int, write: int) -> Work:
    """A memcpy within the GPU; `read` is smaller than `write` if elements repeat."""
    align = min(16, write & -write)
    dims: dict[str, int | str] = {"direction": "d2d", "bytes": write, "align_bytes": align}
    if write > _SHORT_MEMCPY and write % _PAGE:
        dims["variant"] = "d2d_ragged"
    return Work("memcpy", 0, read, write, dims=dims)


def clone(x: Tensor) -> Work:
    """A memcpy if the elements have no gaps in memory, else a copy kernel."""
    full = x.numel * x.itemsize
    return memcpy(x.nbytes, full) if x.dense else copy(x, full)


def copy_onto(x: Tensor, out: Tensor) -> Work:
    """`out.copy_(x)` with x broadcast: a memcpy if both have the same layout and dtype."""
    if x.shape == out.shape and x.stride == out.stride and x.dtype == out.dtype:
        return clone(x)
    return strided_copy(x, out, out.numel * out.itemsize)


def copy(x: Tensor, write_bytes: int) -> Work:
    """A kernel that copies a tensor in an order other than its order in memory."""
    return strided_copy(x, Tensor(x.shape, x.dtype, row_major(x.shape)), write_bytes)


def strided_copy(x: Tensor, out: Tensor, write_bytes: int) -> Work:
    """A TensorIterator kernel that copies, and converts, between different layouts."""
    walked = walk((x, out))
    turns = x.dtype != out.dtype
    slots = max(offset_slots(len(walked.axes), 2), converting_slots(2) if turns else 0)
    dims = {
        "elements": out.numel,
        "transposed": fastest_dim(x) != fastest_dim(out),
        "axes": len(walked.axes),
        **walked.touched,
        "widens": turns,
    }
    if walked.axes:
        dims["inner"], (dims["step_bytes"], _) = walked.axes[0]
    return Work(
        "copy",
        0,
        x.nbytes,
        write_bytes,
        dtype=vector_dtype(out.dtype),
        instructions=(2 + slots) * out.numel,
        dims=dims,
    )


def fastest_dim(tensor: Tensor) -> int:
    """The dimension with the smallest stride, as a negative index; 0 if no dimension has 2
    elements."""
    pairs = zip(tensor.stride, tensor.shape, strict=True)
    steps = [(step, -i) for i, (step, size) in enumerate(pairs) if size > 1 and step > 0]
    return -min(steps)[1] - len(tensor.shape) if steps else 0


@curve_rule("copy")
def copy_curve(work: Work) -> str:
    """Name of the curve: a transposition has its own."""
    return "copy_transposed" if work.dims.get("transposed", False) else "copy"


@curve_rule("memcpy")
def memcpy_curve(work: Work) -> str:
    """Name of the curve: one per direction."""
    return f"memcpy_{work.dims['direction']}"


def to_host(nbytes: int) -> Work:
    """A memcpy that the host waits for."""
    return Work("memcpy", read_bytes=nbytes, dims={"direction": "d2h", "bytes": nbytes})


def from_host(nbytes: int) -> Work:
    """A memcpy to the GPU."""
    return Work("memcpy", write_bytes=nbytes, dims={"direction": "h2d", "bytes": nbytes})


def pointwise(
    elements: int,
    read: int,
    write: int,
    *,
    flops: int = 1,
    inputs: int = 1,
    slots: int = 0,
    dtype: str = "float32",
) -> Work:
    """A kernel with `flops` per element, which take `slots` instructions, at least one each."""
    each = max(flops, slots) + inputs + 1
    steps = VECTOR_ELEMENTS * each
    dims = {"elements": elements, "inputs": inputs, "contiguous": True, "steps": steps}
    return Work(
        "pointwise",
        flops * elements,
        read,
        write,
        dtype=vector_dtype(dtype),
        instructions=each * elements,
        dims=dims,
    )


def helper_kernel(elements: int, read: int, write: int, *, inputs: int = 1, steps: int = 0) -> Work:
    """A small kernel inside a larger algorithm: a few instructions per element, or `steps` serial
    steps per thread."""
    work = pointwise(elements, read, write, inputs=inputs)
    return replace(work, dims={**work.dims, "variant": "step", "steps": steps})


def reduction(
    rows: int,
    cols: int,
    read: int,
    write: int,
    *,
    inner: int = 1,
    flops: int = 1,
    dtype: str = "float32",
) -> Work:
    """Reduce `cols` elements into each of `rows`; `inner` is 1 if they are adjacent in memory."""
    n = rows * cols
    return Work(
        "reduction",
        flops * n,
        read,
        write,
        dtype=vector_dtype(dtype),
        instructions=(flops + 1) * n,
        dims={"rows": rows, "cols": cols, "inner": inner},
    )


@curve_rule("reduction")
def reduction_curve(work: Work) -> str:
    """Name of the curve: one for reductions along memory, one for reductions across it."""
    return "reduction_across" if work.dims.get("inner", 1) > 1 else "reduction"


def whole_reduction(elements: int, nbytes: int, itemsize: int) -> tuple[Work, ...]:
    """CUB's reduction to one value: one block, or about a thousand blocks and then a kernel of one
    block."""
    if elements <= _ONE_TILE:
        return (reduction(1, elements, nbytes, itemsize),)
    return reduction(1, elements, nbytes, 8192), reduction(1, 1024, 8192, itemsize)


def tile_states(elements: int) -> Work:
    """The kernel or memset that clears the 16-byte states of a look-back scan's tiles."""
    return fill(-(-elements // _TILE), 16)


def row_scan(elements: int, read: int, write: int) -> tuple[Work, Work]:
    """CUB's running sum, or selection, of one row."""
    dims = {"variant": "whole", "rows": 1, "cols": elements, "inner": 1}
    sweep = Work("scan", elements, read, write, instructions=6 * elements, dims=dims)
    return tile_states(elements), sweep


def scan(
    x: Tensor, out: Tensor, dim: int, kind: Literal["sums", "logs", "places"] = "sums"
) -> tuple[Work, ...]:
    """Running sums along a dimension: CUB's scan for a single row (ScanUtils.cuh), else one kernel.
    Logarithms of sums of exponentials are longer steps; extrema with their "places" have their own
    kernels, for a single row too.

    Contiguous rows are scanned in shared memory, two elements per thread at a time, in about
    log2(threads) steps; otherwise one thread scans each column.
    """
    cols = x.shape[dim] if x.shape else 1
    if cols == x.numel and kind != "places":
        return row_scan(cols, x.nbytes, out.nbytes)
    rows, inner = x.numel // max(cols, 1), prod(x.shape[dim:][1:])
    dims: dict[str, int | str] = {"rows": rows, "cols": cols, "inner": inner}
    dims["itemsize"] = out.itemsize
    if inner > 1:
        wide = min(inner, 512)
        blocks = rows // inner * -(-inner // wide)
        dims |= {"variant": "across", "blocks": blocks, "threads": wide, "steps": cols}
    else:
        log = _row_threads_log2(rows, cols)
        sweeps = -(-cols // (2 << log))
        dims |= {"blocks": -(-rows // (512 >> log)), "threads": 512, "steps": sweeps * (log + 2)}
    if kind != "sums":
        dims["variant"] = f"{kind}_across" if inner > 1 else kind
    return (
        Work(
            "scan",
            x.numel,
            x.nbytes,
            out.nbytes + (8 * x.numel if kind == "places" else 0),
            dtype=vector_dtype(out.dtype),
            instructions=6 * x.numel,
            dims=dims,
        ),
    )


def _row_threads_log2(rows: int, cols: int) -> int:
    """log2 of the threads that scan one row: 16 to 512, more for few and long rows. For very many
    short rows the unsigned difference wraps around to 512 (ScanUtils.cuh,
    `get_log_num_threads_x_inner_scan`)."""
    difference = 9 + (cols - 1).bit_length() - (rows - 1).bit_length()
    return 9 if difference < 0 else min(max(4, difference // 2), 9)


def indexed_access(
    family: str,
    elements: int,
    width: int,
    read: int,
    write: int,
    *,
    flops: int = 0,
    **dims: float | str,
) -> Work:
    """A gather or scatter of `width` adjacent elements per index, four slots per address.

    `dims` are further coordinates, such as the variant of the kernel.
    """
    return Work(
        family,
        flops * elements,
        read,
        write,
        instructions=(6 + flops) * elements,
        dims={"elements": elements, "width": max(width, 1), **dims},
    )
