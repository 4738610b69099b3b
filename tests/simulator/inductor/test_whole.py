"""A schedule extended from a few blocks against that of all blocks, both from the real compiler;
takes minutes. Run it by name: `pytest -m slow tests/simulator/inductor/test_whole.py`."""

from __future__ import annotations

import sys

import pytest
from msgspec.structs import replace

from simulator.inductor.child import Child
from simulator.inductor.deep.stack import stack
from simulator.inductor.exact import question_of
from simulator.scenario.resolve import resolve
from simulator.scenario.scenario import Scenario
from simulator.scenario.trace_source import trace_resolved

CASES = [
    ("bert-base", True, {}, "with 4 and with 5 of the 12 identical blocks of layers"),
    ("bert-base", False, {"layers": 14}, "with 6 and with 8 of the 14 identical blocks of layers"),
    ("gpt2", True, {"layers": 9}, "with 4 and with 5 of the 9 identical blocks of blocks"),
    ("llama3-1b", False, {}, "with 6 and with 8 of the 16 identical blocks of layers"),
    ("llama3-1b", True, {"layers": 9}, "with 4 and with 5 of the 9 identical blocks of layers"),
    ("vit-b16", True, {}, "with 4 and with 5 of the 12 identical blocks of blocks"),
]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="Inductor runs on Linux")
@pytest.mark.parametrize(("network", "training", "sizes", "said"), CASES)
def test_few_blocks_make_the_whole(
    network: str, training: bool, sizes: dict[str, int], said: str
) -> None:
    seq = None if network.startswith("vit") else 128
    resolved = resolve(
        Scenario(
            network,
            batch=2,
            seq=seq,
            dtype="bf16",
            training=training,
            optimizer="none" if training else None,
            sizes=sizes,
        )
    )
    question, equal = question_of(resolved), stack(trace_resolved(resolved))
    assert equal is not None
    few = Child(replace(question, stack=equal.path, blocks=equal.blocks)).result().schedule
    whole = Child(question).result().schedule
    assert few is not None and whole is not None
    assert said in few.notes[-1]
    assert few.launches == whole.launches
    assert few.buffers == whole.buffers
    assert few.origins == whole.origins
