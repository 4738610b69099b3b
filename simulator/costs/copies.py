"""Ops that move, make or draw elements: copies, concatenation, padding, fills and random numbers.

A copy within the GPU is a memcpy where both sides are dense in the same order and of one dtype,
a "pointwise" cast where only the dtype differs, and else a "copy" whose dims say whether its
fastest dimension changes ("transposed"). A "memcpy" gives its "direction" and "bytes"; what
crosses the bus is DRAM traffic on the GPU's side only.
"""

from __future__ import annotations

from math import prod

from msgspec.structs import replace

from simulator.costs.pointwise import aligned, elementwise, lane_dtype, read_of, widens
from simulator.costs.registry import Work, cost
from simulator.records import Signature, Tensor

# -- copies ---------------------------------------------------------------------------------------


def move(source: Tensor, target: Tensor) -> tuple[Work, ...]:
    """The launches of `target.copy_(source)` (ATen/native/cuda/Copy.cu, `copy_kernel_cuda`)."""
    elements = target.numel
    if elements == 0 or (source.device == "cpu" and target.device == "cpu"):
        return ()
    if source.device == "cpu":  # the cast and the layout are the host's
        size = elements * target.itemsize
        return (Work("memcpy", write_bytes=size, dims={"direction": "h2d", "bytes": size}),)
    if target.device == "cpu":  # made contiguous on the GPU, cast on the host
        size = source.numel * source.itemsize
        fetch = Work("memcpy", read_bytes=size, dims={"direction": "d2h", "bytes": size})
        packed = Tensor(source.shape, source.dtype, target.stride)
        return (fetch,) if aligned((source, packed)) else (*move(source, packed), fetch)
    same = aligned((source, target))
    if same and source.dtype == target.dtype:
        whole = {"direction": "d2d", "bytes": target.nbytes}
        return (Work("memcpy", 0, source.nbytes, target.nbytes, dims=whole),)
    dims: dict[str, int | bool] = {"elements": elements}
    if same:
        dims |= {"inputs": 1, "contiguous": True, "widens": widens([source], target)}
    else:
        dims |= {
            "transposed": _fastest(source) != _fastest(target),
            "runs": elements // max(1, _run(source, target)),
        }
    return (
        Work(
            "pointwise" if same else "copy",
            read_bytes=source.nbytes,
            write_bytes=target.nbytes,
            dtype=lane_dtype((source, target)),
            instructions=2 * elements,
            dims=dims,
        ),
    )


def _run(source: Tensor, target: Tensor) -> int:
    """Elements that lie side by side in both."""
    run = 1
    for size, *steps in reversed(
        list(zip(target.shape, source.stride, target.stride, strict=True))
    ):
        if size > 1 and any(step != run for step in steps):
            break
        run *= size
    return run


def _fastest(tensor: Tensor) -> int:
    """The dimension along which neighbours in memory lie; -1 where none has two elements."""
    pairs = zip(tensor.stride, tensor.shape, strict=True)
    steps = [(step, -i) for i, (step, size) in enumerate(pairs) if size > 1 and step > 0]
    return -min(steps)[1] if steps else -1


def _expanded(source: Tensor, shape: tuple[int, ...]) -> Tensor:
    """`source` broadcast to a shape, by dimensions of stride 0."""
    lead = len(shape) - len(source.shape)
    old = [*([1] * lead), *source.shape]
    steps = [*([0] * lead), *source.stride]
    new = [0 if was == 1 != now else s for was, now, s in zip(old, shape, steps, strict=True)]
    return replace(source, shape=shape, stride=tuple(new))


@cost("aten.copy_.default", "aten.copy.default", "aten._copy_from.default")
def copy(op: Signature) -> tuple[Work, ...]:
    """`src` broadcast into `self`, which is only written."""
    return move(_expanded(op["src"], op.out.shape), op.out)


@cost(
    "aten.clone.default", "aten._to_copy.default", "aten.contiguous.default", "aten.clone.out",
    "aten._to_copy.out", "aten.lift_fresh_copy.default", "aten._pin_memory.default",
    "aten.view_copy.default", "aten.permute_copy.default", "aten.expand_copy.default",
    "aten.transpose_copy.int", "aten.slice_copy.Tensor", "aten.select_copy.int",
    "aten.as_strided_copy.default", "aten.unsqueeze_copy.default", "aten.squeeze_copy.default",
    "aten.t_copy.default", "aten.detach_copy.default", "aten.alias_copy.default",
    "aten.diagonal_copy.default", "aten.unfold_copy.default", "aten._reshape_copy.default",
    "aten.narrow_copy.default",
)  # fmt: skip
def clone(op: Signature) -> tuple[Work, ...]:
    """One copy of the input, to another dtype, device or layout."""
    if op.inputs[0].numel != op.out.numel:  # a part of it
        return _gathered(op, op.out.numel * op.inputs[0].itemsize)
    if op.inputs[0].shape != op.out.shape:
        return _gathered(op, op.read_bytes)
    return move(op.inputs[0], op.out)


def _gathered(op: Signature, read: int) -> tuple[Work, ...]:
    """One kernel that places elements elsewhere; `read` in bytes."""
    elements = op.out.numel
    dims = {"elements": elements, "transposed": False}
    work = Work("copy", 0, read, op.write_bytes, "vector", lane_dtype(op.outputs), 4 * elements,
                dims)  # fmt: skip
    return (work,) if elements else ()


@cost(
    "aten.repeat.default", "aten.flip.default", "aten.tril.default", "aten.triu.default",
    "aten.tril_.default", "aten.triu_.default", "aten.tril.out", "aten.triu.out",
    "aten.native_channel_shuffle.default", "aten.channel_shuffle.default",
    "aten.rot90.default", "aten.pixel_shuffle.default", "aten.pixel_unshuffle.default",
)  # fmt: skip
def rearrange(op: Signature) -> tuple[Work, ...]:
    """One kernel; the input is read once however often it is written."""
    return _gathered(op, read_of(op, "self"))


@cost("aten.roll.default")
def roll(op: Signature) -> tuple[Work, ...]:
    """One kernel for each dimension rolled (ATen/native/TensorTransformations.cpp)."""
    return _gathered(op, op.read_bytes) * max(1, len(op.arg("dims") or [0]))


_BATCH = 128
"""Tensors that one concatenating launch takes (ATen/native/cuda/Shape.cu); half, with gaps."""


@cost("aten.cat.default", "aten.stack.default", "aten._chunk_cat.default", "aten._stack.default",
      "aten.cat.out", "aten.stack.out")  # fmt: skip
def cat(op: Signature) -> tuple[Work, ...]:
    """One launch for 128 tensors, or one copy a tensor beyond 4 dimensions or of mixed dtypes."""
    parts = [t for t in op.tensors("tensors") if t.numel]
    batched = (
        len(parts) > 1
        and (len(op.out.shape) <= 4 or "stack" in op.name)  # a stack joins its parts' dimensions
        and len({t.dtype for t in (*parts, op.out)}) == 1
    )
    step = (_BATCH if all(t.contiguous for t in parts) else _BATCH // 2) if batched else 1
    groups = [parts[i : i + step] for i in range(0, len(parts), step)]
    written = [sum(t.numel for t in group) for group in groups]
    whole = read_of(op, "tensors")  # the same tensor twice is read once
    size = len(groups) == 1
    return tuple(
        Work(
            "concat",
            read_bytes=whole if size else sum(t.nbytes for t in group),
            write_bytes=count * op.out.itemsize,
            dtype=lane_dtype(op.outputs),
            instructions=4 * count,
            dims={"elements": count, "vectorized": _vectorized(op, group)},
        )
        for group, count in zip(groups, written, strict=True)
    )


def _vectorized(op: Signature, parts: list[Tensor]) -> bool:
    """Each part's run in the output is a whole number of 16-byte words
    (ATen/native/cuda/Shape.cu, `CatArrayBatchedCopy_vectorized`)."""
    dim = op.arg("dim", 0)
    runs = (prod(t.shape[dim % max(len(t.shape), 1) :]) * t.itemsize for t in parts)
    return all(t.contiguous for t in parts) and all(run % 16 == 0 for run in runs)


# -- copies into a part of something new ----------------------------------------------------------


def fill_of(tensor: Tensor, instructions: int = 1) -> tuple[Work, ...]:
    """One kernel that writes every element: zeros too are filled, not set (`zero_` is `fill_`)."""
    n = tensor.numel
    if n == 0 or tensor.device == "cpu":
        return ()
    dtype = lane_dtype((tensor,))
    dims = {"elements": n}
    return (Work("fill", 0, 0, tensor.nbytes, "vector", dtype, instructions * n, dims),)


def _within(op: Signature, source: Tensor) -> tuple[Work, ...]:
    """A copy of `source` into a slice of the first output."""
    n, size = source.numel, source.numel * op.out.itemsize
    dims = {"elements": n, "transposed": False}
    dtype = lane_dtype(op.outputs)
    return (Work("copy", 0, source.nbytes, size, "vector", dtype, 2 * n, dims),) if n else ()


@cost("aten.constant_pad_nd.default", "aten.pad.default")
def constant_pad(op: Signature) -> tuple[Work, ...]:
    """The result is filled, then the input copied into it; padding that only crops is a clone."""
    pad = [int(size) for size in op.arg("pad", [])]
    source = op["self"]
    if pad and all(size <= 0 for size in pad):
        return _gathered(op, op.out.numel * source.itemsize)
    shape = list(source.shape)
    for i, size in enumerate(pad):
        shape[-1 - i // 2] += min(size, 0)
    return (*fill_of(op.out), *_within(op, replace(source, shape=tuple(shape))))


@cost("aten.slice_backward.default", "aten.select_backward.default",
      "aten.diagonal_backward.default")  # fmt: skip
def slice_backward(op: Signature) -> tuple[Work, ...]:
    """Zeros, then the gradient copied into its slice."""
    return (*fill_of(op.out), *_within(op, op["grad_output"]))


@cost("aten.slice_scatter.default", "aten.select_scatter.default", "aten.diagonal_scatter.default",
      "aten.as_strided_scatter.default")  # fmt: skip
def slice_scatter(op: Signature) -> tuple[Work, ...]:
    """A clone, then the source copied into its slice."""
    return (*move(op["self"], op.out), *_within(op, op["src"]))


# -- fills ----------------------------------------------------------------------------------------


@cost(
    "aten.fill_.Scalar", "aten.fill_.Tensor", "aten.fill.Scalar", "aten.zero_.default",
    "aten.zero.default", "aten.zeros.default", "aten.ones.default", "aten.full.default",
    "aten.zeros_like.default", "aten.ones_like.default", "aten.full_like.default",
    "aten.new_zeros.default", "aten.new_ones.default", "aten.new_full.default",
    "aten.scalar_tensor.default", "aten.zeros.out", "aten.ones.out", "aten.full.out",
)  # fmt: skip
def fill(op: Signature) -> tuple[Work, ...]:
    """Every element gets one value."""
    return fill_of(op.out)


@cost(
    "aten.arange.default", "aten.arange.start", "aten.arange.start_step", "aten.arange.out",
    "aten.arange.start_out", "aten.linspace.default", "aten.logspace.default",
    "aten.range.default", "aten.range.step", "aten.tril_indices.default",
    "aten.triu_indices.default",
)  # fmt: skip
def arange(op: Signature) -> tuple[Work, ...]:
    """Every element is computed from its index: a conversion, a multiply-add."""
    return fill_of(op.out, 3)


@cost("aten.eye.default", "aten.eye.m")
def eye(op: Signature) -> tuple[Work, ...]:
    """Zeros, then ones along the diagonal."""
    side = min(op.out.shape)
    diagonal = replace(op.out, shape=(side,), stride=(sum(op.out.stride),))
    return (*fill_of(op.out), *fill_of(diagonal))


@cost("aten._local_scalar_dense.default", "aten.item.default")
def item(op: Signature) -> tuple[Work, ...]:
    """One element fetched by the host."""
    source = op["self"]
    size = source.itemsize
    if source.device == "cpu":
        return ()
    return (Work("memcpy", read_bytes=size, dims={"direction": "d2h", "bytes": size}),)


@cost("aten.equal.default")
def equal(op: Signature) -> tuple[Work, ...]:
    """Compare, all, and the answer fetched (ATen/native/cuda/Equal.cpp)."""
    source = op["self"]
    n = source.numel
    if n == 0 or source.device == "cpu":
        return ()
    flags = replace(op, outputs=(Tensor(source.shape, "bool", source.stride),), aliases=())
    every = Work("reduction", n, n, 1, instructions=2 * n,
                 dims={"rows": 1, "cols": n, "inner": 1})  # fmt: skip
    fetch = Work("memcpy", read_bytes=1, dims={"direction": "d2h", "bytes": 1})
    return (*elementwise(flags, (1, 1)), every, fetch)


# -- random numbers -------------------------------------------------------------------------------

_PHILOX = 20
"""Instructions of a random number: 10 rounds of 2 multiplies and 4 others give 4 numbers,
with their conversion to a float (Salmon et al., "Parallel random numbers", 2011)."""

_DRAWS = (
    "bernoulli_.float", "bernoulli_.Tensor", "bernoulli.default", "bernoulli.p",
    "bernoulli.Tensor", "uniform_.default", "uniform.default", "rand.default", "rand.generator",
    "rand_like.default", "random_.default", "random_.from", "random_.to", "randint.default",
    "randint.low", "randint.generator", "randint.low_generator", "randint_like.default",
    "randint_like.low_dtype", "poisson.default", "geometric_.default",
)  # fmt: skip
_SHAPED_DRAWS = (
    "normal_.default", "randn.default", "randn.generator", "randn_like.default",
    "normal.float_float", "exponential_.default", "cauchy_.default", "log_normal_.default",
    "normal_functional.default",
)  # fmt: skip


@cost(*(f"aten.{name}" for name in (*_DRAWS, *_SHAPED_DRAWS)))
def draw(op: Signature) -> tuple[Work, ...]:
    """One number an element; a normal or exponential one also takes a log and a root."""
    n = op.out.numel
    name = op.name.removeprefix("aten.")
    chances = {"bernoulli_.Tensor": "p", "bernoulli.default": "self", "poisson.default": "self"}
    reads = read_of(op, chances[name]) if name in chances else 0
    shaped = name in _SHAPED_DRAWS
    flops, slots = (3 * n, (_PHILOX + 20) * n) if shaped else (n, (_PHILOX + 2) * n)
    return tuple(
        replace(work, family="random", flops=flops, read_bytes=reads, instructions=slots)
        for work in fill_of(op.out)
    )


@cost("aten.native_dropout.default", "aten._fused_dropout.default")
def dropout(op: Signature) -> tuple[Work, ...]:
    """Draw, compare, multiply twice; the mask of one byte an element is written too
    (ATen/native/cuda/Dropout.cu, `fused_dropout_kernel`). Without training the mask is ones."""
    if op.arg("train", True) is False:
        return fill_of(op.outputs[1])
    return elementwise(op, (3, _PHILOX + 3), "random")
