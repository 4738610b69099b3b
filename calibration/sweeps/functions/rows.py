"""Functions of whole rows, columns or tensors: reductions, scans, orders and distances."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, cast

import torch
import torch.nn.functional as F
from torch import Tensor

from calibration.sweeps.functions.table import Function, alike

_linalg = cast("Any", torch.linalg)


def _of(functions: dict[str, Callable[..., Any]], **settings: Any) -> dict[str, Function]:
    return {name: Function(call, "rows", **settings) for name, call in functions.items()}


def _bounds(x: Tensor) -> tuple[Tensor, ...]:
    return (torch.linspace(-3, 3, 256, dtype=x.dtype),)


def _counts(x: Tensor) -> tuple[Tensor, ...]:
    return (x.reshape(-1).abs().mul(100).long().clamp(max=999),)


def _classes(x: Tensor) -> tuple[Tensor, ...]:
    return (torch.randint(0, 64, (x.shape[0],)),)


ROWS: dict[str, Function] = {
    **_of({
        "std": lambda x: x.std(-1), "var_mean": lambda x: torch.var_mean(x, -1)[0],
        "std over rows": lambda x: x.std(0), "logsumexp": lambda x: x.logsumexp(-1),
        "logsumexp over rows": lambda x: x.logsumexp(0), "mean": lambda x: x.mean(-1),
        "mean over rows": lambda x: x.mean(0), "sum of all": lambda x: x.sum(),
        "mean of all": lambda x: x.mean(), "std of all": lambda x: x.std(),
        "norm": lambda x: _linalg.vector_norm(x, dim=-1),
        "norm of 1": lambda x: _linalg.vector_norm(x, 1, dim=-1),
        "norm of 3": lambda x: _linalg.vector_norm(x, 3, dim=-1),
        "largest norm": lambda x: _linalg.vector_norm(x, float("inf"), dim=-1),
        "norm of all": lambda x: _linalg.vector_norm(x), "amax": lambda x: x.amax(-1),
        "amax over rows": lambda x: x.amax(0), "max": lambda x: x.max(-1).values,
        "min over rows": lambda x: x.min(0).values, "largest": lambda x: x.max(),
        "nansum": lambda x: x.nansum(-1),
        "nanmean": lambda x: x.nanmean(-1), "prod": lambda x: x.prod(-1),
        "softmin": lambda x: F.softmin(x, -1), "softmax over rows": lambda x: x.softmax(0),
        "log_softmax over rows": lambda x: x.log_softmax(0),
        "normalize": F.normalize, "normalize over rows": lambda x: F.normalize(x, dim=0),
        "standardised": lambda x: (x - x.mean(-1, keepdim=True)) / x.std(-1, keepdim=True),
        "cumsum": lambda x: x.cumsum(-1), "cumsum over rows": lambda x: x.cumsum(0),
        "cumprod": lambda x: x.cumprod(-1), "logcumsumexp": lambda x: x.logcumsumexp(-1),
        "diff": lambda x: x.diff(dim=-1), "trapezoid": lambda x: torch.trapezoid(x, dim=-1),
        "sort": lambda x: x.sort(-1).values, "topk 5": lambda x: x.topk(5, -1).values,
        "topk 1": lambda x: x.topk(1, -1).values,
        "logits of softmax": lambda x: x.softmax(-1).log(),
        "gumbel_softmax": F.gumbel_softmax,
        "gumbel_softmax, hard": partial(F.gumbel_softmax, hard=True),
        "entropy": lambda x: -(x.softmax(-1) * x.log_softmax(-1)).sum(-1),
    }),
    **_of({
        "cummax": lambda x: x.cummax(-1).values, "cummin over rows": lambda x: x.cummin(0).values,
        "median": lambda x: x.median(-1).values, "kthvalue": lambda x: x.kthvalue(3, -1).values,
        "topk half": lambda x: x.topk(x.shape[-1] // 2, -1).values,
        "msort": torch.msort, "stable": lambda x: x.sort(stable=True).values,
    }, most_elements=2**22),
    **_of({
        "quantile": lambda x: x.quantile(0.9, -1), "cov": lambda x: x[:512].cov(),
        "corrcoef": lambda x: x[:512].corrcoef(), "gradient": lambda x: torch.gradient(x,
            dim=-1)[0],
        "cumulative_trapezoid": lambda x: torch.cumulative_trapezoid(x, dim=-1),
    }, dtypes=("fp32",), most_elements=2**22),
    **_of({
        "aminmax": lambda x: torch.aminmax(x, dim=-1).max, "argmin": lambda x: x.argmin(-1),
        "argmax over rows": lambda x: x.argmax(0),
        "argmax of all": lambda x: x.argmax(), "any": lambda x: (x > 3).any(-1),
        "all": lambda x: (x > -3).all(), "count_nonzero": lambda x: x.count_nonzero(-1),
        "argsort": lambda x: x.argsort(-1, descending=True),
        "mode": lambda x: x[:64].mode(-1).values,
        "isnan any": lambda x: x.isnan().any(), "count": lambda x: (x > 0).sum(-1),
        "histc": lambda x: x.float().histc(64, -3, 3),
    }, gradient=False),
    **_of({
        "bucketize": torch.bucketize, "searchsorted": lambda x, e: torch.searchsorted(e, x),
    }, operands=_bounds, gradient=False),
    "bincount": Function(lambda x, n: n.bincount(minlength=1000), "rows", _counts, gradient=False),
    "one_hot": Function(lambda x, n: F.one_hot(n, 64), "rows", _classes, gradient=False),
    **_of({
        "cosine_similarity": F.cosine_similarity, "pairwise_distance": F.pairwise_distance,
        "dot of rows": lambda x, y: (x * y).sum(-1), "vecdot": _linalg.vecdot,
        "distance": lambda x, y: (x - y).norm(dim=-1), "mean square": F.mse_loss,
    }, operands=alike),
    "renorm": Function(lambda x: x.renorm(2, 0, 1.0), "rows"),
    "layer_norm without weights": Function(lambda x: F.layer_norm(x, x.shape[-1:]), "rows"),
    "rms_norm without weights": Function(lambda x: F.rms_norm(x, x.shape[-1:]), "rows"),
    "cdist": Function(lambda x: torch.cdist(x, x.flip(1)), "points", dtypes=("fp32",)),
    "cdist of 1": Function(lambda x: torch.cdist(x, x.flip(1), p=1.0), "points", dtypes=("fp32",)),
    "pdist": Function(lambda x: F.pdist(x[0]), "points", dtypes=("fp32",)),
    "differences": Function(
        lambda x: (x[:, :512, None] - x[:, None, :512]).norm(dim=-1), "points", most_elements=2**20
    ),
    "similarities": Function(lambda x: F.normalize(x, dim=-1) @ F.normalize(x, dim=-1).mT,
    "points"),
    "nearest points": Function(
        lambda x: torch.cdist(x, x).topk(min(16, x.shape[1]), largest=False).indices, "points",
        dtypes=("fp32",), gradient=False,
    ),
}  # fmt: skip
"""Functions of rows, by name."""
