"""Plans of fixed batches and of training, over a packaged family of traces."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from simulator import plan
from simulator.errors import InputError
from simulator.hardware.gpu import gpu
from simulator.networks.catalogue import CATALOGUE
from simulator.planning.batches.rows import lost_share
from simulator.planning.batches.search import (
    batch_scenario,
    chosen_batch,
    gradient_bytes,
    ring,
)
from simulator.planning.row_scenario import scenario_of
from simulator.planning.spec_file import read
from simulator.scenario.scenario import Scenario, predict

RESNET: dict[str, Any] = {
    "workload": {"kind": "inference", "network": "resnet50", "batch": 8},
    "load": {"rate": "500/s"},
    "candidates": {"gpus": ["h200"], "engines": ["eager"], "precisions": ["bf16"]},
}


TUNED: dict[str, Any] = {
    "kind": "training", "network": "gpt2", "tokens": 1_000_000, "batch": 1, "seq": 64,
}  # fmt: skip
LORA: dict[str, Any] = {
    "workload": TUNED | {"lora_rank": 4, "lora_modules": ["qkv"]},
    "candidates": {"gpus": ["h100"], "counts": [1], "engines": ["eager"], "precisions": ["bf16"]},
}


def test_fixed_batches_take_as_many_cards_as_the_rate_needs():
    few = plan(RESNET).rows[0]
    many: Any = plan(RESNET | {"load": {"rate": "20000/s"}}).rows[0]
    assert few.count == 1
    assert many.count > 1
    assert many.largest_rate_interval_per_s[0] >= 20000 or many.status == "overloaded"


def test_a_batch_is_chosen_that_meets_its_limit_at_the_slow_end():
    """Batches of 8, 10 and 12 samples take 10, 20 and 21 ms; at the slow end of the interval 12, 26
    and 31 ms."""
    columns = {
        "latency_s": np.array([10.0, 20.0, 21.0]),
        "period_s": np.array([10.0, 20.0, 21.0]),
        "high_s": np.array([12.0, 26.0, 31.0]),
        "samples_per_s": np.array([8.0, 10.0, 12.0]),
    }
    assert chosen_batch(columns, (0, 1, 2), 30.0) == 1
    assert chosen_batch(columns, (0, 1, 2), 20.5) == 0
    # it meets the limit only at the prediction, not over the whole interval
    assert chosen_batch(columns, (0, 1, 2), 11.0) == 0
    assert chosen_batch(columns, (1, 2), 20.5) == 1
    assert chosen_batch(columns, (1, 2), 5.0) == 1
    assert chosen_batch(columns, (0, 1, 2), None) == 2


def test_batches_without_a_load_are_always_full():
    arrivals = next(a for a in plan(RESNET | {"load": {}}).assumptions if a.name == "arrivals")
    assert (arrivals.value, arrivals.source) == (
        "batches are always full",
        "your spec gives no load.rate",
    )


def test_a_run_without_checkpoints_says_so():
    work = TUNED | {"samples": 1000}
    del work["tokens"]
    answer = plan({"workload": work, "candidates": LORA["candidates"]})
    lost = next(a for a in answer.assumptions if a.name == "checkpoints, failures")
    assert (lost.value, lost.source) == ("0.00% of the run", "your spec gives none")


def test_without_a_load_the_cheapest_sample_comes_first():
    """A card that costs twice as much per hour and carries three times as much is cheaper."""
    spec = {
        "workload": RESNET["workload"] | {"batch": 256},
        "candidates": RESNET["candidates"] | {"gpus": ["h200", "l40s"], "counts": [2]},
        "prices": {"hourly": {"h200": "3 USD/h", "l40s": "1.5 USD/h"}, "energy": "0.1 USD/kWh"},
    }
    unloaded: Any = plan(spec)
    best, other = unloaded.rows
    assert (best.gpu, other.gpu) == ("h200_sxm", "l40s")
    assert best.usd_per_h > other.usd_per_h and best.usd_per_million < other.usd_per_million
    assert [row.per_s for row in unloaded.rows] == [row.largest_rate_per_s for row in unloaded.rows]
    # the price at which a sample costs the same on each of two L40S, without energy
    even = best.usd_per_million / 1e6 * 3600 * other.per_s / 2 - other.watts / 1000 * 0.1 / 2
    assert f"below {even:.2f} USD an hour for each GPU (now 1.50 USD)" in unloaded.verdict
    loaded: Any = plan(spec | {"load": {"rate": "100/s"}})
    assert [row.gpu for row in loaded.rows] == ["l40s", "h200_sxm"]


def test_a_fixed_batch_opens_as_the_step_that_it_runs():
    full = RESNET | {"load": {}}
    row = plan(full).rows[0]
    step = predict(scenario_of(read(full), row))
    assert row.latency_s == pytest.approx(step.latency_s)


def test_training_adds_up():
    """1e6 samples in batches of 64 on one card take the number of steps, times the time of a step,
    divided by the share of time that is not lost."""
    spec = RESNET | {
        "workload": {
            "kind": "training",
            "network": "resnet50",
            "samples": "1M",
            "batch": 64,
            "checkpoint_every": "1000 s",
            "checkpoint": "10 s",
        },
        "load": {},
        "candidates": RESNET["candidates"] | {"counts": [1]},
        "limits": {"deadline": "1 year"},
    }
    row: Any = plan(spec).rows[0]
    assert row.duration_s == pytest.approx(1e6 / 64 * row.latency_s / (1 - 0.01))
    assert row.usd_total == pytest.approx(row.usd_per_h * row.duration_s / 3600)
    assert row.gpu_hours == pytest.approx(row.duration_s / 3600)


def test_tokens_are_counted_at_the_networks_own_sequence():
    """GPT-2 has 1,024 positions a sample: 1e9 tokens are 1e9 / 1024 samples."""
    work = {"kind": "training", "network": "gpt2", "batch": 8}
    candidates = {"gpus": ["h200"], "counts": [1], "engines": ["eager"], "precisions": ["bf16"]}
    of_tokens = plan({"workload": work | {"tokens": "1B"}, "candidates": candidates})
    of_samples = plan({"workload": work | {"samples": "1B"}, "candidates": candidates})
    one: Any = of_tokens.rows[0]
    other: Any = of_samples.rows[0]
    own = CATALOGUE["gpt2"].seq
    assert own == 1024
    assert one.duration_s == pytest.approx(other.duration_s / own)
    assert one.joules_per_unit == pytest.approx(other.joules_per_unit / own)
    assumed = {each.name: (each.value, each.source) for each in of_tokens.assumptions}
    assert assumed["tokens per sample"] == ("1,024", "the network's default")


def test_a_network_without_tokens_takes_samples():
    work = {"kind": "training", "network": "resnet50", "batch": 64, "tokens": "1B"}
    with pytest.raises(InputError, match="resnet50 has no tokens: expected samples; give workl"):
        plan(RESNET | {"workload": work, "load": {}})


def test_assumptions_of_a_training_are_varied():
    """Two cards, and a step of s seconds, w of which are waiting; lost = 0.01 + (500 + 600)·2/10⁶ =
    0.0122."""
    work = {
        "kind": "training",
        "network": "resnet50",
        "samples": "1M",
        "batch": 64,
        "checkpoint_every": "1000 s",
        "checkpoint": "10 s",
        "failures_every": "1000000 s",
    }
    candidates = RESNET["candidates"] | {"counts": [2]}
    answer = plan(RESNET | {"workload": work, "load": {}, "candidates": candidates})
    whole: Any = answer.rows[0].duration_s
    varied = {a.name: a for a in answer.assumptions if a.low is not None}
    assert list(varied) == sorted(varied, key=lambda name: -varied[name].swing)
    amount = varied["amount of training data"]
    assert (amount.low, amount.high) == (0.75 * whole, 1.25 * whole)
    assert answer.rows[0].duration_interval_s == (
        varied["step time"].low,
        varied["step time"].high,
    )
    often: Any = varied["time between checkpoints"]  # 10/500 + (250 + 600)·2/10⁶ = 0.0217
    assert often.low == pytest.approx(whole * (1 - 0.0122) / (1 - 0.0217))
    fail: Any = varied["time between failures of one GPU"]  # 0.01 + (500 + 600)·4/10⁶ = 0.0144
    assert fail.low == pytest.approx(whole * (1 - 0.0122) / (1 - 0.0144))
    wait: Any = varied["wait for other replicas"]
    assert wait.low + wait.high == pytest.approx(2 * whole)
    waits_s = ring(gpu("h200"), 2, 2 * 25_557_032)  # the network's parameters in bf16
    assert whole - wait.low == pytest.approx(whole * waits_s / answer.rows[0].latency_s, rel=1e-6)
    batch: Any = varied["batch per GPU"]
    assert (batch.low_value, batch.high_value) == ("32", "128")
    twice = plan(RESNET | {"workload": work | {"batch": 128}, "load": {}, "candidates": candidates})
    assert batch.high == pytest.approx(twice.rows[0].duration_s)


def test_assumptions_of_fixed_batches_are_varied():
    answer = plan(RESNET | {"load": {}})
    varied = {a.name: a for a in answer.assumptions if a.low is not None}
    assert set(varied) == {"batch per GPU", "step time"}
    large = plan(RESNET | {"load": {}, "workload": RESNET["workload"] | {"batch": 16}})
    assert varied["batch per GPU"].high == pytest.approx(large.rows[0].latency_s)


def test_a_batch_that_does_not_fit_has_no_end():
    """An RTX 4060 Ti of 8 GB trains ResNet-50 at batch 128 but not at 256."""
    work = {"kind": "training", "network": "resnet50", "samples": "1M", "batch": 128}
    candidates = {
        "gpus": ["rtx4060ti_8"],
        "counts": [1],
        "engines": ["eager"],
        "precisions": ["bf16"],
    }
    answer = plan({"workload": work, "candidates": candidates})
    batch = next(a for a in answer.assumptions if a.name == "batch per GPU")
    assert batch.low == batch.low and batch.high != batch.high


def test_failures_take_half_an_interval_and_a_restart_each():
    """Each of 4 cards fails once in 10⁶ s; writing takes 10 s every 1000 s: 10/1000 + (500 +
    600)·4/10⁶."""
    spec = read(
        RESNET
        | {
            "workload": {
                "kind": "training",
                "network": "resnet50",
                "samples": 10,
                "checkpoint_every": "1000 s",
                "checkpoint": "10 s",
                "failures_every": "1000000 s",
            },
            "load": {},
        }
    )
    assert lost_share(spec, 4) == pytest.approx(0.01 + 1100 * 4 / 1e6)


def test_a_ring_moves_the_gradients_twice():
    """8 GPUs, 1 GB: each sends and receives 2·7/8 GB at 450 GB/s."""
    assert ring(gpu("h100"), 8, 1e9) == pytest.approx(2 * 7 / 8 / 450)
    assert ring(gpu("h100"), 1, 1e9) == 0.0


def test_a_fixed_batch_draws_the_power_of_its_step():
    """At full load the power equals that of the prediction."""
    spec = RESNET | {"load": {}}
    row: Any = plan(spec).rows[0]
    p = predict(Scenario("resnet50", gpu="h200", dtype="bf16", batch=8))
    assert row.watts == pytest.approx(p.watts, rel=1e-6)


def test_fine_tuning_with_adapters_waits_for_their_gradients_alone():
    """gpt2: adapters of rank 4 in 12 layers, at the product for queries, keys and values from 768
    to 3 · 768: 12 · 4 · (768 + 2304) = 147,456 parameters of 2 bytes pass through the ring."""
    spec = read(LORA)
    scenario = replace(batch_scenario(spec, gpu("h100"), "eager", "bf16"), batch=1)
    assert gradient_bytes(scenario) == 2 * 147_456
    answer = plan(LORA)
    assert answer.question == ("Fine-tune gpt2 with LoRA of rank 4 at qkv on 1 million tokens")
    whole = plan(LORA | {"workload": {**TUNED, "network": "gpt2"}})
    tuned, trained = answer.rows[0], whole.rows[0]
    assert tuned.memory_share is not None and trained.memory_share is not None
    assert tuned.memory_share < trained.memory_share
    assert "adapters" in {a.name for a in answer.assumptions}


@pytest.mark.parametrize(("changed", "message"), [
    ({"lora_rank": 1.5}, "workload.lora_rank = 1.5: expected a whole number from 1; correct it"),
    ({"lora_modules": "qkv"}, "workload.lora_rank is missing: expected the rank of the adapters of "
     "lora_modules; add it, such as lora_rank = 16"),
    ({"lora_rank": 4, "network": "mine.py:make"}, "workload.lora_rank: mine.py:make is not in the "
     "catalogue: expected a network of `ridgepoint networks`; choose one, or add the adapters in "
     "your own network"),
    ({"lora_rank": 4, "kind": "inference", "tokens": 1}, "workload.lora_rank does not apply to "
     "inference: expected no such key; remove it"),
])  # fmt: skip
def test_adapters_that_mean_nothing_are_refused(changed: dict[str, Any], message: str):
    with pytest.raises(InputError) as error:
        read(LORA | {"workload": {**TUNED, **changed}})
    assert str(error.value) == message


def test_a_card_without_bf16_products_is_listed_in_fp16() -> None:
    """A T4 multiplies in fp16; there bf16 and fp16 are one candidate, and on an L4 they are two."""
    tried = {"gpus": ["t4", "l4"], "engines": ["eager"], "precisions": ["bf16", "fp16"]}
    rows = plan(RESNET | {"candidates": tried}).rows
    named = {(row.gpu, row.precision) for row in rows}
    assert named == {("t4", "fp16"), ("l4", "bf16"), ("l4", "fp16")}
    scenarios = {row.gpu: scenario_of(read(RESNET), row) for row in rows if row.gpu == "t4"}
    assert scenarios["t4"].dtype == "fp16"
