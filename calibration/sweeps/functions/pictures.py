"""Functions of images and volumes: sampled, resized, pooled and normalised."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from calibration.sweeps.functions.table import Function, alike


def _of(functions: dict[str, Callable[..., Any]], *fields: Any, **more: Any) -> dict[str, Function]:
    return {name: Function(call, *fields, **more) for name, call in functions.items()}


def _grid(x: Tensor) -> tuple[Tensor, ...]:
    """Positions to sample, as many as there are pixels."""
    sides = x.shape[2:]
    return (torch.rand(x.shape[0], *sides, len(sides)).mul(2).sub(1).to(x.dtype),)


def _turn(x: Tensor) -> tuple[Tensor, ...]:
    """An affine map for each image."""
    return (torch.eye(2, 3).to(x.dtype).expand(x.shape[0], 2, 3),)


def _factors(x: Tensor) -> tuple[Tensor, ...]:
    """A factor for each channel."""
    return (torch.randn(x.shape[1], 1, 1, dtype=x.dtype),)


def _turned(x: Tensor, turn: Tensor) -> Tensor:
    return F.grid_sample(x, F.affine_grid(turn, list(x.shape), align_corners=False),
                         align_corners=False)  # fmt: skip


def _unpooled(x: Tensor) -> Tensor:
    pooled, where = F.max_pool2d(x, 2, return_indices=True)
    return F.max_unpool2d(pooled, where, [2, 2])


def _blurred(x: Tensor) -> Tensor:
    weights = x.new_ones(x.shape[1], 1, 5, 5)
    return F.conv2d(x, weights, padding=2, groups=x.shape[1])


def _sample(mode: str, padding: str) -> Callable[..., Tensor]:
    return lambda x, g: F.grid_sample(x, g, mode, padding, align_corners=False)


PICTURES: dict[str, Function] = {
    **_of({
        "grid_sample": _sample("bilinear", "zeros"), "grid_sample at borders": _sample(
            "bilinear", "border"), "nearest samples": _sample("nearest", "zeros"),
        "bicubic samples": _sample("bicubic", "zeros"),
    }, "images", _grid),
    "samples of volumes": Function(_sample("bilinear", "zeros"), "volumes", _grid),
    "turned": Function(_turned, "images", _turn),
    **_of({
        "bicubic": partial(F.interpolate, scale_factor=2, mode="bicubic"),
        "bilinear": partial(F.interpolate, scale_factor=2, mode="bilinear"),
        "halved": partial(F.interpolate, scale_factor=0.5, mode="bilinear", antialias=True),
        "nearest": partial(F.interpolate, scale_factor=2), "area": partial(
            F.interpolate, scale_factor=0.5, mode="area"),
        "exact": partial(F.interpolate, scale_factor=2, mode="nearest-exact"),
        "to 224": partial(F.interpolate, size=(224, 224), mode="bilinear"),
    }, "images", most_elements=2**23),
    **_of({
        "max_pool with indices": lambda x: F.max_pool2d(x, 2, return_indices=True)[0],
        "max_unpool": _unpooled, "lp_pool": lambda x: F.lp_pool2d(x, 2, 2),
        "adaptive_max_pool": lambda x: F.adaptive_max_pool2d(x, 4),
        "global average": lambda x: F.adaptive_avg_pool2d(x, 1),
        "pool of stride 1": lambda x: F.max_pool2d(x, 3, 1, 1), "local_response_norm":
            lambda x: F.local_response_norm(x, 5), "instance_norm": F.instance_norm,
        "group_norm": lambda x: F.group_norm(x, 1), "layer_norm of images": lambda x:
            F.layer_norm(x, x.shape[1:]), "norm of channels": lambda x: F.layer_norm(
            x.permute(0, 2, 3, 1), x.shape[1:2]).permute(0, 3, 1, 2),
        "blurred": _blurred, "softmax of channels": lambda x: x.softmax(1),
        "softmax of pixels": lambda x: x.flatten(2).softmax(-1), "argmax of channels":
            lambda x: x * x.amax(1, keepdim=True), "total variation": lambda x:
            (x[..., 1:] - x[..., :-1]).abs().mean(), "normalised images": lambda x:
            (x - x.mean((2, 3), keepdim=True)) / (x.std((2, 3), keepdim=True) + 1e-5),
        "gram of channels": lambda x: x.flatten(2) @ x.flatten(2).mT, "sum of pixels":
            lambda x: x.sum((0, 2, 3)), "padded images": lambda x: F.pad(x, (1, 1, 1, 1)),
        "cropped": lambda x: x[..., 1:-1, 1:-1].contiguous(),
    }, "images"),
    **_of({
        "max_pool of volumes": lambda x: F.max_pool3d(x, 2), "avg_pool of volumes": lambda x:
            F.avg_pool3d(x, 2), "trilinear": partial(F.interpolate, scale_factor=2,
                mode="trilinear"),
        "nearest of volumes": partial(F.interpolate, scale_factor=2), "mean of volumes":
            lambda x: F.adaptive_avg_pool3d(x, 1), "instance_norm of volumes": F.instance_norm,
        "padded volumes": lambda x: F.pad(x, (1,) * 6), "adaptive_max of volumes": lambda x:
            F.adaptive_max_pool3d(x, 2),
    }, "volumes", most_elements=2**22),
    "residual images": Function(lambda x, y: F.relu(x + y), "images", alike),
    "scaled channels": Function(
        lambda x, scale: x * scale + 1, "images", _factors),
}  # fmt: skip
"""Functions of images, by name."""
