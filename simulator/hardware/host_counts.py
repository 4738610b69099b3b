"""The host's work for each op of a trace: counts that do not depend on the machine.

The code of an op is in the processor's caches if an op of its kind ran just before; the more other
kinds ran since, the colder it is. An op in a chain of cosines takes half as long as an op in a
network.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from operator import attrgetter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.caches.derived import Derived
from simulator.hardware.host import COUNTS, PYTHON, Host
from simulator.records import Op, Signature, Trace

_KINDS = ("op", "library_op", "convolution_op", "norm_op", "attention_op")
_NAMED = {"convolution": "convolution_op", "_norm": "norm_op", "_attention": "attention_op"}
_LIBRARY = ("mm", "_rnn", "dropout", "embedding_dense_backward")
_COLD = 4
"""An op is cold if ops of this many other kinds ran since the last op of its kind. The code of one
kind takes some tens of KB; a processor's first-level cache of instructions holds 32 KB."""
_JOINING = ("aten.cat.default", "aten.stack.default")
_PRODUCTS = (2, 2, 8, 6)
"""Products of a recurrent layer by cuDNN's mode: ReLU, tanh, LSTM, GRU."""
_FIELDS = attrgetter(*PYTHON.values(), "autograd_nodes")


class _Ops(NamedTuple):
    """The host's work for each op, whatever it launches [ops]. First the kind of its launch (an
    index into `_KINDS`), its coldness, the number of tensors that it handles in lists, returns and
    joins, and the number of addresses in cuDNN's buffer of weights that it queries. Then whether
    the op touches no tensor on the GPU, is recurrent, or belongs to the backward pass or the
    optimizer. Last, Python's steps and autograd's nodes [ops, len(PYTHON) + 1], and the number of
    the step's gradients."""

    kinds: NDArray[np.int64]
    on_cpu: NDArray[np.bool_]
    recurrent: NDArray[np.bool_]
    backward: NDArray[np.bool_]
    update: NDArray[np.bool_]
    python: NDArray[np.int64]
    cold: NDArray[np.float64]
    listed: NDArray[np.int64]
    returned: NDArray[np.int64]
    joined: NDArray[np.int64]
    placed: NDArray[np.int64]
    gradients: int


_OPS = Derived[_Ops]()


def _ops(trace: Trace) -> _Ops:
    signatures, numbers = trace.signatures
    rows = np.array(numbers, np.int64)
    phases = [op.phase for op in trace.ops]
    python = np.array(list(chain.from_iterable(map(_FIELDS, trace.ops))), np.int64)
    recurrent = np.array(["_rnn" in s.name for s in signatures], np.bool_)[rows]
    placed = np.zeros(rows.size, np.int64)
    for place in np.flatnonzero(recurrent).tolist():
        placed[place] = _placed(trace.ops[place], trace)
    return _Ops(
        kinds=np.array([_kind(s) for s in signatures], np.int64)[rows],
        on_cpu=np.array([_on_cpu(s) for s in signatures], np.bool_)[rows],
        recurrent=recurrent,
        backward=np.array([phase == "backward" for phase in phases], np.bool_),
        update=np.array([phase == "optimizer" for phase in phases], np.bool_),
        python=python.reshape(-1, len(PYTHON) + 1),
        cold=coldness([signature.name for signature in signatures], numbers),
        listed=np.array([_listed(s) for s in signatures], np.int64)[rows],
        returned=np.array([max(1, len(s.outputs)) for s in signatures], np.int64)[rows],
        joined=np.array([_joined(s) for s in signatures], np.int64)[rows],
        placed=placed,
        gradients=sum(storage.role == "gradient" for storage in trace.storages),
    )


def share_counts(family: object, trace: Trace) -> None:
    """Let the traces of a family, whose ops differ only in sizes, share the host's work."""
    _OPS.share(family, trace)


def counts(
    trace: Trace, launches: NDArray[np.int64], inner_ops: NDArray[np.int64]
) -> NDArray[np.float64]:
    """The host's work for each op, without launches [ops, len(COUNTS) − 1]. `inner_ops` is how many
    other ops each op calls [ops]: they cost as much as ops called from Python, and have the
    coldness of the op that calls them. A view counts once for each tensor that it returns; each
    tensor that `cat` and `stack` join counts as one more. All kernels of an op count as further
    ones, except its first and those of the ops that it calls. A convolution of a training step also
    counts as `trained_convolution`, in both passes. The optimizer's first op counts the gradients,
    which the optimizer collects and `zero_grad` frees one by one."""
    ops = _OPS.get(trace, lambda: _ops(trace))
    launching = (launches > 0) & ~ops.on_cpu
    nodes = ops.python[:, -1]
    viewing = ~launching & ~ops.on_cpu
    convolution = launching & (ops.kinds == _KINDS.index("convolution_op"))
    called_once = launching & ~ops.recurrent & (ops.listed == 0)
    columns = {
        **{kind: launching & (ops.kinds == place) for place, kind in enumerate(_KINDS)},
        "op": (launching & (ops.kinds == _KINDS.index("op"))) + np.where(launching, inner_ops, 0),
        "cold_op": np.where(launching, ops.cold * (1 + inner_ops), 0.0),
        "view": np.where(viewing, ops.returned, ops.joined * launching),
        "cold_view": np.where(viewing, ops.cold, 0.0),
        "cpu_op": ops.on_cpu,
        "recurrent_call": launching & ops.recurrent,
        "recurrent_kernel": np.where(ops.recurrent, launches, 0),
        "recurrent_weight": ops.placed,
        "further_kernel": np.where(called_once, np.maximum(launches - 1 - inner_ops, 0), 0),
        "trained_convolution": convolution & (trace.phase == "training"),
        "foreach_tensor": ops.listed,
        "gradient": np.where(_first(ops.update), ops.gradients, 0),
        **dict(zip(PYTHON, ops.python.T, strict=False)),
        "forward_node": np.where(ops.backward, 0, nodes),
        "backward_node": np.where(ops.backward, nodes, 0),
        "backward_call": _first(ops.backward),
        "optimizer_call": _first(ops.update),
    }
    return np.stack([columns[name] for name in COUNTS[:-1]], axis=1).astype(float)


def tail_s(trace: Trace, host: Host) -> float:
    """Seconds of Python after the last op."""
    done = ((name, getattr(trace, f"tail_{field}")) for name, field in PYTHON.items())
    return sum(host.seconds[name] * count for name, count in done)


def coldness(names: Sequence[str], rows: Sequence[int]) -> NDArray[np.float64]:
    """The coldness of each op [ops]: 0 directly after an op of the same kind, up to 1. `names` are
    the kinds, `rows` the kind of each op."""
    kinds: dict[str, int] = {}
    kind_of = [kinds.setdefault(name, len(kinds)) for name in names]
    steps: dict[tuple[_Kinds, int], tuple[float, _Kinds]] = {}  # a network has few of these
    recent: _Kinds = ()
    cold: list[float] = []
    for row in rows:
        step = steps.get((recent, kind_of[row]))
        if step is None:
            step = steps[recent, kind_of[row]] = _next_recent(recent, kind_of[row])
        share, recent = step
        cold.append(share)
    return np.array(cold, np.float64)


_Kinds = tuple[int, ...]
"""The last distinct kinds of ops, the latest at the end."""


def _next_recent(recent: _Kinds, kind: int) -> tuple[float, _Kinds]:
    """The coldness of an op of this kind, and the last distinct kinds with it."""
    cold = 1.0
    if kind in recent:
        cold = min(1.0, (len(recent) - 1 - recent.index(kind)) / _COLD)
    return cold, (*(each for each in recent if each != kind), kind)[-_COLD - 1 :]


def _first(rows: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """A mask of only the first True row, which counts the work of a phase as a whole."""
    return rows & (np.cumsum(rows) == 1)


def _on_cpu(signature: Signature) -> bool:
    """True for an op that touches no tensor on the GPU."""
    tensors = (*signature.inputs, *signature.outputs)
    return bool(tensors) and all(t.device == "cpu" for t in tensors)


def _kind(signature: Signature) -> int:
    """The kind of setup before an op's launch, as a place in `_KINDS`. A call into cuBLAS or cuDNN,
    which looks up a plan, and an op with several outputs take longer than a kernel of PyTorch
    itself."""
    name = signature.name
    for part, kind in _NAMED.items():
        if part in name and "foreach" not in name:
            return _KINDS.index(kind)
    return _KINDS.index("library_op" if any(part in name for part in _LIBRARY) else "op")


def _joined(signature: Signature) -> int:
    """The number of tensors that `cat` or `stack` joins. Each is checked; `stack` also makes a view
    of each."""
    return len(signature.inputs) if signature.name in _JOINING else 0


def _placed(op: Op, trace: Trace) -> int:
    """The number of matrices and biases of a recurrent layer whose addresses PyTorch queries from
    cuDNN, one by one (`get_parameters`, ATen/native/cudnn/RNN.cpp). It does so in every backward
    pass, and in a forward pass whose weights are not in cuDNN's buffer yet: in bfloat16, which has
    no buffer, and if autocast has cast the weights."""
    signature = op.signature
    if "_cudnn_rnn" not in signature.name or "flatten" in signature.name:
        return 0
    if "backward" not in signature.name and signature.get("weight_buf") is not None:
        weight = op.storages[signature.names.index("weight")]
        if trace.storages[weight].role != "activation":
            return 0
    layers = signature.arg("num_layers", 1) * (2 if signature.arg("bidirectional", False) else 1)
    mode: int = signature.arg("mode", 0)
    return layers * 2 * _PRODUCTS[mode]


def _listed(signature: Signature) -> int:
    """The number of tensors of an op over lists; 0 for any other op."""
    over_lists = "._foreach_" in signature.name or "._fused_" in signature.name
    return len(signature.inputs) if over_lists else 0
