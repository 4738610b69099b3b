"""Ops that may be recomputed, and ops that fuse with each other, by the class in their traits."""

from __future__ import annotations

from simulator.costs import traits_of, works
from simulator.costs.compiled_traits import Recompute
from simulator.records import Op

_RANDOM = (
    "dropout",
    "rand",
    "bernoulli",
    "normal",
    "uniform",
    "multinomial",
    "poisson",
    "cauchy",
    "exponential",
    "geometric",
    "rrelu_with_noise",
)


def base(op: Op) -> str:
    """An op's name without its namespace and its overload."""
    return op.name.split(".")[1]


def _class(op: Op) -> Recompute | None:
    return traits_of(base(op)).recompute


def is_view(op: Op) -> bool:
    """Whether an op launches nothing."""
    return works(op.signature) == ()


def is_recomputable(op: Op) -> bool:
    """Whether the partitioner may recompute an op when it recomputes only ops of its list: those
    tagged pointwise, and others that it names. All views are treated the same, since Inductor turns
    a transpose into a permute."""
    listed = _class(op) in ("listed", "decomposed")
    return is_view(op) or listed or op.name.startswith("fused.pointwise")


def is_fusible(op: Op) -> bool:
    """Whether an op is assumed to fuse with ops of its kind, so that another read of it is free."""
    return is_recomputable(op) or _class(op) == "random"


def is_random(op: Op) -> bool:
    """Whether an op would draw other numbers in a second run. (torch lists three ops and restores
    the generator's state for others; here no random op is recomputed.)"""
    name = base(op)
    return any(part in name for part in _RANDOM) and not name.endswith("backward")


def is_intensive(op: Op) -> bool:
    """Whether an op is a product, convolution or attention, which is recomputed only if a budget
    requires it."""
    name = base(op)
    return _class(op) == "intensive" or any(p in name for p in ("convolution", "attention", "_rnn"))
