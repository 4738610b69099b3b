"""A mixture of experts as grouped products: rows sorted by expert, one kernel for all experts."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Router(nn.Module):
    """Chooses `top` of `experts` for each token, with the softmax of their scores as shares."""

    def __init__(self, width: int, experts: int, top: int, bias: bool = False) -> None:
        super().__init__()
        self.top = top
        self.scores = nn.Linear(width, experts, bias)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """x [tokens, width] -> shares and indices of experts, [tokens, top] each."""
        scores, chosen = torch.topk(self.scores(x), self.top, dim=-1)
        return F.softmax(scores, dim=-1, dtype=torch.float32).to(x.dtype), chosen


class GroupedExperts(nn.Module):
    """SwiGLU layers of inner width `hidden`; each token passes through those that a router chose
    for it.

    The experts' weights are one tensor for gate and up and one for down, and a grouped product
    multiplies the rows of every expert by its weights. No shape depends on the data, so that a CUDA
    graph can capture the layer.
    """

    def __init__(self, width: int, hidden: int, experts: int, bias: bool = False) -> None:
        super().__init__()
        self.experts = experts
        self.gate_up = nn.Parameter(0.02 * torch.randn(experts, 2 * hidden, width))
        self.down = nn.Parameter(0.02 * torch.randn(experts, width, hidden))
        self.gate_up_bias = nn.Parameter(torch.zeros(experts, 2 * hidden)) if bias else None
        self.down_bias = nn.Parameter(torch.zeros(experts, width)) if bias else None

    def forward(self, x: Tensor, shares: Tensor, chosen: Tensor) -> Tensor:
        """x [tokens, width], shares and indices of experts [tokens, top] -> [tokens, width]."""
        expert, order = torch.sort(chosen.flatten())
        counts = torch.histc(expert.float(), bins=self.experts, min=0, max=self.experts - 1)
        ends = torch.cumsum(counts, dim=0, dtype=torch.int32)
        token = order // chosen.shape[-1]
        hidden = _grouped(x[token], self.gate_up, ends, self.gate_up_bias, expert)
        gate, up = hidden.chunk(2, dim=-1)
        y = _grouped(F.silu(gate) * up, self.down, ends, self.down_bias, expert)
        y = y * shares.flatten()[order, None]
        return torch.zeros_like(x).index_add_(0, token, y)


def _grouped(
    rows: Tensor, weight: Tensor, ends: Tensor, bias: Tensor | None, expert: Tensor
) -> Tensor:
    """rows [n, k], sorted by expert, by weight [experts, m, k] -> [n, m]."""
    y = F.grouped_mm(rows, weight.transpose(-2, -1), offs=ends)
    return y if bias is None else y + bias[expert]
