"""Losses of [rows, classes] or [rows, features], and of images."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from calibration.sweeps.functions.table import Function, alike, positive_alike


def _of(functions: dict[str, Callable[..., Any]], *fields: Any, **more: Any) -> dict[str, Function]:
    return {name: Function(call, *fields, **more) for name, call in functions.items()}


def _classes(x: Tensor) -> tuple[Tensor, ...]:
    """A class for each row."""
    return (torch.randint(0, x.shape[1], x.shape[:1]),)


def _weighted(x: Tensor) -> tuple[Tensor, ...]:
    return (*_classes(x), torch.rand(x.shape[1], dtype=x.dtype) + 0.1)


def _pixels(x: Tensor) -> tuple[Tensor, ...]:
    """A class for each pixel."""
    return (torch.randint(0, x.shape[1], (x.shape[0], *x.shape[2:])),)


def _labels(x: Tensor) -> tuple[Tensor, ...]:
    """Zeros and ones."""
    return (torch.rand_like(x).round(),)


def _signs(x: Tensor) -> tuple[Tensor, ...]:
    """A second operand, and a 1 or -1 for each row."""
    return (*alike(x), torch.randint(0, 2, x.shape[:1]) * 2 - 1)


def _two(x: Tensor) -> tuple[Tensor, ...]:
    return (*alike(x), *alike(x))


def _labelled(x: Tensor) -> tuple[Tensor, ...]:
    """20 labels for each of 32 sequences, of 1/32 of the rows each, and their lengths."""
    frames = max(48, x.shape[0] // 32)
    labels = torch.randint(1, x.shape[1], (32, 20))
    return labels, torch.full((32,), frames), torch.full((32,), 20)


def _ctc(x: Tensor, labels: Tensor, frames: Tensor, lengths: Tensor) -> Tensor:
    longest = max(48, x.shape[0] // 32)
    scores = x[:1].expand(longest * 32, -1).reshape(longest, 32, -1).log_softmax(-1)
    return F.ctc_loss(scores, labels, frames, lengths)


def _places(x: Tensor) -> tuple[Tensor, ...]:
    """A second operand, and the number of each of the first 4096 rows."""
    return (*alike(x), torch.arange(min(4096, len(x))))


LOSSES: dict[str, Function] = {
    **_of({
        "cross_entropy": F.cross_entropy, "smoothed": partial(F.cross_entropy, label_smoothing=0.1),
        "rows of cross_entropy": partial(F.cross_entropy, reduction="none"),
        "nll of log_softmax": lambda x, n: F.nll_loss(x.log_softmax(-1), n),
        "multi_margin": F.multi_margin_loss,
        "focal": lambda x, n: ((1 - (-F.cross_entropy(x, n, reduction="none")).exp()) ** 2
                               * F.cross_entropy(x, n, reduction="none")).mean(),
    }, "rows", _classes),
    "weighted cross_entropy": Function(lambda x, n, w: F.cross_entropy(x, n, w), "rows", _weighted),
    "cross_entropy of pixels": Function(F.cross_entropy, "images", _pixels),
    "soft cross_entropy": Function(lambda x, y: F.cross_entropy(x, y.softmax(-1)), "rows", alike),
    **_of({
        "binary with logits": F.binary_cross_entropy_with_logits, "binary": lambda x, y:
            F.binary_cross_entropy(x.sigmoid().float(), y.float()),
        "soft_margin": F.soft_margin_loss, "dice": lambda x, y: 1 - 2 * (x.sigmoid() * y).sum() / (
            x.sigmoid().sum() + y.sum()),
        "multilabel_soft_margin": F.multilabel_soft_margin_loss,
    }, "rows", _labels),
    "weighted binary with logits": Function(
        lambda x, y: F.binary_cross_entropy_with_logits(x, y, pos_weight=y[0] + 1), "rows",
            _labels),
    **_of({
        "mse": F.mse_loss, "l1": F.l1_loss, "smooth_l1": F.smooth_l1_loss, "huber": F.huber_loss,
        "rows of mse": partial(F.mse_loss, reduction="none"), "summed mse": partial(
            F.mse_loss, reduction="sum"), "log cosh": lambda x, y: (x - y).cosh().log().mean(),
        "kl_div": lambda x, y: F.kl_div(x.log_softmax(-1), y.softmax(-1), reduction="batchmean"),
        "kl of logs": lambda x, y: F.kl_div(
            x.log_softmax(-1), y.log_softmax(-1), reduction="batchmean", log_target=True),
    }, "rows", alike),
    "contrastive": Function(
        lambda x, y, n: F.cross_entropy(
            F.normalize(x[:4096]) @ F.normalize(y[:4096]).mT, n), "rows", _places),
    "poisson_nll": Function(F.poisson_nll_loss, "rows", positive_alike),
    "gaussian_nll": Function(lambda x, y: F.gaussian_nll_loss(x, y, y * y + 1), "rows", alike),
    "cosine_embedding": Function(F.cosine_embedding_loss, "rows", _signs),
    "triplet_margin": Function(F.triplet_margin_loss, "rows", _two),
    "hinge_embedding": Function(
        lambda x, y: F.hinge_embedding_loss(x, y * 2 - 1), "rows", _labels),
    "ctc": Function(_ctc, "rows", _labelled, dtypes=("fp32",), gradient=False, most_elements=2**22),
}  # fmt: skip
"""Losses, by name."""
