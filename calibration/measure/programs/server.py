"""A small server of the catalogue's Llama: iterations of decodes and prompts in one forward pass.

Every slot has its place in a preallocated cache of keys and values, [slots, kv_heads, length, d]
per layer, as in the catalogue's decode. Sequences of different lengths decode at their mean length,
so that as many keys are read as by a paged kernel; when a sequence ends, the last slot replaces it
without copying. Weights, keys and tokens are random numbers, since only times matter.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.attention.bias import causal_lower_right

from calibration.measure.instruments.timing import mend
from calibration.measure.programs.batching import Chunk
from simulator.networks.sequences.llama import rotate
from simulator.networks.sequences.llama_decode import LlamaDecode


def captured(call: Callable[[], object], pool: Any) -> torch.cuda.CUDAGraph:
    """A graph of a call that has run before, on the current stream, which is not the default one.
    Raises the errors of the capture."""
    call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    try:
        graph.capture_begin(pool=pool)
        try:
            call()
        finally:
            graph.capture_end()
    except RuntimeError:
        mend(pool)
        raise
    graph.replay()
    torch.cuda.synchronize()
    return graph


class LlamaServer:
    """Iterations of a Llama with `slots` sequences of up to `length` tokens. With `graphs`, decodes
    replay CUDA graphs, which are captured here; batches are padded to the next of `batches`, and
    contexts are rounded to the nearest of `contexts`. Without `graphs`, contexts are rounded in the
    same way."""

    def __init__(
        self,
        module: LlamaDecode,
        slots: int,
        length: int,
        batches: tuple[int, ...],
        contexts: tuple[int, ...],
        graphs: bool,
    ) -> None:
        self.module, self.device = module, module.tokens.weight.device
        self.batches, self.contexts = batches, contexts
        dtype, d = module.tokens.weight.dtype, 2 * module.rope.inverse_frequency.shape[0]
        shape = slots, module.kv_heads, length, d
        with torch.device(self.device):
            self.cache = [torch.randn(shape, dtype=dtype) for _ in range(2 * len(module.layers))]
            self.ids = torch.randint(0, module.vocab, (slots, 1))
            self.prompt = torch.randint(0, module.vocab, (1, 1 << 14))
            self.positions = torch.arange(1 << 14)
        self._views: dict[tuple[int, int], list[Tensor]] = {}
        self._graphs: dict[tuple[int, int], torch.cuda.CUDAGraph] = {}
        if graphs:
            pool = torch.cuda.graph_pool_handle()
            for key in ((b, n) for n in contexts for b in batches):
                self._graphs[key] = captured(lambda key=key: self.decode(*key), pool)

    @property
    def graphs(self) -> bool:
        """Whether decodes replay a CUDA graph."""
        return bool(self._graphs)

    def views(self, batch: int, context: int) -> list[Tensor]:
        """The first `context` keys and values of the first slots, layer by layer."""
        if (batch, context) not in self._views:
            self._views[batch, context] = [each[:batch, :, :context] for each in self.cache]
        return self._views[batch, context]

    def decode(self, batch: int, context: int) -> None:
        """Run the catalogue's decode, and use the most likely tokens as the next ones."""
        logits = self.module(self.ids[:batch], *self.views(batch, context))
        self.ids[:batch].copy_(logits.argmax(-1))

    def nearest(self, batch: int, cached: int) -> int:
        """The prepared context nearest to the mean of `cached` tokens over the batch."""
        return min(self.contexts, key=lambda n: abs(n - cached / batch - 1))

    def padded(self, batch: int) -> int:
        """The number of sequences that decode, rounded up to the nearest captured batch."""
        if not self._graphs:
            return batch
        return next(b for b in self.batches if b >= batch)

    @torch.no_grad()
    def iterate(self, batch: int, cached: int, chunks: list[Chunk]) -> None:
        """Run one iteration, and wait until its tokens are on the host."""
        if chunks:
            logits = self.mixed(batch, self.nearest(batch, cached) if batch else 0, chunks)
            logits.argmax(-1).tolist()
            return
        context, whole = self.nearest(batch, cached), self.padded(batch)
        if self._graphs:
            self._graphs[whole, context].replay()
        else:
            self.decode(whole, context)
        self.ids[:batch].tolist()

    def mixed(self, batch: int, context: int, chunks: list[Chunk]) -> Tensor:
        """Decodes and prompt chunks in one forward pass, with separate attention: logits [1, tokens
        that end a text, vocab]."""
        module = self.module
        rows = batch + sum(chunk.tokens for chunk in chunks)
        ends = torch.tensor(_ends(batch, chunks)).to(self.device)
        ids = self.prompt[:, : rows - batch]
        x = module.tokens(torch.cat((self.ids[:batch].T, ids), 1) if batch else ids)
        cos, sin = module.rope(self.positions[:rows], x.dtype)
        decodes = self.views(batch, context) if batch else []
        layers: Any = module.layers
        for number, layer in enumerate(layers):
            attention = layer.attention
            h = layer.attention_norm(x)
            q, k, v = (
                of(h).view(1, rows, -1, attention.d).transpose(1, 2)
                for of in (attention.query, attention.key, attention.value)
            )
            q, k = rotate(q, cos, sin), rotate(k, cos, sin)
            attended: list[Tensor] = []
            if batch:
                keys, values = decodes[2 * number], decodes[2 * number + 1]
                attended.append(_decoded(q, k, v, batch, keys, values))
            at = batch
            for chunk in chunks:
                piece, to = slice(at, at + chunk.tokens), chunk.cached + chunk.tokens
                keys, values = (c[chunk.slot : chunk.slot + 1] for c in self._layer(number))
                attended.append(
                    _prefilled(
                        q[:, :, piece], k[:, :, piece], v[:, :, piece], chunk, keys, values, to
                    )
                )
                at += chunk.tokens
            x = x + attention.out(torch.cat(attended, 1) if len(attended) > 1 else attended[0])
            x = x + layer.feed_forward(layer.norm(x))
        return module.head(module.norm(x[:, ends]))

    def _layer(self, number: int) -> tuple[Tensor, Tensor]:
        return self.cache[2 * number], self.cache[2 * number + 1]


def _ends(batch: int, chunks: list[Chunk]) -> list[int]:
    """The rows whose logits are needed: decodes, and last tokens of complete prompts."""
    rows, at = list(range(batch)), batch
    for chunk in chunks:
        at += chunk.tokens
        rows += [at - 1] if chunk.last else []
    return rows or [0]


def _decoded(q: Tensor, k: Tensor, v: Tensor, batch: int, keys: Tensor, values: Tensor) -> Tensor:
    """The first `batch` rows of q, k, v [1, heads, rows, d], one sequence each: [1, batch,
    width]."""
    one, key, value = (each[0, :, :batch].transpose(0, 1).unsqueeze(2) for each in (q, k, v))
    keys[:, :, -1:].copy_(key)
    values[:, :, -1:].copy_(value)
    y = F.scaled_dot_product_attention(one, keys, values, enable_gqa=True)
    return y.reshape(1, batch, -1)


def _prefilled(
    q: Tensor, k: Tensor, v: Tensor, chunk: Chunk, keys: Tensor, values: Tensor, to: int
) -> Tensor:
    """A chunk of a prompt, which attends to the cached tokens before it: [1, tokens, width]."""
    keys[:, :, chunk.cached : to].copy_(k)
    values[:, :, chunk.cached : to].copy_(v)
    if chunk.cached:
        mask: Any = causal_lower_right(chunk.tokens, to)
        y = F.scaled_dot_product_attention(
            q, keys[:, :, :to], values[:, :, :to], attn_mask=mask, enable_gqa=True
        )
    else:
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
    return y.transpose(1, 2).reshape(1, chunk.tokens, -1)
