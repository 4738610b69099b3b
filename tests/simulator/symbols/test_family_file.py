"""Families in files, each read at its first use, and with the counts of a fresh trace."""

from __future__ import annotations

import lzma
from pathlib import Path

import msgspec
import pytest
import torch

from simulator.errors import InputError
from simulator.formats.trace_folder import TRACE_FOLDER
from simulator.hardware.gpu import gpu
from simulator.records import Trace
from simulator.scenario.resolve import resolve
from simulator.scenario.scenario import Scenario
from simulator.scenario.traces import disk
from simulator.symbols import Symbolic
from simulator.symbols.family_file import load, save
from simulator.symbols.templates import ProgramMismatchError
from simulator.tracing import trace
from tests.simulator.conftest import Calls


def traced(batch: int, seq: int) -> Trace:
    network = Calls(lambda net, x: (x @ net.w).relu())
    return trace(network, (torch.empty(batch, seq, 4, device="meta"),))


def never(batch: int, seq: int) -> Trace:
    raise AssertionError(f"traced at {batch} × {seq}")


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
    with pytest.raises(ProgramMismatchError, match=rf"has {len(fewer.ops)} ops, expected"):
        family.with_counts(fewer)


def test_a_family_is_read_at_its_first_use(tmp_path: Path) -> None:
    def longer(batch: int, seq: int) -> Trace:
        network = Calls(lambda net, x: (x @ net.w).relu() if x.shape[1] < 600 else x.exp())
        return trace(network, (torch.empty(batch, seq, 4, device="meta"),))

    two = Symbolic.fit(longer, seq=16)
    save(two, tmp_path / "two.families")
    file = msgspec.msgpack.decode(lzma.decompress((tmp_path / "two.families").read_bytes()))
    last = file["cells"][-1][1]
    file["families"][last][3] = [99]  # the signatures of ops
    (tmp_path / "torn.families").write_bytes(lzma.compress(msgspec.msgpack.encode(file)))
    torn = load(tmp_path / "torn.families", never)
    assert torn.at(3, 5) == longer(3, 5)
    with pytest.raises(InputError, match=r"is not a valid file of trace families: .*; delete it"):
        _ = torn.families


def test_a_stored_file_with_an_invalid_family_is_reported(tmp_path: Path) -> None:
    request, card = resolve(Scenario("gpt2")).request, gpu("h200")
    TRACE_FOLDER.keep(tmp_path, even_if_off=True)
    try:
        path = disk.families_path(request, card, ("batch", 128))
        save(Symbolic.fit(traced, seq=16), path)
        stored = disk.stored_families(request, card, ("batch", 128), never)
        assert stored is not None and stored.at(3, 5) == traced(3, 5)
        file = msgspec.msgpack.decode(lzma.decompress(path.read_bytes()))
        file["families"][0] = []
        path.write_bytes(lzma.compress(msgspec.msgpack.encode(file)))
        assert disk.stored_families(request, card, ("batch", 128), never) is None
        assert TRACE_FOLDER.reported() == [path]
    finally:
        TRACE_FOLDER.close()
