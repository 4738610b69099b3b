"""Calls that a CUDA graph can or cannot capture: some read data on the host, others only appear
to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F


def calls(device: str) -> list[tuple[str, Callable[[], Any]]]:
    """Calls by name; each leaves at most a few MB allocated."""
    torch.manual_seed(0)
    x = torch.randn(64, 64, device=device)
    square = x @ x.mT + 64 * torch.eye(64, device=device)
    image = torch.randn(2, 8, 16, 16, device=device)
    whole = torch.ones(64, dtype=torch.bool, device=device)
    numbers = torch.randint(0, 8, (64,), device=device)
    counts = torch.ones(64, dtype=torch.long, device=device)
    host = torch.randn(64, device="cpu")
    table = torch.randn(8, 16, device=device)
    lstm = torch.nn.LSTM(64, 64, batch_first=True).to(device)
    on: dict[str, Any] = {"device": device}
    return [
        ("add", lambda: x + 1),
        ("item", lambda: x[0, 0].item()),
        ("bool", lambda: bool(whole.all())),
        ("if_not_capturing", lambda: _capturing(device) or bool(whole.all())),
        ("if_not_tracing_only", lambda: _tracing() or bool(whole.all())),
        ("tolist", lambda: numbers.tolist()),
        ("cpu", lambda: x.cpu()),
        ("nonzero", lambda: whole.nonzero()),
        ("where_single", lambda: torch.where(whole)),
        ("boolean_index", lambda: x[whole]),
        ("boolean_index_put", lambda: x.clone().index_put_((whole,), torch.zeros((), **on))),
        ("boolean_index_put_cpu_value", lambda: _fill(x.clone(), whole)),
        ("masked_fill", lambda: x.masked_fill(whole, 0.0)),
        ("masked_fill_tensor", lambda: x.masked_fill(whole, torch.zeros(()))),
        ("masked_select", lambda: x.masked_select(whole)),
        ("masked_scatter", lambda: x.masked_scatter(whole.expand(64, 64), x)),
        ("unique", lambda: numbers.unique()),
        ("unique_consecutive", lambda: numbers.unique_consecutive()),
        ("bincount", lambda: numbers.bincount()),
        ("bincount_minlength", lambda: numbers.bincount(minlength=8)),
        ("histc", lambda: x.histc(8)),
        ("histc_range", lambda: x.histc(8, -1, 1)),
        ("one_hot", lambda: F.one_hot(numbers)),
        ("one_hot_classes", lambda: F.one_hot(numbers, 8)),
        ("repeat_interleave_tensor", lambda: x.repeat_interleave(counts, dim=0)),
        (
            "repeat_interleave_output_size",
            lambda: x.repeat_interleave(counts, dim=0, output_size=64),
        ),
        ("repeat_interleave_number", lambda: x.repeat_interleave(2, dim=0)),
        ("tensor_from_list", lambda: torch.tensor([1.0, 2.0], **on)),
        ("tensor_from_number", lambda: torch.tensor(1.0, **on)),
        ("scalar_tensor", lambda: torch.scalar_tensor(1.0, **on)),
        ("full", lambda: torch.full((4,), 1.0, **on)),
        ("arange", lambda: torch.arange(8, **on)),
        ("linspace", lambda: torch.linspace(0, 1, 8, **on)),
        ("index_by_list", lambda: x[[0, 2, 4]]),
        ("index_by_cpu_tensor", lambda: x[torch.tensor([0, 2, 4])]),
        ("index_by_tensor", lambda: x[numbers]),
        ("index_by_number_tensor", lambda: x[numbers[0]]),
        ("slice_by_number_tensor", lambda: x[: counts[0]]),
        ("host_to_device", lambda: host.to(device)),
        ("host_to_device_unwaited", lambda: host.to(device, non_blocking=True)),
        ("host_scalar", lambda: x * torch.tensor(2.0)),
        ("rand", lambda: torch.rand(8, **on)),
        ("randperm", lambda: torch.randperm(64, **on)),
        ("multinomial", lambda: x.abs().multinomial(1)),
        ("multinomial_many", lambda: x.abs().multinomial(4)),
        ("bernoulli", lambda: x.sigmoid().bernoulli()),
        ("dropout", lambda: F.dropout(x, 0.1)),
        ("normal_tensor", lambda: torch.normal(x, x.abs())),
        ("sort", lambda: x.sort()),
        ("topk", lambda: x.topk(4)),
        ("median", lambda: x.median()),
        ("kthvalue", lambda: x.kthvalue(3)),
        ("mode", lambda: numbers.mode()),
        ("cumsum", lambda: x.cumsum(0)),
        ("inverse", lambda: torch.linalg.inv(square)),
        ("inverse_ex", lambda: torch.linalg.inv_ex(square)),
        ("cholesky", lambda: torch.linalg.cholesky(square)),
        ("cholesky_ex", lambda: torch.linalg.cholesky_ex(square)),
        ("solve", lambda: torch.linalg.solve(square, x)),
        ("qr", lambda: torch.linalg.qr(x)),
        ("eigh", lambda: torch.linalg.eigh(square)),
        ("svd", lambda: torch.linalg.svd(x)),
        ("det", lambda: torch.linalg.det(square)),
        ("matrix_exp", lambda: torch.linalg.matrix_exp(x / 64)),
        ("cdist", lambda: torch.cdist(x, x)),
        ("fft", lambda: torch.fft.rfft2(x)),
        ("einsum", lambda: torch.einsum("ij,kj->ik", x, x)),
        ("conv", lambda: F.conv2d(image, torch.randn(8, 8, 3, 3, **on))),
        ("interpolate", lambda: F.interpolate(image, scale_factor=2.0, mode="bicubic")),
        (
            "grid_sample",
            lambda: F.grid_sample(image, torch.rand(2, 4, 4, 2, **on), align_corners=False),
        ),
        ("adaptive_pool", lambda: F.adaptive_avg_pool2d(image, 3)),
        ("fractional_pool", lambda: F.fractional_max_pool2d(image, 2, output_size=4)),
        ("embedding", lambda: F.embedding(numbers, table)),
        ("embedding_max_norm", lambda: F.embedding(numbers, table.clone(), max_norm=1.0)),
        ("embedding_bag", lambda: F.embedding_bag(numbers.view(8, 8), table)),
        (
            "embedding_bag_offsets",
            lambda: F.embedding_bag(numbers, table, torch.arange(0, 64, 8, **on)),
        ),
        ("cross_entropy", lambda: F.cross_entropy(x, numbers)),
        ("nll_weight", lambda: F.nll_loss(x, numbers, torch.ones(64, **on))),
        (
            "ctc_loss",
            lambda: F.ctc_loss(
                x.view(16, 4, 64).log_softmax(-1),
                torch.ones(4, 5, dtype=torch.long, **on),
                torch.full((4,), 16),
                torch.full((4,), 5),
            ),
        ),
        ("lstm", lambda: lstm(x[None])),
        (
            "packed",
            lambda: torch.nn.utils.rnn.pack_padded_sequence(
                x[None], torch.tensor([64]), batch_first=True
            ),
        ),
        ("pad_sequence", lambda: torch.nn.utils.rnn.pad_sequence([x, x[:32]])),
        ("searchsorted", lambda: torch.searchsorted(x.sort()[0], x)),
        ("bucketize", lambda: torch.bucketize(x, torch.linspace(-1, 1, 8, **on))),
        ("index_add", lambda: x.clone().index_add_(0, numbers, x)),
        ("scatter_add", lambda: x.clone().scatter_add_(0, numbers.expand(64, 64), x)),
        ("tril_indices", lambda: torch.tril_indices(8, 8, **on)),
        ("combinations", lambda: torch.combinations(x[0, :8])),
        ("cartesian", lambda: torch.cartesian_prod(x[0, :4], x[0, :4])),
        ("allclose", lambda: torch.allclose(x, x)),
        ("equal", lambda: torch.equal(x, x)),
        ("assert_async", lambda: torch.ops.aten._assert_async(x.isfinite().all())),
        ("print_number", lambda: f"{x[0, 0]:.3f}"),
        ("clip_gradients", lambda: _clip(x)),
        ("clamp_tensor", lambda: x.clamp(max=x.amax())),
        (
            "nested_mask",
            lambda: F.scaled_dot_product_attention(
                image, image, image, attn_mask=whole[:16].expand(16, 16)
            ),
        ),
        ("transformer_encoder", lambda: _encoder(device)),
    ]


def _capturing(device: str) -> bool:
    return device != "cpu" and torch.cuda.is_current_stream_capturing()


def _tracing() -> bool:
    return torch.jit.is_tracing()  # pyright: ignore[reportPrivateImportUsage]


def _fill(x: torch.Tensor, where: torch.Tensor) -> torch.Tensor:
    x[where] = 0.0
    return x


def _clip(x: torch.Tensor) -> torch.Tensor:
    weight = torch.nn.Parameter(x.clone())
    weight.grad = x.clone()
    return torch.nn.utils.clip_grad_norm_([weight], 1.0)


_ENCODERS: dict[str, Any] = {}


def _encoder(device: str) -> torch.Tensor:
    """`nn.TransformerEncoder` in evaluation mode, with a padding mask."""
    if device not in _ENCODERS:
        layer = torch.nn.TransformerEncoderLayer(64, 4, 128, batch_first=True)
        _ENCODERS[device] = torch.nn.TransformerEncoder(layer, 1).to(device).eval()
    x = torch.ones(2, 16, 64, device=device)
    padding = torch.zeros(2, 16, dtype=torch.bool, device=device)
    with torch.no_grad():
        return _ENCODERS[device](x, src_key_padding_mask=padding)
