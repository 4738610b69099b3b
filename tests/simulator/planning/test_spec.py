"""Specs: units in words, and one message for each invalid value."""

from __future__ import annotations

import tomllib
from copy import deepcopy
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simulator.errors import InputError
from simulator.planning.quantities import quantity
from simulator.planning.serve_search import listed
from simulator.planning.server.requests import read as read_requests
from simulator.planning.server.requests import requests
from simulator.planning.spec_file import read
from simulator.planning.spec_text import spec_text

SERVE: dict[str, Any] = {
    "workload": {"kind": "serving", "network": "llama3-8b", "prompt": 1024, "output": 300},
    "load": {"rate": "20/s"},
    "limits": {"per_token": "50 ms"},
    "candidates": {"gpus": ["h200"]},
}


@pytest.mark.parametrize(("text", "kind", "value"), [
    ("50 ms", "time", 0.05), ("2 weeks", "time", 1_209_600.0), ("3 years", "time", 94_672_800.0),
    ("20/s", "rate", 20.0), ("3600 requests/h", "rate", 1.0), ("4 USD/h", "price", 4.0),
    ("10 EUR/h", "price", 11.0), ("20B", "count", 2e10), (1024, "count", 1024.0),
    ("1,200", "count", 1200.0), ("30%", "share", 0.3), (0.3, "share", 0.3),
    ("0.12 USD/kWh", "power_price", 0.12), ("30000 USD", "money", 30000.0),
])  # fmt: skip
def test_units_in_words(text: Any, kind: Any, value: float):
    assert quantity("x", text, kind, {"USD": 1.0, "EUR": 1.1}) == pytest.approx(value)


@pytest.mark.parametrize(("text", "kind", "message"), [
    (5, "time", "x = 5: expected a time above 0 with its unit"),
    ("5 parsecs", "time", "x = '5 parsecs': unknown unit 'parsecs'"),
    ("20 USD", "price", "x = '20 USD': no unit: expected a price above 0 by the hour"),
    ("-5 ms", "time", "x = '-5 ms': expected a time above 0"),
    ("0 ms", "time", "x = '0 ms': expected a time above 0"),
    ("4 GBP/h", "price", "x = '4 GBP/h': unknown currency 'GBP': expected one of USD; give its "
     "rate as prices.rates.GBP = USD each"),
    ("20", "rate", "x = '20': expected a rate with its unit"),
    (1.5, "share", "x = 1.5: expected a share from 0 to 1"),
    (True, "count", "x = True: expected a count above 0"),
])  # fmt: skip
def test_invalid_quantities_are_refused(text: Any, kind: Any, message: str):
    with pytest.raises(InputError) as error:
        quantity("x", text, kind, {"USD": 1.0})
    assert str(error.value).startswith(message)


def of_each(**per_gpu: Any) -> dict[str, Any]:
    candidates = {"gpus": ["h200", "l40s"], "counts": [1, 2], "per_gpu": per_gpu}
    return {**SERVE, "candidates": candidates}


def test_a_gpu_has_its_own_choices():
    own = {"counts": [8, 4], "engines": ["eager"], "precisions": ["fp8"]}
    chosen = read(of_each(l40s=own)).candidates
    assert chosen.counts_of("l40s") == (4, 8) and chosen.counts_of("h200_sxm") == (1, 2)
    assert chosen.engines_of("l40s") == ("eager",) and chosen.engines_of("h200_sxm") == ("vllm",)
    assert chosen.precisions_of("l40s") == ("fp8",)
    assert [c.id for c in listed(chosen)] == ["h200_sxm", "l40s"]
    off = read(of_each(h200={"use": False})).candidates
    assert [c.id for c in listed(off)] == ["l40s"]


@pytest.mark.parametrize(("per_gpu", "message"), [
    ({"a100": {}}, "candidates.per_gpu.a100: expected a GPU of candidates.gpus; add it there, or "
     "remove this section"),
    ({"l40s": {"use": 1}}, "candidates.per_gpu.l40s.use = 1: expected true or false; write one"),
    ({"l40s": {"count": [1]}}, "candidates.per_gpu.l40s: unknown key 'count': did you mean "
     "'counts'? expected counts, engines, precisions, splits, use; correct it"),
    ({"l40s": {"counts": [0]}}, "candidates.per_gpu.l40s.counts = [0]: expected whole numbers from "
     "1 to 4096, such as [1, 2, 4, 8]; correct them"),
    ({"l40s": {"engines": ["tgi"]}}, "candidates.per_gpu.l40s.engines = 'tgi': expected one of "
     "eager, compiled+graph, vllm, tensorrt-llm; choose one"),
    ({"l40s": 2}, "candidates.per_gpu.l40s = 2: expected a section; write "
     "[candidates.per_gpu.l40s]"),
    ({"l40s": {"use": False}, "h200": {"use": False}}, "every GPU has use = false: expected at "
     "least one candidate; set use = true for one"),
])  # fmt: skip
def test_choices_of_a_gpu_that_are_refused(per_gpu: Any, message: str):
    with pytest.raises(InputError) as error:
        read(of_each(**per_gpu))
    assert str(error.value) == message


def test_a_spec_is_written_as_it_is_read():
    table = {
        "candidates": {"gpus": ["h200"], "per_gpu": {"h200": {"counts": [1, 2], "use": False}}},
        "workload": {"kind": "serving", "prompt": {"low": 10, "high": 20}, "network": 'a "b"'},
        "limits": {},
        "prices": {"catalogue": True, "hourly": {"my card": "4 USD/h"}, "pue": 1.2},
    }
    text = spec_text(table)
    assert tomllib.loads(text) == {k: v for k, v in table.items() if v}
    assert (
        text
        == """[workload]
kind = "serving"
prompt = {low = 10, high = 20}
network = "a \\"b\\""

[candidates]
gpus = ["h200"]

[candidates.per_gpu.h200]
counts = [1, 2]
use = false

[prices]
catalogue = true
pue = 1.2

[prices.hourly]
"my card" = "4 USD/h"
"""
    )


@pytest.mark.parametrize("name", ["llm-service", "llama-70b", "vision-trainer", "course", "lora"])
def test_the_examples_are_written_back_unchanged(name: str):
    table = tomllib.loads(Path(f"examples/plans/{name}.toml").read_text("utf-8"))
    assert tomllib.loads(spec_text(table)) == table


def test_a_spec_is_read():
    spec = read(SERVE)
    assert spec.rate_per_s == 20
    assert spec.limits.per_token_s == 0.05
    assert spec.workload.prompt and spec.workload.prompt.mean == 1024
    assert spec.candidates.counts == (1, 2, 4, 8)


@pytest.mark.parametrize(("place", "value", "message"), [
    (("workload", "kind"), "magic", "workload.kind = 'magic': expected one of serving, inference, "
     "training; choose one"),
    (("workload", "promt"), 3, "workload: unknown key 'promt': did you mean 'prompt'? expected"),
    (("limits", "deadline"), "1 h", "limits.deadline does not apply to serving: expected "
     "first_token, per_token, latency; remove it"),
    (("limits", "percentile"), 100, "limits.percentile = 100: expected at least 1 and less than"),
    (("candidates", "counts"), [0], "candidates.counts = [0]: expected whole numbers from 1"),
    (("candidates", "engines"), ["tgi"], "candidates.engines = 'tgi': expected one of eager, "
     "compiled+graph, vllm, tensorrt-llm; choose one"),
    (("candidates", "gpus"), [], "candidates.gpus = []: expected names"),
    (("workload", "prompt"), {"low": 5, "high": 2}, "workload.prompt: low 5 above high 2"),
    (("load", "rate"), "20 per second", "load.rate = '20 per second': unknown unit"),
    (("magic",), {}, "the plan: unknown key 'magic': expected workload, load, limits"),
    (("prices", "hourly"), 3, "prices.hourly = 3: expected a section; write [prices.hourly]"),
    (("prices", "rates"), "EUR", "prices.rates = 'EUR': expected a section"),
    (("workload", "batch"), 0.5, "workload.batch = 0.5: expected a whole number from 1"),
    (("workload", "max_requests"), "1B",
     "workload.max_requests = '1B': expected a whole number from 1 to 65,536; correct it"),
    (("workload", "token_budget"), 2**20 + 1,
     "workload.token_budget = 1048577: expected a whole number from 1 to 1,048,576; correct it"),
    (("simulation", "requests"), "1T", "simulation.requests = 1000000000000: expected 1 to 1,0"),
    (("load",), 3, "load = 3: expected a section; write [load]"),
    (("candidates", "gpus"), [1, 2, 3, 4, 5], "candidates.gpus = [1, 2, 3, 4, …]: expected names"),
    (("simulation", "seed"), inf, "simulation.seed = inf: expected a whole number from 0"),
    (("simulation", "seed"), -0.5, "simulation.seed = -0.5: expected a whole number from 0"),
    (("prices", "pue"), inf, "prices.pue = inf: expected a number above 0; correct it"),
    (("prices", "currency"), "CHF", "prices.currency = 'CHF': expected one of USD; give the rate "
     "of another one as prices.rates.CHF = USD each"),
    (("prices", "rates"), {"EUR": inf}, "prices.rates.EUR = inf: expected a number above 0"),
    (("workload", "prompt"), {"mean": 10, "sigma": inf},
     "workload.prompt.sigma = inf: expected a number above 0 and at most 4; correct it"),
    (("workload", "prompt"), 10**26, "workload.prompt = 100000000000000000000000000: expected "
     "10,000,000 tokens at most"),
    (("workload", "output"), {"low": 1, "high": "1B"},
     "workload.output.high = '1B': expected 10,000,000 tokens at most; correct it"),
    (("workload", "prompt"), "9" * 1900, f"workload.prompt = '{'9' * 59}…': expected a count"),
])  # fmt: skip
def test_invalid_specs_are_refused(place: tuple[str, ...], value: Any, message: str):
    wrong = deepcopy(SERVE)
    at = wrong
    for name in place[:-1]:
        at = at.setdefault(name, {})
    at[place[-1]] = value
    with pytest.raises(InputError) as error:
        read(wrong)
    assert str(error.value).startswith(message)


def test_limits_that_contradict():
    wrong = SERVE | {"limits": {"first_token": "2 s", "latency": "1 s"}}
    with pytest.raises(InputError, match="limits contradict: first_token is above latency"):
        read(wrong)


def test_a_load_is_needed():
    with pytest.raises(InputError, match=r"load.rate is missing: expected requests a second"):
        read({k: v for k, v in SERVE.items() if k != "load"})


def test_files_that_cannot_be_read(tmp_path: Path):
    with pytest.raises(InputError, match="No such file or directory: expected a plan's TOML file"):
        read(tmp_path / "none.toml")
    with pytest.raises(InputError, match="No such file or directory: expected a plan's TOML file"):
        read(f"{tmp_path}/a\0b.toml")
    (tmp_path / "one.toml").symlink_to(tmp_path / "other.toml")
    (tmp_path / "other.toml").symlink_to(tmp_path / "one.toml")
    with pytest.raises(InputError, match=r"one\.toml: Too many levels of symbolic links"):
        read(tmp_path / "one.toml")
    (tmp_path / "deep.toml").write_text(f"workload = {'[' * 1900}\n")
    with pytest.raises(InputError, match="expected TOML; correct the line"):
        read(tmp_path / "deep.toml")
    (tmp_path / "torn.toml").write_text("[workload\n")
    with pytest.raises(InputError, match="expected TOML; correct the line"):
        read(tmp_path / "torn.toml")


def test_arrivals_are_of_the_rate_and_lengths_of_their_mean():
    spec = read(
        SERVE
        | {
            "workload": SERVE["workload"]
            | {"prompt": {"mean": 800, "sigma": 0.5}, "output": {"low": 100, "high": 300}}
        }
    )
    drawn = requests(spec, 40_000)
    assert drawn.rate_per_s == pytest.approx(20, rel=0.02)
    assert drawn.prompt.mean() == pytest.approx(800, rel=0.02)
    assert drawn.output.mean() == pytest.approx(200, rel=0.02)
    assert drawn.output.min() == 100
    assert requests(spec, 1000, replicas=4).rate_per_s == pytest.approx(5, rel=0.1)


def test_a_trace_of_requests(tmp_path: Path):
    path = tmp_path / "trace.csv"
    path.write_text("arrival_s,prompt_tokens,output_tokens\n3.0,10,5\n1.0,20,6\n")
    requests = read_requests(path)
    assert requests.arrival_s.tolist() == [0.0, 2.0]
    assert requests.prompt.tolist() == [20, 10]
    assert np.isclose(requests.rate_per_s, 0.5)


def test_a_trace_as_a_spreadsheet_writes_it(tmp_path: Path):
    path = tmp_path / "trace.csv"
    path.write_text("arrival_s,prompt_tokens,output_tokens\n0,10,5\n1,20,6\n", "utf-8-sig")
    assert read_requests(path).prompt.tolist() == [10, 20]


def test_a_replica_of_many_has_a_request_of_a_short_trace(tmp_path: Path):
    path = tmp_path / "trace.csv"
    path.write_text("arrival_s,prompt_tokens,output_tokens\n0,10,5\n1,20,6\n")
    for seed in range(20):
        assert 1 <= len(read_requests(path).thinned(64, seed)) <= 2


@pytest.mark.parametrize(("text", "message"), [
    ("arrival_s,prompt_tokens,output_tokens\n-1,10,5\n",
     "line 2: arrival_s is '-1': expected a number from 0; correct it"),
    ("arrival_s,prompt_tokens,output_tokens\n1,0,5\n",
     "line 2: prompt_tokens is '0': expected a number from 1 to 10,000,000; correct it"),
    ("arrival_s,prompt_tokens,output_tokens\n1,5,1e14\n",
     "line 2: output_tokens is '1e14': expected a number from 1 to 10,000,000; correct it"),
    ("arrival_s,prompt_tokens,output_tokens\n5,10,5\n5,10,5\n",
     "every request arrives at 5 s: expected different times, since their rate is the load;"),
    ("time,prompt_tokens,output_tokens\n1,1,5\n", "no column 'arrival_s': expected arrival_s, "),
    ("arrival_s,prompt_tokens,output_tokens\n", "has no requests: expected a row for each"),
])  # fmt: skip
def test_traces_that_cannot_be_used(tmp_path: Path, text: str, message: str):
    path = tmp_path / "trace.csv"
    path.write_text(text)
    with pytest.raises(InputError) as error:
        read_requests(path)
    assert message in str(error.value)


@pytest.mark.parametrize(("section", "key", "value", "message"), [
    ("limits", "percentile", 0.99, "limits.percentile = 0.99: expected at least 1 and less than "
     "100; write 99"),
    ("limits", "ttft", "1 s", "limits: unknown key 'ttft': did you mean 'first_token'? expected "
     "first_token, per_token, percentile, latency, deadline, cost, budget; correct it"),
    ("limits", "budget", "10 USD", "limits.budget does not apply to serving: expected no such "
     "key; remove it"),
    ("workload", "batch", 8, "workload.batch does not apply to serving: expected no such key; "
     "remove it"),
    ("prices", "pue", 0.5, "prices.pue = 0.5: expected at least 1, the power of the whole "
     "building over that of its computers; write 1.2"),
])  # fmt: skip
def test_a_key_that_cannot_be_meant(section: str, key: str, value: Any, message: str):
    spec = deepcopy(SERVE)
    spec.setdefault(section, {})[key] = value
    with pytest.raises(InputError) as error:
        read(spec)
    assert str(error.value) == message


@pytest.mark.parametrize("text", [99, "99%", "p99"])
def test_a_percentile_in_each_notation(text: Any):
    assert read(SERVE | {"limits": {"percentile": text}}).limits.percentile == 99
