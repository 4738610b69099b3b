"""Networks that query the mode in which they run and then take another code path."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import simulator.tracing
from simulator.formats.trace_file import save
from simulator.prediction import Prediction
from simulator.scenario import trace_source
from simulator.scenario.resolve import resolve
from simulator.scenario.scenario import Scenario, predict

NETWORK = """
import torch
from transformers import BertConfig, BertModel

def make():
    config = BertConfig(hidden_size=128, num_hidden_layers=1, num_attention_heads=2,
                        intermediate_size=256, vocab_size=100)
    kwargs = dict(input_ids=torch.zeros(2, 16, dtype=torch.int64))
    return BertModel(config).half(), (), kwargs

def masked():
    module, args, kwargs = make()
    return module, args, kwargs | dict(attention_mask=torch.ones(2, 16, dtype=torch.int64))
"""
OWN = """
import torch

class Net(torch.nn.Module):
    def forward(self, x):
        {condition}
        return x @ x.mT

    def example_inputs(self, batch):
        return (torch.zeros(batch, 8),)
"""
ITEM = "aten._local_scalar_dense.default"
MODES = ("eager", "cuda_graph", "compiled")


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The mode of each trace that is computed from now on."""
    traced: list[str] = []
    usual = simulator.tracing.trace

    def noted(*args: Any, **options: Any) -> Any:
        traced.append(options["run"])
        return usual(*args, **options)

    monkeypatch.setattr(simulator.tracing, "trace", noted)
    trace_source.forget()
    return traced


def written(tmp_path: Path, condition: str) -> str:
    file = tmp_path / "own.py"
    file.write_text(OWN.format(condition=condition))
    return f"{file}:Net"


def by_mode(network: str) -> list[Prediction]:
    return [predict(Scenario(network, mode=mode)) for mode in MODES]


def test_a_network_of_a_file_runs_in_the_scenarios_mode(tmp_path: Path) -> None:
    network = written(tmp_path, "pass")
    asks = [resolve(Scenario(network, mode=mode)).request.run for mode in MODES]
    assert asks == ["eager", "captured", "compiled"]
    asks = [resolve(Scenario("bert-base", mode=mode)).request.run for mode in MODES]
    assert asks == ["eager", "eager", "eager"]  # networks of the catalogue do not query the mode


def test_a_network_that_does_not_query_the_mode_is_traced_once(
    tmp_path: Path, runs: list[str]
) -> None:
    predictions = by_mode(written(tmp_path, "pass"))
    assert runs == ["eager"]
    assert [p.trace.asked for p in predictions] == [[], [], []]


def test_the_first_run_serves_the_others(tmp_path: Path, runs: list[str]) -> None:
    network = written(tmp_path, "pass")
    for mode in reversed(MODES):
        predict(Scenario(network, mode=mode))
    assert runs == ["compiled"]


def test_a_network_that_queries_the_mode_is_traced_for_each_mode(
    tmp_path: Path, runs: list[str]
) -> None:
    """The network tests a mask only in eager mode, so that a graph can be captured."""
    condition = (
        "assert torch.compiler.is_compiling() or torch.cuda.is_current_stream_capturing() "
        "or x.sum().item()"
    )
    eager, graph, compiled = by_mode(written(tmp_path, condition))
    assert runs == ["eager", "captured", "compiled"]
    assert [ITEM in p.trace.names() for p in (eager, graph, compiled)] == [True, False, False]
    assert not compiled.trace.breaks


def test_a_network_may_query_the_mode_at_some_sizes_only(tmp_path: Path, runs: list[str]) -> None:
    network = written(
        tmp_path,
        "x = x.exp() if len(x) > 4 and torch.cuda.is_current_stream_capturing() else x",
    )
    predictions = [predict(Scenario(network, mode=m, batch=b)) for b in (2, 16) for m in MODES[:2]]
    assert ["aten.exp.default" in p.trace.names() for p in predictions] == [
        False,
        False,
        False,
        True,
    ]


def test_bert_as_each_mode_runs_it(tmp_path: Path) -> None:
    """transformers omits a mask of ones if it is allowed to wait for the GPU to check the mask. A
    graph would break there, so it keeps the mask. In compiled mode it makes its own mask, whose
    stride over the keys is 0, so that plain products replace fused attention."""
    pytest.importorskip("transformers")
    file = tmp_path / "theirs.py"
    file.write_text(NETWORK)
    eager, graph, compiled = by_mode(f"{file}:masked")
    masks = [
        any("attn_bias" in op.signature.names for op in p.trace.ops)
        for p in (eager, graph, compiled)
    ]
    assert masks == [False, True, True]
    assert [ITEM in p.trace.names() for p in (eager, graph, compiled)] == [True, False, False]
    assert not any("breaks its graph" in note for note in compiled.notes)
    fused = [any("attention" in op.name for op in p.trace.ops) for p in by_mode(f"{file}:make")]
    assert fused == [True, True, False]


def test_a_saved_trace_notes_another_mode(tmp_path: Path) -> None:
    condition = "x = x.exp() if torch.compiler.is_compiling() else x"
    prediction = predict(Scenario(written(tmp_path, condition)))
    save(prediction.trace, tmp_path / "eager.trace")
    saved = str(tmp_path / "eager.trace")
    assert predict(Scenario(saved)).notes == ()
    assert predict(Scenario(saved, mode="compiled")).notes[0] == (
        "the network checks how it is run (torch.compiler.is_compiling) and was traced as eager: "
        "trace it again to predict it as compiled"
    )
