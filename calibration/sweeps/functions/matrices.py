"""Products of several tensors, written as einsum, broadcasts or functions of linear algebra."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import torch
import torch.nn.functional as F
from torch import Tensor

from calibration.sweeps.functions.table import Function, alike

_linalg = cast("Any", torch.linalg)
_HALF = 2**24


def _of(functions: dict[str, Callable[..., Any]], *fields: Any, **more: Any) -> dict[str, Function]:
    return {name: Function(call, *fields, most_elements=_HALF, **more)
            for name, call in functions.items()}  # fmt: skip


def _vector(x: Tensor) -> tuple[Tensor, ...]:
    return (torch.randn(x.shape[-1], dtype=x.dtype),)


def _weights(x: Tensor) -> tuple[Tensor, ...]:
    """Weights from x's features to 64."""
    return (torch.randn(x.shape[-1], 64, dtype=x.dtype),)


def _from_channels(x: Tensor) -> tuple[Tensor, ...]:
    """Weights from an image's channels to 64."""
    return (torch.randn(64, x.shape[1], dtype=x.dtype),)


def _queries(x: Tensor) -> tuple[Tensor, ...]:
    """16 further points."""
    return (torch.randn(16, x.shape[-1], dtype=x.dtype),)


def _definite(x: Tensor) -> Tensor:
    return x @ x.mT / x.shape[-1] + torch.eye(x.shape[-1], device=x.device)


_FP32 = ("fp32",)
MATRICES: dict[str, Function] = {
    **_of({
        "product": torch.matmul, "product of transposed": lambda x, y: x @ y.mT,
        "weighted product": lambda x, y: torch.baddbmm(x, x, y, beta=0.5, alpha=0.1),
        "bij,bjk->bik": lambda x, y: torch.einsum("bij,bjk->bik", x, y),
        "bij,bkj->bik": lambda x, y: torch.einsum("bij,bkj->bik", x, y),
        "bij,bij->b": lambda x, y: torch.einsum("bij,bij->b", x, y),
        "bij,bij->ij": lambda x, y: torch.einsum("bij,bij->ij", x, y),
        "bij,bij->bi": lambda x, y: torch.einsum("bij,bij->bi", x, y),
    }, "square", alike),
    **_of({
        "times vector": torch.matmul, "scaled columns": lambda x, v: x * v,
        "bij,j->bi": lambda x, v: torch.einsum("bij,j->bi", x, v),
        "bij,i->bj": lambda x, v: torch.einsum("bij,i->bj", x, v),
        "bij,i->bij": lambda x, v: torch.einsum("bij,i->bij", x, v),
    }, "square", _vector),
    **_of({
        "times weights": torch.matmul, "tensordot": lambda x, w: torch.tensordot(x, w, 1),
        "bij,jk->bik": lambda x, w: torch.einsum("bij,jk->bik", x, w),
        "bij,ik->bjk": lambda x, w: torch.einsum("bij,ik->bjk", x, w),
        "bij,jk->bki": lambda x, w: torch.einsum("bij,jk->bki", x, w),
    }, "square", _weights),
    **_of({
        "matrix_power": lambda x: _linalg.matrix_power(x[:4] / x.shape[-1], 3),
        "multi_dot": lambda x: _linalg.multi_dot([x[0, :64], x[0], x[0]]),
        "bii->b": lambda x: torch.einsum("bii->b", x), "bij->bji": lambda x: torch.einsum(
            "bij->bji", x).contiguous(), "bij->j": lambda x: torch.einsum("bij->j", x),
        "gram": lambda x: x @ x.mT, "covariance": lambda x: x.mT @ x / x.shape[1],
        "outer products": lambda x: x[:, 0, :, None] * x[:, 1, None, :],
        "matrix norm": lambda x: _linalg.matrix_norm(x),
        "addmv": lambda x: torch.addmv(x[0, :, 0], x[0], x[0, 0]),
        "addr": lambda x: torch.addr(x[0], x[0, 0], x[0, 1]),
    }, "square"),
    **{
        name: Function(call, "square", dtypes=_FP32, gradient=False, most_elements=2**20)
        for name, call in {
            "cholesky_solve": lambda x: torch.cholesky_solve(x, _linalg.cholesky(_definite(x))),
            "triangular": lambda x: _linalg.solve_triangular(
                x.tril() + 9 * torch.eye(x.shape[-1], device=x.device), x, upper=False),
            "solve": lambda x: _linalg.solve(_definite(x), x),
            "inverse": lambda x: _linalg.inv(_definite(x)),
            "determinant": lambda x: _linalg.det(_definite(x)),
        }.items()
    },
    "kron": Function(lambda x: torch.kron(x[0, :32, :32], x[0]), "square", most_elements=2**18),
    "linear over channels": Function(
        lambda x, w: F.linear(x.movedim(1, -1), w), "images", _from_channels),
    "bchw,oc->bohw": Function(
        lambda x, w: torch.einsum("bchw,oc->bohw", x, w), "images", _from_channels),
    "bchw,bdhw->bcd": Function(lambda x: torch.einsum("bchw,bdhw->bcd", x, x), "images"),
    "bnd,bmd->bnm": Function(lambda x: torch.einsum("bnd,bmd->bnm", x, x), "points"),
    "bnd,md->bmn": Function(
        lambda x, y: torch.einsum("bnd,md->bmn", x, y), "points", _queries),
    "attention in steps": Function(
        lambda x: (x @ x.mT * 0.1).softmax(-1) @ x, "points"),
    "cross": Function(lambda x: _linalg.cross(x[..., :2].repeat(1, 1, 2)[..., :3], x[
        ..., :1].expand(-1, -1, 3)), "points", dtypes=_FP32),
    "rotated points": Function(
        lambda x: torch.einsum("bij,bnj->bni", x[:, : x.shape[2]], x), "points"),
}  # fmt: skip
"""Functions of matrices, by name."""
