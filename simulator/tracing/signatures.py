"""Signatures of recorded ops; equal ones are one object."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from simulator.records import Signature, Tensor

Region = tuple[int, int]
"""The number of a storage, and an offset into it in elements."""


class Signatures:
    """Creates signatures and tensor records; equal ones share an object."""

    def __init__(self) -> None:
        self._signatures: dict[Any, Signature] = {}
        self._tensors: dict[Any, Tensor] = {}

    def signature(
        self,
        name: str,
        inputs: Sequence[torch.Tensor],
        outputs: Sequence[torch.Tensor],
        names: tuple[str, ...],
        args: dict[str, Any],
        regions: Sequence[Region],
    ) -> Signature:
        """The signature of a call; `regions` are those of inputs, then outputs."""
        ins = tuple([self._tensor(t) for t in inputs])
        outs = tuple([self._tensor(t) for t in outputs])
        order: dict[Region, int] = {}
        aliases = tuple([order.setdefault(region, len(order)) for region in regions])
        key = (name, tuple(map(id, ins)), tuple(map(id, outs)), names, repr(args), aliases)
        signature = self._signatures.get(key)
        if signature is None:
            signature = Signature(name, ins, outs, names, args, aliases)
            self._signatures[key] = signature
        return signature

    def _tensor(self, tensor: torch.Tensor) -> Tensor:
        device = "cuda" if tensor.is_meta else tensor.device.type
        key = (tensor.shape, tensor.stride(), tensor.dtype, device)
        record = self._tensors.get(key)
        if record is None:
            dtype = str(tensor.dtype).removeprefix("torch.")
            record = Tensor(tuple(tensor.shape), dtype, tuple(tensor.stride()), device)
            self._tensors[key] = record
        return record
