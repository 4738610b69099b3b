"""Impossible what-ifs are refused with the reason, and the scenario stays unchanged."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from simulator.analysis.regimes import next_shift
from simulator.analysis.sweep import axis, sweep
from simulator.errors import InputError
from simulator.scenario.scenario import Scenario, load, predict, save
from simulator.whatif import apply
from tests.simulator.whatif.conftest import small_scenario

BERT, MLP = small_scenario("bert-base", seq=16), small_scenario("mlp-tiny")
TraceRequest = Callable[[Scenario], object]


@pytest.mark.parametrize(
    ("base", "ask", "text"),
    [
        (BERT, lambda s: apply(s, "bandwidth", {"times": -2}),
         "bandwidth: times is -2: expected 0.1 to 10; correct it"),
        (BERT, lambda s: apply(s, "utilisation", {"family": "gemm", "times": 0}),
         "utilisation: times is 0: expected 0.01 to 100; correct it"),
        (BERT, lambda s: apply(s, "host_speed", {"times": float("nan")}),
         "host_speed: times is nan: expected 0.01 to 100; correct it"),
        (BERT, lambda s: apply(s, "batch", {"samples": 0}),
         "batch: samples is 0: expected 1 to 2,147,483,647; correct it"),
        (BERT, lambda s: predict(apply(s, "seq", {"tokens": 1000})),
         "seq: network 'bert-base' has 512 positions: expected seq 512 at most, got 1000; or give "
         "the size positions=1000 first"),
        (small_scenario("bert-base", gpu="a100"), lambda s: apply(s, "fp8"),
         "fp8: A100 SXM4 80GB has no float8 tensor cores: expected a GPU that has them (Ada, "
         "Hopper or later); choose another GPU, or precision=fp16"),
        (BERT, lambda s: predict(apply(s, "remove", {"op": "conv2d"})),
         "remove: no op 'conv2d' in modules '**': expected a name such as 'view', with * for any "
         "letters; `ridgepoint predict` lists the ops"),
        (MLP, lambda s: next_shift(s, "seq"), "seq: network 'mlp-tiny' has no sequence: leave seq "
         "out"),
        (MLP, lambda s: next_shift(s, "gpu"),
         "gpu has no order: expected an axis of numbers, such as batch"),
        (MLP, lambda s: predict(apply(s, "recompute")),
         "recompute: the step is inference: expected training; predict training"),
    ],
)  # fmt: skip
def test_impossible_what_ifs_are_refused_with_the_reason(
    base: Scenario, ask: TraceRequest, text: str
) -> None:
    before = base.key
    with pytest.raises(InputError) as caught:
        ask(base)
    assert str(caught.value) == text
    assert base.key == before


def test_an_axis_without_meaning_is_refused_with_those_that_have_one() -> None:
    with pytest.raises(InputError) as caught:
        axis(MLP, "layers")
    text = str(caught.value)
    assert text.startswith("no axis 'layers' for mlp-tiny: expected accumulate, bandwidth, batch,")
    assert text.endswith(", or a size of mlp-tiny: width, depth, classes")
    # the name is valid, but it applies to no network here
    swept = sweep(MLP, {"seq": [1, 2]})
    assert set(swept.refused.values()) == {"seq: network 'mlp-tiny' has no sequence: leave seq out"}
    assert list(swept.refused) == [0, 1]


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        (
            "version = 1",
            "version = 9",
            "has scenario version 9: expected 1; save the scenario again",
        ),
        (
            "version = 1",
            "version = 1\ncolour = 3",
            "unknown key 'colour': expected one of format, ",
        ),
        ("batch = 4", "batch = -4", "batch is -4: expected 1 or more"),
    ],
)
def test_an_invalid_scenario_file_is_refused(tmp_path: Path, old: str, new: str, text: str) -> None:
    path = tmp_path / "asked.toml"
    save(MLP, path)
    path.write_text(path.read_text("utf-8").replace(old, new), "utf-8")
    with pytest.raises(InputError) as caught:
        predict(load(path))
    assert text in str(caught.value)
