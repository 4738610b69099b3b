"""One step of generation by Llama: a new token per sequence, against cached keys and values."""

import torch
from torch import Tensor

from simulator.networks.sequences.llama import Llama


class LlamaDecode(Llama):
    """Llama with the same sizes and weights, run for the last of `seq` tokens."""

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        """ids [batch, 1], then each layer's keys and values, [batch, kv_heads, seq, d] each."""
        if training:
            raise ValueError("decoding is inference only: use training=False, or train Llama")
        dtype = self.tokens.weight.dtype
        d = 2 * self.rope.inverse_frequency.shape[0]
        cache = (
            torch.randn(batch, self.kv_heads, seq, d, dtype=dtype)
            for _ in range(2 * len(self.layers))
        )
        return torch.randint(0, self.vocab, (batch, 1)), *cache

    # The cache takes the place of labels. It outlives the step, so it must not hold a graph.
    @torch.no_grad()
    def forward(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, ids: Tensor, *cache: Tensor
    ) -> Tensor:
        """ids [batch, 1], cache -> logits [batch, 1, vocab]; writes the cache's last position."""
        x = self.tokens(ids)
        seq = cache[0].shape[2]
        cos, sin = self.rope(torch.arange(seq - 1, seq, device=ids.device), x.dtype)
        for layer, k, v in zip(self.layers, cache[::2], cache[1::2], strict=True):
            x = layer(x, cos, sin, (k, v))
        return self.head(self.norm(x))
