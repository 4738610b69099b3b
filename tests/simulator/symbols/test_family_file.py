"""Families take the host's counts and the lines of code of a fresh trace."""

from __future__ import annotations

import msgspec
import pytest
import torch

from simulator.records import Trace
from simulator.symbols import Symbolic
from simulator.symbols.templates import ProgramMismatchError
from simulator.tracing import trace
from tests.simulator.conftest import Calls


def traced(batch: int, seq: int) -> Trace:
    network = Calls(lambda net, x: (x @ net.w).relu())
    return trace(network, (torch.empty(batch, seq, 4, device="meta"),))


def test_families_take_counts_and_lines_of_code() -> None:
    ((_, family), *_) = Symbolic.fit(traced, seq=16).families
    before, fresh = family.at(3, 5), traced(7, 9)
    ops = [msgspec.structs.replace(op, instructions=op.instructions + 5) for op in fresh.ops]
    edited = msgspec.structs.replace(
        fresh, ops=ops, tail_c_calls=fresh.tail_c_calls + 1, code={"": "calls.py, line 999"}
    )
    after = family.with_counts(edited).at(3, 5)
    assert after.code == {"": "calls.py, line 999"}
    assert after.tail_c_calls == before.tail_c_calls + 1
    assert [op.instructions for op in after.ops] == [op.instructions + 5 for op in before.ops]
    assert [op.signature for op in after.ops] == [op.signature for op in before.ops]
    assert (after.storages, after.samples) == (before.storages, 3)


def test_a_trace_of_other_ops_is_refused() -> None:
    ((_, family), *_) = Symbolic.fit(traced, seq=16).families
    fresh = traced(3, 5)
    fewer = msgspec.structs.replace(fresh, ops=fresh.ops[:-1])
    with pytest.raises(ProgramMismatchError, match=rf"^{len(fewer.ops)} ops came, expected"):
        family.with_counts(fewer)
