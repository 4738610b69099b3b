"""BERT: Devlin et al. 2018, "BERT: Pre-training of Deep Bidirectional Transformers"."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from simulator.networks.output import Output


class Attention(nn.Module):
    """Bidirectional self-attention with separate query, key and value projections."""

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.dropout = dropout
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.out = nn.Linear(width, width)

    def split_heads(self, x: Tensor) -> Tensor:
        """[batch, seq, width] -> [batch, heads, seq, width / heads]."""
        batch, seq, width = x.shape
        return x.view(batch, seq, self.heads, width // self.heads).transpose(1, 2)

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:
        """x [batch, seq, width], mask [batch, 1, 1, seq], true where attended -> like x."""
        y = F.scaled_dot_product_attention(
            self.split_heads(self.query(x)),
            self.split_heads(self.key(x)),
            self.split_heads(self.value(x)),
            attn_mask=mask,
            dropout_p=self.dropout if self.training else 0.0,
        )
        return self.out(y.transpose(1, 2).reshape(x.shape))


class Layer(nn.Module):
    """Post-LN: each residual sum is normalised."""

    def __init__(self, width: int, heads: int, hidden: int, dropout: float) -> None:
        super().__init__()
        self.attention = Attention(width, heads, dropout)
        self.attention_norm = nn.LayerNorm(width, eps=1e-12)
        self.up = nn.Linear(width, hidden)
        self.down = nn.Linear(hidden, width)
        self.norm = nn.LayerNorm(width, eps=1e-12)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:
        """[batch, seq, width] -> the same shape."""
        x = self.attention_norm(x + self.dropout(self.attention(x, mask)))
        return self.norm(x + self.dropout(self.down(F.gelu(self.up(x)))))


class Bert(nn.Module):
    """The encoder with both pre-training heads: masked words (tied) and next sentence.

    With `mask=True` padding tokens (id 0) are masked out of the attention.
    """

    def __init__(
        self,
        width: int = 768,
        layers: int = 12,
        heads: int = 12,
        hidden: int = 3072,
        vocab: int = 30522,
        positions: int = 512,
        dropout: float = 0.1,
        mask: bool = False,
    ) -> None:
        super().__init__()
        self.vocab = vocab
        self.mask = mask
        self.tokens = nn.Embedding(vocab, width, padding_idx=0)
        self.positions = nn.Embedding(positions, width)
        self.segments = nn.Embedding(2, width)
        self.norm = nn.LayerNorm(width, eps=1e-12)
        self.dropout = nn.Dropout(dropout)
        self.layers = nn.ModuleList(Layer(width, heads, hidden, dropout) for _ in range(layers))
        self.pooler = nn.Linear(width, width)
        self.next_sentence = nn.Linear(width, 2)
        self.transform = nn.Linear(width, width)
        self.transform_norm = nn.LayerNorm(width, eps=1e-12)
        self.head = nn.Linear(width, vocab)
        for embedding in (self.tokens, self.positions, self.segments):
            nn.init.normal_(embedding.weight, std=0.02)
        self.head.weight = self.tokens.weight

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        """ids [batch, seq]; training adds is_next [batch] and labels [batch, seq].

        With `mask=True` the last eighth of every sequence is padding.
        """
        ids = torch.randint(1, self.vocab, (batch, seq))
        if self.mask:
            ids[:, seq - seq // 8 :] = 0
        if not training:
            return (ids,)
        return ids, torch.randint(0, 2, (batch,)), torch.randint(0, self.vocab, (batch, seq))

    def forward(
        self, ids: Tensor, is_next: Tensor | None = None, labels: Tensor | None = None
    ) -> Tensor | Output:
        """ids [batch, seq] -> masked-word logits [batch, seq, vocab]."""
        mask = (ids != 0)[:, None, None, :] if self.mask else None
        positions = torch.arange(ids.shape[1], device=ids.device)
        segments = torch.zeros_like(ids)
        x = self.tokens(ids) + self.positions(positions) + self.segments(segments)
        x = self.dropout(self.norm(x))
        for layer in self.layers:
            x = layer(x, mask)
        logits = self.head(self.transform_norm(F.gelu(self.transform(x))))
        if labels is None:
            return logits
        loss = F.cross_entropy(logits.float().flatten(0, 1), labels.flatten())
        if is_next is not None:
            pooled = torch.tanh(self.pooler(x[:, 0]))
            loss = loss + F.cross_entropy(self.next_sentence(pooled).float(), is_next)
        return Output(logits, loss)
