"""What the host does for each op of a trace: counts that do not depend on the machine."""

from __future__ import annotations

from operator import attrgetter

import numpy as np
from numpy.typing import NDArray

from simulator.hosts import COUNTS, PYTHON, Host
from simulator.records import Signature, Trace

_KINDS = ("op", "library_op", "convolution_op", "norm_op", "attention_op")
_NAMED = {"convolution": "convolution_op", "_norm": "norm_op", "_attention": "attention_op"}
_LIBRARY = ("mm", "_rnn", "dropout", "embedding_dense_backward")
_FIELDS = attrgetter(*PYTHON.values(), "autograd_nodes")


def counts(trace: Trace, launches: NDArray[np.int64]) -> NDArray[np.float64]:
    """What the host did for each op: [ops, len(COUNTS) − 1], launches left out."""
    signatures, rows = trace.signatures
    many = np.array([_listed(s) for s in signatures], np.int64)[rows]
    on_cpu = np.array([_on_cpu(s) for s in signatures], np.bool_)[rows]
    kinds = np.array([_kind(s) for s in signatures], str)[rows]
    done = np.array([_FIELDS(op) for op in trace.ops], np.int64).reshape(-1, len(PYTHON) + 1)
    backward = np.array([op.phase == "backward" for op in trace.ops], np.bool_)
    update = np.array([op.phase == "optimizer" for op in trace.ops], np.bool_)
    launching = (launches > 0) & ~on_cpu
    nodes = done[:, -1]
    columns = {
        **{kind: launching & (kinds == kind) for kind in _KINDS},
        "view": ~launching & ~on_cpu,
        "cpu_op": on_cpu,
        "foreach_tensor": many,
        **dict(zip(PYTHON, done.T, strict=False)),
        "forward_node": np.where(backward, 0, nodes),
        "backward_node": np.where(backward, nodes, 0),
        "backward_call": _first(backward),
        "optimizer_call": _first(update),
    }
    return np.stack([columns[name] for name in COUNTS[:-1]], axis=1).astype(float)


def tail_s(trace: Trace, host: Host) -> float:
    """Seconds of Python after the last op."""
    done = ((name, getattr(trace, f"tail_{field}")) for name, field in PYTHON.items())
    return sum(host.seconds[name] * count for name, count in done)


def _first(rows: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The first True row alone: what is done once a phase is done there."""
    return rows & (np.cumsum(rows) == 1)


def _on_cpu(signature: Signature) -> bool:
    """True for an op that touches no tensor on the GPU."""
    tensors = (*signature.inputs, *signature.outputs)
    return bool(tensors) and all(t.device == "cpu" for t in tensors)


def _kind(signature: Signature) -> str:
    """What an op sets up before it launches: a call into cuBLAS or cuDNN, which looks for a plan,
    or several outputs, takes longer than one kernel of PyTorch's own."""
    name = signature.name
    for part, kind in _NAMED.items():
        if part in name and "foreach" not in name:
            return kind
    return "library_op" if any(part in name for part in _LIBRARY) else "op"


def _listed(signature: Signature) -> int:
    """Tensors that an op over lists walks through; 0 for an ordinary op."""
    over_lists = "._foreach_" in signature.name or "._fused_" in signature.name
    return len(signature.inputs) if over_lists else 0
