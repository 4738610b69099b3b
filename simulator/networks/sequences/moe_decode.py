"""One step of generation by a mixture of experts: a new token per sequence, against a cache."""

import torch
from torch import Tensor

from simulator.networks.sequences.moe_decoder import MoeDecoder


class MoeDecode(MoeDecoder):
    """The decoder with the same sizes and weights, run for the last of `seq` tokens."""

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        """ids [batch, 1], positions [1], then per layer keys and values, [batch, kv_heads, cached,
        d] each: of seq tokens, or of the window."""
        if training:
            raise ValueError("decoding is inference only: use training=False, or train MoeDecoder")
        dtype = self.tokens.weight.dtype
        cache: list[Tensor] = []
        for layer in self.layers:
            window: int = layer.attention.window  # pyright: ignore
            shape = (batch, self.kv_heads, min(seq, window) if window else seq, self.d)
            cache += [torch.randn(shape, dtype=dtype) for _ in range(2)]
        ids = torch.randint(0, self.vocab, (batch, 1))
        return ids, torch.full((1,), seq - 1), *cache

    # The cache takes the place of labels. It outlives the step, so it must not hold a graph.
    @torch.no_grad()
    def forward(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, ids: Tensor, positions: Tensor, *cache: Tensor
    ) -> Tensor:
        """ids [batch, 1], positions [1], cache -> logits [batch, 1, vocab]; writes the cache's last
        position."""
        x = self.tokens(ids)
        cos, sin = self.rope(positions, x.dtype)
        for layer, k, v in zip(self.layers, cache[::2], cache[1::2], strict=True):
            x = layer(x, cos, sin, (k, v))
        return self.head(self.norm(x))
