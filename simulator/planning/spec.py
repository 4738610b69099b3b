"""The spec of a plan: workload, load, limits, candidates and prices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from simulator.networks.catalogue import LORA_DEFAULT
from simulator.planning.wording import USD, Currency

WorkloadKind = Literal["serving", "inference", "training"]
ENGINES = ("eager", "compiled+graph", "vllm", "tensorrt-llm")
SERVERS = ("vllm", "tensorrt-llm")
"""Engines that only serve language models; for other workloads they stand for a compiled step."""
PARALLEL = ("replicas", "fsdp", "tensor", "pipeline")
NODE_GPUS = 8
"""The GPUs of a node; more GPUs form several nodes."""
NETWORK_BYTES_PER_S = 50e9
"""A network card of 400 Gb/s for each GPU (NVIDIA, DGX H100 data sheet)."""
SPLITS = (1, 2, 4, 8)
"""Possible numbers of GPUs per replica: a node links 8 at most, and each GPU needs whole heads of
keys and values."""
MOST_TOKENS = 10_000_000
"""Maximum number of tokens of a prompt or an output: the longest context of any model."""
PRECISIONS = ("bf16", "fp16", "fp8", "int8", "int4", "nvfp4", "fp32")


@dataclass(frozen=True)
class Lengths:
    """Token lengths of requests: a number, uniform between two, lognormal, or a trace's column."""

    kind: Literal["fixed", "uniform", "lognormal", "trace"]
    mean: float
    low: float = 0.0
    high: float = 0.0
    sigma: float = 0.0


@dataclass(frozen=True)
class Workload:
    """The work to plan for. Times in seconds, sizes in bytes; docs/planning.md describes each
    key."""

    kind: WorkloadKind
    network: str
    batch: int | None = None
    batch_window_s: float = 0.0
    seq: int | None = None
    prompt: Lengths | None = None
    output: Lengths | None = None
    requests_csv: Path | None = None
    prefix_hit: float = 0.0
    token_budget: int = 8192
    max_requests: int = 256
    memory_share: float = 0.9
    admission: Literal["preempt", "reserve"] = "preempt"
    batching: Literal["continuous", "static"] = "continuous"
    cache_block: int = 16
    host_per_step_s: float = 1e-3
    host: str | None = None
    kv_precision: str = ""
    kv_link_bytes_per_s: float = NETWORK_BYTES_PER_S
    expert_parallel: bool = False
    attention_dp: bool = False
    tokens: float | None = None
    samples: float | None = None
    accumulation: int = 1
    recompute: bool = False
    optimizer: str = "adamw"
    lora_rank: int | None = None
    lora_modules: tuple[str, ...] = ()
    checkpoint_every_s: float = 0.0
    checkpoint_s: float = 0.0
    failures_every_s: float = 0.0
    restart_s: float = 600.0


def adapted(work: Workload) -> tuple[str, ...]:
    """The names of the linear layers that LoRA adapts."""
    return work.lora_modules or tuple(LORA_DEFAULT.split("+"))


@dataclass(frozen=True)
class Limits:
    """Limits that must hold; None means no limit."""

    first_token_s: float | None = None
    per_token_s: float | None = None
    percentile: float = 99.0
    latency_s: float | None = None
    deadline_s: float | None = None
    cost_usd_per_h: float | None = None
    budget_usd: float | None = None


@dataclass(frozen=True)
class Choices:
    """What to try for one GPU: nothing if `use` is false. None stands for the choice that applies
    to every GPU."""

    counts: tuple[int, ...] | None = None
    engines: tuple[str, ...] | None = None
    precisions: tuple[str, ...] | None = None
    splits: tuple[int, ...] | None = None
    use: bool = True


@dataclass(frozen=True)
class Candidates:
    """The candidates of the plan; `per_gpu` holds the differences for single GPUs, by id. `splits`
    are numbers of GPUs per replica; None stands for 1 and the smallest number that holds the
    weights. `disaggregated` are pairs of numbers of prefill and decode servers per replica, tried
    in addition to servers that do both. `parallel` are the ways to train on several GPUs: a replica
    on each, one set of weights sharded over all, or layers or their products split over GPUs.
    `network_bytes_per_s` is the rate of each GPU's network between nodes, in one direction."""

    gpus: tuple[str, ...]
    counts: tuple[int, ...] = (1, 2, 4, 8)
    engines: tuple[str, ...] = ("vllm",)
    precisions: tuple[str, ...] = ("bf16",)
    splits: tuple[int, ...] | None = None
    disaggregated: tuple[tuple[int, int], ...] = ()
    parallel: tuple[str, ...] = ("replicas",)
    network_bytes_per_s: float = NETWORK_BYTES_PER_S
    per_gpu: Mapping[str, Choices] = field(default_factory=dict[str, Choices])

    def uses(self, gpu_id: str) -> bool:
        """Whether a GPU is a candidate."""
        return self.per_gpu.get(gpu_id, Choices()).use

    def counts_of(self, gpu_id: str) -> tuple[int, ...]:
        """The counts of a GPU to try, ascending."""
        return self.per_gpu.get(gpu_id, Choices()).counts or self.counts

    def engines_of(self, gpu_id: str) -> tuple[str, ...]:
        """The engines of a GPU to try."""
        return self.per_gpu.get(gpu_id, Choices()).engines or self.engines

    def precisions_of(self, gpu_id: str) -> tuple[str, ...]:
        """The precisions of a GPU to try."""
        return self.per_gpu.get(gpu_id, Choices()).precisions or self.precisions

    def splits_of(self, gpu_id: str) -> tuple[int, ...] | None:
        """The numbers of GPUs per replica to try, ascending; None stands for 1 and the smallest
        number that holds the weights."""
        return self.per_gpu.get(gpu_id, Choices()).splits or self.splits


@dataclass(frozen=True)
class Prices:
    """The user's prices: USD per hour by GPU, rented on demand, or reserved for whole terms, which
    are paid whether the GPUs are used or not; the price of energy, the overhead of a building
    (PUE), the USD per unit of other currencies, and the currency of the answer."""

    hourly_usd: Mapping[str, float] = field(default_factory=dict[str, float])
    reserved_usd: Mapping[str, float] = field(default_factory=dict[str, float])
    term_s: float = 31557600.0
    purchase_usd: Mapping[str, float] = field(default_factory=dict[str, float])
    lifetime_s: float = 3 * 31557600.0
    utilisation: float = 1.0
    energy_usd_per_kwh: float = 0.0
    pue: float = 1.0
    co2_g_per_kwh: float | None = None
    catalogue: bool = True
    currency: Currency = USD
    rates_usd: Mapping[str, float] = field(default_factory=dict[str, float])


@dataclass(frozen=True)
class Spec:
    """A whole spec. `rate_per_s` is requests, or samples, per second."""

    workload: Workload
    candidates: Candidates
    limits: Limits = field(default_factory=Limits)
    prices: Prices = field(default_factory=Prices)
    rate_per_s: float | None = None
    requests: int = 4000
    seed: int = 0
