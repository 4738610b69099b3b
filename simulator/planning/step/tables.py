"""Step times, weights and cache of a served network on a GPU, predicted from its traces."""

from __future__ import annotations

from dataclasses import astuple, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulator.errors import InputError
from simulator.hardware.gpu import GPU
from simulator.networks.catalogue import CATALOGUE
from simulator.planning.power import served_w
from simulator.planning.spec import SERVERS, Workload
from simulator.planning.step.engine_attention import (
    cached_tokens_s,
    check_card,
    engine_kernels,
    fixed_difference_s,
    linear_prompts_s,
    prompt_attention_s,
)
from simulator.planning.step.engine_experts import experts_saved_s
from simulator.planning.step.engine_products import products_saved_s
from simulator.planning.step.expert_exchange import moved_by
from simulator.planning.step.fused_kernels import PROMPT, plain_and_fused_s, saved_s
from simulator.planning.step.rank_step import (
    Communication,
    communication_share,
    linked_steps,
    node,
)
from simulator.planning.step.scenarios import engine_scenario, plain_dtype
from simulator.planning.step.step_interval import Parts, ends
from simulator.planning.step.step_time import StepTime
from simulator.planning.step.traced_step import (
    NetworkSize,
    cache_bytes,
    head_share,
    logits_bytes,
    of_rank,
    size_of,
    sizes_of,
    steps,
    weight_bytes,
)
from simulator.prediction import REGIMES
from simulator.scenario.scenario import Scenario
from simulator.simulate.step_columns import StepColumns

Floats = NDArray[np.float64]

FUSED = ("compiled+graph", *SERVERS)
"""Engines with fused kernels. Other engines run the kernels of eager PyTorch, captured in a CUDA
graph except in "eager"."""
KNEE = 1024  # tokens of mean context at which the slope in cached tokens changes
FAR = 8192
_BATCHES = (1, 16, 64, 256)
"""Batches of decodes at which the time per cached token is computed."""
_EMPTY_BATCHES = (1, 4, 16, 64, 256)
_MIXTURE_BATCHES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
"""Batches of decodes with an empty cache, and those of mixtures of experts, in which the number of
used experts grows ever more slowly with the batch."""
_PREFILLS = (1, 64, 256, 512, 2048, 4096, 8192)
_CUT = 256  # tokens of the prompt pieces that give the cost of attention within a prompt
_CACHE_BYTES = {"bf16": 2, "fp16": 2, "fp32": 4, "fp8": 1, "int8": 1}


@dataclass(frozen=True)
class Machine:
    """One replica: a GPU, or `split` GPUs of a tensor-parallel group. The fields are its step; the
    bytes on each GPU of weights, of activations at their peak, and of cache per token; the `shares`
    of compute, memory, overhead and communication in a decode, and the share of communication in a
    prefill; the watts of each GPU in decodes by batch and in prefills by tokens, NaN if unknown;
    and `largest`, a cache of largest rates. `pools` are its numbers of (prefill, decode) servers if
    they are separate. Each of its `queues` has its own sequences and takes its share of the
    load."""

    step: StepTime
    weight_bytes: float
    activation_bytes: float
    cache_bytes_per_token: float
    shares: dict[str, float]
    dtype: str
    decode_w: Floats
    prefill_w: Floats
    split: int = 1
    prompt_communication: float = 0.0
    pools: tuple[int, int] | None = None
    queues: int = 1
    largest: dict[Any, float] = field(default_factory=dict[Any, float], compare=False)

    @property
    def gpus(self) -> int:
        """The number of GPUs of a replica."""
        return self.split * sum(self.pools or (1,))

    def busy_w(self, batch: float, prompt: float, prompt_share: float) -> float:
        """Watts of a busy card that decodes `batch` sequences, and computes prompts for
        `prompt_share` of the time."""
        decode = self.decode_w[min(round(batch), self.decode_w.size - 1)]
        prefill = self.prefill_w[min(round(prompt), self.prefill_w.size - 1)]
        return float((1 - prompt_share) * decode + prompt_share * prefill)

    def shares_beside(self, prompt_share: float) -> dict[str, float]:
        """Shares of decodes if prompts take `prompt_share` of the time. Prompts count as compute,
        except for their communication."""
        shares = {name: (1 - prompt_share) * share for name, share in self.shares.items()}
        moves = prompt_share * self.prompt_communication
        shares["compute"] = shares.get("compute", 0.0) + prompt_share - moves
        if moves:
            shares["communication"] = shares.get("communication", 0.0) + moves
        return shares

    def cache_tokens(self, gpu: GPU, memory_share: float) -> int:
        """Tokens of cache that fit in this share of the memory together with weights and
        activations."""
        room = gpu.memory_bytes * memory_share - self.weight_bytes - self.activation_bytes
        return max(int(room / self.cache_bytes_per_token), 0)


def machine(work: Workload, gpu: GPU, precision: str, engine: str, split: int = 1) -> Machine:
    """The replica that serves the workload: one GPU, or `split` of them. Raises InputError if the
    GPU, its links or the precision cannot serve it."""
    decode_network = f"{work.network}-decode"
    if decode_network not in CATALOGUE:
        raise InputError(_unserved(work.network))
    check_card(engine, gpu)
    group = node(gpu, split) if split > 1 else None
    heads_ranks = 1 if work.attention_dp else split
    mode = "eager" if engine == "eager" else "cuda_graph"
    budget = max(work.token_budget, _CUT)
    longs = (*(n for n in _PREFILLS if n < budget), budget)
    pieces = (budget // _CUT, _CUT)
    points = [(1, n) for n in longs] + [pieces]
    prefill = of_rank(engine_scenario(work.network, gpu, precision, engine, work.host), split, work)
    mixture = "experts" in sizes_of(work.network)
    alone, sizes = (
        (*(b for b in known if b < work.max_requests), work.max_requests)
        for known in (_MIXTURE_BATCHES if mixture else _EMPTY_BATCHES, _BATCHES)
    )
    grid = [(b, 1) for b in alone] + [(b, s) for s in (KNEE, FAR) for b in sizes]
    decode = of_rank(
        engine_scenario(decode_network, gpu, precision, engine, work.host), split, work
    )
    plain = plain_dtype(gpu, precision)
    row = slice(len(alone), len(alone) + len(sizes))  # decodes of KNEE tokens each in the grid
    middle_of_grid, longest = len(alone) + min(3, len(sizes) - 1), len(longs) - 1
    decode_moves = prefill_moves = 0.0
    kernels, moved = steps(decode, grid), None
    prefills, decodes = steps(prefill, points), kernels
    if group is not None:
        moved = moved_by(work, points, plain, precision, group, mode, engine)
        prefills = linked_steps(prefill, points, moved, gpu, mode)
        prefill_moves = float(communication_share(prefills)[longest])
        moved = moved_by(work, [(b, 1) for b, _ in grid], plain, precision, group, mode, engine)
        decodes = linked_steps(decode, grid, moved, gpu, mode)
        decode_moves = float(communication_share(decodes)[middle_of_grid])
    period = prefills.period_s
    cut = period[-1] / period[longest]
    quadratic = max(0.0, 1 - cut) * period[longest] / float(budget) ** 2
    linear = period[:-1] - quadratic * np.array(longs, float) ** 2
    if engine in SERVERS:
        within_prompts = prompt_attention_s(engine, decode_network, gpu, heads_ranks)
        if within_prompts is not None:
            quadratic = within_prompts
            without = linear_prompts_s(engine, prefill, gpu, longs, period[:-1])
            linear = linear if without is None else without
    tokens = np.arange(budget + 1, dtype=float)
    forward = np.interp(tokens, longs, np.maximum.accumulate(linear))
    batches = np.arange(work.max_requests + 1, dtype=float)
    empty_s, cached_s = decodes.period_s[: len(alone)], decodes.period_s[len(alone) :]
    near_s, far_s = cached_s.reshape(2, len(sizes))
    alone_s = np.interp(sizes, alone, empty_s)
    empty = np.interp(batches, alone, np.maximum.accumulate(empty_s))
    near = np.interp(batches, sizes, np.maximum(near_s - alone_s, 0) / (KNEE - 1) / sizes)
    far = np.interp(batches, sizes, np.maximum(far_s - near_s, 0) / (FAR - KNEE) / sizes)
    head, weights = head_share(prefill, _CUT) * (1 - prefill_moves), weight_bytes(decode, KNEE)
    cache = (
        cache_bytes(decode, KNEE, FAR)
        / _CACHE_BYTES[plain]
        * _CACHE_BYTES[work.kv_precision or plain]
    )
    times = _CACHE_BYTES[work.kv_precision or plain] / _CACHE_BYTES[plain]
    traced = near * times
    if engine in SERVERS:
        kept_in = work.kv_precision or plain
        own = engine, decode_network, gpu, heads_ranks, cache, kept_in
        near, far = cached_tokens_s(*own, (near, far))
    else:
        near, far = traced, far * times
    attention = np.maximum(traced - near, 0.0) * KNEE * batches
    unfused = empty
    if engine in FUSED:
        plain_s, fused_s = plain_and_fused_s(decode, [(b, 1) for b in alone])
        moved_s = 0.0 if moved is None else moved.seconds[: len(alone)]
        of_alone = [(b, 1) for b in alone]
        saved = plain_s - fused_s + experts_saved_s(engine, decode, gpu, of_alone)
        saved = saved + products_saved_s(engine, decode, gpu, precision, of_alone)
        attended_s = np.interp(alone, sizes, fixed_difference_s(engine, decode, gpu, sizes))
        served_s = plain_s - saved + attended_s + moved_s
        empty = np.interp(batches, alone, np.maximum.accumulate(served_s))
        of_prompt = experts_saved_s(engine, prefill, gpu, [(1, PROMPT)])
        saved = saved_s(prefill, alone, saved, float(of_prompt[0]), tokens)
        forward = np.maximum(forward - saved, 0.1 * forward)
    middle = StepColumns(*(c[middle_of_grid] for c in decodes))
    per_request_s = float(engine_kernels(engine).get("host_per_request_s", 0.0))
    parts = Parts(
        StepColumns(*(c[row] for c in kernels)),
        (unfused - empty)[list(sizes)],
        attention[list(sizes)],
        None if moved is None else Communication(*(each[row] for each in astuple(moved))),
        work.host_per_step_s + per_request_s * np.array(sizes, float),
    )
    low, high = (np.interp(batches, sizes, end) for end in ends(parts, engine))
    step = StepTime(
        forward, empty, near, far, KNEE, float(quadratic), head, work.host_per_step_s, low, high,
        per_request_s, bool(engine_kernels(engine).get("overlaps")),
    )  # fmt: skip
    peak = float(prefills.memory_bytes[longest])
    activations = max(peak - weights - logits_bytes(prefill, budget), 0.0)
    shares = {regime: float(getattr(middle, regime)) for regime in REGIMES}
    if group is not None:
        shares["communication"] = decode_moves
    decode_s = np.array([step.decode(b, b * KNEE) for b in sizes])
    prefill_s = np.array([step.mixed(n, n * n, 0, 0.0) for n in longs])
    decode_w = served_w(gpu, decodes.joules[row], decodes.period_s[row], decode_s)
    prefill_w = served_w(gpu, prefills.joules[:-1], period[:-1], prefill_s)
    return Machine(
        step,
        weights,
        activations,
        cache,
        shares,
        plain,
        np.interp(batches, sizes, decode_w),
        np.interp(tokens, longs, prefill_w),
        split,
        prefill_moves,
        queues=split if work.attention_dp else 1,
    )


def network_size(work: Workload) -> NetworkSize:
    """The parameters of a served network."""
    name = f"{work.network}-decode"
    if name not in CATALOGUE:
        raise InputError(_unserved(work.network))
    return size_of(Scenario(name, dtype="bf16", batch=1, seq=KNEE))


def _unserved(network: str) -> str:
    known = sorted(n.removesuffix("-decode") for n in CATALOGUE if n.endswith("-decode"))
    return (
        f"workload.network = {network!r} cannot be served: expected a network with its own "
        f"decode step: {', '.join(known)}; choose one"
    )
