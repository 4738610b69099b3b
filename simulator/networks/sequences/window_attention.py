"""Attention in which a token sees the last tokens only (Beltagy et al. 2020, "Longformer")."""

import torch
import torch.nn.functional as F
from torch import Tensor


def attend_in_window(q: Tensor, k: Tensor, v: Tensor, window: int) -> Tensor:
    """q [batch, heads, seq, d], k and v [batch, kv_heads, seq, d] -> [batch, heads, seq, d].

    A query sees its own token and the `window` - 1 before it. Queries are cut into blocks of
    `window`, and each block attends to its own and the previous block, with a mask: the work grows
    with seq · window instead of seq².
    """
    batch, heads, seq, d = q.shape
    blocks = -(-seq // window)
    end = blocks * window - seq
    q = F.pad(q, (0, 0, 0, end)).view(batch, heads, blocks, window, d)
    k, v = (
        F.pad(part, (0, 0, window, end))
        .repeat_interleave(heads // part.shape[1], dim=1)
        .unfold(2, 2 * window, window)  # [batch, heads, blocks, d, 2 · window]
        .permute(0, 2, 1, 4, 3)
        .flatten(0, 1)
        for part in (k, v)
    )
    q = q.transpose(1, 2).flatten(0, 1)
    y = F.scaled_dot_product_attention(
        q, k, v, _mask(blocks, window, q.device).repeat(batch, 1, 1, 1)
    )
    return y.view(batch, blocks, heads, window, d).transpose(1, 2).flatten(2, 3)[:, :, :seq]


def _mask(blocks: int, window: int, device: torch.device) -> Tensor:
    """True where a query of a block sees a key, [blocks, 1, window, 2 · window]: the keys begin
    `window` positions before the block; those of the first block begin before the sequence."""
    query = torch.arange(window, device=device)[:, None]
    key = torch.arange(2 * window, device=device)
    seen = (key > query) & (key <= query + window)
    block = torch.arange(blocks, device=device)[:, None, None]
    return (seen & ((key >= window) | (block > 0)))[:, None]
