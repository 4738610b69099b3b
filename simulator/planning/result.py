"""The result of a plan: a verdict, a row for each candidate, and its assumptions."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from math import isfinite
from typing import Any, Literal

from simulator.planning.wording import USD, Currency

Status = Literal[
    "fits", "uncertain", "too slow", "overloaded", "no memory", "too expensive", "left out"
]
FORMAT, VERSION = "ridgepoint-plan", 1
Span = tuple[float, float]


@dataclass(frozen=True)
class Row:
    """One candidate. Figures are in seconds, USD and watts; None if they are not known or not
    requested. `interval` figures are 80% intervals; `chance` is the probability that all limits
    hold. `front` is true if no other candidate is as good in cost, latency, energy and count, and
    better in at least one of them. `count` GPUs form `replicas` of `split` GPUs each, or, with
    `pools`, replicas of that many prefill and decode servers of `split` GPUs each. A replica has
    `queues` of sequences: one, or one for each GPU. `batch` is the mean batch of a step, at most
    `largest_batch`. `spread` is the split of a training step over all GPUs, such as "dp=2 tp=4
    ddp". `at_capacity` is true if the plan gives no rate, so that each candidate runs
    full batches."""

    gpu: str
    name: str
    count: int
    engine: str
    precision: str
    status: Status
    split: int = 1
    pools: tuple[int, int] | None = None
    queues: int = 1
    expert_parallel: bool = False
    sharded: bool = False
    spread: str = ""
    reason: str = ""
    usd_per_h: float | None = None
    price_source: str = ""
    usd_per_million: float | None = None
    usd_total: float | None = None
    gpu_hours: float | None = None
    first_token_s: float | None = None
    first_token_interval_s: Span | None = None
    per_token_s: float | None = None
    per_token_interval_s: Span | None = None
    latency_s: float | None = None
    latency_interval_s: Span | None = None
    duration_s: float | None = None
    duration_interval_s: Span | None = None
    confidence_s: Span | None = None
    batch: float | None = None
    largest_batch: int | None = None
    per_s: float | None = None
    utilisation: float | None = None
    largest_rate_per_s: float | None = None
    largest_rate_interval_per_s: Span | None = None
    waiting: float | None = None
    preempted: int | None = None
    memory_share: float | None = None
    steady_per_token_s: float | None = None
    watts: float | None = None
    power_source: str = ""
    joules_per_unit: float | None = None
    co2_g_per_h: float | None = None
    chance: float | None = None
    binds: str = ""
    front: bool = False
    at_capacity: bool = False

    @property
    def configuration(self) -> str:
        """ "2 × H200 SXM, vllm, bf16" or "8 × H100 SXM as 4 replicas of tp=2, vllm, bf16"."""
        return f"{self.count} × {self.name}{self.layout}, {self.engine}, {self.precision}"

    @property
    def layout(self) -> str:
        """ " as 4 replicas of tp=2"; " as 2 replicas of 1 prefill and 3 decode servers"; empty if
        each GPU is a replica; ", sharded" if all GPUs share one set of weights; ", dp=2 tp=4 ddp"
        if a training step is split over them."""
        if self.joint:
            return f", {self.spread or 'sharded'}"
        noun = "replica" if self.replicas == 1 else "replicas"
        tp = self._split
        if self.pools is not None:
            servers = f"{self.pools[0]} prefill and {self.pools[1]} decode servers"
            return f" as {self.replicas} {noun} of {servers}{f' of {tp}' if tp else ''}"
        return f" as {self.replicas} {noun} of {tp}" if tp else ""

    @property
    def joint(self) -> bool:
        """Whether all GPUs run one training step, sharded or split over them."""
        return self.sharded or bool(self.spread)

    @property
    def replicas(self) -> int:
        """The number of replicas that share the load."""
        return self.count // (self.split * sum(self.pools or (1,)))

    @property
    def _split(self) -> str:
        """ "tp=8"; "tp=8 with whole experts"; "dp=8 with whole experts"; empty for one GPU."""
        if self.split == 1:
            return ""
        way = "tp" if self.queues == 1 else "dp"
        return f"{way}={self.split}{' with whole experts' if self.expert_parallel else ''}"

    @property
    def servers(self) -> int:
        """The number of queues that share the load."""
        return self.replicas * self.queues

    @property
    def server(self) -> tuple[str, str, str, int, tuple[int, int] | None]:
        """The kind of replica: GPU, engine, precision, split and pools."""
        return self.gpu, self.engine, self.precision, self.split, self.pools

    @property
    def cost(self) -> float:
        """The figure that ranks candidates: USD, else GPU-hours, else GPUs. At capacity it is
        divided by the samples per second, since candidates then do different amounts of work in an
        hour."""
        work = self.per_s if self.at_capacity and self.per_s else 1.0
        for value in (self.usd_total, self.usd_per_h, self.gpu_hours):
            if value is not None:
                return value / work
        return self.count / work


@dataclass(frozen=True)
class Assumption:
    """An assumption of the plan. `low` and `high` are the plan's figure with the assumption at
    `low_value` and `high_value`; None if it was not varied."""

    name: str
    value: str
    source: str
    low_value: str = ""
    high_value: str = ""
    low: float | None = None
    high: float | None = None

    @property
    def swing(self) -> float:
        """The difference between the ends; 0 if the assumption was not varied."""
        return abs(self.high - self.low) if self.low is not None and self.high is not None else 0.0


@dataclass(frozen=True)
class Plan:
    """A plan. `rows` are ranked: first those that fit, by cost, then the others, by their distance
    to the limits; `pruned` gives the reason for each candidate that was not tried; `figure` names
    the figure that assumptions vary. Its texts state amounts of money in `currency`."""

    kind: str
    question: str
    verdict: str
    rows: tuple[Row, ...]
    assumptions: tuple[Assumption, ...]
    pruned: Mapping[str, str] = field(default_factory=dict[str, str])
    unit: str = "tokens"
    figure: str = ""
    currency: Currency = USD
    seconds: float = 0.0

    @property
    def best(self) -> Row | None:
        """The cheapest candidate that meets all limits over its interval, or None."""
        return next((row for row in self.rows if row.status == "fits"), None)

    @property
    def carried(self) -> bool:
        """Whether a candidate meets all limits, or may meet them within its interval."""
        return any(row.status in ("fits", "uncertain") for row in self.rows)

    def document(self) -> dict[str, Any]:
        """The plan as data; figures that are not numbers are null."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "kind": self.kind,
            "question": self.question,
            "verdict": self.verdict,
            "unit": self.unit,
            "judged_by": self.figure,
            "currency": self.currency.name,
            "usd_per_currency": self.currency.usd,
            "rows": [_finite(asdict(row)) for row in self.rows],
            "assumptions": [_finite(asdict(a)) | {"swing": a.swing} for a in self.assumptions],
            "pruned": dict(self.pruned),
        }

    def to_json(self) -> str:
        """The plan as a JSON document."""
        return json.dumps(self.document(), indent=1, ensure_ascii=False) + "\n"


def _finite(values: dict[str, Any]) -> dict[str, Any]:
    def clean(value: Any) -> Any:
        if isinstance(value, float) and not isfinite(value):
            return None
        return [clean(v) for v in value] if isinstance(value, tuple | list) else value  # pyright: ignore[reportUnknownVariableType]

    return {name: clean(value) for name, value in values.items()}
