"""Copies into a slice of a new tensor, and copies of slices."""

from __future__ import annotations

from msgspec.structs import replace

from simulator.costs.kernels.launches import full_bytes
from simulator.costs.movement.copies import move
from simulator.costs.movement.fills import fill_of
from simulator.costs.registry import Work, cost
from simulator.records import Signature, Tensor, row_major


def _within(op: Signature, source: Tensor) -> tuple[Work, ...]:
    """A copy of `source` into a slice of the first output: a memcpy if the slice has no gaps, such
    as the first rows of a matrix."""
    if not source.numel:
        return ()
    steps = list(op.out.stride)
    if "select" in op.name:
        del steps[op.arg("dim", 0)]
    elif "slice" in op.name:
        steps[op.arg("dim", 0)] *= op.arg("step", 1)
    if len(steps) != len(source.shape):  # a diagonal has one dimension fewer
        steps = list(row_major(source.shape))
    return move(source, replace(op.out, shape=source.shape, stride=tuple(steps)))


@cost("aten.constant_pad_nd.default", "aten.pad.default")
def constant_pad(op: Signature) -> tuple[Work, ...]:
    """Fill the result, then copy the input into it; if all padding is negative, only a clone."""
    pad = [int(size) for size in op.arg("pad", [])]
    shape = list(op["self"].shape)
    for i, size in enumerate(pad):
        shape[-1 - i // 2] += min(size, 0)
    inside = replace(op["self"], shape=tuple(shape))
    if pad and all(size <= 0 for size in pad):
        return move(inside, op.out)
    return (*fill_of(op.out), *_within(op, inside))


@cost(
    "aten.slice_backward.default", "aten.select_backward.default", "aten.diagonal_backward.default"
)
def slice_backward(op: Signature) -> tuple[Work, ...]:
    """Zeros, then the gradient copied into its slice."""
    return (*fill_of(op.out), *_within(op, op["grad_output"]))


@cost(
    "aten.slice_scatter.default",
    "aten.select_scatter.default",
    "aten.diagonal_scatter.default",
    "aten.as_strided_scatter.default",
)
def slice_scatter(op: Signature) -> tuple[Work, ...]:
    """A clone, then the source copied into its slice."""
    return (*move(op["self"], op.out), *_within(op, op["src"]))


@cost("aten.diag_embed.default", "aten.block_diag.default")
def into_zeros(op: Signature) -> tuple[Work, ...]:
    """Fill with zeros, then copy each input to its position."""
    steps = row_major(op.out.shape)
    parts: list[Work] = []
    for x in op.inputs:
        wide = (*steps[: len(x.shape) - 1], sum(steps[-2:])) if "embed" in op.name else steps
        parts += move(x, replace(x, stride=tuple(wide[-len(x.shape) :]) if x.shape else ()))
    return (*fill_of(op.out), *parts)


@cost(
    "aten.split_with_sizes_copy.default",
    "aten.unbind_copy.int",
    "aten.squeeze_copy.dim",
    "aten.squeeze_copy.dims",
    "aten.split_copy.Tensor",
)
def parts(op: Signature) -> tuple[Work, ...]:
    """One copy per part."""
    return tuple(
        Work(
            "copy",
            0,
            full_bytes(out),
            full_bytes(out),
            instructions=30 * out.numel,
            dims={"elements": out.numel, "transposed": False},
        )
        for out in op.outputs
        if out.numel
    )
