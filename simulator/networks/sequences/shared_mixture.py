"""The mixture of experts of DeepSeek-V3 (DeepSeek-AI 2024, "DeepSeek-V3 Technical Report"): sigmoid
scores, groups of experts, and experts that every token passes through."""

import torch
from torch import Tensor, nn

from simulator.networks.sequences.grouped_experts import GroupedExperts
from simulator.networks.sequences.llama import SwiGlu


class GroupRouter(nn.Module):
    """Chooses `top` of `experts` for each token, among the experts of the `top_groups` best of
    `groups` groups.

    A group is rated by the sum of its two best scores. Each expert has a bias, which is not trained
    by gradients and balances the load. It affects the choice of experts, but not their shares. The
    shares are scaled to add up to `scale`.
    """

    bias: Tensor

    def __init__(
        self, width: int, experts: int, top: int, groups: int, top_groups: int, scale: float
    ) -> None:
        super().__init__()
        self.top, self.groups, self.top_groups, self.scale = top, groups, top_groups, scale
        self.scores = nn.Linear(width, experts, bias=False)
        self.register_buffer("bias", torch.zeros(experts))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """x [tokens, width] -> shares and indices of experts, [tokens, top] each."""
        scores = self.scores(x).float().sigmoid()
        biased = scores + self.bias
        grouped = biased.view(x.shape[0], self.groups, -1)
        best = grouped.topk(2, dim=-1).values.sum(-1)
        open_groups = torch.zeros_like(best).scatter_(
            1, best.topk(self.top_groups, dim=-1).indices, 1.0
        )
        open_to = grouped.masked_fill(open_groups[:, :, None] == 0, float("-inf")).flatten(1)
        chosen = open_to.topk(self.top, dim=-1).indices
        shares = scores.gather(1, chosen)
        shares = shares / shares.sum(-1, keepdim=True) * self.scale
        return shares.to(x.dtype), chosen


class RankExperts(GroupedExperts):
    """The experts of one of `parts` GPUs, each with whole experts. They compute 1 / `parts` of the
    rows of the GPU's tokens: the mean, if all experts are used equally."""

    def __init__(self, width: int, hidden: int, experts: int, parts: int) -> None:
        super().__init__(width, hidden, experts)
        self.parts = parts

    def forward(self, x: Tensor, shares: Tensor, chosen: Tensor) -> Tensor:
        """x [tokens, width], shares and indices of experts [tokens, top] -> [tokens, width]."""
        own = chosen.shape[-1] // self.parts
        return super().forward(x, shares[:, :own], chosen[:, :own])


class SharedMixture(nn.Module):
    """Routed experts, and one layer for every token."""

    def __init__(self, router: GroupRouter, experts: GroupedExperts, shared: SwiGlu) -> None:
        super().__init__()
        self.router, self.experts, self.shared = router, experts, shared

    def forward(self, x: Tensor) -> Tensor:
        """[batch, seq, width] -> the same shape."""
        tokens = x.flatten(0, 1)
        return self.shared(x) + self.experts(tokens, *self.router(tokens)).view(x.shape)
