"""Which ops may run again, and which fuse with each other, by their class in
`simulator.costs.compiled_traits`."""

from __future__ import annotations

from simulator.costs import works
from simulator.costs.compiled_traits import TRAITS, Recompute
from simulator.records import Op

RECOMPUTABLE = frozenset(name for name, row in TRAITS.items() if row.recompute == "listed")
"""The ops of the partitioner's list that have a cost here: those tagged pointwise, and what it
names besides. Views are recomputable too; Inductor makes a transpose a permute, so all are alike
here."""

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
    row = TRAITS.get(base(op))
    return row and row.recompute


def is_view(op: Op) -> bool:
    """Does it launch nothing?"""
    return works(op.signature) == ()


def is_recomputable(op: Op) -> bool:
    """May the cut run it again, as long as only listed ops may?"""
    listed = _class(op) in ("listed", "decomposed")
    return is_view(op) or listed or op.name.startswith("fused.pointwise")


def is_fusible(op: Op) -> bool:
    """Is it taken to fuse with others of its kind, so that reading it again costs nothing?"""
    return is_recomputable(op) or _class(op) == "random"


def is_random(op: Op) -> bool:
    """Would it draw other numbers the second time? (torch names three ops, and threads the state
    of others; none runs again here.)"""
    name = base(op)
    return any(part in name for part in _RANDOM) and not name.endswith("backward")


def is_intensive(op: Op) -> bool:
    """A product, a convolution or attention: run again only where a budget asks for it."""
    name = base(op)
    return _class(op) == "intensive" or any(p in name for p in ("convolution", "attention", "_rnn"))
