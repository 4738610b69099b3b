"""Registry of op costs: one decorated function per op returns its FLOPs and bytes together. The
decorator also takes when the host waits for the op, and its traits in compiled mode.

A cost function receives shapes, but neither tensors nor a GPU, so it can be checked by hand.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import msgspec

from simulator.costs.compiled_traits import Autocast, Traits
from simulator.records import Signature

Engine = Literal["tensor", "vector"]


class Work(msgspec.Struct, frozen=True):
    """The work of one launch, or, before lowering, of all launches of one algorithm.

    family        kind of kernel, which selects a calibration curve: "gemm", "conv", "attention",
                  "pointwise", "reduction", "norm", "softmax", "copy", "gather", "scatter", ...
    flops         arithmetic operations: 2 for a multiply-add, 1 for a special function
    read_bytes    DRAM bytes read, each distinct byte once
    write_bytes   DRAM bytes written
    engine        unit that executes the FLOPs
    dtype         dtype of the arithmetic
    instructions  vector-lane instructions issued (a fused multiply-add is 1, exp about 10)
    dims          shape coordinates of the family, such as {"b": 1, "m": 8, "n": 8, "k": 8}
    """

    family: str
    flops: int = 0
    read_bytes: int = 0
    write_bytes: int = 0
    engine: Engine = "vector"
    dtype: str = "float32"
    instructions: int = 0
    dims: dict[str, Any] = {}

    @property
    def bytes(self) -> int:
        return self.read_bytes + self.write_bytes

    @property
    def computed_flops(self) -> float:
        """FLOPs that the kernel executes: attention skips the pairs that its mask excludes."""
        return self.flops * self.dims.get("fraction", 1)


Cost = Callable[[Signature], Work | tuple[Work, ...]]
Wait = Callable[[Signature], bool]
COSTS: dict[str, Cost] = {}
WAITS: dict[str, Wait] = {}
"""Whether the host waits for a call of an op; ops that it never waits for have no entry."""
DATA_DEPENDENT: set[str] = set()
"""Ops that return a value to Python, or a size that depends on data."""
TRAITS: dict[str, Traits] = {}
"""By the name of an op without namespace and overload; ops without traits have no entry."""
_DEFAULT = Traits()


def reads_gpu(op: Signature) -> bool:
    """Whether an input is on the GPU."""
    return any(t.device == "cuda" for t in op.inputs)


def describe(
    *names: str,
    waits: bool | Wait = False,
    data_dependent: bool = False,
    traits: Traits | None = None,
) -> None:
    """Register what `cost` registers besides the cost, for ops without one."""
    for name in names:
        if name.count(".") != 2:
            raise ValueError(f"{name!r} is not an overload: expected a name like 'aten.mm.default'")
    if data_dependent and not waits:
        raise ValueError(f"{names[0]} depends on data: expected waits=True, or when it waits")
    if waits:
        WAITS.update(dict.fromkeys(names, reads_gpu if waits is True else waits))
    if data_dependent:
        DATA_DEPENDENT.update(names)
    if traits is None:
        return
    for op in (name.split(".")[1] for name in names):
        if not op.endswith("_") and TRAITS.setdefault(op, traits) != traits:
            raise ValueError(f"{op} already has {TRAITS[op]}: expected the same for each overload")


def cost(
    *names: str,
    waits: bool | Wait = False,
    data_dependent: bool = False,
    traits: Traits | None = None,
) -> Callable[[Cost], Cost]:
    """Register the cost function of overloads such as "aten.addmm.default".

    `waits` tells whether the host waits for a call that has a tensor on the GPU: False for none,
    True for each with an input there, or a function of the call. `data_dependent` ops return a
    value to Python, or a size that depends on data: torch.compile breaks the graph there. `traits`
    hold for all overloads of the ops except those in place, which torch.compile replaces.

    Raises ValueError if a name is not a full overload or already has a cost, if an op has other
    traits, or if it depends on data and the host does not wait for it.
    """

    def decorate(function: Cost) -> Cost:
        describe(*names, waits=waits, data_dependent=data_dependent, traits=traits)
        for name in names:
            if name in COSTS:
                raise ValueError(f"{name} already has a cost: {COSTS[name].__name__}")
            COSTS[name] = function
        return function

    return decorate


def traits_of(op: str) -> Traits:
    """The traits of an op by its name without namespace and overload, such as "addmm"."""
    return TRAITS.get(op, _DEFAULT)


def autocast_lists() -> dict[str, Autocast]:
    """The list of each overload that autocast casts, such as "addmm.default"."""
    return {
        f"{op}.{overload}": traits.autocast
        for op, traits in TRAITS.items()
        if traits.autocast
        for overload in traits.overloads
    }


def read_by_tracing() -> str:
    """A text of what tracing reads about ops: autocast's lists, and the ops that depend on data. If
    it changes, traces may change too."""
    return repr((sorted(autocast_lists().items()), sorted(DATA_DEPENDENT)))


def works(op: Signature) -> tuple[Work, ...] | None:
    """The work of an op: empty if it launches nothing, None if it has no cost function."""
    function = COSTS.get(op.name)
    if function is None:
        return stated(op)
    work = function(op)
    return (work,) if isinstance(work, Work) else work


STATED = ("flops", "tensor_flops", "bytes")
"""The figures that a user states for an op of another library: FLOPs of the vector units, FLOPs of
the matrix units, and DRAM bytes of one call."""


def stated_argument(figure: str) -> str:
    """The argument of a signature in which the tracer stores a stated figure."""
    return f"stated_{figure}"


def stated(op: Signature) -> tuple[Work, ...] | None:
    """One kernel with the FLOPs and bytes that the user states; it streams like a copy of float32.
    Returns None if the user states neither. If bytes are not stated, each operand counts once."""
    figures = {name: op.args[key] for name in STATED if (key := stated_argument(name)) in op.args}
    if not figures:
        return None
    on_tensor_cores = "tensor_flops" in figures
    flops = figures.get("tensor_flops", figures.get("flops", 0))
    dtype = op.inputs[0].dtype if on_tensor_cores and op.inputs else "float32"
    nbytes = figures.get("bytes", op.read_bytes + op.write_bytes)
    elements = max(1, nbytes // 8)
    kernel = Work(
        "pointwise",
        flops,
        nbytes - nbytes // 2,
        nbytes // 2,
        engine="tensor" if on_tensor_cores else "vector",
        dtype="tf32" if on_tensor_cores and dtype == "float32" else dtype,
        instructions=2 * elements + (0 if on_tensor_cores else -(-flops // 2)),
        dims={"elements": elements, "inputs": 1, "contiguous": True},
    )
    return (kernel,)
