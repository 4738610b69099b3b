"""Limits, traces and hosts that a plan must not silently ignore."""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from simulator import plan
from simulator.errors import InputError
from simulator.hardware.host import DEFAULT, FOLDER
from simulator.planning.quantities import quantity
from simulator.planning.server.replica import lengths
from simulator.planning.server.requests import requests
from simulator.planning.spec_file import read
from simulator.planning.wording import USD

SERVE: dict[str, Any] = {
    "workload": {"kind": "serving", "network": "llama3-1b", "prompt": 512, "output": 100},
    "load": {"rate": "10/s"},
    "limits": {"per_token": "60 ms", "first_token": "1 s"},
    "candidates": {"gpus": ["h200"], "counts": [1], "splits": [1]},
    "simulation": {"requests": 300},
}
VISION: dict[str, Any] = {
    "workload": {"kind": "inference", "network": "resnet18", "batch": 8},
    "candidates": {"gpus": ["h200"], "counts": [1], "engines": ["eager"], "precisions": ["fp16"]},
}
TRACE = "arrival_s,prompt_tokens,output_tokens\n" + "".join(f"{i},100,20\n" for i in range(11))


def changed(base: dict[str, Any], **sections: dict[str, Any]) -> dict[str, Any]:
    spec = deepcopy(base)
    for name, values in sections.items():
        spec[name] = spec.get(name, {}) | values
    return spec


@pytest.mark.parametrize("base", [SERVE, VISION])
def test_a_limit_on_cost_without_a_price_is_not_met(base: dict[str, Any]):
    """The GPU has no price, so no candidate is known to cost less than 1 USD an hour."""
    spec = changed(base, prices={"catalogue": False}, limits={"cost": "1 USD/h"})
    answer: Any = plan(spec)
    row = answer.rows[0]
    assert (row.status, row.usd_per_h) == ("uncertain", None)
    assert row.reason == "no price is known, so its cost cannot be compared with 1.00 USD"
    assert answer.verdict.startswith("No candidate is certain to meet every limit.")
    assert plan(changed(base, prices={"catalogue": False})).rows[0].status == "fits"


def test_a_budget_without_a_price_is_not_met():
    training = {"kind": "training", "network": "resnet18", "samples": "1M", "batch": 8}
    spec = VISION | {"workload": training, "prices": {"catalogue": False}}
    row: Any = plan(changed(spec, limits={"budget": "5 USD"})).rows[0]
    assert row.status == "uncertain" and row.reason.endswith("cannot be compared with 5.00 USD")


def test_the_nearest_of_candidates_without_enough_cards_is_the_one_that_misses_fewest():
    """An H200 multiplies 2.7 times as fast as an L40S; both are listed, the slower one first."""
    spec = changed(SERVE, load={"rate": "90000/s"}, candidates={"gpus": ["l40s", "h200"]})
    answer: Any = plan(spec)
    start = "No candidate carries the load. The nearest is H200 SXM 141GB, bf16: the products alone"
    assert answer.verdict.startswith(start)
    assert answer.verdict.endswith(
        " cards at their peak, and 1 at most are tried; raise candidates.counts, or lower "
        "load.rate."
    )


def test_a_trace_and_lengths_are_not_both_given(tmp_path: Path):
    (tmp_path / "trace.csv").write_text(TRACE)
    spec = changed(SERVE, workload={"requests_csv": f"{tmp_path / 'trace.csv'}"})
    with pytest.raises(InputError) as error:
        read(spec)
    assert str(error.value) == (
        "workload.prompt and workload.requests_csv are both given: expected one of the two, since "
        "the trace has the tokens of each request; remove one"
    )


def test_a_rate_given_with_a_trace_makes_it_faster(tmp_path: Path):
    """11 requests within 10 s are 1 per second; at 4 per second they take 2.5 s, both in the closed
    form and in the simulation."""
    (tmp_path / "trace.csv").write_text(TRACE)
    work = {"kind": "serving", "network": "llama3-1b"}
    spec = read(SERVE | {
        "workload": work | {"requests_csv": f"{tmp_path / 'trace.csv'}"}, "load": {"rate": "4/s"}
    })  # fmt: skip
    assert lengths(spec) == (4.0, 100.0, 20.0)
    assert requests(spec, 0).arrival_s.max() == 2.5


def test_the_host_of_a_plan_is_the_users(tmp_path: Path):
    """A host that takes ten times as long for everything, described by a file next to the spec."""
    host = json.loads((FOLDER / f"{DEFAULT}.json").read_text())
    host["seconds"] = {name: 10 * seconds for name, seconds in host["seconds"].items()}
    (tmp_path / "slow.json").write_text(json.dumps(host))
    lines = ['kind = "inference"', 'network = "resnet18"', "batch = 1", 'host = "slow.json"']
    path = tmp_path / "plan.toml"
    path.write_text(
        "[workload]\n" + "\n".join(lines) + '\n[candidates]\ngpus = ["h200"]\ncounts = [1]\n'
        'engines = ["eager"]\nprecisions = ["fp16"]\n'
    )
    plain: Any = plan(changed(VISION, workload={"batch": 1}))
    slow: Any = plan(path)
    assert slow.best.latency_s == pytest.approx(10 * plain.best.latency_s, rel=0.1)
    named = {a.name: a for a in slow.assumptions}
    assert named["host"].source == "your spec; its spread is in the interval"
    with pytest.raises(InputError, match=r"workload\.host: unknown host 'nine'"):
        read(changed(VISION, workload={"host": "nine"}))


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("2M/s", 2e6),
        ("2k samples/s", 2000.0),
        ("20 requests/s", 20.0),
        ("3 images/min", 0.05),
        ("20 req / s", 20.0),
    ],
)
def test_a_rate_counts_what_it_says(text: str, rate: float):
    assert quantity("load.rate", text, "rate", {}) == pytest.approx(rate)


@pytest.mark.parametrize("text", ["20 tokens/s", "2 kB/s", "5 x/s", "2Mreqs/s"])
def test_a_rate_of_something_else_is_refused(text: str):
    """Tokens per second are not requests per second."""
    with pytest.raises(
        InputError, match=r"load\.rate = .*: unknown unit .*: expected a rate with its"
    ):
        quantity("load.rate", text, "rate", {})


def test_without_memory_the_nearest_is_the_card_that_lacks_least():
    spec = changed(VISION, workload={"batch": 100_000}, candidates={"gpus": ["l40s", "h200"]})
    answer: Any = plan(spec)
    start = (
        "No candidate can run this. The nearest is 1 × H200 SXM 141GB, eager, fp16: batch 100000"
    )
    assert answer.verdict.startswith(start)


def test_ten_cents_have_two_digits_whether_rounded_up_or_down():
    assert [USD.text(value) for value in (0.0999, 0.1004, 0.0354)] == [
        "0.10 USD",
        "0.10 USD",
        "0.035 USD",
    ]


def test_a_card_without_room_has_its_price():
    """Regression: it was listed as a GPU without a known price."""
    (row,) = plan(changed(VISION, workload={"batch": 100_000})).rows
    assert (row.status, row.usd_per_h) == ("no memory", 3.5)
    assert row.price_source.startswith("list, ")


def test_a_trace_with_too_few_requests_for_the_percentile_says_so(tmp_path: Path):
    """1 request in 100 takes longer than the 99th percentile; a tenth of the requests is left out,
    so at least 100 / 0.9 = 112 are needed."""
    (tmp_path / "trace.csv").write_text(TRACE)
    work = {"kind": "serving", "network": "llama3-1b", "requests_csv": f"{tmp_path / 'trace.csv'}"}
    named = {a.name: a for a in plan(SERVE | {"workload": work}).assumptions}
    assert named["arrivals"].value == "the 11 of the trace"
    assert named["arrivals"].source == (
        "queueing; too few for 99% of first tokens: 112 at least are needed"
    )
