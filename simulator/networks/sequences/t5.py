"""T5: Raffel et al. 2019, "Exploring the Limits of Transfer Learning with a … Transformer"."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from simulator.networks.output import Output


class T5Norm(nn.Module):
    """RMS normalisation as separate ops, as in T5's code, which predates nn.RMSNorm."""

    def __init__(self, width: int, eps: float = 1e-6) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        """[..., width] -> the same shape."""
        variance = x.float().pow(2).mean(-1, keepdim=True)
        return self.weight * (x * torch.rsqrt(variance + self.eps)).to(self.weight.dtype)


class RelativeBias(nn.Module):
    """A learned bias per head and bucket of distance; far distances share a bucket."""

    def __init__(self, heads: int, causal: bool, buckets: int = 32, furthest: int = 128) -> None:
        super().__init__()
        self.causal = causal
        self.buckets = buckets
        self.furthest = furthest
        self.bias = nn.Embedding(buckets, heads)

    def forward(self, seq: int, device: torch.device) -> Tensor:
        """-> [1, heads, seq, seq]; a causal bias is -inf for later positions."""
        positions = torch.arange(seq, device=device)
        distance = positions[None, :] - positions[:, None]  # key minus query
        buckets = self.buckets if self.causal else self.buckets // 2
        offset = torch.zeros_like(distance) if self.causal else (distance > 0).long() * buckets
        far = -distance.clamp(max=0) if self.causal else distance.abs()
        exact = buckets // 2
        scale = (buckets - exact) / math.log(self.furthest / exact)
        log = exact + (torch.log(far.float().clamp(min=1) / exact) * scale).long()
        bucket = offset + torch.where(far < exact, far, log.clamp(max=buckets - 1))
        bias = self.bias(bucket).permute(2, 0, 1)[None]
        return bias.masked_fill(distance > 0, -math.inf) if self.causal else bias


class Attention(nn.Module):
    """Unscaled attention with an additive bias, by matrix products and a softmax."""

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(width, width, bias=False)
        self.key = nn.Linear(width, width, bias=False)
        self.value = nn.Linear(width, width, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, context: Tensor, bias: Tensor | None) -> Tensor:
        """x [batch, seq, width], context [batch, keys, width], bias [1, heads, seq, keys]."""
        batch, _, width = x.shape
        shape = (batch, -1, self.heads, width // self.heads)
        q = self.query(x).view(shape).transpose(1, 2)
        k = self.key(context).view(shape).transpose(1, 2)
        v = self.value(context).view(shape).transpose(1, 2)
        scores = torch.matmul(q, k.transpose(2, 3))
        if bias is not None:
            scores = scores + bias
        weights = self.dropout(F.softmax(scores.float(), dim=-1).type_as(scores))
        y = torch.matmul(weights, v).transpose(1, 2).contiguous().view(batch, -1, width)
        return self.out(y)


class Layer(nn.Module):
    """Self-attention, cross-attention in a decoder, then a ReLU feed-forward layer; pre-norm."""

    def __init__(self, width: int, heads: int, hidden: int, dropout: float, decoder: bool) -> None:
        super().__init__()
        self.attention_norm = T5Norm(width)
        self.attention = Attention(width, heads, dropout)
        self.cross_norm = T5Norm(width) if decoder else None
        self.cross = Attention(width, heads, dropout) if decoder else None
        self.norm = T5Norm(width)
        self.up = nn.Linear(width, hidden, bias=False)
        self.down = nn.Linear(hidden, width, bias=False)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, bias: Tensor, context: Tensor | None) -> Tensor:
        """x [batch, seq, width] -> the same shape."""
        normed = self.attention_norm(x)
        x = x + self.dropout(self.attention(normed, normed, bias))
        if self.cross is not None and self.cross_norm is not None and context is not None:
            x = x + self.dropout(self.cross(self.cross_norm(x), context, None))
        hidden = self.dropout(F.relu(self.up(self.norm(x))))
        return x + self.dropout(self.down(hidden))


class Stack(nn.Module):
    """An encoder or a decoder; its layers share one relative position bias."""

    def __init__(
        self, width: int, layers: int, heads: int, hidden: int, dropout: float, decoder: bool
    ) -> None:
        super().__init__()
        self.bias = RelativeBias(heads, causal=decoder)
        self.layers = nn.ModuleList(
            Layer(width, heads, hidden, dropout, decoder) for _ in range(layers)
        )
        self.norm = T5Norm(width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, context: Tensor | None = None) -> Tensor:
        """x [batch, seq, width] -> the same shape."""
        x = self.dropout(x)
        bias = self.bias(x.shape[1], x.device)
        for layer in self.layers:
            x = layer(x, bias, context)
        return self.dropout(self.norm(x))


class T5(nn.Module):
    """Encoder and decoder over one token embedding, which is the head as well."""

    def __init__(
        self,
        width: int = 768,
        layers: int = 12,
        heads: int = 12,
        hidden: int = 3072,
        vocab: int = 32128,
        dropout: float = 0.1,
    ) -> None:
        super().__init__()
        self.vocab = vocab
        self.width = width
        self.tokens = nn.Embedding(vocab, width)
        self.encoder = Stack(width, layers, heads, hidden, dropout, decoder=False)
        self.decoder = Stack(width, layers, heads, hidden, dropout, decoder=True)
        for layer in (*self.encoder.layers, *self.decoder.layers):
            for name, projection in layer.named_modules():
                if isinstance(projection, nn.Linear) and name.endswith(
                    "query"
                ):  # the missing 1/sqrt(d) is in the initial weights
                    nn.init.normal_(projection.weight, std=(width * (width // heads)) ** -0.5)

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        """Source and target ids [batch, seq] each, then labels [batch, seq] if training."""
        source = torch.randint(0, self.vocab, (batch, seq))
        target = torch.randint(0, self.vocab, (batch, seq))
        if not training:
            return source, target
        return source, target, torch.randint(0, self.vocab, (batch, seq))

    def forward(
        self, source: Tensor, target: Tensor, labels: Tensor | None = None
    ) -> Tensor | Output:
        """source [batch, keys], target [batch, seq] -> logits [batch, seq, vocab]."""
        context = self.encoder(self.tokens(source))
        x = self.decoder(self.tokens(target), context)
        logits = F.linear(x * self.width**-0.5, self.tokens.weight)
        if labels is None:
            return logits
        return Output(logits, F.cross_entropy(logits.float().flatten(0, 1), labels.flatten()))
