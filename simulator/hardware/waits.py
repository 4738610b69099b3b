"""Ops that the host waits for, and ops that a CUDA graph cannot capture: the rules are beside the
costs of the ops (`waits` of `simulator.costs.registry.cost`). They were compared with 97 calls that
were captured or refused on an H200 (`attention_paths.jsonl.gz`)."""

from __future__ import annotations

from simulator.costs.movement.copies import COPIES, crosses
from simulator.costs.registry import WAITS
from simulator.records import Signature


def may_wait(name: str) -> bool:
    """Whether the host waits for some calls of this op."""
    return name in WAITS


def syncs(signature: Signature) -> bool:
    """Whether the host waits for the GPU after an op."""
    waits = WAITS.get(signature.name)
    if waits is None:
        return False
    is_on_gpu = any(t.device == "cuda" for t in (*signature.inputs, *signature.outputs))
    return is_on_gpu and waits(signature)


def uncapturable(signature: Signature) -> bool:
    """Whether a CUDA graph cannot capture an op: the host waits for it, or it copies between
    the GPU and unpinned memory."""
    return syncs(signature) or (signature.name in COPIES and crosses(signature))
