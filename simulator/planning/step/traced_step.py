"""Figures of a traced step: predictions at many points, and sizes from the trace.

One rank of a tensor-parallel group is traced with one and with two layers, since every layer takes
the same time: T(L) = T(1) + (L − 1)·(T(2) − T(1)). For Llama 3 70B on one GPU that is within 0.5%
of the steps with all 80 layers, and exact for bytes. If every other layer differs, it is traced
with two and with four; first layers of another kind are traced in addition.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from msgspec.structs import replace as with_fields
from numpy.typing import NDArray

from simulator.caches.lru import LRUCache
from simulator.errors import InputError
from simulator.hardware.gpu import GPU
from simulator.networks.catalogue import constructor_sizes, network
from simulator.planning.spec import Workload
from simulator.prediction import Kernel
from simulator.records import Trace
from simulator.scenario.file_stamps import file_stamps
from simulator.scenario.predict import predict
from simulator.scenario.predict_many import predict_many
from simulator.scenario.resolve import resolve
from simulator.scenario.resolved import ResolvedScenario
from simulator.scenario.scenario import Scenario
from simulator.scenario.trace_source import family, trace_key, trace_resolved
from simulator.simulate.step_columns import StepColumns, as_columns

Floats = NDArray[np.float64]

_STEPS: LRUCache[Floats] = LRUCache(64)
_FIGURES: LRUCache[_TraceFigures] = LRUCache(64)
_KERNELS: LRUCache[tuple[Kernel, ...]] = LRUCache(64)


def of_rank(scenario: Scenario, split: int, work: Workload | None = None) -> Scenario:
    """The scenario of one rank of `split`; unchanged for one. The workload determines whether a
    rank has whole experts, and its own sequences."""
    if split == 1:
        return scenario
    sizes = {**scenario.sizes, "ranks": split}
    if work is not None and work.expert_parallel:
        sizes |= {"expert_parallel": True} | ({"attention_dp": True} if work.attention_dp else {})
    return replace(scenario, sizes=sizes)


def can_divide_experts(name: str) -> bool:
    """Whether the ranks of a network of the catalogue can have whole experts."""
    return "expert_parallel" in constructor_sizes(name)


def sizes_of(name: str) -> dict[str, int]:
    """The sizes of a network of the catalogue, including defaults."""
    return {**constructor_sizes(name), **network(name).sizes}


def parts(scenario: Scenario) -> tuple[tuple[float, Scenario], ...]:
    """Scenarios to predict, with their weights in the figures of this scenario: the scenario itself
    or, for a rank, two networks of few layers."""
    if "ranks" not in scenario.sizes:
        return ((1.0, scenario),)
    small, large = (
        replace(scenario, sizes={**scenario.sizes, "layers": n}) for n in few_layers(scenario)
    )
    steps_of_layers = repeats(scenario)
    return (1.0 - steps_of_layers, small), (steps_of_layers, large)


def few_layers(scenario: Scenario) -> tuple[int, int]:
    """The numbers of layers of two small networks; the second has one more layer of each kind that
    repeats."""
    entry = network(scenario.network)
    return entry.unlike + entry.repeats, entry.unlike + 2 * entry.repeats


def repeats(scenario: Scenario) -> float:
    """How often the difference between the two `few_layers` networks is added to the smaller one to
    give all layers."""
    small, large = few_layers(scenario)
    return (sizes_of(scenario.network)["layers"] - small) / (large - small)


def layer_kernels(scenario: Scenario, batch: int, seq: int) -> tuple[Kernel, ...]:
    """The kernels of the larger of the `few_layers` networks."""
    sizes = {**scenario.sizes, "layers": few_layers(scenario)[1]}
    small = replace(scenario, batch=batch, seq=seq, sizes=sizes)
    return _KERNELS.get((small.key, file_stamps(small)), lambda: tuple(predict(small).kernels))


def steps(
    scenario: Scenario,
    points: Sequence[tuple[int, int]],
    limits_w: tuple[float | None, ...] | None = None,
) -> StepColumns[Floats]:
    """The predictions at points (batch, sequence), each under its own power limit if given."""
    limits_w = limits_w or (None,) * len(points)
    weighted = [(weight, _predicted(part, points, limits_w)) for weight, part in parts(scenario)]
    if len(weighted) == 1:
        return weighted[0][1]
    weights = np.array([weight for weight, _ in weighted])
    tables = np.stack([np.array(table) for _, table in weighted])  # [parts, columns, points]
    total = StepColumns(*np.einsum("w,wcp->cp", weights, tables))
    means = {  # over the period
        name: sum(w * getattr(t, name) * t.period_s for w, t in weighted) / total.period_s
        for name in ("compute", "memory", "overhead", "clock_hz")
    }
    return total._replace(**means)


def _predicted(
    scenario: Scenario, points: Sequence[tuple[int, int]], limits_w: tuple[float | None, ...]
) -> StepColumns[Floats]:
    first = resolve(replace(scenario, batch=points[0][0], seq=points[0][1]))
    # Captured and eager steps have the same kernels: one prediction serves both.
    modes = ("eager", "cuda_graph") if scenario.mode in ("eager", "cuda_graph") else (first.mode,)

    def predicted() -> Floats:
        cards = {limit: _limited(first.gpu, limit) for limit in limits_w}
        settings = [
            with_fields(
                first,
                mode=mode,
                gpu=cards[limit],
                request=with_fields(first.request, batch=b, seq=s),
            )
            for mode in modes
            for (b, s), limit in zip(points, limits_w, strict=True)
        ]
        table, refused, _ = predict_many(settings)
        if refused:
            raise InputError(next(iter(refused.values())))
        return table.reshape(len(modes), len(points), -1)

    key = replace(scenario, mode=modes[0]).key, file_stamps(scenario), tuple(points), limits_w
    return as_columns(_STEPS.get(key, predicted)[modes.index(scenario.mode)])


def _limited(gpu: GPU, limit_w: float | None) -> GPU:
    return gpu if limit_w is None else with_fields(gpu, power_limit_w=limit_w)


def trace_at(resolved: ResolvedScenario, batch: int | None, seq: int | None) -> Trace:
    """The trace of a resolved scenario at a batch and a sequence length."""
    at_point = with_fields(resolved, request=with_fields(resolved.request, batch=batch, seq=seq))
    known = family(at_point)
    if known is None:
        return trace_resolved(at_point)
    return known[0].at(*known[1])


def head_share(scenario: Scenario, tokens: int) -> float:
    """The head's share of the products of a prefill, by parameters."""
    total = _figure(scenario, tokens, "products")
    return _figure(scenario, tokens, "head_products") / total if total else 0.0


def weight_bytes(scenario: Scenario, tokens: int) -> float:
    """Bytes of weights and buffers."""
    return _figure(scenario, tokens, "weight_bytes")


def cache_bytes(scenario: Scenario, near: int, far: int) -> float:
    """Bytes of cache per token: the growth of the inputs between two lengths of the sequence."""
    ends = [_figure(scenario, n, "input_bytes") for n in (near, far)]
    return (ends[1] - ends[0]) / (far - near)


def logits_bytes(scenario: Scenario, tokens: int) -> float:
    """Bytes of logits of a whole prompt, which a server does not keep."""
    return _figure(scenario, tokens, "logits_bytes")


@dataclass(frozen=True)
class NetworkSize:
    """The number of parameters of a network, and of those that the products of one token use: all
    but the embedding, or with experts only the chosen ones."""

    parameters: float
    used: float


def size_of(decode: Scenario) -> NetworkSize:
    """The size of a network from the decode of one sequence."""
    trace = trace_at(resolve(decode), 1, decode.seq)
    return NetworkSize(float(trace.parameters), sum(_products(trace).values()))


@dataclass(frozen=True)
class _TraceFigures:
    """Bytes by role, and multiplications of all matrix products and of the head."""

    weight_bytes: float
    input_bytes: float
    logits_bytes: float
    products: float
    head_products: float


def _figure(scenario: Scenario, tokens: int, name: str) -> float:
    """A figure of the trace of one sequence, extrapolated to all layers for a rank."""
    return sum(
        weight * getattr(_figures(replace(part, batch=1, seq=tokens)), name)
        for weight, part in parts(scenario)
    )


def _figures(scenario: Scenario) -> _TraceFigures:
    resolved = resolve(scenario)
    batch, seq = scenario.batch, scenario.seq
    return _FIGURES.get(trace_key(resolved), lambda: _read_off(trace_at(resolved, batch, seq)))


def _read_off(trace: Trace) -> _TraceFigures:
    products = _products(trace)
    return _TraceFigures(
        _bytes(trace, "weight", "buffer"),
        _bytes(trace, "input"),
        _logits_bytes(trace),
        sum(products.values()),
        products.get(_head(trace), 0.0),
    )


def _bytes(trace: Trace, *roles: str) -> float:
    return float(sum(s.nbytes for s in trace.storages if s.role in roles))


def _head(trace: Trace) -> str:
    return "head" if any(op.module == "head" for op in trace.ops) else "lm_head"


_PRODUCTS = (
    "aten.mm",
    "aten.addmm",
    "aten._scaled_mm",
    "aten._weight",
    "aten._grouped_mm",
    "aten._scaled_grouped_mm",
)


def _products(trace: Trace) -> dict[str, float]:
    """Multiplications of the matrix products by module."""
    products: dict[str, float] = {}
    for op in trace.ops:
        if op.signature.name.startswith(_PRODUCTS):
            left, out = op.signature.inputs[0], op.signature.outputs[0]
            values = left.numel * (2 if left.dtype.endswith("_x2") else 1)
            n = float(values) * out.shape[-1]
            products[op.module] = products.get(op.module, 0.0) + n
    return products


def _logits_bytes(trace: Trace) -> float:
    last = trace.ops[-1].signature.outputs[0]
    return float(np.prod(last.shape)) * (4 if last.dtype in ("fp32", "float32") else 2)
