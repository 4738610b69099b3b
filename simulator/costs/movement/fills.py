"""Ops without tensor inputs: fills, ranges and random numbers; and values that the host reads."""

from __future__ import annotations

from math import gcd

from msgspec.structs import replace

from simulator.costs.compiled_traits import LISTED, Traits
from simulator.costs.kernels.elementwise import elementwise, read_of
from simulator.costs.kernels.iterator import lane_dtype
from simulator.costs.kernels.launches import full_bytes, index_range, pointwise, to_host
from simulator.costs.registry import Work, cost
from simulator.records import Signature, Tensor


def fill_of(tensor: Tensor, instructions: int = 1) -> tuple[Work, ...]:
    """One kernel that writes every element; zeros are written in this way too, not by a memset
    (`zero_` is `fill_`)."""
    n = tensor.numel
    if n == 0 or tensor.device == "cpu":
        return ()
    dtype = lane_dtype((tensor,))
    dims = {"elements": n}
    return (Work("fill", 0, 0, tensor.nbytes, "vector", dtype, instructions * n, dims),)


@cost(
    "aten.zeros.default",
    "aten.ones.default",
    "aten.full.default",
    "aten.zeros_like.default",
    "aten.full_like.default",
    "aten.new_zeros.default",
    "aten.scalar_tensor.default",
    "aten.zeros.out",
    "aten.ones.out",
    "aten.full.out",
    traits=LISTED,
)
@cost(
    "aten.fill_.Scalar",
    "aten.fill_.Tensor",
    "aten.fill.Scalar",
    "aten.zero_.default",
    "aten.zero.default",
    "aten.ones_like.default",
    "aten.new_ones.default",
    "aten.new_full.default",
)
def fill(op: Signature) -> tuple[Work, ...]:
    """One value for every element."""
    return fill_of(op.out)


@cost(
    "aten.arange.default",
    "aten.arange.start",
    "aten.arange.start_step",
    "aten.arange.out",
    "aten.arange.start_out",
    traits=LISTED,
)
@cost(
    "aten.linspace.default",
    "aten.logspace.default",
    "aten.range.default",
    "aten.range.step",
    "aten.tril_indices.default",
    "aten.triu_indices.default",
)
def arange(op: Signature) -> tuple[Work, ...]:
    """Compute each element from its index: a conversion and a multiply-add."""
    out = op.out
    return (index_range(out.numel, out.itemsize),) if out.numel and out.device != "cpu" else ()


@cost("aten.eye.default", "aten.eye.m")
def eye(op: Signature) -> tuple[Work, ...]:
    """Zeros, then ones along the diagonal."""
    side = min(op.out.shape)
    diagonal = replace(op.out, shape=(side,), stride=(sum(op.out.stride),))
    return (*fill_of(op.out), *fill_of(diagonal))


@cost("aten._local_scalar_dense.default", waits=True, data_dependent=True)
@cost("aten.item.default")
def item(op: Signature) -> tuple[Work, ...]:
    """One element copied to the host."""
    source = op["self"]
    return (to_host(source.itemsize),) if source.device != "cpu" else ()


@cost("aten.equal.default", waits=True, data_dependent=True, traits=LISTED)
def equal(op: Signature) -> tuple[Work, ...]:
    """Comparison, `all`, and the copy of the result to the host (ATen/native/cuda/Equal.cpp)."""
    source = op["self"]
    n = source.numel
    if n == 0 or source.device == "cpu":
        return ()
    flags = replace(op, outputs=(Tensor(source.shape, "bool", source.stride),), aliases=())
    every = Work("reduction", n, n, 1, instructions=2 * n, dims={"rows": 1, "cols": n, "inner": 1})
    return (*elementwise(flags, (1, 1)), every, to_host(1))


@cost("aten.allclose.default", waits=True, data_dependent=True)
def allclose(op: Signature) -> tuple[Work, ...]:
    """The kernels of `isclose`, taken from the ops that PyTorch's profiler lists on a CPU, then
    those of `all`, and the copy of the result to the host."""
    source = op["self"]
    n, size = source.numel, source.itemsize
    if n == 0 or source.device == "cpu":
        return ()
    numbers, flags = n * size, n
    steps = (
        (2 * numbers, flags, 2),  # self == other
        (numbers, numbers, 1),  # rtol·other
        (numbers, numbers, 1),  # its absolute value
        (numbers, numbers, 1),  # atol + |rtol·other|
        (2 * numbers, numbers, 2),  # self − other
        (numbers, numbers, 1),  # its absolute value
        (numbers, flags, 1),  # isfinite: equal to itself
        (numbers, numbers, 1),  # its absolute value
        (numbers, flags, 1),  # not infinite
        (2 * flags, flags, 2),  # both of these: finite
        (2 * numbers, flags, 2),  # within the allowed error
        (2 * flags, flags, 2),  # finite and within the allowed error
        (2 * flags, flags, 2),  # or self == other
    )
    kernels = [
        pointwise(n, read, write, inputs=inputs, dtype=source.dtype)
        for read, write, inputs in steps
    ]
    every = Work("reduction", n, n, 1, instructions=2 * n, dims={"rows": 1, "cols": n, "inner": 1})
    return (*kernels, every, to_host(1))


PHILOX = 80
"""Instructions of four random numbers: 10 rounds of 2 multiplies and 4 others, with their
conversion to floats (Salmon et al., "Parallel random numbers", 2011)."""

_DRAWS = (
    "bernoulli_.float", "bernoulli_.Tensor", "bernoulli.default", "bernoulli.p",
    "bernoulli.Tensor", "uniform_.default", "uniform.default", "rand.default", "rand.generator",
    "random_.default", "random_.from", "random_.to", "randint.default",
    "randint.low", "randint.generator", "randint.low_generator", "randint_like.default",
    "randint_like.low_dtype", "poisson.default", "geometric_.default", "normal_.default",
    "normal.float_float", "normal_functional.default", "randn.default", "randn.generator",
    "exponential_.default", "cauchy_.default", "log_normal_.default",
)  # fmt: skip
_SLOTS = {
    "exponential": 4, "cauchy": 6, "normal": 10, "randn": 10, "log_normal": 12, "geometric": 14,
    "random": 15, "randint": 15, "bernoulli.default": 42, "bernoulli.Tensor": 42,
    "bernoulli_.Tensor": 42, "poisson": 190,
}  # fmt: skip
"""Instructions per number after its random bits, from times of long tensors on an H200, by how the
names of draws begin; 2 for evenly distributed ones. An integer takes the remainder of a division. A
chance for each number prevents vectors; a Poisson number is drawn in a loop."""
_SHAPED = ("normal", "randn", "exponential", "cauchy", "log_normal")
"""How the names of draws begin whose numbers take a logarithm or a root."""


@cost("aten.rand_like.default", "aten.randn_like.default", traits=Traits(recompute="random"))
@cost(*(f"aten.{name}" for name in _DRAWS))
def draw(op: Signature) -> tuple[Work, ...]:
    """One number per element; normal and exponential ones also take a log and a root."""
    n = op.out.numel
    name = op.name.removeprefix("aten.")
    chances = {"bernoulli_.Tensor": "p", "bernoulli.default": "self", "poisson.default": "self"}
    reads = read_of(op, chances[name]) if name in chances else 0
    shaped = name.startswith(_SHAPED)
    slots = next((n for start, n in _SLOTS.items() if name.startswith(start)), 2)
    dims = {"elements": n, "slots": slots, "vector": 1}
    return tuple(
        replace(
            work,
            family="random",
            flops=(3 if shaped else 1) * n,
            read_bytes=reads,
            instructions=(PHILOX // 4 + slots) * n,
            dims=dims,
        )
        for work in fill_of(op.out)
    )


@cost("aten.native_dropout.default", traits=Traits(recompute="random"))
@cost("aten._fused_dropout.default")
def dropout(op: Signature) -> tuple[Work, ...]:
    """Draw, compare, multiply twice; also writes a mask of one byte per element
    (ATen/native/cuda/Dropout.cu, `fused_dropout_kernel`). Outside training the mask is ones."""
    if op.arg("train", True) is False:
        return fill_of(op.outputs[1])
    n = op.out.numel
    vector = gcd(n, 16 // op.out.itemsize)  # 16-byte words, or smaller ones that divide n
    dims = {"variant": "dropout", "elements": n, "slots": 6, "vector": vector}
    return tuple(
        replace(work, instructions=(PHILOX // 4 + 6) * n, dims=dims)
        for work in elementwise(op, (3, 3), "random")
    )


@cost("aten.normal.Tensor_Tensor", "aten.normal.float_Tensor", waits=True)  # for a check of `std`
@cost("aten.normal.Tensor_float")
def normal(op: Signature) -> tuple[Work, ...]:
    """Draw standard normal numbers, then multiply by the deviation and add the mean in place."""
    n, size = op.out.numel, full_bytes(op.out)
    if not n:
        return ()
    drawn = Work(
        "random",
        3 * n,
        0,
        size,
        instructions=(PHILOX // 4 + _SLOTS["normal"]) * n,
        dims={"elements": n, "slots": _SLOTS["normal"], "vector": 1},
    )
    return drawn, *(pointwise(n, size + x.nbytes, size, inputs=2) for x in op.inputs)


@cost(
    *(
        f"aten.{name}.{kind}"
        for name in ("linspace", "logspace")
        for kind in ("Tensor_Tensor", "Tensor_Scalar", "Scalar_Tensor")
    )
)
def linspace(op: Signature) -> tuple[Work, ...]:
    """Copy the ends to the host, then compute each number from its index."""
    ends = tuple(to_host(x.itemsize) for x in op.inputs if x.device != "cpu")
    return (*ends, index_range(op.out.numel, op.out.itemsize)) if op.out.numel else ends
