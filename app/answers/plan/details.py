"""The other keys of a plan as a sentence: how a server, a training run or a service works in
detail. Its fields edit the draft."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from app.answers.plan.draft import Draft
from app.answers.plan.fields import Field, Part, key_field
from simulator.planning.spec import PARALLEL, SPLITS, WorkloadKind
from simulator.scenario.resolved import OPTIMIZERS

WITHOUT_FIELD: Mapping[str, str] = {
    "prices.reserved": "prices per GPU and term can be set only in a plan's file",
    "prices.term": "of prices.reserved",
    "prices.purchase": "prices per GPU and use can be set only in a plan's file",
    "prices.lifetime": "of prices.purchase",
    "prices.utilisation": "of prices.purchase",
    "prices.rates": "rates per currency can be set only in a plan's file",
    "prices.currency": "of prices.rates",
    "prices.catalogue": "a card's price field shows the list's price, and accepts another one",
}
"""The keys of a spec that have no field, with the reason."""


def details(draft: Draft) -> tuple[Part, ...]:
    """The rest of the workload, its candidates and its simulation."""
    kind: WorkloadKind = draft.table["workload"]["kind"]
    return {"serving": _serving, "inference": _inference, "training": _training}[kind](draft)


def _serving(draft: Draft) -> tuple[Part, ...]:
    return (
        "Batching is",
        _work(draft, "Batching", "batching", "continuous", ("continuous", "static")),
        ", with at most",
        _number(draft, "Maximum sequences at once", "max_requests", "256"),
        "sequences and",
        _number(draft, "Maximum tokens per iteration", "token_budget", "8,192"),
        "tokens in an iteration; the server uses",
        _number(draft, "Memory that may be used", "memory_share", "90%"),
        "of its memory. Its cache is in",
        _work(
            draft,
            "Precision of the cache",
            "kv_precision",
            "the network's dtype",
            ("bf16", "fp8", "int8"),
        ),
        ", in blocks of",
        _number(draft, "Tokens per cache block", "cache_block", "16"),
        "tokens;",
        _number(draft, "Prefix hits", "prefix_hit", "0%"),
        "of the prompt tokens are in it already; a full cache makes the server",
        _work(draft, "Full cache", "admission", "preempt", ("preempt", "reserve")),
        ". An iteration takes",
        _number(draft, "Host time per iteration", "host_per_step", "1 ms", " ms"),
        "of host time; eager steps run on",
        _host(draft),
        ". GPUs of a replica:",
        _counts(draft),
        ", with",
        _flag(draft, "Experts of a GPU", "expert_parallel", "parts of experts", "whole experts"),
        "and",
        _flag(draft, "Sequences of a GPU", "attention_dp", "sequences of all", "its own sequences"),
        "on each. Prefill and decode servers:",
        _names(draft, "Prefill and decode servers", "candidates", "disaggregated", "the same"),
        ", linked by",
        _number(draft, "Link of a prefill GPU", "kv_link", "400 Gb/s", " GB/s"),
        *_simulation(draft),
    )


def _inference(draft: Draft) -> tuple[Part, ...]:
    queue = _simulation(draft) if draft.spec.rate_per_s is not None else (".",)
    return (
        "Samples have",
        _number(draft, "Tokens of a sample", "seq", "the network's number of"),
        "tokens; eager steps run on",
        _host(draft),
        *queue,
    )


def _training(draft: Draft) -> tuple[Part, ...]:
    return (
        "Samples have",
        _number(draft, "Tokens of a sample", "seq", "the network's number of"),
        "tokens; a step accumulates",
        _number(draft, "Batches of a step", "accumulation", "1"),
        "batches; the optimizer is",
        _work(draft, "Optimizer", "optimizer", "adamw", tuple(OPTIMIZERS)),
        "; activations are",
        _flag(draft, "Activations", "recompute", "stored", "recomputed"),
        "; the LoRA rank is",
        _number(draft, "Rank of LoRA", "lora_rank", "none: all weights are trained"),
        "at",
        _names(draft, "Layers that LoRA adapts", "workload", "lora_modules", "query, value"),
        ". GPUs train as",
        _ways(draft),
        "; nodes of 8 are linked by",
        key_field(
            draft, "Network of each GPU", "candidates", "network", unit=" Gb/s", empty="400 Gb/s"
        ),
        "for each GPU. A checkpoint takes",
        _number(draft, "Time of a checkpoint", "checkpoint", "no time", " s"),
        "every",
        _number(draft, "Time between checkpoints", "checkpoint_every", "run", " h"),
        "; a GPU fails every",
        _number(draft, "Time between failures of a GPU", "failures_every", "never", " days"),
        "; a restart takes",
        _number(draft, "Time of a restart", "restart", "10 min", " min"),
        "; eager steps run on",
        _host(draft),
        ".",
    )


def _simulation(draft: Draft) -> tuple[Part, ...]:
    """The number of simulated requests, unless a trace has them, and the seed."""
    seed = key_field(draft, "Seed of the simulation", "simulation", "seed", empty="0")
    if draft.get("workload", "requests_csv") is not None:
        return ". The simulation's seed is", seed, "."
    requests = key_field(draft, "Simulated requests", "simulation", "requests", empty="4,000")
    return ". The simulation has", requests, "requests and the seed", seed, "."


def _number(draft: Draft, name: str, key: str, empty: str, unit: str = "") -> Field:
    return key_field(draft, name, "workload", key, unit=unit, empty=empty)


def _host(draft: Draft) -> Field:
    tip = "a name of `ridgepoint hosts`, or the path of your own measured .json file"
    return key_field(draft, "Host", "workload", "host", tip=tip, empty="the default host")


def _work(draft: Draft, name: str, key: str, usual: str, options: tuple[str, ...]) -> Field:
    """A choice between texts; the option `usual` removes the key."""
    shown = draft.get("workload", key) or usual

    def put(draft: Draft, text: str) -> Draft:
        return draft.put(None if text == usual else text, "workload", key)

    each = dict.fromkeys((usual, *options, shown))
    return Field(name, shown, put, options=(*each,), key=f"workload.{key}")


def _flag(draft: Draft, name: str, key: str, no: str, yes: str) -> Field:
    def put(draft: Draft, text: str) -> Draft:
        return draft.put(True if text == yes else None, "workload", key)

    shown = yes if draft.get("workload", key) else no
    return Field(name, shown, put, options=(no, yes), key=f"workload.{key}")


def _names(draft: Draft, name: str, section: str, key: str, empty: str) -> Field:
    value = draft.get(section, key)
    shown = value if isinstance(value, str) else ", ".join(value or [])
    put = _list_put(section, key, str)
    return Field(name, shown, put, f"such as {_SUCH[key]}", empty=empty, key=f"{section}.{key}")


_SUCH = {"disaggregated": "1:1, 1:3", "lora_modules": "query, value"}


def _counts(draft: Draft) -> Field:
    value = draft.get("candidates", "splits")
    own = [value] if isinstance(value, int) else value or []
    return Field(
        "GPUs of a replica",
        ", ".join(map(str, own)) or "as many as needed",
        _list_put("candidates", "splits", int),
        options=tuple(map(str, SPLITS)),
        several=True,
        key="candidates.splits",
    )


def _ways(draft: Draft) -> Field:
    value = draft.get("candidates", "parallel")
    own = [value] if isinstance(value, str) else value or ["replicas"]
    return Field(
        "Ways to train on several GPUs",
        ", ".join(own),
        _list_put("candidates", "parallel", str),
        options=PARALLEL,
        several=True,
        key="candidates.parallel",
    )


def _list_put(section: str, key: str, kind: Callable[[str], Any]) -> Callable[[Draft, str], Draft]:
    def put(draft: Draft, text: str) -> Draft:
        values = [kind(each.strip()) for each in text.split(",") if each.strip()]
        return draft.put(values or None, section, key)

    return put
