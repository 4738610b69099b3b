"""The nouns that every other file speaks of: tensors, ops and the trace that holds them.

A trace is plain data. It is written by `simulator.tracing`, which needs torch, and read by
everything else, which does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from math import prod
from typing import Any, Literal

import msgspec

Phase = Literal["forward", "backward", "optimizer"]
Role = Literal["weight", "buffer", "input", "optimizer", "gradient", "activation"]

ITEM_BYTES = {
    "float64": 8, "complex64": 8, "int64": 8, "complex128": 16, "uint64": 8,
    "float32": 4, "int32": 4, "uint32": 4,
    "complex32": 4, "float16": 2, "bfloat16": 2, "int16": 2, "uint16": 2,
    "int8": 1, "uint8": 1, "bool": 1, "float8_e4m3fn": 1, "float8_e5m2": 1,
    "float8_e4m3fnuz": 1, "float8_e5m2fnuz": 1, "float8_e8m0fnu": 1, "float4_e2m1fn_x2": 1,
    "qint32": 4, "bits16": 2,
    "qint8": 1, "quint8": 1, "quint4x2": 1, "quint2x4": 1,
    "bits8": 1, "bits1x8": 1, "bits2x4": 1, "bits4x2": 1,
    **{f"{kind}{bits}": 1 for kind in ("int", "uint") for bits in range(1, 8)},
}  # fmt: skip
"""Bytes of one element by dtype, named as torch names it without its `torch.`."""


class Tensor(msgspec.Struct, frozen=True, gc=False):
    """What an op sees of one tensor. `stride` is in elements; `device` is "cuda" or "cpu"."""

    shape: tuple[int, ...]
    dtype: str
    stride: tuple[int, ...]
    device: str = "cuda"

    @property
    def numel(self) -> int:
        return prod(self.shape)

    @property
    def itemsize(self) -> int:
        return ITEM_BYTES[self.dtype]

    @property
    def nbytes(self) -> int:
        """Distinct bytes touched: a dimension of stride 0 (an expanded one) is stored once."""
        stored = (size for size, step in zip(self.shape, self.stride, strict=True) if step != 0)
        return prod(stored) * self.itemsize

    @property
    def contiguous(self) -> bool:
        """Row-major without gaps; dimensions of size 1 may have any stride."""
        expected = 1
        for size, step in zip(reversed(self.shape), reversed(self.stride), strict=True):
            if size != 1 and step != expected:
                return False
            expected *= size
        return True

    @property
    def dense(self) -> bool:
        """Without gaps or overlaps in *some* order of its dimensions (channels last is)."""
        dims = sorted(
            (step, size) for size, step in zip(self.shape, self.stride, strict=True) if size != 1
        )
        steps = [*(step for step, _ in dims), self.numel]
        return (not dims or steps[0] == 1) and all(
            step * size == following
            for (step, size), (_, following) in zip(dims, pairwise(steps), strict=True)
        )


def row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of a contiguous tensor."""
    return tuple(prod(shape[d + 1 :]) for d in range(len(shape)))


class Signature(msgspec.Struct, frozen=True):
    """Everything about an op that its cost depends on; repeated layers share one.

    `names` gives the schema's argument name of each input (a list argument repeats its name).
    `aliases` numbers the regions of memory (storage and offset) of inputs then outputs by first
    appearance, so that memory that is read twice, or written in place, is seen to be one. `args`
    holds the arguments that are not tensors, those that were given, by name.
    """

    name: str
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    names: tuple[str, ...]
    args: dict[str, Any]
    aliases: tuple[int, ...] = ()

    def __getitem__(self, name: str) -> Tensor:
        """The first input of this name; KeyError when the op was called without it."""
        try:
            return self.inputs[self.names.index(name)]
        except ValueError:
            raise KeyError(f"{self.name} has no tensor argument {name!r}: {self.names}") from None

    def get(self, name: str) -> Tensor | None:
        """The input of this name, or None where the op was called without it."""
        return self[name] if name in self.names else None

    def tensors(self, name: str) -> list[Tensor]:
        """Every tensor of a list argument."""
        return [t for t, n in zip(self.inputs, self.names, strict=True) if n == name]

    def arg(self, name: str, default: Any = None) -> Any:
        """An argument that is no tensor, or `default` where the call left it out."""
        return self.args.get(name, default)

    @property
    def out(self) -> Tensor:
        """The first output."""
        return self.outputs[0]

    @property
    def read_bytes(self) -> int:
        """Bytes of the distinct regions on the GPU among the inputs."""
        return _distinct_bytes(self.inputs, self.aliases[: len(self.inputs)])

    @property
    def write_bytes(self) -> int:
        """Bytes of the distinct regions on the GPU among the outputs."""
        return _distinct_bytes(self.outputs, self.aliases[len(self.inputs) :])


def _distinct_bytes(tensors: tuple[Tensor, ...], regions: tuple[int, ...]) -> int:
    largest: dict[int, int] = {}
    for tensor, region in zip(tensors, regions or range(len(tensors)), strict=True):
        if tensor.device != "cpu":
            largest[region] = max(largest.get(region, 0), tensor.nbytes)
    return sum(largest.values())


class Collective(msgspec.Struct, frozen=True):
    """What an op communicates. `kind` is "all_reduce", "all_gather", "reduce_scatter",
    "all_to_all", "broadcast", "send", "recv" or "barrier".

    message_bytes   the whole array: what an all-reduce reduces, an all-gather gathers, a
                    reduce-scatter reads
    ranks           global ranks of the group; of a send or a recv, this rank and its peer
    batch           sends and receives of one batch, which are one kernel, share a number
    where           the line of the user's code, "train.py, line 31"
    """

    kind: str
    message_bytes: int
    ranks: tuple[int, ...]
    batch: int | None = None
    where: str = ""


class Op(msgspec.Struct, frozen=True, gc=False):
    """One ATen call. `storages` are ids into the trace, inputs then outputs.

    The counts say what the host did since the op before this one: they are the machine-independent
    half of its time. `instructions` are bytecode's, `attributes` those among them that look one up,
    `cold_instructions` those of functions that were called long before, `c_calls` calls of
    functions written in C; what calling a module takes is in none of them.

    `stream` numbers the CUDA stream, 0 being the default one; `after` are ops of other streams that
    must be done before (−1 − s: the last one of stream s in the step before). `wrapped` counts the
    sharded tensors that the host has handled one by one since the op before: DTensors among the
    arguments of calls, and what FSDP2 packs.
    """

    signature: Signature
    module: str
    phase: Phase
    storages: tuple[int, ...] = ()
    python_calls: int = 0
    module_calls: int = 0
    autograd_nodes: int = 0
    instructions: int = 0
    cold_instructions: int = 0
    attributes: int = 0
    c_calls: int = 0
    stream: int = 0
    after: tuple[int, ...] = ()
    collective: Collective | None = None
    wrapped: int = 0

    @property
    def name(self) -> str:
        return self.signature.name

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        return self.signature.inputs

    @property
    def outputs(self) -> tuple[Tensor, ...]:
        return self.signature.outputs


COUNTED = (
    "python_calls", "module_calls", "autograd_nodes", "instructions", "cold_instructions",
    "attributes", "c_calls",
)  # fmt: skip
"""The counts of an op, in the order of its fields."""
TAIL = tuple(f"tail_{name}" for name in COUNTED if name != "autograd_nodes")
"""The counts of a trace, of what follows its last op."""


class Storage(msgspec.Struct, frozen=True, gc=False):
    """One allocation: alive from before op `born` (−1: before the step) until before op `freed`
    (None: it outlives the step)."""

    nbytes: int
    born: int
    freed: int | None
    role: Role
    device: str = "cuda"

    def moved(self, place: Sequence[int]) -> Storage:
        """Where old op i is op `place[i]`, the end of the step being one more."""
        return msgspec.structs.replace(
            self,
            born=self.born if self.born < 0 else place[self.born],
            freed=None if self.freed is None else place[self.freed],
        )


class Assumption(msgspec.Struct, frozen=True):
    """A size or value that depends on data, and what was taken for it."""

    op: int
    name: str
    taken: str


class Break(msgspec.Struct, frozen=True):
    """Where the forward pass leaves what torch.compile takes as one graph, between ops.

    Ops from `op` to `until` run as in eager mode, and their backward from op `back` to `back_until`
    (no ops where these are equal). `where` is the line of code ("nets.py, line 31") and `reason`
    what cannot be compiled there; both are "" at the edge of a function whose caller or callee the
    graph breaks in.
    """

    op: int
    until: int
    where: str = ""
    reason: str = ""
    back: int = 0
    back_until: int = 0

    def moved(self, place: Sequence[int]) -> Break:
        """Where old op i is op `place[i]`."""
        op, until, back, back_until = (
            place[i] if i < len(place) else place[-1] + 1 if place else 0
            for i in (self.op, self.until, self.back, self.back_until)
        )
        return Break(op, max(op, until), self.where, self.reason, back, max(back, back_until))


class Trace(msgspec.Struct, frozen=True, dict=True):
    """The ops of one step in dispatch order; `code` says where the `forward` of a module begins,
    by its path ("nets.py, line 31"), torch's own modules left out; `run` is one of
    `simulator.modes.Run`, and `asked` names the functions by which the step asked for it.
    `dict=True` leaves room for cached properties."""

    ops: list[Op]
    storages: list[Storage]
    phase: Literal["inference", "training"]
    optimizer: str | None
    samples: int
    tokens: int | None
    parameters: int
    weight_bytes: int
    assumptions: list[Assumption]
    torch_version: str
    gpu: str
    tail_python_calls: int = 0
    tail_module_calls: int = 0
    tail_instructions: int = 0
    tail_cold_instructions: int = 0
    tail_attributes: int = 0
    tail_c_calls: int = 0
    breaks: list[Break] = []
    code: dict[str, str] = {}
    run: str = "eager"
    asked: list[str] = []

    def with_ops(self, ops: list[Op], storages: list[Storage], place: Sequence[int]) -> Trace:
        """The same step of other ops and storages, where old op i is op `place[i]`."""
        assumed = [  # a view that ended the step may be gone
            msgspec.structs.replace(each, op=min(place[each.op], len(ops) - 1))
            for each in self.assumptions
        ]
        return msgspec.structs.replace(
            self,
            ops=ops,
            storages=storages,
            assumptions=assumed,
            breaks=[each.moved(place) for each in self.breaks],
        )

    @cached_property
    def signatures(self) -> tuple[list[Signature], list[int]]:
        """The distinct signatures, and for each op the index of its own."""
        index: dict[int, int] = {}
        found: list[Signature] = []
        rows: list[int] = []
        for op in self.ops:
            key = id(op.signature)
            if key not in index:
                index[key] = len(found)
                found.append(op.signature)
            rows.append(index[key])
        return found, rows

    def names(self) -> Sequence[str]:
        """The overloads in order, such as `aten.addmm.default`."""
        return [op.name for op in self.ops]


def touches(ops: Sequence[Op]) -> tuple[dict[int, int], dict[int, int]]:
    """The index of the first and of the last op that touches each storage; others are absent."""
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    for index, op in enumerate(ops):
        for storage in op.storages:
            first.setdefault(storage, index)
            last[storage] = index
    return first, last
