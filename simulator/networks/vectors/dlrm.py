"""DLRM: Naumov et al. 2019, "Deep Learning Recommendation Model for Personalization"."""

from collections.abc import Iterable
from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from simulator.networks.output import Output


def mlp(widths: Iterable[int]) -> nn.Sequential:
    """Linear layers from each width to the next, with a ReLU after each."""
    layers: list[nn.Module] = []
    for width, out in pairwise(widths):
        layers += [nn.Linear(width, out), nn.ReLU()]
    return nn.Sequential(*layers)


class Dlrm(nn.Module):
    """An MLP for dense features, tables for categories, and an MLP on their pairwise products."""

    pairs: Tensor

    def __init__(
        self,
        tables: int = 26,
        rows: int = 100_000,
        width: int = 128,
        dense: int = 13,
        bag: int = 1,
        bottom: tuple[int, ...] = (512, 256),
        top: tuple[int, ...] = (1024, 1024, 512, 256),
    ) -> None:
        super().__init__()
        self.rows, self.dense, self.bag = rows, dense, bag
        self.tables = nn.ModuleList(nn.EmbeddingBag(rows, width, mode="sum") for _ in range(tables))
        self.bottom = mlp((dense, *bottom, width))
        self.register_buffer(
            "pairs", torch.tril_indices(tables + 1, tables + 1, offset=-1), persistent=False
        )
        self.top = mlp((width + (tables + 1) * tables // 2, *top))
        self.head = nn.Linear(top[-1], 1)

    def example_inputs(
        self, batch: int, seq: int | None = None, training: bool = False
    ) -> tuple[Tensor, ...]:
        """Dense [batch, dense], ids [tables, batch, bag], then clicks [batch] if training."""
        dtype = self.head.weight.dtype
        dense = torch.randn(batch, self.dense, dtype=dtype)
        ids = torch.randint(0, self.rows, (len(self.tables), batch, self.bag))
        if not training:
            return dense, ids
        return dense, ids, torch.randint(0, 2, (batch,)).to(dtype)

    def forward(self, dense: Tensor, ids: Tensor, labels: Tensor | None = None) -> Tensor | Output:
        """dense [batch, dense], ids [tables, batch, bag] -> logits [batch]."""
        x = self.bottom(dense)
        embedded = [table(ids[i]) for i, table in enumerate(self.tables)]
        features = torch.stack([x, *embedded], dim=1)
        products = torch.bmm(features, features.transpose(1, 2))
        interactions = products[:, self.pairs[0], self.pairs[1]]
        logits = self.head(self.top(torch.cat((x, interactions), dim=1))).squeeze(1)
        if labels is None:
            return logits
        return Output(logits, F.binary_cross_entropy_with_logits(logits, labels))
