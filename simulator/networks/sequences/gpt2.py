"""GPT-2: Radford et al. 2019, "Language Models are Unsupervised Multitask Learners"."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from simulator.networks.output import Output


class Attention(nn.Module):
    """Causal self-attention with one fused query-key-value projection."""

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.dropout = dropout
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        """[batch, seq, width] -> the same shape."""
        batch, seq, width = x.shape
        q, k, v = (
            part.view(batch, seq, self.heads, width // self.heads).transpose(1, 2)
            for part in self.qkv(x).split(width, dim=2)
        )
        y = F.scaled_dot_product_attention(
            q, k, v, is_causal=True, dropout_p=self.dropout if self.training else 0.0
        )
        return self.out(y.transpose(1, 2).reshape(batch, seq, width))


class Block(nn.Module):
    """Pre-LN: the residual stream itself is never normalised."""

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.attention_norm = nn.LayerNorm(width)
        self.attention = Attention(width, heads, dropout)
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        """[batch, seq, width] -> the same shape."""
        x = x + self.dropout(self.attention(self.attention_norm(x)))
        hidden = F.gelu(self.up(self.norm(x)), approximate="tanh")
        return x + self.dropout(self.down(hidden))


class Gpt2(nn.Module):
    """A decoder with learned positions, whose head is the token embedding."""

    def __init__(
        self,
        width: int = 768,
        layers: int = 12,
        heads: int = 12,
        vocab: int = 50257,
        positions: int = 1024,
        dropout: float = 0.1,
    ) -> None:
        super().__init__()
        self.vocab = vocab
        self.tokens = nn.Embedding(vocab, width)
        self.positions = nn.Embedding(positions, width)
        self.dropout = nn.Dropout(dropout)
        self.blocks = nn.ModuleList(Block(width, heads, dropout) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocab, bias=False)
        nn.init.normal_(self.tokens.weight, std=0.02)
        nn.init.normal_(self.positions.weight, std=0.01)
        self.head.weight = self.tokens.weight

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        """ids [batch, seq], then labels [batch, seq] if training."""
        ids = torch.randint(0, self.vocab, (batch, seq))
        return (ids, torch.randint(0, self.vocab, (batch, seq))) if training else (ids,)

    def forward(self, ids: Tensor, labels: Tensor | None = None) -> Tensor | Output:
        """ids [batch, seq] -> logits [batch, seq, vocab]."""
        positions = torch.arange(ids.shape[1], device=ids.device)
        x = self.dropout(self.tokens(ids) + self.positions(positions))
        for block in self.blocks:
            x = block(x)
        logits = self.head(self.norm(x))
        if labels is None:
            return logits
        return Output(logits, F.cross_entropy(logits.float().flatten(0, 1), labels.flatten()))
