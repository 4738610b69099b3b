"""A mixture of experts: Jiang et al. 2024, "Mixtral of Experts"."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from simulator.networks.output import Output
from simulator.networks.sequences.llama import Layer, Rope, SwiGlu


class Experts(nn.Module):
    """Sends each token to its `top` experts; how many tokens an expert gets depends on the data."""

    def __init__(self, width: int, hidden: int, experts: int, top: int) -> None:
        super().__init__()
        self.top = top
        self.router = nn.Linear(width, experts, bias=False)
        self.experts = nn.ModuleList(SwiGlu(width, hidden) for _ in range(experts))

    def forward(self, x: Tensor) -> Tensor:
        """[batch, seq, width] -> the same shape."""
        tokens = x.flatten(0, 1)
        probabilities = F.softmax(self.router(tokens), dim=-1, dtype=torch.float32)
        weights, chosen = torch.topk(probabilities, self.top, dim=-1)
        weights = (weights / weights.sum(dim=-1, keepdim=True)).to(x.dtype)
        y = torch.zeros_like(tokens)
        for index, expert in enumerate(self.experts):
            # The sizes of `token` and `slot` depend on data: a GPU's host waits for them here.
            token, slot = torch.where(chosen == index)
            y.index_add_(0, token, expert(tokens[token]) * weights[token, slot, None])
        return y.view(x.shape)


class Mixtral(nn.Module):
    """Llama's attention, and a mixture of SwiGLU experts in place of its feed-forward layer."""

    def __init__(
        self,
        width: int = 4096,
        layers: int = 32,
        heads: int = 32,
        kv_heads: int = 8,
        hidden: int = 14336,
        experts: int = 8,
        top: int = 2,
        vocab: int = 32000,
        theta: float = 1000000.0,
    ) -> None:
        super().__init__()
        self.vocab = vocab
        self.tokens = nn.Embedding(vocab, width)
        self.rope = Rope(width // heads, theta)
        self.layers = nn.ModuleList(
            Layer(width, heads, kv_heads, Experts(width, hidden, experts, top))
            for _ in range(layers)
        )
        self.norm = nn.RMSNorm(width, eps=1e-5)
        self.head = nn.Linear(width, vocab, bias=False)

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        """ids [batch, seq], then labels [batch, seq] if training."""
        ids = torch.randint(0, self.vocab, (batch, seq))
        return (ids, torch.randint(0, self.vocab, (batch, seq))) if training else (ids,)

    def forward(self, ids: Tensor, labels: Tensor | None = None) -> Tensor | Output:
        """ids [batch, seq] -> logits [batch, seq, vocab]."""
        x = self.tokens(ids)
        cos, sin = self.rope(torch.arange(ids.shape[1], device=ids.device), x.dtype)
        for layer in self.layers:
            x = layer(x, cos, sin)
        logits = self.head(self.norm(x))
        if labels is None:
            return logits
        return Output(logits, F.cross_entropy(logits.float().flatten(0, 1), labels.flatten()))
