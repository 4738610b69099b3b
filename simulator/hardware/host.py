"""The host: what the CPU needs to issue an op, from counts that do not depend on the machine."""

from __future__ import annotations

from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from simulator.costs.matmul import grouped_by_host
from simulator.errors import InputError
from simulator.records import Signature, Trace

FOLDER = Path(__file__).parent / "hosts"

COUNTS = (
    "op", "library_op", "convolution_op", "norm_op", "attention_op", "view", "cpu_op",
    "foreach_tensor", "python_call", "module_call", "forward_node", "backward_node",
    "backward_call", "optimizer_call", "launch",
)  # fmt: skip
"""What is counted, in the order of the columns of `counts`; launches are added by the schedule."""


class Host(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Seconds for each thing counted, and the constants of launching.

    reference   what a few fixed steps took there, by name: another host is told apart by them
    latency_s   from a launch call to the kernel's start on an idle GPU
    sync_s      from the GPU's end to the host going on after it waited
    depth       launches that the queue holds before the host must wait
    """

    version: int
    id: str
    cpu: str
    source: str
    seconds: dict[str, float]
    latency_s: float
    sync_s: float
    depth: int
    reference: dict[str, float] = {}

    def slower(self, times: float) -> Host:
        """A host of the same kind that takes so many times as long."""
        return msgspec.structs.replace(
            self, seconds={name: s * times for name, s in self.seconds.items()}
        )

    def op_s(self, counts: NDArray[np.float64]) -> NDArray[np.float64]:
        """Host seconds of each op, its launches excepted."""
        weights = np.array([self.seconds[name] for name in COUNTS[:-1]])
        return counts @ weights

    @property
    def launch_s(self) -> float:
        return self.seconds["launch"]


def hosts() -> tuple[str, ...]:
    """The ids of the packaged host profiles."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.json")))


@lru_cache
def host(name: str | None = None) -> Host:
    """A packaged host profile, or a calibrated one by its path; None is the default. Raises
    InputError for an unknown name or a malformed file."""
    name = name or "xeon-h200"
    path = Path(name) if name.endswith(".json") else FOLDER / f"{name}.json"
    if not path.is_file():
        near = get_close_matches(name, hosts(), 2)
        hint = f"did you mean {' or '.join(map(repr, near))}?"
        known = f"expected one of {', '.join(hosts())}, or a calibrated host's .json file"
        raise InputError(f"unknown host {name!r}: {hint if near else known}")
    try:
        found = msgspec.json.decode(path.read_bytes(), type=Host)
    except msgspec.MsgspecError as error:
        raise InputError(f"{path.name} is no valid host profile: {error}") from error
    lacking = [each for each in COUNTS if each not in found.seconds]
    if lacking or any(not 0 <= s < 1 for s in found.seconds.values()):
        what = f"lacks {', '.join(lacking)}" if lacking else "has times outside 0 to 1 s"
        raise InputError(f"{path.name} is no valid host profile: it {what}; calibrate it again")
    return found


def counts(trace: Trace, launches: NDArray[np.int64]) -> NDArray[np.float64]:
    """What the host did for each op: [ops, len(COUNTS) − 1]."""
    signatures, rows = trace.signatures
    many = np.array([_listed(s) for s in signatures], np.int64)[rows]
    on_cpu = np.array([_on_cpu(s) for s in signatures], np.bool_)[rows]
    done = np.array(
        [(op.python_calls, op.module_calls, op.autograd_nodes) for op in trace.ops], np.int64
    ).reshape(-1, 3)
    backward = np.array([op.phase == "backward" for op in trace.ops], np.bool_)
    kinds = np.array([_kind(s) for s in signatures], str)[rows]
    launching = (launches > 0) & ~on_cpu
    python_calls, module_calls, nodes = done.T
    return np.stack(
        [
            *(launching & (kinds == kind) for kind in _KINDS),
            ~launching & ~on_cpu,
            on_cpu,
            many,
            python_calls,
            module_calls,
            np.where(backward, 0, nodes),
            np.where(backward, nodes, 0),
            _first(backward),
            _first(np.array([op.phase == "optimizer" for op in trace.ops], np.bool_)),
        ],
        axis=1,
    ).astype(float)


def _first(rows: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The first True row alone: what is done once a phase is done there."""
    return rows & (np.cumsum(rows) == 1)


def _on_cpu(signature: Signature) -> bool:
    """True for an op that touches no tensor on the GPU."""
    tensors = (*signature.inputs, *signature.outputs)
    return bool(tensors) and all(t.device == "cpu" for t in tensors)


_KINDS = ("op", "library_op", "convolution_op", "norm_op", "attention_op")
_NAMED = {"convolution": "convolution_op", "_norm": "norm_op", "_attention": "attention_op"}
_LIBRARY = ("mm", "_rnn", "dropout", "embedding_dense_backward")


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


SYNCING = {
    "aten._local_scalar_dense.default", "aten.nonzero.default", "aten.masked_select.default",
    "aten._unique2.default", "aten.unique_consecutive.default", "aten.equal.default",
    "aten.repeat_interleave.Tensor", "aten.bincount.default",
}  # fmt: skip


def syncs(signature: Signature) -> bool:
    """True for an op after which the host waits for the GPU."""
    on_gpu = any(t.device == "cuda" for t in signature.inputs)
    if signature.name in SYNCING:
        return on_gpu
    if signature.name == "aten._grouped_mm.default":
        return grouped_by_host(signature)
    if signature.name.startswith("aten.index.") or signature.name.startswith("aten.index_put"):
        indices = signature.tensors("indices")
        return on_gpu and any(t.dtype in ("bool", "uint8") for t in indices)
    copies = signature.name in ("aten._to_copy.default", "aten.copy_.default")
    return copies and on_gpu and bool(signature.outputs) and signature.out.device == "cpu"
