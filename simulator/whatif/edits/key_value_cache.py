"""The dtype of cached keys and values."""

from __future__ import annotations

from dataclasses import dataclass

from msgspec.structs import replace

from simulator.errors import InputError
from simulator.records import ITEM_BYTES, Op, Signature, Tensor, Trace
from simulator.scenario.resolved import Selective
from simulator.whatif.edits.rewriting import Rewriting

TORCH = {
    "fp32": "float32",
    "bf16": "bfloat16",
    "fp16": "float16",
    "fp8": "float8_e4m3fn",
    "int8": "int8",
}


@dataclass(frozen=True)
class CacheDtype(Selective[dict[int, str]]):
    """Store keys and values from before the step in another dtype. Attention reads this dtype and
    computes in the dtype of its queries; values written to the cache are cast."""

    dtype: str
    rank: int = 0

    def chosen(self, trace: Trace) -> dict[int, str]:
        """The dtype of each storage of a cache. Raises InputError if no attention reads one."""
        dtypes = caches(trace)
        if not dtypes:
            raise InputError(
                f"kv_cache={self.dtype}: no fused attention reads a cache of keys and values: "
                "expected a network that decodes, such as llama3-8b-decode"
            )

        return dtypes

    def rewritten(self, trace: Trace, chosen: dict[int, str]) -> Trace:
        """The trace with these storages, and the tensors in them, in the other dtype."""
        dtype = TORCH[self.dtype]
        change = Rewriting(trace)
        recast: dict[tuple[int, tuple[bool, ...]], Signature] = {}
        for index, op in enumerate(trace.ops):
            touched = tuple(s in chosen for s in op.storages)
            if any(touched):
                key = id(op.signature), touched
                recast.setdefault(key, self._signature(op, touched, dtype))
                change.put(index, (replace(op, signature=recast[key]),))
        for storage, old in chosen.items():
            size = trace.storages[storage].nbytes // ITEM_BYTES[old] * ITEM_BYTES[dtype]
            change.resize(storage, size)
        return change.done()

    def _signature(self, op: Op, touched: tuple[bool, ...], dtype: str) -> Signature:
        def recast(tensors: tuple[Tensor, ...], which: tuple[bool, ...]) -> tuple[Tensor, ...]:
            return tuple(
                replace(t, dtype=dtype) if hit else t for t, hit in zip(tensors, which, strict=True)
            )

        n = len(op.inputs)
        return replace(
            op.signature,
            inputs=recast(op.inputs, touched[:n]),
            outputs=recast(op.outputs, touched[n:]),
        )


def caches(trace: Trace) -> dict[int, str]:
    """The storages of cached keys and values, with their dtypes."""
    dtypes: dict[int, str] = {}
    for op in trace.ops:
        if "_attention" not in op.name:
            continue
        for name, tensor, storage in zip(op.signature.names, op.inputs, op.storages, strict=False):
            old = trace.storages[storage]
            if name in ("key", "value") and old.born < 0 and old.role in ("input", "buffer"):
                dtypes[storage] = tensor.dtype
    return dtypes
