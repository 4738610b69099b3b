"""Fields for a plan's other keys, and the keys without a field."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from app.answers.plan.details import WITHOUT_FIELD, details
from app.answers.plan.draft import Draft, of_table
from app.answers.plan.fields import prices, sentence
from app.answers.sentence import Field
from simulator.planning import spec_file
from simulator.planning.spec import WorkloadKind

CARDS = {
    "candidates.gpus",
    "candidates.counts",
    "candidates.engines",
    "candidates.per_gpu",
    "prices.hourly",
}
"""The keys that are edited on the cards of the candidates."""
CANDIDATES: dict[str, Any] = {"gpus": ["h200", "l40s"], "counts": [1, 2]}
SERVE = of_table(
    {
        "workload": {"kind": "serving", "network": "llama3-8b", "prompt": 1024, "output": 300},
        "load": {"rate": "20/s"},
        "candidates": CANDIDATES,
    }
)
TRAIN = of_table(
    {
        "workload": {"kind": "training", "network": "llama3-8b", "tokens": "1B", "batch": 2},
        "candidates": CANDIDATES,
    }
)
RUN = of_table(
    {
        "workload": {"kind": "inference", "network": "resnet50"},
        "load": {"rate": "5/s"},
        "candidates": CANDIDATES,
    }
)
TRACE = SERVE.of_trace(Path("day.csv"))


def fields(draft: Draft) -> list[Field[Draft]]:
    parts = (*sentence(draft), *details(draft), *prices(draft))
    return [part for part in parts if isinstance(part, Field)]


def keys() -> set[str]:
    """Every key that a plan's file may have."""
    sections = {
        "workload": spec_file.WORKLOAD_KEYS,
        "load": spec_file.LOAD_KEYS,
        "limits": spec_file.LIMIT_KEYS,
        "candidates": spec_file.CANDIDATE_KEYS,
        "prices": (*spec_file.PRICE_KEYS, *spec_file.PRICE_TABLES),
        "simulation": spec_file.SIMULATION_KEYS,
    }
    return {f"{section}.{key}" for section, names in sections.items() for key in names}


def test_every_key_has_a_field_or_a_reason() -> None:
    samples = TRAIN.put(None, "workload", "tokens").put("1M", "workload", "samples")
    drafts = (SERVE, TRACE, TRAIN, samples, RUN)
    edited = {field.key for draft in drafts for field in fields(draft)} - {""}
    assert edited <= keys()
    assert keys() - edited - CARDS == set(WITHOUT_FIELD)
    assert all(WITHOUT_FIELD.values())


@pytest.mark.parametrize(("draft", "name", "text", "value"), [
    (SERVE, "Batching", "static", "static"), (SERVE, "Prefix hits", "30%", "30%"),
    (SERVE, "Maximum sequences at once", "64", 64), (SERVE, "Link of a prefill GPU", "100",
    "100 GB/s"), (SERVE, "GPUs of a replica", "1, 2", [1, 2]),
    (SERVE, "Prefill and decode servers", "1:1, 1:3", ["1:1", "1:3"]),
    (SERVE, "Precision of the cache", "fp8", "fp8"), (SERVE, "Full cache", "reserve", "reserve"),
    (SERVE, "Host time per iteration", "2", "2 ms"), (SERVE, "Seed of the simulation", "7", 7),
    (SERVE, "Simulated requests", "1,000", 1000), (SERVE, "Memory that may be used", "80%", "80%"),
    (TRAIN, "Ways to train on several GPUs", "replicas, tensor", ["replicas", "tensor"]),
    (TRAIN, "Network of each GPU", "200", "200 Gb/s"), (TRAIN, "Optimizer", "sgd", "sgd"),
    (TRAIN, "Activations", "recomputed", True), (TRAIN, "Rank of LoRA", "16", 16),
    (TRAIN, "Time between failures of a GPU", "700", "700 days"),
    (RUN, "Tokens of a sample", "64", 64), (RUN, "Host", "xeon-h200", "xeon-h200"),
])  # fmt: skip
def test_a_field_edits_its_key(draft: Draft, name: str, text: str, value: Any) -> None:
    field = next(f for f in fields(draft) if f.name == name)
    edited = field.put(draft, text)
    assert edited.get(*field.key.split(".")) == value
    _ = edited.spec  # the planner accepts the edited spec
    again = next(f for f in fields(edited) if f.name == name)
    assert again.shown.replace(",", "").startswith(text.replace(",", ""))
    usual = field.shown if field.options and not field.several else ""
    assert again.put(edited, usual).get(*field.key.split(".")) is None


def test_whole_experts_are_of_networks_that_have_them() -> None:
    moe = SERVE.put("deepseek-v3", "workload", "network")
    field = next(f for f in fields(moe) if f.key == "workload.expert_parallel")
    edited = field.put(moe, "whole experts")
    assert edited.spec.workload.expert_parallel
    assert field.put(edited, "parts of experts") == moe


def test_another_kind_of_workload_drops_the_keys_that_it_does_not_know() -> None:
    """The planner refuses, for a service, the keys that describe how training uses GPUs, and vice
    versa."""
    split = TRAIN.put(["tensor"], "candidates", "parallel").put("1 Tb/s", "candidates", "network")
    pools = SERVE.put(["1:1"], "candidates", "disaggregated").put([1, 2], "candidates", "splits")
    cases: tuple[tuple[Draft, WorkloadKind], ...] = (
        (split, "serving"),
        (pools, "training"),
        (pools, "inference"),
    )
    for draft, kind in cases:
        assert draft.of_kind(kind).spec.workload.kind == kind
