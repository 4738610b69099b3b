"""A call of an ATen op: its signature, and the host's work before it."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from simulator.records.tensor import Tensor

Phase = Literal["forward", "backward", "optimizer"]


class Signature(msgspec.Struct, frozen=True):
    """Everything about an op that its cost depends on; repeated layers share one.

    `names` gives the schema's argument name of each input (a list argument repeats its name).
    `aliases` numbers the regions of memory (storage and offset) of inputs then outputs by first
    appearance, so memory that is read twice, or written in place, has one number. `args` holds the
    other arguments of the call by name, without those left out.
    """

    name: str
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    names: tuple[str, ...]
    args: dict[str, Any]
    aliases: tuple[int, ...] = ()

    def __getitem__(self, name: str) -> Tensor:
        """The first input of this name; KeyError if the op was called without it."""
        try:
            return self.inputs[self.names.index(name)]
        except ValueError:
            raise KeyError(f"{self.name} has no tensor argument {name!r}: {self.names}") from None

    def get(self, name: str) -> Tensor | None:
        """The input of this name; None if the op was called without it."""
        return self[name] if name in self.names else None

    def tensors(self, name: str) -> list[Tensor]:
        """All tensors of a list argument, in order."""
        return [t for t, n in zip(self.inputs, self.names, strict=True) if n == name]

    def arg(self, name: str, default: Any = None) -> Any:
        """An argument that is not a tensor; `default` if the call left it out."""
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
    """The communication of an op. `kind` is "all_reduce", "all_gather", "reduce_scatter",
    "all_to_all", "broadcast", "send", "recv" or "barrier".

    message_bytes   size of the whole array: the one that an all-reduce reduces, an all-gather
                    returns or a reduce-scatter reads
    ranks           global ranks of the group; for a send or a recv, this rank and its peer
    batch           sends and receives of one batch, which are one kernel, share a number
    where           the line of the user's code, "train.py, line 31"
    tag             messages of one tag between two ranks are matched in order
    """

    kind: str
    message_bytes: int
    ranks: tuple[int, ...]
    batch: int | None = None
    where: str = ""
    tag: int = 0


class Op(msgspec.Struct, frozen=True, gc=False):
    """One ATen call. `storages` are ids into the trace, inputs then outputs.

    The counts measure the host's work since the previous op, independently of the machine.
    `instructions` counts bytecode instructions, `attributes` those that look up an attribute,
    `cold_instructions` those of functions that were last called long ago, `c_calls` calls of
    functions written in C. None of these includes the call of a module.

    `stream` is the number of the CUDA stream, 0 for the default stream; `after` are ops of other
    streams that must finish first (−1 − s: the last op of stream s in the previous step). `wrapped`
    measures the sharded tensors that the host has handled one by one since the previous op. It adds
    1 for each DTensor among the arguments of calls, 2 for each tensor that FSDP2 packs, and 3 for
    each DTensor returned.
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
"""The counts of a trace after its last op."""
