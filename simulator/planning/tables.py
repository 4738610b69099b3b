"""Step times, weights and cache of a served network on a GPU, predicted from its traces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulator.caches.lru import LRUCache
from simulator.errors import InputError
from simulator.hardware.gpu import GPU
from simulator.networks.catalogue import CATALOGUE
from simulator.planning.fused_kernels import saved_s
from simulator.planning.spec import Workload
from simulator.planning.step_time import StepTime
from simulator.prediction import REGIMES
from simulator.records import Trace
from simulator.scenario.predict_many import predict_many
from simulator.scenario.resolve import resolve
from simulator.scenario.resolved import ResolvedScenario
from simulator.scenario.scenario import Scenario
from simulator.scenario.trace_source import family
from simulator.simulate.step_columns import StepColumns, as_columns
from simulator.timing.profile import learned
from simulator.timing.rates import dram_reach
from simulator.whatif import apply

Floats = NDArray[np.float64]

FUSED = ("compiled+graph", "vllm")
"""Engines with fused kernels. Others run the kernels of eager PyTorch, captured but in "eager"."""
KNEE = 1024  # tokens of mean context up to and beyond which the slope in cached tokens is taken
FAR = 8192
_BATCHES = (1, 16, 64, 256)
_PREFILLS = (1, 64, 256, 512, 2048, 4096, 8192)
_CUT = 256  # tokens of the pieces from which the cost of attention among a prompt is told apart
_CACHE_BYTES = {"bf16": 2, "fp16": 2, "fp32": 4, "fp8": 1, "int8": 1}
_WHATIFS = {"fp8": "fp8", "int8": "weights", "int4": "weights"}
_TABLES: LRUCache[Floats] = LRUCache(16)


@dataclass(frozen=True)
class Machine:
    """One GPU that serves: its step, bytes of weights, of activations at the peak, and of cache a
    token; `shares` of compute, memory and overhead in a decode; watts that it draws in decodes by
    batch and in prefills by tokens, NaN if unknown; `largest` rates that are known."""

    step: StepTime
    weight_bytes: float
    activation_bytes: float
    cache_bytes_per_token: float
    shares: dict[str, float]
    dtype: str
    decode_w: Floats
    prefill_w: Floats
    largest: dict[Any, float] = field(default_factory=dict[Any, float], compare=False)

    def busy_w(self, batch: float, prompt: float, prompt_share: float) -> float:
        """Watts while it works: decodes of a batch, beside prompts for a share of the time."""
        decode = self.decode_w[min(round(batch), self.decode_w.size - 1)]
        prefill = self.prefill_w[min(round(prompt), self.prefill_w.size - 1)]
        return float((1 - prompt_share) * decode + prompt_share * prefill)

    def cache_tokens(self, gpu: GPU, memory_share: float) -> int:
        """Tokens of cache in what weights and activations leave of this share of the memory."""
        room = gpu.memory_bytes * memory_share - self.weight_bytes - self.activation_bytes
        return max(int(room / self.cache_bytes_per_token), 0)


def plain_dtype(gpu: GPU, precision: str) -> str:
    """The dtype of activations: a card without bf16 products serves in fp16."""
    if precision in ("fp16", "fp32"):
        return precision
    return "bf16" if gpu.peak("tensor", "bf16") else "fp16"


def asked(network: str, gpu: GPU, precision: str, mode: str) -> Scenario:
    """The scenario of a precision: low ones are what-ifs upon the plain one."""
    scenario = Scenario(network, gpu=gpu.id, mode=mode, dtype=plain_dtype(gpu, precision))
    name = _WHATIFS.get(precision)
    if name is None:
        return scenario
    return apply(scenario, name, {"dtype": precision} if name == "weights" else {})


def machine(work: Workload, gpu: GPU, precision: str, engine: str) -> Machine:
    """What serves the workload. InputError where the GPU or the precision cannot."""
    decode_network = f"{work.network}-decode"
    if decode_network not in CATALOGUE:
        raise InputError(_unserved(work.network))
    mode = "eager" if engine == "eager" else "cuda_graph"
    budget = max(work.token_budget, _CUT)
    longs = (*(n for n in _PREFILLS if n < budget), budget)
    pieces = (budget // _CUT, _CUT)
    points = [(1, n) for n in longs] + [pieces]
    prefill = asked(work.network, gpu, precision, mode)
    sizes = (*(b for b in _BATCHES if b < work.max_requests), work.max_requests)
    grid = [(b, s) for s in (1, KNEE, FAR) for b in sizes]
    decode = asked(decode_network, gpu, precision, mode)
    prefills, at_prefill = _figures(prefill, points)
    decodes, at_decode = _figures(decode, grid)
    period = prefills.period_s
    cut = period[-1] / period[len(longs) - 1]
    quadratic = max(0.0, 1 - cut) * period[len(longs) - 1] / float(budget) ** 2
    linear = period[:-1] - quadratic * np.array(longs, float) ** 2
    tokens = np.arange(budget + 1, dtype=float)
    forward = np.interp(tokens, longs, np.maximum.accumulate(linear))
    table = decodes.period_s.reshape(3, len(sizes))
    batches = np.arange(work.max_requests + 1, dtype=float)
    empty = np.interp(batches, sizes, np.maximum.accumulate(table[0]))
    near = np.interp(batches, sizes, np.maximum(table[1] - table[0], 0) / (KNEE - 1) / sizes)
    far = np.interp(batches, sizes, np.maximum(table[2] - table[1], 0) / (FAR - KNEE) / sizes)
    head, weight_bytes = _head(at_prefill), _weights(at_decode)
    plain = plain_dtype(gpu, precision)
    cache = _cache_bytes(at_decode, plain) * _CACHE_BYTES[work.kv_precision or plain]
    if engine == "vllm":  # a paged kernel reads each key once, as fast as the best kernel reads
        paged = cache / (gpu.bandwidth_bytes_per_s * dram_reach(gpu, learned(gpu.id)))
        near, far = np.minimum(near, paged), np.minimum(far, paged)
    elif work.kv_precision:
        times = _CACHE_BYTES[work.kv_precision] / _CACHE_BYTES[plain]
        near, far = near * times, far * times
    if engine in FUSED:
        empty = np.maximum(empty - saved_s(prefill, decode, batches), 0.1 * empty)
        forward = np.maximum(forward - saved_s(prefill, decode, tokens), 0.1 * forward)
    middle = StepColumns(*(c[len(sizes) + min(3, len(sizes) - 1)] for c in decodes))
    ends = [float(end_s / middle.period_s) for end_s in (middle.low_s, middle.high_s)]
    step = StepTime(
        forward, empty, near, far, KNEE, float(quadratic), head, work.host_per_step_s, *ends
    )
    peak = float(prefills.memory_bytes[len(longs) - 1])
    logits = _logits_bytes(at_prefill, budget)
    activations = max(peak - weight_bytes - logits, 0.0)
    shares = {regime: float(getattr(middle, regime)) for regime in REGIMES}
    decode_w = (decodes.joules / decodes.period_s).reshape(3, len(sizes))[1]  # at KNEE tokens each
    prefill_w = (prefills.joules / period)[: len(longs)]
    return Machine(
        step,
        weight_bytes,
        activations,
        cache,
        shares,
        plain,
        np.interp(batches, sizes, decode_w),
        np.interp(tokens, longs, prefill_w),
    )


def parameters(work: Workload) -> float:
    """Parameters of a served network."""
    name = f"{work.network}-decode"
    if name not in CATALOGUE:
        raise InputError(_unserved(work.network))
    found = resolve(Scenario(name, dtype="bf16", batch=1, seq=KNEE))
    return float(trace_at(found, 1, KNEE).parameters)


def _unserved(network: str) -> str:
    known = sorted(n.removesuffix("-decode") for n in CATALOGUE if n.endswith("-decode"))
    return (
        f"workload.network = {network!r} cannot be served: expected a network with a decode step "
        f"of its own: {', '.join(known)}; choose one"
    )


def _figures(
    scenario: Scenario, points: Sequence[tuple[int, int]]
) -> tuple[StepColumns[Floats], ResolvedScenario]:
    """The predictions at points (batch, sequence), and the resolved scenario at the first."""
    first = resolve(replace(scenario, batch=points[0][0], seq=points[0][1]))
    # Captured and eager steps have the same kernels: both are predicted for the price of one.
    modes = ("eager", "cuda_graph") if scenario.mode in ("eager", "cuda_graph") else (first.mode,)

    def predicted() -> Floats:
        settings = [
            replace(first, mode=mode, ask=replace(first.ask, batch=b, seq=s))
            for mode in modes
            for b, s in points
        ]
        table, refused, _ = predict_many(settings)
        if refused:
            raise InputError(next(iter(refused.values())))
        return table.reshape(len(modes), len(points), -1)

    key = replace(scenario, mode=modes[0]).key, tuple(points)
    table = _TABLES.get(key, predicted)[modes.index(scenario.mode)]
    return as_columns(table), first


def trace_at(found: ResolvedScenario, batch: int | None, seq: int | None) -> Trace:
    """The trace of a setting at a batch and a sequence."""
    known = family(replace(found, ask=replace(found.ask, batch=batch, seq=seq)))
    if known is None:
        from simulator.scenario.trace_source import trace_resolved

        return trace_resolved(replace(found, ask=replace(found.ask, batch=batch, seq=seq)))
    return known[0].at(*known[1])


def _head(found: ResolvedScenario) -> float:
    """Share of a prefill's products that the head takes, by parameters."""
    trace = trace_at(found, 1, _CUT)
    heads = {op.module for op in trace.ops if op.module}
    head = "head" if "head" in heads else "lm_head"
    flops = total = 0.0
    for op in trace.ops:
        if op.signature.name.startswith(
            ("aten.mm", "aten.addmm", "aten._scaled_mm", "aten._weight")
        ):
            n = float(np.prod(op.signature.inputs[0].shape)) * op.signature.outputs[0].shape[-1]
            total += n
            flops += n if op.module == head else 0.0
    return flops / total if total else 0.0


def _weights(found: ResolvedScenario) -> float:
    trace = trace_at(found, 1, KNEE)
    return float(sum(s.nbytes for s in trace.storages if s.role in ("weight", "buffer")))


def _cache_bytes(found: ResolvedScenario, dtype: str) -> float:
    """Elements of cache a token: what inputs grow by with the sequence."""
    ends = [
        sum(s.nbytes for s in trace_at(found, 1, n).storages if s.role == "input")
        for n in (KNEE, FAR)
    ]
    return (ends[1] - ends[0]) / (FAR - KNEE) / _CACHE_BYTES[dtype]


def _logits_bytes(found: ResolvedScenario, tokens: int) -> float:
    """Bytes of logits of a whole prompt, which a server does not keep."""
    last = trace_at(found, 1, tokens).ops[-1].signature.outputs[0]
    return float(np.prod(last.shape)) * (4 if last.dtype in ("fp32", "float32") else 2)
