"""Check a plan's spec as a whole for missing keys and contradictions."""

from __future__ import annotations

from simulator.errors import InputError
from simulator.networks.catalogue import CATALOGUE
from simulator.planning.spec import NETWORK_BYTES_PER_S, Spec
from simulator.planning.step.traced_step import can_divide_experts

_MOST_REQUESTS = 1_000_000
_MEANINGLESS = (
    ("workload", ("expert_parallel", False), ("inference", "training")),
    ("workload", ("attention_dp", False), ("inference", "training")),
    ("workload", ("batch", None), ("serving",)),  # the scheduler makes the batches
    ("workload", ("batch_window_s", 0.0), ("serving", "training")),
    ("workload", ("batching", "continuous"), ("inference", "training")),
    ("workload", ("cache_block", 16), ("inference", "training")),
    ("workload", ("seq", None), ("serving",)),
    ("workload", ("lora_rank", None), ("serving", "inference")),
    ("workload", ("lora_modules", ()), ("serving", "inference")),
    ("limits", ("budget_usd", None), ("serving", "inference")),
)
"""A section, a key, its default, and the kinds of workload that do not use the key."""


def check(spec: Spec) -> None:
    """Raise InputError if a key is missing, out of bounds, or contradicts another one."""
    if not 1 <= spec.requests <= _MOST_REQUESTS:
        raise InputError(
            f"simulation.requests = {spec.requests}: expected 1 to "
            f"{_MOST_REQUESTS:,}; change the number"
        )
    work, limits = spec.workload, spec.limits
    if not 1 <= limits.percentile < 100:
        raise InputError(
            f"limits.percentile = {limits.percentile:g}: expected at least 1 and "
            "less than 100; write 99"
        )
    if spec.prices.pue < 1:
        raise InputError(
            f"prices.pue = {spec.prices.pue:g}: expected at least 1, the power of the whole "
            "building over that of its computers; write 1.2"
        )
    for section, values, kinds in _MEANINGLESS:
        name, default = values
        if work.kind in kinds and getattr(getattr(spec, section), name) != default:
            key = name.removesuffix("_usd").removesuffix("_s")
            raise InputError(
                f"{section}.{key} does not apply to {work.kind}: expected no such key; remove it"
            )
    every = spec.candidates
    if work.kind != "serving" and any(c.splits for c in (every, *every.per_gpu.values())):
        raise InputError(
            f"candidates.splits does not apply to {work.kind}: expected no such key, since each "
            "GPU is a separate replica; remove it"
        )
    _check_sharding(spec)
    if work.kind != "serving" and every.disaggregated:
        raise InputError(
            f"candidates.disaggregated does not apply to {work.kind}: expected no such key; remove "
            "it"
        )
    if work.batching == "static" and every.disaggregated:
        raise InputError(
            'workload.batching = "static" with candidates.disaggregated: expected one of the two, '
            "since separate decode servers batch continuously; remove one"
        )
    _check_experts(spec)
    if work.kind == "serving":
        if spec.rate_per_s is None and work.requests_csv is None:
            raise InputError(
                'load.rate is missing: expected requests a second, such as "20/s"; '
                "add it under [load]"
            )
        if work.requests_csv is not None and (work.prompt or work.output):
            name = "prompt" if work.prompt else "output"
            raise InputError(
                f"workload.{name} and workload.requests_csv are both given: expected one of the "
                "two, since the trace has the tokens of each request; remove one"
            )
        if work.requests_csv is None and not (work.prompt and work.output):
            raise InputError(
                "workload.prompt or workload.output is missing: expected tokens of "
                "each; add both, or requests_csv"
            )
    if work.lora_modules and work.lora_rank is None:
        raise InputError(
            "workload.lora_rank is missing: expected the rank of the adapters of lora_modules; "
            "add it, such as lora_rank = 16"
        )
    if work.lora_rank is not None and work.network not in CATALOGUE:
        raise InputError(
            f"workload.lora_rank: {work.network} is not in the catalogue: expected a network of "
            "`ridgepoint networks`; choose one, or add the adapters in your own network"
        )
    if work.batch_window_s and spec.rate_per_s is None:
        raise InputError(
            "workload.batch_window has no effect without load.rate, since batches are then always "
            "full: expected both keys or neither; add load.rate, or remove workload.batch_window"
        )
    if work.kind == "training":
        if (work.tokens is None) == (work.samples is None):
            raise InputError(
                "workload.tokens and workload.samples: expected one of the two; give the amount to "
                "train on"
            )
        if work.checkpoint_every_s and work.checkpoint_s >= work.checkpoint_every_s:
            raise InputError(
                f"workload.checkpoint takes {work.checkpoint_s:g} s and is written every "
                f"{work.checkpoint_every_s:g} s: expected less time than between two "
                "checkpoints; write checkpoints less often"
            )
    if limits.first_token_s and limits.latency_s and limits.first_token_s > limits.latency_s:
        raise InputError(
            "limits contradict: first_token is above latency, which contains it; "
            "raise latency or lower first_token"
        )
    applicable = {
        "serving": ("first_token_s", "per_token_s", "latency_s"),
        "inference": ("latency_s",),
        "training": ("deadline_s",),
    }[work.kind]
    for name in ("first_token_s", "per_token_s", "latency_s", "deadline_s"):
        if getattr(limits, name) is not None and name not in applicable:
            shown = name.removesuffix("_s")
            known = ", ".join(w.removesuffix("_s") for w in applicable)
            raise InputError(
                f"limits.{shown} does not apply to {work.kind}: expected {known}; remove it"
            )


def _check_sharding(spec: Spec) -> None:
    """Raise InputError if a step cannot be sharded or split over GPUs."""
    work, every = spec.workload, spec.candidates
    if work.kind != "training":
        for key, is_given in (
            ("parallel", every.parallel != ("replicas",)),
            ("network", every.network_bytes_per_s != NETWORK_BYTES_PER_S),
        ):
            if is_given:
                raise InputError(
                    f"candidates.{key} does not apply to {work.kind}: expected no such key; remove "
                    "it"
                )
    way = next((way for way in every.parallel if way != "replicas"), None)
    if way is None:
        return
    if work.lora_rank is not None:
        raise InputError(
            f'candidates.parallel = "{way}" with workload.lora_rank: expected one of the two, '
            "since steps of sharded adapters are not predicted; remove one"
        )
    if work.batch is None:
        raise InputError(
            f'workload.batch is missing: expected the batch of each GPU for parallel = "{way}"; '
            "add it"
        )


def _check_experts(spec: Spec) -> None:
    """Raise InputError if experts or sequences cannot be divided among the GPUs of a replica."""
    work = spec.workload
    if work.attention_dp and not work.expert_parallel:
        raise InputError(
            "workload.attention_dp = true: expected expert_parallel = true as well, since each GPU "
            "then has its own sequences and whole experts; add it"
        )
    able = [n for n in CATALOGUE if n.endswith("-decode") and can_divide_experts(n)]
    if work.expert_parallel and f"{work.network}-decode" not in able:
        names = ", ".join(name.removesuffix("-decode") for name in able)
        raise InputError(
            f"workload.expert_parallel = true: the experts of {work.network!r} cannot be divided "
            f"among GPUs: expected {names}; choose it, or leave the key out"
        )
    if work.attention_dp and spec.candidates.disaggregated:
        raise InputError(
            "workload.attention_dp = true with candidates.disaggregated: expected one of the two, "
            "since plans do not cover separate pools of such servers; remove one"
        )
