"""Recurrent language models: Hochreiter and Schmidhuber 1997 (LSTM), Cho et al. 2014 (GRU)."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from simulator.networks.output import Output


class Recurrent(nn.Module):
    """Embedding, `layers` recurrent layers of the given cell ("lstm" or "gru"), and a head."""

    def __init__(
        self,
        cell: str = "lstm",
        width: int = 1024,
        layers: int = 2,
        vocab: int = 32000,
        dropout: float = 0.1,
    ) -> None:
        super().__init__()
        cells = {"lstm": nn.LSTM, "gru": nn.GRU}
        if cell not in cells:
            raise ValueError(f"unknown cell {cell!r}: expected one of {', '.join(cells)}")
        self.vocab = vocab
        self.tokens = nn.Embedding(vocab, width)
        self.cells = cells[cell](width, width, layers, batch_first=True, dropout=dropout)
        self.dropout = nn.Dropout(dropout)
        self.head = nn.Linear(width, vocab)

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        """ids [batch, seq], then labels [batch, seq] if training."""
        ids = torch.randint(0, self.vocab, (batch, seq))
        return (ids, torch.randint(0, self.vocab, (batch, seq))) if training else (ids,)

    def forward(self, ids: Tensor, labels: Tensor | None = None) -> Tensor | Output:
        """ids [batch, seq] -> logits [batch, seq, vocab]."""
        x, _ = self.cells(self.dropout(self.tokens(ids)))
        logits = self.head(self.dropout(x))
        if labels is None:
            return logits
        return Output(logits, F.cross_entropy(logits.float().flatten(0, 1), labels.flatten()))
