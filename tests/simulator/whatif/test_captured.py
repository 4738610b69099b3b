"""Networks that ask whether a graph is captured, and then take another path."""

from __future__ import annotations

from pathlib import Path

import pytest

from simulator.scenario.scenario import Scenario, predict
from simulator.scenario.setting import asks_if_captured, setting

NETWORK = """
import torch
from transformers import BertConfig, BertModel

def make():
    config = BertConfig(hidden_size=128, num_hidden_layers=1, num_attention_heads=2,
                        intermediate_size=256, vocab_size=100)
    kwargs = dict(input_ids=torch.zeros(2, 16, dtype=torch.int64),
                  attention_mask=torch.ones(2, 16, dtype=torch.int64))
    return BertModel(config).half(), (), kwargs
"""


def test_who_asks(tmp_path: Path) -> None:
    ours = tmp_path / "ours.py"
    ours.write_text("import torch\n")
    theirs = tmp_path / "theirs.py"
    theirs.write_text(NETWORK)
    asked = ("bert-base", f"{ours}:make", f"{theirs}:make", f"{theirs}", "hf:folder")
    assert [asks_if_captured(name) for name in asked] == [False, False, True, True, True]
    for mode, captured in (("eager", False), ("compiled", True), ("cuda_graph", True)):
        assert setting(Scenario(f"{theirs}:make", mode=mode)).ask.captured is captured
        assert not setting(Scenario("bert-base", mode=mode)).ask.captured


def test_a_graph_keeps_the_mask_that_eager_mode_looks_into(tmp_path: Path) -> None:
    """transformers leaves a mask of ones out where it may wait for the GPU to see that it is one;
    a graph would break there, so it keeps the mask."""
    pytest.importorskip("transformers")
    file = tmp_path / "theirs.py"
    file.write_text(NETWORK)
    eager, graph, compiled = (
        predict(Scenario(f"{file}:make", mode=mode)) for mode in ("eager", "cuda_graph", "compiled")
    )
    asks = "aten._local_scalar_dense.default"
    masked = [
        any("attn_bias" in op.signature.names for op in p.trace.ops)
        for p in (eager, graph, compiled)
    ]
    assert masked == [False, True, True]
    assert [asks in p.trace.names() for p in (eager, graph, compiled)] == [True, False, False]
    assert not any("breaks its graph" in note for note in compiled.notes)
