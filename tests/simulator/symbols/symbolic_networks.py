"""Families of small networks, and their comparison with fresh traces."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import cache
from typing import Any

import torch
from torch import Tensor

from simulator.hardware.gpu import gpu
from simulator.lowering import lower
from simulator.networks.catalogue import CATALOGUE
from simulator.networks.loading.load import load
from simulator.records import Trace
from simulator.symbols import Symbolic
from simulator.symbols.probes import Tracer
from simulator.tracing import trace
from tests.simulator.conftest import SMALL, Calls

SEQ = 16
H200 = gpu("h200")


WINDOW = dict(
    width=64, layers=2, heads=4, kv_heads=2, d=16, hidden=32, experts=4, top=2, vocab=99, window=100
)


def tracer(name: str, training: bool, dtype: str, sizes: dict[str, Any] | None = None) -> Tracer:
    """A small network of the catalogue."""
    plain = "fp32" if dtype == "autocast" else dtype
    has_seq = CATALOGUE[name].seq is not None

    def traced(batch: int, seq: int) -> Trace:
        loaded = load(
            name,
            batch=batch,
            seq=seq if has_seq else None,
            dtype=plain,
            training=training,
            sizes=sizes or SMALL[name],
        )
        return trace(
            loaded.module,
            loaded.args,
            loaded.kwargs,
            phase="training" if training else "inference",
            autocast="bf16" if dtype == "autocast" else None,
        )

    return traced


@cache
def gpt2() -> Symbolic:
    """GPT-2, for tests that need any network with a sequence and a last position."""
    return fitted("gpt2", False, "fp16")


@cache
def trained_llama() -> Symbolic:
    """A training step of Llama, whose fit takes seconds."""
    return fitted("llama3-1b", True, "bf16")


def fitted(name: str, training: bool, dtype: str, **limits: Any) -> Symbolic:
    seq = SEQ if CATALOGUE[name].seq else None
    return Symbolic.fit(tracer(name, training, dtype), batch=4, seq=seq, **limits)


def kernels(step: Trace) -> list[tuple[str, float, float]]:
    lowered = lower(step, H200)
    each = [(w.family, float(w.flops), float(w.bytes)) for w in lowered.works]
    return [each[k] for k in lowered.work_of]


def alike(ours: Trace, fresh: Trace) -> bool:
    """Whether two traces are equal, including which ops share signatures. A bool, because an
    assertion would print both traces in full."""
    return ours == fresh and ours.signatures[1] == fresh.signatures[1]


def differing(ours: Trace, fresh: Trace) -> list[str]:
    """The first ops that differ, and their differences."""
    fields = fresh.ops[0].__struct_fields__
    return [
        f"{index} {op.name} {name}: {getattr(mine, name)} and {getattr(op, name)}"
        for index, (mine, op) in enumerate(zip(ours.ops, fresh.ops, strict=False))
        for name in fields
        if getattr(mine, name) != getattr(op, name)
    ][:6]


def check(symbolic: Symbolic, draw: random.Random, points: int, longest: int) -> int:
    """Compare at random points. Returns the number of points answered without tracing."""
    answered = 0
    for _ in range(points):
        batch = draw.choice([1, 2, draw.randint(3, 64), draw.randint(65, 4000)])
        seq = draw.choice(
            [1, 2, draw.randint(1, longest), draw.randint(1, longest) // 16 * 16 or 3]
        )
        point = (batch, seq) if symbolic.has_seq else (batch,)
        if symbolic.reason_to_retrace(*point) is not None:
            continue
        answered += 1
        ours, fresh = symbolic.at(*point), symbolic.tracer(batch, seq)
        assert alike(ours, fresh), f"at {point}: {differing(ours, fresh)}"
        assert kernels(ours) == kernels(fresh)
    return answered


# One network of each kind; `test_any_point_of_every_network` covers the others.


def of(function: Callable[..., Tensor]) -> Tracer:
    """A network of one function of ids [batch, seq, 4]."""
    return lambda batch, seq: trace(
        Calls(lambda net, x: function(x @ net.w)), (torch.empty(batch, seq, 4, device="meta"),)
    )


def agree(symbolic: Symbolic, points: list[tuple[int, int]]) -> list[bool]:
    """Check that each answer equals a fresh trace. Returns which answers were symbolic."""
    for point in points:
        assert alike(symbolic.at(*point), symbolic.tracer(*point)), f"at {point}"
    return [symbolic.reason_to_retrace(*point) is None for point in points]
