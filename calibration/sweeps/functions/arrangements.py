"""Functions that move, repeat or pick elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from calibration.sweeps.functions.table import Function, alike, mask, positions


def _of(functions: dict[str, Callable[..., Any]], *fields: Any, **more: Any) -> dict[str, Function]:
    return {name: Function(call, *fields, **more) for name, call in functions.items()}


def _rows_and_places(x: Tensor) -> tuple[Tensor, ...]:
    """A second operand, and a random row for each of its elements."""
    return (torch.randn_like(x), torch.randint(0, x.shape[0], x.shape))


def _row_places(x: Tensor) -> tuple[Tensor, ...]:
    """A second operand, and a random row for each of its rows."""
    return (torch.randn_like(x), torch.randint(0, x.shape[0], x.shape[:1]))


def _repeats(x: Tensor) -> tuple[Tensor, int]:
    return (torch.full(x.shape[:1], 2), 2 * x.shape[0])


def _reduced(how: str) -> Callable[..., Tensor]:
    return lambda x, y, where: x.scatter_reduce(0, where, y, how)


ARRANGEMENTS: dict[str, Function] = {
    **_of({
        "roll": lambda x: x.roll(1, 0), "roll of elements": lambda x: x.roll(3, -1),
        "flip": lambda x: x.flip(-1), "flip of rows": lambda x: x.flip(0), "tril": torch.tril,
        "triu": lambda x: x.triu(1), "transposed": lambda x: x.mT.contiguous(),
        "repeat": lambda x: x[: 2**11].repeat(2, 3), "tile": lambda x: x[: 2**11].tile((1, 4)),
        "repeat_interleave": lambda x: x[: 2**11].repeat_interleave(3, 0),
        "repeat_interleave of elements": lambda x: x[: 2**11].repeat_interleave(2, -1),
        "rotated half": lambda x: torch.cat((-x[:, x.shape[1] // 2 :], x[:, : x.shape[1] // 2]),
            -1),
        "every second": lambda x: x[:, ::2].contiguous(), "even and odd": lambda x: torch.stack(
            (x[:, 1::2][:, : x.shape[1] // 2], x[:, ::2][:, : x.shape[1] // 2]), -1).flatten(-2),
        "padded": lambda x: F.pad(x, (1, 2)), "padded rows": lambda x: F.pad(x, (0, 0, 1, 0)),
        "shifted": lambda x: torch.cat((x[1:], x[:1])),
        "chunks": lambda x: torch.cat(x[:, : x.shape[1] // 3 * 3].chunk(3, -1)),
        "hstack": lambda x: torch.hstack((x, x)), "stack": lambda x: torch.stack((x, x, x), 1),
        "stack at the end": lambda x: torch.stack((x, x), -1),
        "windows": lambda x: x.unfold(-1, 8, 4).contiguous(),
        "diagonals": lambda x: x[:64].diag_embed() if x.shape[1] <= 512 else x.diagonal(),
        "outer": lambda x: torch.outer(x[:, 0], x[0]), "last": lambda x: x[:, -1].contiguous(),
        "column": lambda x: x[:, 3] * 2, "split and gate": lambda x: torch.mul(
            *x[:, : x.shape[1] // 2 * 2].chunk(2, -1)),
    }, "rows"),
    **_of({
        "index_select": lambda x, i: x.index_select(0, i), "rows by index": lambda x, i: x[i],
        "index_fill": lambda x, i: x.index_fill(0, i, 0.0),
    }, "rows", positions()),
    **_of({
        "columns by index": lambda x, i: x[:, i], "index_select of columns":
            lambda x, i: x.index_select(1, i),
    }, "rows", positions(1)),
    **_of({"take": lambda x, i: x.reshape(-1).take(i), "elements": lambda x, i: x.reshape(-1)[i]},
          "rows", positions(0, 65536)),
    **_of({
        "scatter_add": lambda x, y, i: x.scatter_add(0, i, y), "scatter": lambda x, y, i:
            x.scatter(0, i, y), "gather": lambda x, y, i: x.gather(0, i),
        "take_along_dim": lambda x, y, i: x.take_along_dim(i, 0), "largest of groups":
            _reduced("amax"), "mean of groups": _reduced("mean"),
    }, "rows", _rows_and_places),
    "sum of groups": Function(_reduced("sum"), "rows", _rows_and_places),
    "product of groups": Function(_reduced("prod"), "rows", _rows_and_places, gradient=False),
    **_of({
        "index_add": lambda x, y, i: x.index_add(0, i, y), "index_copy": lambda x, y, i:
            x.index_copy(0, i, y), "index_put": lambda x, y, i: x.index_put((i,), y),
        "index_put, added": lambda x, y, i: x.index_put((i,), y, accumulate=True),

    }, "rows", _row_places),
    "segments": Function(
        lambda x, y, i: torch.zeros_like(x).index_add_(0, i.sort().values, y), "rows", _row_places,
        gradient=False,
    ),
    "repeat_interleave by tensor": Function(
        lambda x, n, size: x.repeat_interleave(n, 0, output_size=size), "rows", _repeats),
    "masked_scatter": Function(lambda x, m: x.masked_scatter(m, x), "rows", mask, gradient=False),
    "dropout": Function(lambda x: F.dropout(x, 0.1)),
    "alpha_dropout": Function(lambda x: F.alpha_dropout(x, 0.1, training=True)),
    "dropout of channels": Function(lambda x: F.dropout2d(x, 0.1), "images"),
    "dropped paths": Function(
        lambda x: x * x.new_empty(x.shape[:1] + (1,) * (x.dim() - 1)).bernoulli_(0.9), "images"),
    "tril mask": Function(lambda x: x + torch.ones_like(x[0]).tril(), "square"),
    "causal scores": Function(
        lambda x: x.masked_fill(torch.ones_like(x[0], dtype=torch.bool).triu(1), float("-inf"))
        .softmax(-1), "square"),
    "diagonal": Function(lambda x: x.diagonal(dim1=-2, dim2=-1) * 2, "square"),
    "trace": Function(lambda x: x.diagonal(dim1=-2, dim2=-1).sum(-1), "square"),
    "rot90": Function(lambda x: x.rot90(1, (-2, -1)), "images"),
    "pixel_shuffle": Function(lambda x: F.pixel_shuffle(x.repeat(1, 4, 1, 1), 2), "images"),
    "pixel_unshuffle": Function(lambda x: F.pixel_unshuffle(x, 2), "images"),
    "channel_shuffle": Function(lambda x: F.channel_shuffle(x.repeat(1, 4, 1, 1), 4), "images"),
    "tokens": Function(lambda x: x.flatten(2).transpose(1, 2).contiguous(), "images"),
    "channels last": Function(lambda x: x.contiguous(memory_format=torch.channels_last), "images"),
    "windows of 4": Function(
        lambda x: x[..., : x.shape[2] // 4 * 4, : x.shape[3] // 4 * 4]
        .unflatten(-1, (-1, 4)).unflatten(-3, (-1, 4)).permute(0, 2, 4, 3, 5, 1).contiguous(),
        "images"),
    "shifted images": Function(lambda x: x.roll((-2, -2), (2, 3)), "images"),
    "cat of channels": Function(lambda x, y: torch.cat((x, y), 1), "images", alike),
    "mean of images": Function(lambda x: x.mean((2, 3)), "images"),
    "gated channels": Function(lambda x: x * x.mean((2, 3), keepdim=True).sigmoid(), "images"),
    "with coordinates": Function(
        lambda x: torch.cat((x, x.new_ones(()).expand(x.shape[0], 2, *x.shape[2:])), 1), "images"),
}  # fmt: skip
"""Functions that arrange elements, by name."""
