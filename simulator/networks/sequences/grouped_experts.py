"""A mixture of experts as grouped products: rows sorted by expert, one kernel for all experts."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class GroupedExperts(nn.Module):
    """Sends each token to its `top` experts, SwiGLU layers of inner width `hidden`.

    The experts' weights are one tensor for gate and up and one for down, and a grouped product
    multiplies the rows of every expert by its weights. No shape depends on the data, so that a CUDA
    graph can capture the layer.
    """

    def __init__(self, width: int, hidden: int, experts: int, top: int, bias: bool = False) -> None:
        super().__init__()
        self.top, self.experts = top, experts
        self.router = nn.Linear(width, experts, bias=bias)
        self.gate_up = nn.Parameter(0.02 * torch.randn(experts, 2 * hidden, width))
        self.down = nn.Parameter(0.02 * torch.randn(experts, width, hidden))
        self.gate_up_bias = nn.Parameter(torch.zeros(experts, 2 * hidden)) if bias else None
        self.down_bias = nn.Parameter(torch.zeros(experts, width)) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        """[batch, seq, width] -> the same shape."""
        tokens = x.flatten(0, 1)
        scores, chosen = torch.topk(self.router(tokens), self.top, dim=-1)
        shares = F.softmax(scores, dim=-1, dtype=torch.float32).to(x.dtype)
        expert, order = torch.sort(chosen.flatten())
        counts = torch.histc(expert.float(), bins=self.experts, min=0, max=self.experts - 1)
        ends = torch.cumsum(counts, dim=0, dtype=torch.int32)
        token = order // self.top
        gate, up = _grouped(tokens[token], self.gate_up, ends, self.gate_up_bias, expert).chunk(
            2, dim=-1
        )
        y = _grouped(F.silu(gate) * up, self.down, ends, self.down_bias, expert)
        y = y * shares.flatten()[order, None]
        return torch.zeros_like(tokens).index_add_(0, token, y).view(x.shape)


def _grouped(
    rows: Tensor, weight: Tensor, ends: Tensor, bias: Tensor | None, expert: Tensor
) -> Tensor:
    """rows [n, k], sorted by expert, by weight [experts, m, k] -> [n, m]."""
    y = F.grouped_mm(rows, weight.transpose(-2, -1), offs=ends)
    return y if bias is None else y + bias[expert]
